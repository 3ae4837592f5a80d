/*
 * Areas on top of each other over time, with a line above them that they add up to. Values are of moments that need not
 * be equally far apart.
 */
import type { JSX } from "preact";
import { momentText } from "../clock";
import * as format from "../format";
import { cssColour } from "../palette";
import type { Colour } from "../palette";
import { Legend } from "../ui/basics";
import { OverTime } from "./over_time";
import type { Place } from "./over_time";

export interface Band {
	title: string;
	colour: Colour;
	faint?: boolean;
	values: readonly number[];
}

const HEIGHT = 250,
	TICKS = 5;

function ticksOf(max: number): number[] {
	const rough = Math.max(max, 1) / TICKS,
		power = 2 ** Math.floor(Math.log2(rough));
	const step = [1, 2, 4].map((m) => m * power).find((s) => s >= rough) ?? power * 4,
		list: number[] = [];
	for (let v = 0; v <= max; v += step) list.push(v);
	return list;
}

function areasOf(ns: readonly number[], bands: readonly Band[], place: Place): JSX.Element[] {
	const base = new Float64Array(ns.length);
	return bands.map((band) => {
		const low = base.slice();
		band.values.forEach((v, i) => {
			base[i]! += Math.max(0, v);
		});
		const above = ns
			.map((t, i) => `${i ? "L" : "M"}${place.x(t).toFixed(1)} ${place.y(base[i]!).toFixed(1)}`)
			.join("");
		const below = ns
			.map((_, i) => ns.length - 1 - i)
			.map((i) => `L${place.x(ns[i]!).toFixed(1)} ${place.y(low[i]!).toFixed(1)}`)
			.join("");
		return (
			<path
				key={band.title}
				d={`${above}${below}Z`}
				fill={cssColour(band.colour)}
				fill-opacity={band.faint ? ".3" : ".62"}
			/>
		);
	});
}

export function Bands(props: {
	ns: readonly number[];
	bands: readonly Band[];
	line: readonly number[];
	lineTitle: string;
}): JSX.Element {
	const { ns, bands, line } = props;
	const max = Math.max(...line, 1) * 1.04;
	const lineOf = (place: Place) =>
		ns.map((t, i) => `${i ? "L" : "M"}${place.x(t).toFixed(1)} ${place.y(line[i]!).toFixed(1)}`).join("");
	return (
		<OverTime
			height={HEIGHT}
			max={max}
			grid={ticksOf(max).map((v) => ({ value: v, text: v === 0 ? "0" : format.bytes(v).replace(/\.0+ /, " ") }))}
			label={`${props.lineTitle} over time, in parts`}
			ns={ns}
			draw={(place) =>
				place.width > 0 &&
				ns.length > 1 && (
					<>
						{areasOf(ns, bands, place)}
						<path class="bands-line" d={lineOf(place)} />
					</>
				)
			}
			tip={(i) => (
				<dl class="pairs">
					{[...bands].reverse().map((b) => (
						<>
							<dt>{b.title}</dt>
							<dd>{format.bytes(b.values[i]!)}</dd>
						</>
					))}
					<dt>{props.lineTitle}</dt>
					<dd>{format.bytes(line[i]!)}</dd>
				</dl>
			)}
			legend={
				<Legend items={bands.map((b) => ({ title: b.title, colour: b.colour, faint: b.faint ?? false }))} />
			}
		/>
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
