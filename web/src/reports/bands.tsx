/*
 * Areas on top of each other over time, with a line above them that they add up to. Values are of moments that need not
 * be equally far apart.
 */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { clock, momentText } from "../clock";
import * as format from "../format";
import { cssColour } from "../palette";
import type { Colour } from "../palette";
import { at, range, update } from "../store";
import { timeTicks } from "../timeline/ticks";
import { Legend, Tooltip } from "../ui/basics";

export interface Band {
	title: string;
	colour: Colour;
	faint?: boolean;
	values: readonly number[];
}

const HEIGHT = 250,
	LEFT = 64,
	BOTTOM = 24,
	TOP = 10,
	TICKS = 5,
	PADDING = 28;

function ticksOf(max: number): number[] {
	const rough = Math.max(max, 1) / TICKS,
		power = 2 ** Math.floor(Math.log2(rough));
	const step = [1, 2, 4].map((m) => m * power).find((s) => s >= rough) ?? power * 4,
		list: number[] = [];
	for (let v = 0; v <= max; v += step) list.push(v);
	return list;
}

export function useWidth(): [{ current: HTMLDivElement | null }, number] {
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

export function Bands(props: {
	ns: readonly number[];
	bands: readonly Band[];
	line: readonly number[];
	lineTitle: string;
}): JSX.Element {
	const { ns, bands, line } = props;
	const [ref, width] = useWidth();
	const [hover, setHover] = useState<{ i: number; x: number; y: number } | null>(null);
	const until = Math.max(clock.value.duration, 1),
		max = Math.max(...line, 1) * 1.04;
	const x = (t: number) => LEFT + (t / until) * Math.max(0, width - LEFT - 8),
		y = (v: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - v / max);
	const times = timeTicks(0, until, Math.max(2, width / 110));
	const base = new Float64Array(ns.length),
		areas: JSX.Element[] = [];
	for (const band of bands) {
		const low = base.slice();
		band.values.forEach((v, i) => {
			base[i]! += Math.max(0, v);
		});
		if (width > 0 && ns.length > 1) {
			const above = ns.map((t, i) => `${i ? "L" : "M"}${x(t).toFixed(1)} ${y(base[i]!).toFixed(1)}`).join("");
			const below = ns
				.map((_, i) => ns.length - 1 - i)
				.map((i) => `L${x(ns[i]!).toFixed(1)} ${y(low[i]!).toFixed(1)}`)
				.join("");
			areas.push(
				<path
					key={band.title}
					d={`${above}${below}Z`}
					fill={cssColour(band.colour)}
					fill-opacity={band.faint ? ".3" : ".62"}
				/>,
			);
		}
	}
	const nearest = (clientX: number) => {
		const t =
			((clientX - ref.current!.getBoundingClientRect().left - LEFT) / Math.max(1, width - LEFT - 8)) * until;
		let best = 0;
		ns.forEach((v, i) => {
			if (Math.abs(v - t) < Math.abs(ns[best]! - t)) best = i;
		});
		return best;
	};
	const h = hover && hover.i < ns.length ? hover : null;
	return (
		<div class="bands" ref={ref}>
			<svg
				width={width}
				height={HEIGHT}
				role="img"
				aria-label={`${props.lineTitle} over time, in parts; t shows a table`}
				onPointerMove={(e) => setHover({ i: nearest(e.clientX), x: e.clientX, y: e.clientY })}
				onPointerLeave={() => setHover(null)}
				onClick={(e) => update({ at: ns[nearest(e.clientX)] ?? null }, "replace")}
			>
				{ticksOf(max).map((v) => (
					<g key={v}>
						<line class="bands-grid" x1={LEFT} x2={width - 8} y1={y(v)} y2={y(v)} />
						<text class="bands-text" x={LEFT - 8} y={y(v) + 4} text-anchor="end">
							{v === 0 ? "0" : format.bytes(v).replace(/\.0+ /, " ")}
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
				{areas}
				{ns.length > 1 && width > 0 && (
					<path
						class="bands-line"
						d={ns.map((t, i) => `${i ? "L" : "M"}${x(t).toFixed(1)} ${y(line[i]!).toFixed(1)}`).join("")}
					/>
				)}
				{range.value && (
					<rect
						class="bands-range"
						x={x(range.value.from)}
						width={Math.max(1, x(range.value.until) - x(range.value.from))}
						y={TOP}
						height={HEIGHT - TOP - BOTTOM}
					/>
				)}
				{at.value !== null && (
					<line class="bands-at" x1={x(at.value)} x2={x(at.value)} y1={TOP} y2={HEIGHT - BOTTOM} />
				)}
				{h && <line class="bands-at" x1={x(ns[h.i]!)} x2={x(ns[h.i]!)} y1={TOP} y2={HEIGHT - BOTTOM} />}
			</svg>
			<Legend items={[...bands.map((b) => ({ title: b.title, colour: b.colour, faint: b.faint ?? false }))]} />
			{h && (
				<Tooltip x={h.x} y={h.y}>
					<b>{momentText(ns[h.i]!)}</b>
					<dl class="pairs">
						{[...bands].reverse().map((b) => (
							<>
								<dt>{b.title}</dt>
								<dd>{format.bytes(b.values[h.i]!)}</dd>
							</>
						))}
						<dt>{props.lineTitle}</dt>
						<dd>{format.bytes(line[h.i]!)}</dd>
					</dl>
				</Tooltip>
			)}
		</div>
	);
}

export function BandsTable(props: {
	ns: readonly number[];
	bands: readonly Band[];
	line: readonly number[];
	lineTitle: string;
}): JSX.Element {
	return (
		<div class="table-scroll" tabIndex={0} role="region" aria-label={`${props.lineTitle} over time as a table`}>
			<table class="table">
				<thead>
					<tr>
						<th scope="col">Time</th>
						{props.bands.map((b) => (
							<th key={b.title} scope="col" class="num">
								{b.title}
							</th>
						))}
						<th scope="col" class="num">
							{props.lineTitle}
						</th>
					</tr>
				</thead>
				<tbody>
					{props.ns.map((t, i) => (
						<tr key={t}>
							<th scope="row">{momentText(t)}</th>
							{props.bands.map((b) => (
								<td key={b.title} class="num" title={format.exactBytes(b.values[i]!)}>
									{format.bytes(b.values[i]!)}
								</td>
							))}
							<td class="num">{format.bytes(props.line[i]!)}</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
