/* A timeline of one answer of the server: the canvas and what lies over it. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Ns, Curves } from "../api/types";
import { clock, momentText, pauseAt, pauses } from "../clock";
import * as format from "../format";
import { named } from "../names";
import { HEX, INK } from "../palette";
import { theme } from "../theme";
import { Dot, Tooltip } from "../ui/basics";
import { Brush } from "./brush";
import { drawTimeline } from "./draw";
import type { Frame } from "./draw";
import { freesOf, seriesOf, topOf } from "./series";
import type { Mode, Series } from "./series";
import { byteTicks, countTicks, timeTicks } from "./ticks";
import { view } from "./view";

export interface ChartProps {
	data: Curves | null;
	mode: Mode;
	rss: boolean;
	compact?: boolean; /* the strip above other pages */
	onWidth: (px: number) => void; /* of the plot: as many columns can be seen */
}

interface Hover {
	share: number;
	x: number;
	y: number;
}

function useSize(onWidth: (px: number) => void, margins: number) {
	const ref = useRef<HTMLDivElement>(null);
	const [size, setSize] = useState({ width: 0, height: 0 });
	useLayoutEffect(() => {
		const measure = () => {
			const { clientWidth: width, clientHeight: height } = ref.current!;
			setSize((s) => (s.width === width && s.height === height ? s : { width, height }));
			onWidth(width - margins);
		};
		measure();
		const watch = new ResizeObserver(measure);
		watch.observe(ref.current!);
		return () => watch.disconnect();
	}, [margins]);
	return { ref, size };
}

/* The resident memory that was last sampled at or before a moment. */
export function rssAt(data: Curves, ns: Ns): number | null {
	let low = 0,
		high = data.rss.ns.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (data.rss.ns[middle]! <= ns) low = middle + 1;
		else high = middle;
	}
	return low > 0 ? data.rss.bytes[low - 1]! : null;
}

/* Where moments of the answer lie in what is shown now, which the wheel may have changed since. */
function shareIn(ns: Ns): number {
	return (ns - view.value.from) / (view.value.until - view.value.from);
}

/* An answer for another part of the time is moved to where it belongs until the right one comes. */
function fitted(data: Curves, values: readonly number[]): number[] {
	const { from, until } = view.value;
	if (data.from_ns === from && data.until_ns === until) return values as number[];
	const width = (until - from) / data.cols,
		step = (data.until_ns - data.from_ns) / data.cols;
	return Array.from(
		{ length: data.cols },
		(_, i) => values[Math.floor((from + (i + 0.5) * width - data.from_ns) / step)] ?? 0,
	);
}

function pictureOf(data: Curves, props: ChartProps, frame: Frame) {
	const rate = props.mode === "rate",
		ink = INK[theme.value];
	const series = seriesOf(data, props.mode).map((s): Series => ({ ...s, values: fitted(data, s.values) }));
	const top = topOf(series, data.cols);
	const frees = rate ? fitted(data, freesOf(data)) : [];
	const rssShown = props.rss && !rate && data.rss.ns.length > 1;
	const most = Math.max(...top, ...frees, ...(rssShown ? data.rss.bytes : [0]), 0);
	const yTicks = props.compact ? [] : rate ? countTicks(most, 5) : byteTicks(most, 6);
	const time = timeTicks(view.value.from, view.value.until, Math.floor((frame.width - frame.left) / 86));
	const lines = [];
	if (rssShown)
		lines.push({
			colour: ink.text,
			values: data.rss.ns.map((ns, i) => [shareIn(ns), data.rss.bytes[i]!] as const),
		});
	if (rate)
		lines.push({ colour: HEX[theme.value].grey, values: frees.map((v, i) => [(i + 0.5) / data.cols, v] as const) });
	return {
		top,
		picture: {
			theme: theme.value,
			frame,
			series,
			lines,
			linesBelow: rate,
			yTicks,
			max: props.compact ? most * 1.08 : (yTicks[yTicks.length - 1] ?? most),
			yText: rate
				? (v: number) => (v === 0 ? "0" : `${format.count(v)}/s`)
				: (v: number) => (v === 0 ? "0" : format.tickBytes(v)),
			xTicks: time.ticks.map((ns) => ({
				share: shareIn(ns),
				text: format.moment(ns, clock.value.duration, time.step),
			})),
			hatched: pauses.value.map((p) => [shareIn(p.from), shareIn(p.until)] as const),
		},
	};
}

