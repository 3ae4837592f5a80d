/* Live memory of both sides over time: two curves from the start of each run, or one with both moments. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useApi } from "../api/use";
import type { Curves as CurveData, Mark } from "../api/types";
import * as format from "../format";
import { momentParse } from "../moment";
import { clock } from "../clock";
import { Flags } from "../timeline/flags";
import { markMoment } from "../timeline/marks";
import { timeTicks } from "../timeline/ticks";
import { secondsText } from "../url";
import { Shown } from "../ui/states";
import { useWidth } from "../ui/width";
import { useMarks } from "./moments";
import { sidesSet } from "./sides";
import type { Sides } from "./sides";

const COLS = 600,
	TICKS = 9,
	TICK_PX = 70,
	MOST_PX = 72; /* of the highest value, at the left */

/* Steps as a path: x in parts of the longer run, y in parts of the highest value, both of 1000. */
function path(t: CurveData, until: number, most: number): string {
	const step = ((t.until_ns - t.from_ns) / t.cols / until) * 1000;
	return (
		t.live_max
			.map((v, i) => `${i ? "L" : "M"}${(i * step).toFixed(2)} ${(1000 - (v / most) * 1000).toFixed(1)}`)
			.join("") +
		`L${(t.cols * step).toFixed(2)} ${(1000 - ((t.live_max[t.cols - 1] ?? 0) / most) * 1000).toFixed(1)}`
	);
}

function area(line: string): string {
	const last = line.slice(line.lastIndexOf("L") + 1).split(" ")[0];
	return `${line}L${last} 1000L0 1000Z`;
}

function Points(props: { sides: Sides; until: number; marks: readonly Mark[] }): JSX.Element {
	const flag = (side: 0 | 1, name: string) => {
		const ns = momentParse(props.sides.at[side], { ...clock.value, marks: props.marks });
		return ns === null ? null : (
			<span
				key={name}
				class={`compare-flag ${side ? "after" : "before"} ${ns > 0.94 * props.until ? "left" : ""}`}
				style={{ left: `${Math.min(100, (ns / props.until) * 100)}%` }}
			>
				<b>{name}</b>
			</span>
		);
	};
	return (
		<>
			{flag(0, "A")}
			{flag(1, "B")}
		</>
	);
}

/* The marks of a side. A click chooses one as the moment after, with Shift as that before; of two tapes, as that of its side. */
function Marks(props: {
	sides: Sides;
	side: 0 | 1;
	marks: readonly Mark[];
	until: number;
	width: number;
}): JSX.Element {
	const { sides, side, marks, until } = props;
	const choose = (mark: Mark, e: MouseEvent) => {
		const isAfter = sides.isOne ? !e.shiftKey : side === 1;
		if (sides.hasMoments) sidesSet({ [isAfter ? "tb" : "ta"]: markMoment(marks, marks.indexOf(mark)) });
	};
	return (
		<Flags
			marks={marks}
			x={(ns) => (ns / until) * props.width}
			width={props.width}
			taken={side ? [] : [[0, MOST_PX]]}
			class={`compare-mark ${sides.isOne ? "" : side ? "after" : "before"}`}
			of={sides.isOne ? "" : side ? " of after" : " of before"}
			disabled={!sides.hasMoments}
			onChoose={choose}
		/>
	);
}

/* So that a label at an edge is whole. */
const sideOf = (share: number) => (share < 0.03 ? "first" : share > 0.97 ? "last" : undefined);

function Drawn(props: { sides: Sides; a: CurveData; b: CurveData }): JSX.Element {
	const { sides, a, b } = props,
		{ isOne } = sides;
	const until = Math.max(a.until_ns, b.until_ns, 1),
		most = Math.max(a.peak.bytes, b.peak.bytes, 1);
	const first = path(a, until, most),
		second = path(b, until, most);
	const label = isOne
		? `Live memory over time, peak ${format.bytes(a.peak.bytes)}`
		: `Live memory over time: before, peak ${format.bytes(a.peak.bytes)}; after, peak ${format.bytes(b.peak.bytes)}`;
	const marks = useMarks(sides),
		root = useRef<HTMLDivElement>(null),
		width = useWidth(root),
		{ ticks, step } = timeTicks(0, until, Math.max(2, Math.min(TICKS, Math.floor(width / TICK_PX))));
	const click = (e: MouseEvent) => {
		const r = (e.currentTarget as HTMLElement).getBoundingClientRect();
		const at = `${secondsText(Math.round(Math.min(1, Math.max(0, (e.clientX - r.left) / r.width)) * until))}s`;
		sidesSet({ [e.shiftKey ? "ta" : "tb"]: at });
	};
	return (
		<>
			<div
				ref={root}
				class={`compare-curves ${isOne && sides.hasMoments ? "clickable" : ""}`}
				onClick={isOne && sides.hasMoments ? click : undefined}
				title={isOne && sides.hasMoments ? "Click: the moment after; with Shift: the moment before" : undefined}
			>
				<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-label={label}>
					{!isOne && (
						<>
							<path class="area before" d={area(first)} />
							<path class="area after" d={area(second)} />
						</>
					)}
					{isOne && <path class="area only" d={area(first)} />}
					<path class={`line ${isOne ? "only" : "before"}`} d={first} />
					{!isOne && <path class="line after" d={second} />}
				</svg>
				{sides.hasMoments && isOne && <Points sides={sides} until={until} marks={marks[0]} />}
				<Marks sides={sides} side={0} marks={marks[0]} until={until} width={width} />
				{!isOne && <Marks sides={sides} side={1} marks={marks[1]} until={until} width={width} />}
				<span class="compare-most muted num">{format.bytes(most)}</span>
			</div>
			<div class="compare-axis muted num" aria-hidden="true">
				{ticks.map((t) => (
					<span key={t} class={sideOf(t / until)} style={{ left: `${(t / until) * 100}%` }}>
						{format.moment(t, until, step)}
					</span>
				))}
			</div>
		</>
	);
}

/* Of a tape without times only the order is known: there is no curve, and nothing to lay beside another. */
export function Curves(props: { sides: Sides; q: string }): JSX.Element | null {
	return [props.sides.a, props.sides.b].some((t) => t.import?.missing.includes("times")) ? null : (
		<Timed {...props} />
	);
}

function Timed(props: { sides: Sides; q: string }): JSX.Element {
	const ask = (c: string) => ({ c, points: COLS, ...(props.q ? { q: props.q } : {}) });
	const a = useApi<CurveData>("curves", ask(props.sides.a.id));
	const b = useApi<CurveData>("curves", ask(props.sides.b.id));
	return (
		<section class={`card compare-time ${a.stale || b.stale ? "stale" : ""}`} aria-label="Live memory over time">
			<Shown answer={a} loading={<div class="compare-curves" />}>
				{(first) => (
					<Shown answer={b} loading={<div class="compare-curves" />}>
						{(second) => <Drawn sides={props.sides} a={first} b={second} />}
					</Shown>
				)}
			</Shown>
		</section>
	);
}
