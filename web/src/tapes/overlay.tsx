/* Live memory of several tapes on one time axis, each from its own start. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { FolderTape } from "../api/answers";
import * as format from "../format";
import { cssColour, SERIES } from "../palette";
import { timeTicks } from "../timeline/ticks";
import { Th } from "../table/th";
import { Card } from "../ui/basics";
import { Bytes, Duration } from "../ui/cells";
import { IconClose } from "../ui/icons";

const TICKS = 8;

export const PICKED_MAX = 2 * SERIES.length; /* each colour twice: whole, then dashed */

const styleOf = (i: number) => ({
	stroke: cssColour(SERIES[i % SERIES.length]!),
	"stroke-dasharray": i < SERIES.length ? undefined : "5 3",
});

/* Steps: x in parts of the longest run, y in parts of the highest value, both of 1000. */
export function stepPath(curve: readonly number[], duration: number, until: number, most: number): string {
	const step = ((duration / until) * 1000) / curve.length,
		y = (v: number) => (1000 - (v / most) * 1000).toFixed(1);
	const points = curve.map((v, i) => `${i ? "L" : "M"}${(i * step).toFixed(2)} ${y(v)}`);
	return points.join("") + `L${(curve.length * step).toFixed(2)} ${y(curve.at(-1) ?? 0)}`;
}

const nameOf = (t: FolderTape) => t.program ?? t.file;
const startOf = (t: FolderTape) =>
	t.begin_realtime_ns ? new Date(Number(BigInt(t.begin_realtime_ns) / 1_000_000n)).toLocaleString() : "\u2013";

function Chart(props: { tapes: readonly FolderTape[]; hidden: ReadonlySet<string> }): JSX.Element {
	const shown = props.tapes.filter((t) => t.curve.length > 0 && !props.hidden.has(t.id));
	const until = Math.max(1, ...shown.map((t) => t.duration_ns ?? 0)),
		most = Math.max(1, ...shown.map((t) => t.peak_bytes ?? 0));
	const { ticks, step } = timeTicks(0, until, TICKS);
	return (
		<>
			<div class="tapes-curves">
				<svg
					viewBox="0 0 1000 1000"
					preserveAspectRatio="none"
					role="img"
					aria-label={`Live memory of ${format.counted(shown.length, "tape")} from the start of each, up to ${format.bytes(most)}`}
				>
					{props.tapes.map(
						(t, i) =>
							shown.includes(t) && (
								<path
									key={t.id}
									d={stepPath(t.curve, t.duration_ns ?? 1, until, most)}
									style={styleOf(i)}
								/>
							),
					)}
				</svg>
				<span class="tapes-most muted num">{format.bytes(most)}</span>
			</div>
			<div class="tapes-axis muted num" aria-hidden="true">
				{ticks.map((t) => (
					<span key={t} style={{ left: `${(t / until) * 100}%` }}>
						{format.moment(t, until, step)}
					</span>
				))}
			</div>
		</>
	);
}

function Legend(props: {
	tapes: readonly FolderTape[];
	hidden: ReadonlySet<string>;
	toggle: (id: string) => void;
	remove: (id: string) => void;
}): JSX.Element {
	return (
		<table class="tapes-legend" aria-label="Tapes in the chart">
			<thead>
				<tr>
					<Th table="Tapes over time" title="Tape" first />
					<Th table="Tapes over time" title="Began" />
					<Th table="Tapes over time" title="Recorded" num />
					<Th table="Tapes over time" title="Peak" num />
					<Th table="Tapes over time" title="At the end" num />
					<th scope="col">
						<span class="sr">Remove</span>
					</th>
				</tr>
			</thead>
			<tbody>
				{props.tapes.map((t, i) => (
					<tr key={t.id}>
						<td>
							<button
								type="button"
								class="tapes-toggle"
								aria-pressed={!props.hidden.has(t.id)}
								title={`${t.file}: show or hide its curve`}
								onClick={() => props.toggle(t.id)}
							>
								<svg viewBox="0 0 24 8" width="24" height="8" aria-hidden="true">
									<path d="M0 4H24" style={styleOf(i)} />
								</svg>
								<span class="ellipsis">
									{nameOf(t)}
									{t.host && ` on ${t.host}`}
									{t.pid !== null && ` (${t.pid})`}
								</span>
							</button>
							{t.curve.length === 0 && (
								<span class="muted">
									{t.trouble ?? (t.kind === "tape" ? "not read yet" : "no curve")}
								</span>
							)}
						</td>
						<td class="nowrap">{startOf(t)}</td>
						<td class="num">{t.duration_ns !== null && <Duration value={t.duration_ns} />}</td>
						<td class="num">{t.peak_bytes !== null && <Bytes value={t.peak_bytes} />}</td>
						<td class="num">{t.live_bytes !== null && <Bytes value={t.live_bytes} />}</td>
						<td>
							<button
								type="button"
								class="icon-button"
								aria-label={`Take ${t.file} away`}
								onClick={() => props.remove(t.id)}
							>
								<IconClose />
							</button>
						</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}

export function Overlay(props: {
	tapes: readonly FolderTape[];
	remove: (id: string) => void;
	clear: () => void;
}): JSX.Element {
	const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
	const toggle = (id: string) => {
		const next = new Set(hidden);
		if (!next.delete(id)) next.add(id);
		setHidden(next);
	};
	return (
		<Card
			title="Live memory"
			note="from the start of each"
			class="tapes-overlay"
			tools={
				<button type="button" class="button small" onClick={props.clear}>
					Clear
				</button>
			}
		>
			<Chart tapes={props.tapes} hidden={hidden} />
			<Legend tapes={props.tapes} hidden={hidden} toggle={toggle} remove={props.remove} />
		</Card>
	);
}