function HoverText(props: { data: Curves; mode: Mode; rss: boolean; hover: Hover }): JSX.Element {
	const { data, mode, hover } = props;
	const { from, until } = view.value,
		ns = from + hover.share * (until - from);
	const step = (data.until_ns - data.from_ns) / data.cols;
	const i = Math.max(0, Math.min(data.cols - 1, Math.floor((ns - data.from_ns) / step)));
	const rows = seriesOf(data, mode)
		.reverse()
		.filter((s) => mode === "rate" || s.values[i]! > 0)
		.sort((a, b) => b.values[i]! - a.values[i]!);
	const rss = rssAt(data, data.from_ns + (i + 1) * step),
		pause = pauseAt(ns);
	return (
		<Tooltip x={hover.x} y={hover.y}>
			<div class="row">
				<span class="title">{momentText(data.from_ns + (i + 0.5) * step)}</span>
				<span class="grow" />
				<span class="muted">±{format.duration(step / 2)}</span>
			</div>
			{pause && (
				<p class="hover-paused">
					<i class="hatch" /> recording was paused, {pause.by}
				</p>
			)}
			<dl class="hover-rows">
				{rows.map((s) => (
					<div key={s.title}>
						<dt>
							<Dot colour={s.colour} /> <span class="ellipsis">{named(s.title)}</span>
						</dt>
						<dd>{mode === "rate" ? `${format.count(s.values[i]!)}/s` : format.bytes(s.values[i]!)}</dd>
					</div>
				))}
				{mode === "rate" && (
					<div>
						<dt>frees</dt>
						<dd>{format.count(freesOf(data)[i]!)}/s</dd>
					</div>
				)}
				{mode === "rate" && (
					<div>
						<dt>allocated</dt>
						<dd>{format.bytes(data.allocated_bytes[i]! * (1e9 / step))}/s</dd>
					</div>
				)}
				<div class="hover-sum">
					<dt>Heap{rss !== null && " / RSS"}</dt>
					<dd>
						{format.bytes(data.live_max[i]!)}
						{rss !== null && ` / ${format.bytes(rss)}`}
					</dd>
				</div>
			</dl>
		</Tooltip>
	);
}

export function Chart(props: ChartProps): JSX.Element {
	const { data, compact = false } = props;
	const margins = compact
		? { left: 10, right: 10, top: 6, bottom: 20 }
		: { left: 64, right: 14, top: 12, bottom: 24 };
	const { ref, size } = useSize(props.onWidth, margins.left + margins.right);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [hover, setHover] = useState<Hover | null>(null);
	const frame: Frame = { ...size, ...margins };
	const made = data && size.width > 0 ? pictureOf(data, props, frame) : null;
	useEffect(() => {
		if (made) drawTimeline(canvas.current!, made.picture);
	});
	const plotHeight = size.height - margins.top - margins.bottom;
	const yOf = (v: number) => plotHeight * (1 - (made && made.picture.max > 0 ? v / made.picture.max : 0));
	const peak =
		data && props.mode !== "rate" && data.peak.bytes > 0
			? {
					ns: data.peak.ns,
					text: `Peak ${format.bytes(data.peak.bytes)} \u00b7 ${momentText(data.peak.ns)}`,
					y: yOf(data.peak.bytes),
				}
			: null;
	const paused = pauses.value.length > 0 ? `. Recording was paused in ${pauses.value.length} parts, hatched` : "";
	const label = (peak ? `Live heap over time. ${peak.text}` : "Allocations over time") + paused;
	return (
		<div class={`chart ${compact ? "compact" : ""}`} ref={ref}>
			<canvas
				ref={canvas}
				style={{ width: `${size.width}px`, height: `${size.height}px` }}
				role="img"
				aria-label={label}
			/>
			{data && (
				<div
					class="plot"
					style={{
						left: `${margins.left}px`,
						right: `${margins.right}px`,
						top: `${margins.top}px`,
						bottom: `${margins.bottom}px`,
					}}
				>
					<Brush
						label="Time range and time point"
						peak={peak}
						marks={data.marks}
						width={Math.max(0, size.width - margins.left - margins.right)}
						compact={compact}
						onHover={(share, x, y) => setHover(share === null ? null : { share, x, y })}
					>
						{hover && <div class="hover-line" style={{ left: `${hover.share * 100}%` }} />}
					</Brush>
				</div>
			)}
			{hover && data && <HoverText data={data} mode={props.mode} rss={props.rss} hover={hover} />}
		</div>
	);
}
