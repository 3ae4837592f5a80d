/* The frame of a chart over the whole recording: grid, times, the range and the moment that are chosen, the pointer. */
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { clock, momentText } from "../clock";
import { at, range, update } from "../store";
import { TapeFlags } from "../timeline/flags";
import { timeTicks } from "../timeline/ticks";
import { Tooltip } from "../ui/basics";

const LEFT = 64,
	RIGHT = 8,
	TOP = 10,
	BOTTOM = 24,
	PADDING = 28,
	TICK_WIDTH = 110;

/* In pixels of the picture; top and bottom are those of the plot. */
export interface Place {
	x: (ns: number) => number;
	y: (value: number) => number;
	top: number;
	bottom: number;
	width: number; /* 0 before the first layout */
}

function useWidth(): [{ current: HTMLDivElement | null }, number] {
	const ref = useRef<HTMLDivElement>(null),
		[width, setWidth] = useState(0);
	useLayoutEffect(() => {
		const look = () => setWidth(Math.max(0, ref.current!.clientWidth - PADDING));
		const watch = new ResizeObserver(look);
		watch.observe(ref.current!);
		look();
		return () => watch.disconnect();
	}, []);
	return [ref, width];
}

function nearestTo(t: number, ns: readonly number[]): number {
	let best = 0;
	ns.forEach((v, i) => {
		if (Math.abs(v - t) < Math.abs(ns[best]! - t)) best = i;
	});
	return best;
}

/* ns: moments with values, one of which the pointer chooses. legend stands below the picture. */
export function OverTime(props: {
	height: number;
	max: number;
	grid: readonly { value: number; text: string }[];
	label: string;
	ns: readonly number[];
	draw: (place: Place) => ComponentChildren;
	tip: (i: number) => ComponentChildren;
	legend: ComponentChildren;
}): JSX.Element {
	const { height, ns } = props;
	const [ref, width] = useWidth();
	const [hover, setHover] = useState<{ i: number; x: number; y: number } | null>(null);
	const until = Math.max(clock.value.duration, 1),
		plot = Math.max(0, width - LEFT - RIGHT);
	const x = (t: number) => LEFT + (t / until) * plot,
		y = (value: number) => TOP + (height - TOP - BOTTOM) * (1 - value / props.max);
	const times = timeTicks(0, until, Math.max(2, width / TICK_WIDTH));
	const nearest = (clientX: number) =>
		nearestTo(((clientX - ref.current!.getBoundingClientRect().left - LEFT) / Math.max(1, plot)) * until, ns);
	const h = hover && hover.i < ns.length ? hover : null;
	return (
		<div class="bands" ref={ref}>
			<svg
				width={width}
				height={height}
				role="img"
				aria-label={`${props.label}; t shows a table`}
				onPointerMove={(e) => setHover({ i: nearest(e.clientX), x: e.clientX, y: e.clientY })}
				onPointerLeave={() => setHover(null)}
				onClick={(e) => update({ at: ns[nearest(e.clientX)] ?? null }, "replace")}
			>
				{props.grid.map(({ value, text }) => (
					<g key={value}>
						<line class="bands-grid" x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
						<text class="bands-text" x={LEFT - 8} y={y(value) + 4} text-anchor="end">
							{text}
						</text>
					</g>
				))}
				{times.ticks.map((t) => (
					<text
						key={t}
						class="bands-text"
						x={x(t)}
						y={height - 6}
						text-anchor={t > 0.97 * until ? "end" : "middle"}
					>
						{momentText(t, times.step)}
					</text>
				))}
				{props.draw({ x, y, top: TOP, bottom: height - BOTTOM, width })}
				{range.value && (
					<rect
						class="bands-range"
						x={x(range.value.from)}
						width={Math.max(1, x(range.value.until) - x(range.value.from))}
						y={TOP}
						height={height - TOP - BOTTOM}
					/>
				)}
				{[at.value, h ? ns[h.i]! : null].map(
					(t) => t !== null && <line class="bands-at" x1={x(t)} x2={x(t)} y1={TOP} y2={height - BOTTOM} />,
				)}
			</svg>
			<div class="bands-marks" style={{ left: `${LEFT}px`, width: `${plot}px`, height: `${height - BOTTOM}px` }}>
				<TapeFlags from={0} until={until} width={plot} />
			</div>
			{props.legend}
			{h && (
				<Tooltip x={h.x} y={h.y}>
					<b>{momentText(ns[h.i]!)}</b>
					{props.tip(h.i)}
				</Tooltip>
			)}
		</div>
	);
}
