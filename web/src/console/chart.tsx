/* A result as a picture: bars when the first column names things, a line when it is a number. */
import type { JSX } from "preact";
import * as format from "../format";
import { cssColour, SERIES } from "../palette";
import { Empty } from "../ui/states";
import { Legend } from "../ui/basics";

type Cell = number | string | null;
const W = 1000,
	H = 320,
	LEFT = 90,
	BOTTOM = 30,
	BARS_MAX = 30;

const numericColumns = (rows: readonly (readonly Cell[])[], count: number) =>
	Array.from({ length: count }, (_, i) => i).filter(
		(i) =>
			rows.some((r) => typeof r[i] === "number") && rows.every((r) => r[i] === null || typeof r[i] === "number"),
	);

function Bars(props: { rows: readonly (readonly Cell[])[]; value: number; name: number }): JSX.Element {
	const rows = props.rows.slice(0, BARS_MAX),
		most = Math.max(...rows.map((r) => Number(r[props.value] ?? 0)), 0);
	return (
		<ul class="sql-bars">
			{rows.map((r, i) => {
				const v = Number(r[props.value] ?? 0);
				return (
					<li key={i}>
						<span class="code ellipsis" title={String(r[props.name])}>
							{String(r[props.name] ?? "NULL")}
						</span>
						<span class="sql-bar">
							<i style={{ width: `${most > 0 ? (v / most) * 100 : 0}%` }} />
						</span>
						<span class="num">{format.exact(v)}</span>
					</li>
				);
			})}
		</ul>
	);
}

function Lines(props: {
	columns: readonly string[];
	rows: readonly (readonly Cell[])[];
	x: number;
	ys: readonly number[];
}): JSX.Element {
	const { rows, x, ys } = props,
		sorted = [...rows].sort((a, b) => Number(a[x]) - Number(b[x]));
	const xs = sorted.map((r) => Number(r[x] ?? 0)),
		from = xs[0] ?? 0,
		until = xs[xs.length - 1] ?? 1;
	const most = Math.max(...ys.flatMap((y) => sorted.map((r) => Number(r[y] ?? 0))), 1);
	const px = (v: number) => LEFT + ((v - from) / Math.max(until - from, 1e-9)) * (W - LEFT - 10),
		py = (v: number) => 10 + (H - 10 - BOTTOM) * (1 - v / most);
	return (
		<div class="sql-lines">
			<svg
				viewBox={`0 0 ${W} ${H}`}
				role="img"
				aria-label={`${ys.map((y) => props.columns[y]).join(", ")} by ${props.columns[x]}`}
			>
				{[0, 0.25, 0.5, 0.75, 1].map((p) => (
					<g key={p}>
						<line class="bands-grid" x1={LEFT} x2={W - 10} y1={py(p * most)} y2={py(p * most)} />
						<text class="bands-text" x={LEFT - 8} y={py(p * most) + 4} text-anchor="end">
							{format.count(p * most)}
						</text>
						<text
							class="bands-text"
							x={px(from + p * (until - from))}
							y={H - 8}
							text-anchor={p === 0 ? "start" : p === 1 ? "end" : "middle"}
						>
							{format.count(Math.round(from + p * (until - from)))}
						</text>
					</g>
				))}
				{ys.map((y, i) => (
					<path
						key={y}
						fill="none"
						stroke={cssColour(SERIES[i % SERIES.length]!)}
						stroke-width="2"
						d={sorted
							.map(
								(r, j) =>
									`${j ? "L" : "M"}${px(xs[j]!).toFixed(1)} ${py(Number(r[y] ?? 0)).toFixed(1)}`,
							)
							.join("")}
					/>
				))}
			</svg>
			<Legend items={ys.map((y, i) => ({ title: props.columns[y]!, colour: SERIES[i % SERIES.length]! }))} />
		</div>
	);
}

export function Chart(props: { columns: readonly string[]; rows: readonly (readonly Cell[])[] }): JSX.Element {
	const numeric = numericColumns(props.rows, props.columns.length),
		named = props.columns.findIndex((_, i) => !numeric.includes(i));
	if (numeric.length === 0) return <Empty title="No column of numbers to draw" />;
	if (named >= 0) return <Bars rows={props.rows} value={numeric[numeric.length - 1]!} name={named} />;
	return numeric.length === 1 ? (
		<Bars rows={props.rows.map((r, i) => [`row ${i + 1}`, r[numeric[0]!]!])} value={1} name={0} />
	) : (
		<Lines {...props} x={numeric[0]!} ys={numeric.slice(1, 1 + SERIES.length)} />
	);
}
