/* How long blocks live: over time, by size, by module, by generation; and how long the allocator takes. */
import type { JSX } from "preact";
import { Fragment } from "preact";
import { useApi } from "../api/use";
import type { Lifetimes } from "../api/answers";
import type { Grid } from "../api/types";
import { momentText } from "../clock";
import { addTerm, quote } from "../filter";
import * as format from "../format";
import { Th } from "../table/th";
import { GridCard } from "./grid";
import { cssColour, rankedModules, SERIES } from "../palette";
import { commonParams, filter, option, setOption, tape } from "../store";
import { Card, Legend, Segmented } from "../ui/basics";
import { EmptyByFilter, misses, Missing, Shown } from "../ui/states";
import "../flame/flame.css";
import "../reports/reports.css";
import "./lifetimes.css";

const W = 560,
	H = 230,
	LEFT = 46,
	BOTTOM = 24,
	MODULES = 4,
	GENERATIONS = 10;

/* The share that is still alive after a time: steps at powers of ten. */
function survival(life: Lifetimes): number[] {
	const all = life.freed_count + life.never_freed_count;
	let gone = 0;
	return life.lifetimes.map((b) => {
		gone += b.count;
		return all > 0 ? 1 - gone / all : 0;
	});
}

function Curve(props: { life: Lifetimes; index: number; steps: number }): JSX.Element {
	const x = (i: number) => LEFT + ((i + 1) / props.steps) * (W - LEFT - 10),
		y = (s: number) => 8 + (H - 8 - BOTTOM) * (1 - s);
	const points = survival(props.life).slice(0, props.steps);
	return (
		<path
			stroke={cssColour(props.index < 0 ? "grey" : SERIES[props.index]!)}
			stroke-dasharray={props.index < 0 ? "5 4" : undefined}
			d={`M${LEFT} ${y(1)}${points.map((s, i) => `L${x(i).toFixed(1)} ${y(s).toFixed(1)}`).join("")}`}
		/>
	);
}

function OfModule(props: { module: string; index: number; steps: number }): JSX.Element | null {
	const answer = useApi<Lifetimes>("lifetimes", {
		...commonParams(),
		q: addTerm(filter.value, `site_module = ${quote(props.module)}`),
	});
	return answer.data && answer.data.freed_count + answer.data.never_freed_count > 0 ? (
		<Curve life={answer.data} index={props.index} steps={props.steps} />
	) : null;
}

function Survival(): JSX.Element {
	const answer = useApi<Lifetimes>("lifetimes", commonParams()),
		modules = rankedModules.value.slice(0, MODULES);
	return (
		<Card title="Still alive after" note="share of blocks, by age" stale={answer.stale}>
			<Shown answer={answer}>
				{(life) => {
					const steps = Math.max(
						2,
						life.lifetimes.reduce((n, b, i) => (b.count > 0 ? i + 1 : n), 0),
					);
					return (
						<div class="survival">
							<svg
								viewBox={`0 0 ${W} ${H}`}
								role="img"
								aria-label={`Half of the blocks that were freed lived shorter than ${life.p50_ns === null ? "?" : format.duration(life.p50_ns)}`}
							>
								{[0, 0.25, 0.5, 0.75, 1].map((s) => (
									<Fragment key={s}>
										<line
											class="bands-grid"
											x1={LEFT}
											x2={W - 10}
											y1={8 + (H - 8 - BOTTOM) * (1 - s)}
											y2={8 + (H - 8 - BOTTOM) * (1 - s)}
										/>
										<text
											class="bands-text"
											x={LEFT - 6}
											y={12 + (H - 8 - BOTTOM) * (1 - s)}
											text-anchor="end"
										>
											{s * 100} %
										</text>
									</Fragment>
								))}
								{life.lifetimes.slice(0, steps).map((b, i) =>
									i % Math.ceil(steps / 7) === 0 ? (
										<text
											key={i}
											class="bands-text"
											x={LEFT + ((i + 1) / steps) * (W - LEFT - 10)}
											y={H - 7}
											text-anchor={i + 1 === steps ? "end" : "middle"}
										>
											{b.max_ns === null
												? ""
												: format.duration(b.max_ns + 1).replace(/\.0+ /, " ")}
										</text>
									) : null,
								)}
								<Curve life={life} index={-1} steps={steps} />
								{modules.map((m, i) => (
									<OfModule key={m} module={m} index={i} steps={steps} />
								))}
							</svg>
							<Legend
								items={[
									{ title: "all", colour: "grey" },
									...modules.map((m, i) => ({ title: format.baseName(m), colour: SERIES[i]! })),
								]}
							/>
						</div>
					);
				}}
			</Shown>
		</Card>
	);
}

