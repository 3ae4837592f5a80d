/* A curve without axes. The text that says the same stands beside it, so it is hidden from screen readers. */
import type { JSX } from "preact";
import { cssColour } from "../palette";
import type { Colour } from "../palette";

export function sparkPath(values: readonly number[], width: number, height: number): string {
	const max = Math.max(...values, 0);
	const x = (i: number) => (values.length > 1 ? (i * width) / (values.length - 1) : 0);
	const y = (v: number) => (max > 0 ? height - (Math.max(v, 0) / max) * (height - 1.5) - 0.75 : height - 0.75);
	return values.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
}

export function Sparkline(props: {
	values: readonly number[];
	colour: Colour;
	width?: number;
	height?: number;
}): JSX.Element | null {
	const { values, width = 56, height = 20 } = props;
	if (values.length < 2) return null;
	const line = sparkPath(values, width, height),
		colour = cssColour(props.colour);
	return (
		<svg class="spark" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
			<path d={`${line}L${width} ${height}L0 ${height}Z`} fill={colour} fill-opacity=".14" />
			<path d={line} fill="none" stroke={colour} stroke-width="1.5" stroke-linejoin="round" />
		</svg>
	);
}
