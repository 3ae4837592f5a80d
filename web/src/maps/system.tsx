/* How the machine and the program's cgroup were off for memory: the verdicts on it, and percentages over time. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Usage, UsageStep, UsageVerdict } from "../api/answers";
import { useApi } from "../api/use";
import { clock, momentText } from "../clock";
import * as format from "../format";
import { cssColour } from "../palette";
import type { Colour } from "../palette";
import { useWidth } from "../reports/bands";
import { at, range, tapeId, update } from "../store";
import { timeTicks } from "../timeline/ticks";
import { Card, Legend, Tooltip } from "../ui/basics";
import { Empty, Loading, Shown } from "../ui/states";

const POINTS = 400,
	HEIGHT = 150,
	LEFT = 64,
	RIGHT = 8,
	TOP = 10,
	BOTTOM = 24,
	FULL = 100;

export interface Line {
	title: string;
	colour: Colour;
	share: (row: UsageStep) => number | null; /* percent; null: not known */
	text: (row: UsageStep) => string;
}

function part(of: number | null, whole: number | null): number | null {
	return of === null || !whole ? null : (of * FULL) / whole;
}

/* What the program's cgroup may use before it is slowed down or something is killed. */
export function boundOf(row: UsageStep): number | null {
	const bounds = [row.cgroup_limit, row.cgroup_high].filter((bound): bound is number => bound !== null);
	return bounds.length > 0 ? Math.min(...bounds) : null;
}

const bytesOf = (of: number | null, whole: number | null) =>
	of === null || whole === null ? "not known" : `${format.bytes(of)} of ${format.bytes(whole)}`;

/* All are bad where they are high. */
const LINES: readonly Line[] = [
	{
		title: "Memory used",
		colour: "blue",
		share: (row) => part(row.used, row.memory),
		text: (row) => bytesOf(row.used, row.memory),
	},
	{
		title: "Swap used",
		colour: "purple",
		share: (row) => part(row.swap_used, row.swap),
		text: (row) => bytesOf(row.swap_used, row.swap),
	},
	{
		title: "Cgroup, of its limit",
		colour: "teal",
		share: (row) => part(row.cgroup_working_set, boundOf(row)),
		text: (row) => bytesOf(row.cgroup_working_set, boundOf(row)),
	},
	{
		title: "Waiting for memory",
		colour: "orange",
		share: (row) => row.some_avg10,
		text: (row) => (row.some_avg10 === null ? "not known" : `${row.some_avg10.toFixed(1)} % of 10 s`),
	},
];

/* Lines of which something is known. */
export function linesOf(rows: readonly UsageStep[]): Line[] {
	return LINES.filter((line) => rows.some((row) => line.share(row) !== null));
}

/* What happened in a row, worst first; null: nothing. */
export function eventOf(row: UsageStep): { text: string; colour: Colour } | null {
	if (row.cgroup_oom_kills) return { text: `${row.cgroup_oom_kills} killed in the cgroup`, colour: "red" };
	if (row.oom_kills) return { text: `${row.oom_kills} killed on the machine`, colour: "red" };
	const hits = (row.cgroup_limit_hits ?? 0) + (row.cgroup_high_hits ?? 0);
	return hits > 0 ? { text: `${format.counted(hits, "time")} at the limit of the cgroup`, colour: "orange" } : null;
}

/* Through the rows that are known: those of the process alone lie between them. */
export function pathOf(
	rows: readonly UsageStep[],
	line: Line,
	x: (ns: number) => number,
	y: (percent: number) => number,
): string {
	return rows
		.map((row) => [x(row.ns), line.share(row)] as const)
		.filter((point): point is readonly [number, number] => point[1] !== null)
		.map(([left, share], i) => `${i ? "L" : "M"}${left.toFixed(1)} ${y(Math.min(share, FULL)).toFixed(1)}`)
		.join("");
}

function RowText(props: { row: UsageStep; lines: readonly Line[]; x: number; y: number }): JSX.Element {
	const { row } = props,
		event = eventOf(row);
	return (
		<Tooltip x={props.x} y={props.y}>
			<b>{momentText(row.ns)}</b>
			<dl class="pairs">
				{props.lines.map((line) => (
					<>
						<dt>{line.title}</dt>
						<dd>{line.text(row)}</dd>
					</>
				))}
				{(row.swapped_in || row.swapped_out) && (
					<>
						<dt>Swapped in, out</dt>
						<dd>
							{format.bytes(row.swapped_in ?? 0)}, {format.bytes(row.swapped_out ?? 0)}
						</dd>
					</>
				)}
			</dl>
			{event && <p>{event.text}</p>}
		</Tooltip>
	);
}

