/* What changed: two tapes, or two moments of one. */
import type { JSX } from "preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { Answer } from "../api/use";
import { Curves } from "./curves";
import { Chosen, Lists } from "./lists";
import { colours, diffPainter } from "./painter";
import { sidesNow, sidesParams, swap } from "./sides";
import type { Sides } from "./sides";
import { DiffTable } from "./table";
import { Toolbar } from "./toolbar";
import type { Diff, DiffFlame } from "../api/types";
import * as words from "./words";
import { FlameCanvas } from "../flame/canvas";
import { Crumbs } from "../flame/crumbs";
import { searchOf } from "../flame/graph";
import type { Graph, Matches } from "../flame/graph";
import { useShare } from "../flame/share";
import type { Found } from "../flame/share";
import { Search } from "../flame/toolbar";
import { searched, widthKept, widthOf } from "../flame/view";
import * as format from "../format";
import { useKeys } from "../keys";
import { named } from "../names";
import { filter, frame, option, path, range, setOption, update } from "../store";
import { theme } from "../theme";
import { Segmented } from "../ui/basics";
import { Empty, EmptyByFilter, Loading, Shown } from "../ui/states";
import { measureTitle } from "../vocabulary";
import "./compare.css";
import "../flame/flame.css";
import "../reports/reports.css";

const ROWS = 600;
const BYS = ["function", "stack", "module"] as const;
type By = (typeof BYS)[number];

const byNow = (): By => BYS.find((by) => by === option("by")) ?? "function";
const isTable = () => option("view") === "table";

function Legend(): JSX.Element {
	const steps = colours(theme.value);
	return (
		<span
			class="compare-legend"
			title="A stack is as wide as on its larger side, so that vanished stacks stay visible"
		>
			<span>less</span>
			<i style={{ background: `linear-gradient(90deg, ${steps.join(", ")})` }} aria-hidden="true" />
			<span>more</span>
		</span>
	);
}

function Total(props: { diff: Diff }): JSX.Element {
	const { a, b, unit, totals, metric } = props.diff,
		difference = totals[metric]!.difference;
	return (
		<p
			class="compare-total num"
			title={`${measureTitle(metric)}: ${format.exact(a.total)} → ${format.exact(b.total)}`}
		>
			<b>{words.pair(a.total, b.total, unit)}</b>
			<span class={`compare-badge ${words.tone(difference)}`}>{words.share(a.total, b.total)}</span>
		</p>
	);
}

function Picture(props: {
	answer: Answer<DiffFlame>;
	search: RegExp | null;
	cycle: number;
	onMatches: (matches: Matches, graph: Graph) => void;
	onWidth: (px: number) => void;
	onPaint: (ms: number) => void;
}): JSX.Element {
	const look = theme.value;
	const painter = useCallback((graph: Graph) => diffPainter(graph, look), [look]);
	return (
		<Shown answer={props.answer} loading={<Loading rows={12} height={20} />}>
			{(flame) =>
				flame.total === 0 ? (
					filter.value || range.value ? (
						<EmptyByFilter />
					) : (
						<Empty title="This measure is zero on both sides" />
					)
				) : (
					<FlameCanvas
						flame={flame}
						label="Difference flame graph"
						isUp={false}
						path={path.value}
						painter={painter}
						search={props.search}
						cycle={props.cycle}
						onMatches={props.onMatches}
						selected={frame.value}
						stale={props.answer.stale}
						onZoom={(to) => update({ path: to })}
						onSelect={(hash) => {
							if (hash !== frame.value) update({ frame: hash }, "replace");
						}}
						onWidth={props.onWidth}
						onPaint={props.onPaint}
					/>
				)
			}
		</Shown>
	);
}

/* What the graph has of the selected function, outermost boxes only: what lies inside of itself counts once. */
function sumOf(flame: DiffFlame, hash: string): { name: string; a: number; b: number } | null {
	const inside = new Uint8Array(flame.value.length);
	let name: string | null = null,
		a = 0,
		b = 0;
	for (let i = 0; i < inside.length; i++) {
		const parent = flame.parent[i]!,
			at = flame.name[i]!,
			is = at >= 0 && flame.hashes[at] === hash;
		inside[i] = is || (parent >= 0 && inside[parent] === 1) ? 1 : 0;
		if (!is) continue;
		name = named(flame.briefs[at]!);
		if (parent < 0 || inside[parent] === 0) {
			a += flame.before[i]!;
			b += flame.after[i]!;
		}
	}
	return name === null ? null : { name, a, b };
}

