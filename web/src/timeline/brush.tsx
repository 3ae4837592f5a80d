/*
 * What lies over a timeline: the range (drag, or its handles), the time point (click), the peak's flag, the program's
 * marks, zoom by the wheel. Handles and time point are sliders for the keyboard.
 */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Mark, Ns } from "../api/types";
import { clock, momentText, span } from "../clock";
import { at, dragging, metric, nsText, range, selection, update } from "../store";
import { useKeys } from "../keys";
import { Flags, pointSet } from "./flags";
import { view, viewPan, viewSet, viewZoom } from "./view";

const CLICK_PX = 3;
const NAMES_PX = 48 /* a peak above this has its label in the line of names */,
	LABEL_PX = 150;

const shareOf = (ns: Ns) => (ns - view.value.from) / (view.value.until - view.value.from);
const percent = (share: number) => `${(share * 100).toFixed(3)}%`;

export interface BrushProps {
	label: string;
	peak: { ns: Ns; text: string; y: number } | null; /* y: pixels from the top */
	marks: readonly Mark[];
	width: number; /* pixels */
	compact?: boolean; /* no labels */
	onHover: (share: number | null, x: number, y: number) => void;
	children?: ComponentChildren;
}

/* One step back undoes a whole drag: its first change is pushed and the others replace it. */
function useDrag(toNs: (clientX: number) => Ns) {
	const drag = useRef<{ anchor: Ns; x: number; moved: boolean } | null>(null);
	const move = (clientX: number) => {
		const d = drag.current!;
		if (!d.moved && Math.abs(clientX - d.x) < CLICK_PX) return;
		const here = toNs(clientX);
		const [from, until] = here < d.anchor ? [here, d.anchor] : [d.anchor, here];
		if (until > from) update({ range: { from, until } }, d.moved ? "replace" : "push");
		d.moved = true;
		dragging.value = true;
	};
	const begin = (event: PointerEvent, anchor: Ns, handle: boolean) => {
		(event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
		drag.current = { anchor, x: handle ? -1e9 : event.clientX, moved: false };
	};
	const end = (): boolean => {
		const moved = drag.current?.moved ?? false;
		drag.current = null;
		dragging.value = false;
		if (REPORT && range.value) {
			/* what was dragged over is shown larger: nothing else is known of it */
			viewSet(range.value);
			update({ range: null }, "replace");
		}
		return moved;
	};
	return { drag, begin, move, end };
}

/* The time point is A, this is B: what is alive at both, compared. */
function pointCompare(ns: Ns): void {
	const [ta, tb] = [at.value ?? clock.value.peak ?? 0, ns].sort((a, b) => a - b) as [Ns, Ns];
	update({
		page: "compare",
		path: [],
		frame: null,
		metric: "live",
		options: { ...selection.value.options, with: "self", ta: nsText(ta), tb: nsText(tb) },
	});
}

function reset(): void {
	viewSet(null);
	update({ range: null, at: null, metric: metric.value === "live" ? "peak" : metric.value }, "replace");
}

function stepOf(event: KeyboardEvent): number | null {
	const big = event.shiftKey ? 10 : 1;
	const steps: Record<string, number> = {
		ArrowLeft: -1,
		ArrowDown: -1,
		ArrowRight: 1,
		ArrowUp: 1,
		PageDown: -10,
		PageUp: 10,
		Home: -1e9,
		End: 1e9,
	};
	return event.key in steps ? steps[event.key]! * big : null;
}

/* By the keyboard: a hundredth of what is shown. */
function stepped(ns: Ns, step: number): Ns {
	const width = view.value.until - view.value.from;
	return Math.round(Math.max(0, Math.min(clock.value.duration, ns + (step * width) / 100)));
}

function Handle(props: { side: "from" | "until"; onDown: (event: PointerEvent, other: Ns) => void }): JSX.Element {
	const { from, until } = span.value,
		ns = props.side === "from" ? from : until;
	const onKeyDown = (event: KeyboardEvent) => {
		const step = stepOf(event);
		if (step === null) return;
		event.preventDefault();
		const to = stepped(ns, step);
		const next =
			props.side === "from" ? { from: Math.min(to, until - 1), until } : { from, until: Math.max(to, from + 1) };
		update({ range: next }, range.value ? "replace" : "push");
	};
	return (
		<div
			class="brush-handle"
			role="slider"
			tabIndex={0}
			aria-label={props.side === "from" ? "Range from" : "Range until"}
			aria-valuemin={0}
			aria-valuemax={clock.value.duration}
			aria-valuenow={ns}
			aria-valuetext={momentText(ns)}
			style={{ left: percent(shareOf(ns)) }}
			onKeyDown={onKeyDown}
			onPointerDown={(e) => {
				e.stopPropagation();
				e.preventDefault();
				props.onDown(e, props.side === "from" ? until : from);
			}}
		>
			<i />
		</div>
	);
}

/* What is not selected is dimmed; the handles stand at the ends even when all is selected. */
function Selected(props: { onDown: (event: PointerEvent, other: Ns) => void }): JSX.Element {
	const r = range.value,
		a = r ? Math.max(0, shareOf(r.from)) : 0,
		b = r ? Math.min(1, shareOf(r.until)) : 1;
	const inView = (ns: Ns) => !REPORT && shareOf(ns) >= -1e-6 && shareOf(ns) <= 1 + 1e-6;
	return (
		<>
			{r && <div class="brush-dim" style={{ left: 0, width: percent(Math.min(1, a)) }} />}
			{r && <div class="brush-dim" style={{ left: percent(Math.max(0, b)), right: 0 }} />}
			{r && b > a && <div class="brush-box" style={{ left: percent(a), width: percent(b - a) }} />}
			{inView(span.value.from) && <Handle side="from" onDown={props.onDown} />}
			{inView(span.value.until) && <Handle side="until" onDown={props.onDown} />}
		</>
	);
}

/* Whether the label of the time point stands at its left: it would not end within the chart. */
const isPointLeft = (ns: Ns, width: number) => shareOf(ns) * width > width - LABEL_PX;

function Point(props: { compact: boolean; width: number }): JSX.Element | null {
	const ns = at.value;
	if (ns === null || shareOf(ns) < 0 || shareOf(ns) > 1) return null;
	const onKeyDown = (event: KeyboardEvent) => {
		const step = stepOf(event);
		if (event.key === "b") return pointCompare(clock.value.peak ?? clock.value.duration);
		if (step === null && event.key !== "Delete") return;
		event.preventDefault();
		if (step === null) update({ at: null, metric: metric.value === "live" ? "peak" : metric.value });
		else update({ at: stepped(ns, step), metric: "live" }, "replace");
	};
	return (
		<div
			class={`point ${isPointLeft(ns, props.width) ? "leftwards" : ""}`}
			role="slider"
			tabIndex={0}
			aria-label="Time point"
			aria-valuemin={0}
			aria-valuemax={clock.value.duration}
			aria-valuenow={ns}
			aria-valuetext={momentText(ns)}
			style={{ left: percent(shareOf(ns)) }}
			onKeyDown={onKeyDown}
		>
			{!props.compact && <span class="point-label">Live at {momentText(ns)}</span>}
		</div>
	);
}

/* Where the labels of the peak and of the time point stand in the line of names. */
function labelsTaken(props: BrushProps): [number, number][] {
	const taken: [number, number][] = [],
		{ peak, width } = props;
	if (peak && peak.y < NAMES_PX) {
		const x = shareOf(peak.ns) * width,
			half = peak.text.length * 3.6 + 16;
		taken.push([x - 2 * half, x + 2 * half]);
	}
	if (at.value !== null) {
		const x = shareOf(at.value) * width,
			isLeft = isPointLeft(at.value, width);
		taken.push([x - (isLeft ? LABEL_PX : 0), x + (isLeft ? 0 : LABEL_PX)]);
	}
	return taken;
}

export function Brush(props: BrushProps): JSX.Element {
	const ref = useRef<HTMLDivElement>(null);
	const toNs = (clientX: number) => {
		const box = ref.current!.getBoundingClientRect(),
			{ from, until } = view.value;
		const share = Math.max(0, Math.min(1, (clientX - box.left) / box.width));
		return Math.round(from + share * (until - from));
	};
	const { drag, begin, move, end } = useDrag(toNs);
	useEffect(() => {
		const onWheel = (event: WheelEvent) => {
			event.preventDefault();
			const sideways = event.shiftKey ? event.deltaY : event.deltaX;
			if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey)
				viewPan(sideways / ref.current!.clientWidth);
			else viewZoom(toNs(event.clientX), Math.exp(Math.max(-100, Math.min(100, event.deltaY)) / 300));
		};
		const element = ref.current!;
		element.addEventListener("wheel", onWheel, { passive: false });
		return () => element.removeEventListener("wheel", onWheel);
	}, []);
	const closer = () => viewZoom((view.value.from + view.value.until) / 2, 0.5),
		farther = () => viewZoom((view.value.from + view.value.until) / 2, 2);
	useKeys({ "+": closer, w: closer, "-": farther, s: farther, a: () => viewPan(-0.1), d: () => viewPan(0.1) });
	const onMove = (event: PointerEvent) => {
		const box = ref.current!.getBoundingClientRect();
		props.onHover(
			Math.max(0, Math.min(0.999999, (event.clientX - box.left) / box.width)),
			event.clientX,
			event.clientY,
		);
		if (drag.current) move(event.clientX);
	};
	const onUp = (event: PointerEvent) => {
		const wasHandle = drag.current !== null && drag.current.x < -1e8;
		if (drag.current && !end() && !wasHandle)
			(event.shiftKey && !REPORT ? pointCompare : pointSet)(toNs(event.clientX));
	};
	const fromHandle = (event: PointerEvent, other: Ns) => {
		ref.current!.setPointerCapture(event.pointerId);
		(event.currentTarget as HTMLElement).focus();
		drag.current = { anchor: other, x: -1e9, moved: false };
	};
	const { peak } = props,
		peakShare = peak ? shareOf(peak.ns) : -1;
	return (
		<div
			class={`brush ${props.compact ? "compact" : ""}`}
			ref={ref}
			role="group"
			aria-label={props.label}
			onPointerMove={onMove}
			onPointerUp={onUp}
			onPointerCancel={() => end()}
			onPointerLeave={() => {
				if (!drag.current) props.onHover(null, 0, 0);
			}}
			onDblClick={reset}
			onPointerDown={(e) => {
				if (e.button === 0) begin(e, toNs(e.clientX), false);
			}}
		>
			<Selected onDown={fromHandle} />
			{peak && peakShare >= 0 && peakShare <= 1 && (
				<div class="peak" style={{ left: percent(peakShare), top: `${peak.y}px` }}>
					<i />
					{!props.compact && (
						<span
							class="peak-label"
							style={{
								"--before": `${peakShare * props.width}px`,
								"--after": `${(1 - peakShare) * props.width}px`,
							}}
						>
							{peak.text}
						</span>
					)}
				</div>
			)}
			<Flags
				marks={props.marks}
				x={(ns) => shareOf(ns) * props.width}
				width={props.width}
				taken={labelsTaken(props)}
				compact={props.compact ?? false}
			/>
			<Point compact={props.compact ?? false} width={props.width} />
			{props.children}
		</div>
	);
}