function Chart(props: { rows: readonly UsageStep[] }): JSX.Element {
	const rows = props.rows,
		lines = linesOf(rows);
	const [ref, width] = useWidth();
	const [hover, setHover] = useState<{ row: UsageStep; x: number; y: number } | null>(null);
	const until = Math.max(clock.value.duration, 1),
		plot = Math.max(0, width - LEFT - RIGHT);
	const x = (t: number) => LEFT + (t / until) * plot,
		y = (percent: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - percent / FULL);
	const times = timeTicks(0, until, Math.max(2, width / 110));
	const known = rows.filter((row) => lines.some((line) => line.share(row) !== null));
	const nearest = (clientX: number) => {
		const t = ((clientX - ref.current!.getBoundingClientRect().left - LEFT) / Math.max(1, plot)) * until;
		return known.reduce((best, row) => (Math.abs(row.ns - t) < Math.abs(best.ns - t) ? row : best));
	};
	return (
		<div class="bands" ref={ref}>
			<svg
				width={width}
				height={HEIGHT}
				role="img"
				aria-label="Memory of the system over time, in percent; t shows a table"
				onPointerMove={(e) => setHover({ row: nearest(e.clientX), x: e.clientX, y: e.clientY })}
				onPointerLeave={() => setHover(null)}
				onClick={(e) => update({ at: nearest(e.clientX).ns }, "replace")}
			>
				{[0, 50, FULL].map((percent) => (
					<g key={percent}>
						<line class="bands-grid" x1={LEFT} x2={width - RIGHT} y1={y(percent)} y2={y(percent)} />
						<text class="bands-text" x={LEFT - 8} y={y(percent) + 4} text-anchor="end">
							{percent} %
						</text>
					</g>
				))}
				{times.ticks.map((t) => (
					<text
						key={t}
						class="bands-text"
						x={x(t)}
						y={HEIGHT - 6}
						text-anchor={t > 0.97 * until ? "end" : "middle"}
					>
						{momentText(t, times.step)}
					</text>
				))}
				{width > 0 &&
					lines.map((line) => (
						<path
							key={line.title}
							class="system-line"
							d={pathOf(rows, line, x, y)}
							stroke={cssColour(line.colour)}
						/>
					))}
				{rows.map((row) => {
					const event = eventOf(row);
					return (
						event && (
							<line
								key={row.ns}
								class="system-event"
								x1={x(row.ns)}
								x2={x(row.ns)}
								y1={TOP - 6}
								y2={event.colour === "red" ? HEIGHT - BOTTOM : TOP + 4}
								stroke={cssColour(event.colour)}
							/>
						)
					);
				})}
				{range.value && (
					<rect
						class="bands-range"
						x={x(range.value.from)}
						width={Math.max(1, x(range.value.until) - x(range.value.from))}
						y={TOP}
						height={HEIGHT - TOP - BOTTOM}
					/>
				)}
				{[at.value, hover?.row.ns ?? null].map(
					(ns) =>
						ns !== null && <line class="bands-at" x1={x(ns)} x2={x(ns)} y1={TOP} y2={HEIGHT - BOTTOM} />,
				)}
			</svg>
			<Legend items={lines.map((line) => ({ title: line.title, colour: line.colour, faint: false }))} />
			{hover && <RowText row={hover.row} lines={lines} x={hover.x} y={hover.y} />}
		</div>
	);
}

function RowsTable(props: { rows: readonly UsageStep[] }): JSX.Element {
	const lines = linesOf(props.rows);
	return (
		<div class="table-scroll" tabIndex={0} role="region" aria-label="Memory of the system over time as a table">
			<table class="table">
				<thead>
					<tr>
						<th scope="col">Time</th>
						{lines.map((line) => (
							<th key={line.title} scope="col" class="num">
								{line.title}
							</th>
						))}
						<th scope="col" class="num">
							Swapped in
						</th>
						<th scope="col" class="num">
							Swapped out
						</th>
						<th scope="col">Events</th>
					</tr>
				</thead>
				<tbody>
					{props.rows.map((row) => (
						<tr key={row.ns}>
							<th scope="row">{momentText(row.ns)}</th>
							{lines.map((line) => (
								<td key={line.title} class="num">
									{line.text(row)}
								</td>
							))}
							<td class="num">{row.swapped_in === null ? "" : format.bytes(row.swapped_in)}</td>
							<td class="num">{row.swapped_out === null ? "" : format.bytes(row.swapped_out)}</td>
							<td>{eventOf(row)?.text ?? ""}</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

function Verdicts(props: { list: readonly UsageVerdict[] }): JSX.Element {
	const bad = props.list.filter((verdict) => verdict.level === "warning" || verdict.level === "critical");
	if (bad.length === 0) return <p class="report-words">Memory was not short.</p>;
	return (
		<ul class="system-verdicts">
			{[...bad.filter((v) => v.matters), ...bad.filter((v) => !v.matters)].map((verdict) => (
				<li
					key={verdict.name}
					class={verdict.matters ? "" : "muted"}
					title={verdict.matters ? undefined : "Too short to matter, or of others on this machine"}
				>
					<span class={`system-level ${verdict.level}`}>{verdict.level}</span> {verdict.answer}
					{verdict.time_ns !== null && <span class="muted"> after {momentText(verdict.time_ns)}</span>}
				</li>
			))}
		</ul>
	);
}

export function SystemCard(props: { table: boolean }): JSX.Element {
	const answer = useApi<Usage>("usage", { c: tapeId.value, points: POINTS });
	return (
		<Card title="Memory of the system" stale={answer.stale} note={answer.data?.cgroup ?? undefined}>
			<Shown answer={answer} loading={<Loading rows={4} height={24} />}>
				{(usage) => {
					const rows = usage.usage.filter((row) => row.memory !== null || row.cgroup !== null);
					if (rows.length < 2)
						return (
							<Empty title="No samples of the system on this tape">
								<p>`memtape record` and `memtape attach` take them, the library alone does not.</p>
							</Empty>
						);
					return (
						<>
							<Verdicts list={usage.verdicts} />
							{props.table ? <RowsTable rows={rows} /> : <Chart rows={rows} />}
						</>
					);
				}}
			</Shown>
		</Card>
	);
}