function Side(props: { diff: Answer<Diff>; flame: DiffFlame | null; sides: Sides }): JSX.Element {
	const chosen = useMemo(
		() => (frame.value && props.flame ? sumOf(props.flame, frame.value) : null),
		[frame.value, props.flame],
	);
	return (
		<aside class={`card compare-list ${props.diff.stale ? "stale" : ""}`} aria-label="Changes" tabIndex={0}>
			{chosen && props.flame && <Chosen {...chosen} unit={props.flame.unit} sides={props.sides} />}
			<Shown answer={props.diff} loading={<Loading rows={8} />}>
				{(diff) => <Lists diff={diff} sides={props.sides} />}
			</Shown>
		</aside>
	);
}

function Compared(props: { sides: Sides }): JSX.Element {
	const { sides } = props,
		asked = sidesParams(sides),
		by = byNow();
	const [px, setPx] = useState(innerWidth),
		[paint, setPaint] = useState(0),
		[cycle, setCycle] = useState(0),
		[found, setFound] = useState<Found | null>(null);
	const text = searched(),
		search = useMemo(() => searchOf(text), [text]),
		step = (by: number) => setCycle((c) => c + by || by);
	const root = path.value.length > 0 ? { root: path.value.join(".") } : {};
	const diff = useApi<Diff>("diff", { ...asked, by, top: ROWS, stacks: 0 });
	const flame = useApi<DiffFlame>("diff/flame", { ...asked, ...root, px: widthOf(px) });
	const share = useShare("diff/flame", isTable() ? null : asked, search, found);
	useKeys({
		t: () => setOption("view", isTable() ? null : "table"),
		s: () => swap(sides),
		n: () => step(1),
		N: () => step(-1),
		"Ctrl+f": () => document.getElementById("flame-search")?.focus(),
		...Object.fromEntries(
			BYS.map((word, i) => [String(i + 1), () => setOption("by", word === "function" ? null : word)]),
		),
	});
	return (
		<div class="compare-page">
			<h1 class="sr">Compare</h1>
			<div class="compare-top">
				<Toolbar sides={sides} />
				{diff.data && !diff.error && <Total diff={diff.data} />}
			</div>
			<Curves sides={sides} q={filter.value} />
			<div class="compare-main">
				<section class="card flame-card" aria-label={isTable() ? "Differences" : "Difference flame graph"}>
					<div class="compare-head">
						{flame.data && path.value.length > 0 && !isTable() ? (
							<Crumbs
								flame={flame.data}
								figures={words.pair(
									flame.data.before[0] ?? 0,
									flame.data.after[0] ?? 0,
									flame.data.unit,
								)}
							/>
						) : (
							<h2>{isTable() ? "Differences" : "Difference flame graph"}</h2>
						)}
						<span class="grow" />
						{isTable() ? (
							<Segmented
								label="Rows"
								value={by}
								choices={BYS.map((value) => ({ value, label: `By ${value}` }))}
								onChange={(v) => setOption("by", v === "function" ? null : v)}
							/>
						) : (
							<>
								<Search matches={text ? (found?.matches ?? null) : null} share={share} onCycle={step} />
								<Legend />
							</>
						)}
						<button
							type="button"
							class="button small"
							onClick={() => setOption("view", isTable() ? null : "table")}
						>
							{isTable() ? "Graph" : "Table"} <kbd>t</kbd>
						</button>
					</div>
					{isTable() ? (
						<Shown answer={diff}>{(d) => <DiffTable diff={d} sides={sides} />}</Shown>
					) : (
						<Picture
							answer={flame}
							search={search}
							cycle={cycle}
							onMatches={(matches, graph) => setFound({ matches, graph })}
							onWidth={(width) => setPx((asked) => widthKept(asked, width))}
							onPaint={(ms) => setPaint((old) => (Math.abs(old - ms) < 0.4 ? old : ms))}
						/>
					)}
				</section>
				<Side diff={diff} flame={flame.data} sides={sides} />
			</div>
			<footer class="flame-foot">
				<p class="keys" id="flame-help">
					<span>
						<kbd>↑↓←→</kbd>move
					</span>
					<span>
						<kbd>Enter</kbd>zoom
					</span>
					<span>
						<kbd>Esc</kbd>zoom out
					</span>
					<span>
						<kbd>s</kbd>swap
					</span>
					<span>
						<kbd>t</kbd>as table
					</span>
					<span>
						<kbd>?</kbd>all keys
					</span>
				</p>
				<span class="grow" />
				{flame.data && (
					<span class="num">
						{format.exact(flame.data.boxes)} of {format.exact(flame.data.of)} frames drawn · server{" "}
						{flame.data.ms.toFixed(1)} ms · paint {paint.toFixed(1)} ms
					</span>
				)}
			</footer>
		</div>
	);
}

export function ComparePage(): JSX.Element {
	const sides = sidesNow();
	return sides ? <Compared sides={sides} /> : <Loading rows={6} height={40} />;
}
