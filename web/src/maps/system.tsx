/* How the machine and the program's cgroup were off for memory: the verdicts on it, and percentages over time. */
import type { JSX } from "preact";
import type { Usage, UsageNode, UsageStep, UsageVerdict } from "../api/answers";
import { useApi } from "../api/use";
import { momentText } from "../clock";
import * as format from "../format";
import { cssColour } from "../palette";
import type { Colour } from "../palette";
import { OverTime } from "../reports/over_time";
import { tapeId } from "../store";
import { Th } from "../table/th";
import { Card, Legend } from "../ui/basics";
import { Empty, Loading, Shown } from "../ui/states";

const POINTS = 400,
	HEIGHT = 150,
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

function RowText(props: { row: UsageStep; lines: readonly Line[] }): JSX.Element {
	const { row } = props,
		event = eventOf(row);
	return (
		<>
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
		</>
	);
}

function Chart(props: { rows: readonly UsageStep[] }): JSX.Element {
	const rows = props.rows,
		lines = linesOf(rows);
	const known = rows.filter((row) => lines.some((line) => line.share(row) !== null));
	return (
		<OverTime
			height={HEIGHT}
			max={FULL}
			grid={[0, 50, FULL].map((percent) => ({ value: percent, text: `${percent} %` }))}
			label="Memory of the system over time, in percent"
			ns={known.map((row) => row.ns)}
			draw={({ x, y, top, bottom, width }) => (
				<>
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
									y1={top - 6}
									y2={event.colour === "red" ? bottom : top + 4}
									stroke={cssColour(event.colour)}
								/>
							)
						);
					})}
				</>
			)}
			tip={(i) => <RowText row={known[i]!} lines={lines} />}
			legend={<Legend items={lines.map((line) => ({ title: line.title, colour: line.colour, faint: false }))} />}
		/>
	);
}

function RowsTable(props: { rows: readonly UsageStep[] }): JSX.Element {
	const lines = linesOf(props.rows);
	return (
		<div class="table-scroll" tabIndex={0} role="region" aria-label="Memory of the system over time as a table">
			<table class="table">
				<thead>
					<tr>
						<Th table="Memory of the system" title="Time" first />
						{lines.map((line) => (
							<th key={line.title} scope="col" class="num">
								{line.title}
							</th>
						))}
						<Th table="Memory of the system" title="Swapped in" num />
						<Th table="Memory of the system" title="Swapped out" num />
						<Th table="Memory of the system" title="Events" />
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

/* Where there are several. */
function Nodes(props: { list: readonly UsageNode[] }): JSX.Element | null {
	if (props.list.length === 0) return null;
	return (
		<table class="table">
			<caption>NUMA nodes</caption>
			<thead>
				<tr>
					<Th table="Nodes" title="Node" first />
					<Th table="Nodes" title="Memory" num />
					<Th table="Nodes" title="At most" num />
					<Th table="Nodes" title="Processor time" num />
				</tr>
			</thead>
			<tbody>
				{props.list.map((node) => (
					<tr key={node.node}>
						<th scope="row">{node.node}</th>
						<td class="num">{format.bytes(node.bytes)}</td>
						<td class="num">{format.bytes(node.bytes_max)}</td>
						<td class="num">{format.duration(node.cpu_ns)}</td>
					</tr>
				))}
			</tbody>
		</table>
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
								<p>
									<code>memtape record</code> and <code>memtape attach</code> take them, the library
									alone does not.
								</p>
							</Empty>
						);
					return (
						<>
							<Verdicts list={usage.verdicts} />
							{props.table ? <RowsTable rows={rows} /> : <Chart rows={rows} />}
							<Nodes list={usage.nodes} />
						</>
					);
				}}
			</Shown>
		</Card>
	);
}