function Generations(): JSX.Element {
	const answer = useApi<Grid>("grid", { ...commonParams(), x: "time", y: "lifetime", nx: GENERATIONS, ny: 24 });
	return (
		<Card title="Generations" note="allocated then, and alive at the end" stale={answer.stale}>
			<Shown answer={answer}>
				{(g) => {
					const nx = g.x.edges.length - 1,
						ny = g.y.edges.length - 1,
						column = (what: "count" | "bytes", x: number) => {
							let sum = 0;
							for (let y = 0; y < ny; y++) sum += g[what][y * nx + x] ?? 0;
							return sum;
						};
					const rows = Array.from({ length: nx }, (_, x) => ({
						x,
						never: g.never?.count[x] ?? 0,
						neverBytes: g.never?.bytes[x] ?? 0,
						count: column("count", x) + (g.never?.count[x] ?? 0),
						bytes: column("bytes", x) + (g.never?.bytes[x] ?? 0),
					})).filter((r) => r.count > 0);
					return rows.length === 0 ? (
						<EmptyByFilter />
					) : (
						<div class="table-scroll" tabIndex={0} role="region" aria-label="Generations">
							<table class="table">
								<thead>
									<tr>
										<Th table="Generations" title="Allocated from" first />
										<Th table="Generations" title="Blocks" num />
										<Th table="Generations" title="Bytes" num />
										<Th table="Generations" title="Still alive" num />
										<Th table="Generations" title="Alive bytes" num />
										<Th table="Generations" title="Share" num />
									</tr>
								</thead>
								<tbody>
									{rows.map((r) => (
										<tr key={r.x}>
											<th scope="row">{momentText(g.x.edges[r.x]!)}</th>
											<td class="num">{format.count(r.count)}</td>
											<td class="num">{format.bytes(r.bytes)}</td>
											<td class="num">{format.count(r.never)}</td>
											<td class="num">{format.bytes(r.neverBytes)}</td>
											<td class="num">{format.percent(r.never / r.count)}</td>
										</tr>
									))}
								</tbody>
							</table>
						</div>
					);
				}}
			</Shown>
		</Card>
	);
}

export function LifetimesPage(): JSX.Element {
	const what = option("heat") === "bytes" ? "bytes" : "count",
		fact = misses("times", "frees", "freed");
	if (fact)
		return (
			<>
				<h1 class="sr">Lifetimes</h1>
				<Missing fact={fact === "freed" ? "frees" : fact}>How long blocks lived is not known.</Missing>
			</>
		);
	return (
		<>
			<h1 class="sr">Lifetimes</h1>
			<div class="flame-tools">
				<Segmented
					label="Shade by"
					value={what}
					choices={[
						{ value: "count", label: "Blocks" },
						{ value: "bytes", label: "Bytes" },
					]}
					onChange={(w) => setOption("heat", w === "count" ? null : w, "replace")}
				/>
			</div>
			<div class="life-page">
				<GridCard title="Time × lifetime" x="time" y="lifetime" nx={60} ny={22} what={what} isMain />
				<GridCard title="Size × lifetime" x="size" y="lifetime" nx={40} ny={22} what={what} />
				<Survival />
				<Generations />
				{tape.value?.has.latency && (
					<GridCard title="Time × time in the allocator" x="time" y="latency" nx={60} ny={22} what={what} />
				)}
			</div>
			{!tape.value?.has.latency && (
				<Card title="Time in the allocator">
					<p class="report-words">
						How long malloc and free took is not on this tape. Record it with{" "}
						<code class="command">memtape record --latency PROGRAM</code>
					</p>
				</Card>
			)}
		</>
	);
}
