/* Where the memory is: stacks as boxes, as wide as what was allocated in them. */
import type { JSX } from "preact";
import { useCallback, useMemo, useRef, useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { Answer } from "../api/use";
import type { Flame, Hex } from "../api/types";
import { addTerm, quote } from "../filter";
import { FlameCanvas } from "../flame/canvas";
import { painterOf } from "../flame/colours";
import type { Legend as Entry } from "../flame/colours";
import { Crumbs, Hidden } from "../flame/crumbs";
import type { Graph, Matches } from "../flame/graph";
import { searchOf } from "../flame/graph";
import { Inspector } from "../flame/inspector";
import { useShare } from "../flame/share";
import type { Found } from "../flame/share";
import { Toolbar } from "../flame/toolbar";
import { colouringNow, flameParams, hide, layoutNow, layoutSet, merges, searched, widthKept } from "../flame/view";
import * as format from "../format";
import { useKeys } from "../keys";
import type { KeyMap } from "../keys";
import { measureKeys } from "../measures";
import { rankedModules } from "../palette";
import { filter, frame, metric, path, range, setOption, update } from "../store";
import { theme } from "../theme";
import { Minimap } from "../timeline/minimap";
import { Legend } from "../ui/basics";
import { IconFlame } from "../ui/icons";
import { Empty, EmptyByFilter, Loading, misses, Shown } from "../ui/states";
import { copyText } from "../ui/toast";
import { measureTitle } from "../vocabulary";
import { pageHref } from "./links";
import type { Page } from "./registry";
import "../flame/flame.css";

const choose = (hash: Hex | null) => {
	if (hash !== frame.value) update({ frame: hash }, "replace");
};

/* The colours of everything that is drawn, and what they mean. */
function usePainter(): { painter: (graph: Graph) => ReturnType<typeof painterOf>; legend: readonly Entry[] } {
	const [legend, setLegend] = useState<readonly Entry[]>([]),
		of = useRef("");
	const colouring = colouringNow(),
		look = theme.value,
		modules = rankedModules.value;
	const painter = useCallback(
		(graph: Graph) => {
			const made = painterOf(graph, colouring, look);
			/* A sandwich is two graphs, whose colours are told together. */
			const now = layoutNow() === "sandwich" ? `${frame.value} ${colouring}` : "",
				joins = now !== "" && now === of.current;
			of.current = now;
			queueMicrotask(() =>
				setLegend((l) => {
					const next = joins
						? [
								...l.slice(0, -1).filter((e) => !made.legend.some((m) => m.title === e.title)),
								...made.legend,
							]
						: made.legend;
					return JSON.stringify(l) === JSON.stringify(next) ? l : next;
				}),
			);
			return made;
		},
		[colouring, look, modules],
	);
	return { painter, legend };
}

interface Part {
	painter: (graph: Graph) => ReturnType<typeof painterOf>;
	search: RegExp | null;
	cycle: number;
	onMatches: (m: Matches, g: Graph) => void;
	onPaint: (ms: number) => void;
	onWidth: (px: number) => void;
}

function Single(props: Part & { answer: Answer<Flame> }): JSX.Element {
	const layout = layoutNow();
	return (
		<Shown answer={props.answer} loading={<Loading rows={12} height={20} />}>
			{(flame) =>
				flame.total === 0 ? (
					filter.value || range.value ? (
						<EmptyByFilter />
					) : (
						<Empty
							title={
								metric.value === "leaked" ? "Nothing was leaked" : "This measure is zero on this tape"
							}
						/>
					)
				) : (
					<FlameCanvas
						{...props}
						flame={flame}
						label={`Flame graph, ${measureTitle(metric.value)}`}
						isUp={layout === "flame"}
						path={path.value}
						selected={frame.value}
						stale={props.answer.stale}
						onZoom={(to) => update({ path: to })}
						onSelect={choose}
					/>
				)
			}
		</Shown>
	);
}

function Sandwich(props: Part & { px: number }): JSX.Element {
	const up = useApi<Flame>("flame", flameParams(props.px, "sandwich", frame.value, true));
	const down = useApi<Flame>("flame", flameParams(props.px, "sandwich", frame.value));
	if (!frame.value)
		return (
			<Empty title="Choose a function">
				<p>
					Click a box of the flame graph or a call site first: its callers are then shown above it, its
					callees below.
				</p>
				<button type="button" class="button small" onClick={() => layoutSet("icicle")}>
					Show the flame graph
				</button>
			</Empty>
		);
	/* A click on a box makes that function the filling. */
	const part = (flame: Flame, label: string, isUp: boolean, stale: boolean) => (
		<FlameCanvas
			{...props}
			flame={flame}
			label={label}
			isUp={isUp}
			hidesAncestors
			path={[]}
			selected={frame.value}
			stale={stale}
			onZoom={() => undefined}
			onSelect={(hash) => hash && update({ frame: hash })}
		/>
	);
	return (
		<div class="sandwich">
			<h3>Called by</h3>
			<Shown answer={up}>{(flame) => part(flame, "Callers", true, up.stale)}</Shown>
			<h3>Calls</h3>
			<Shown answer={down}>{(flame) => part(flame, "Callees", false, down.stale)}</Shown>
		</div>
	);
}

function Foot(props: { answer: Answer<Flame>; paint: number }): JSX.Element {
	const flame = props.answer.data;
	return (
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
					<kbd>v</kbd>sandwich
				</span>
				<span>
					<kbd>i</kbd>invert
				</span>
				<span>
					<kbd>r</kbd>recursion
				</span>
				<span>
					<kbd>t</kbd>as table
				</span>
				<span>
					<kbd>?</kbd>all keys
				</span>
			</p>
			<span class="grow" />
			{flame && layoutNow() !== "sandwich" && (
				<span class="num">
					{format.exact(flame.boxes)} of {format.exact(flame.of)} frames drawn · server {flame.ms.toFixed(1)}{" "}
					ms · paint {props.paint.toFixed(1)} ms
				</span>
			)}
		</footer>
	);
}

interface Named {
	name: string;
	hash: Hex;
	module: string | null;
}

function flameKeys(cycle: (step: number) => void, chosen: () => Named | null): KeyMap {
	const name = () => chosen()?.name ?? null;
	const hidden = (what: (f: Named) => [Hex | null, string | null]) => () => {
		const f = REPORT ? null : chosen(),
			it = f && what(f);
		return it?.[0] || it?.[1] ? hide(...it) : false;
	};
	const term = (operator: string) => () => {
		const f = name();
		return f === null ? false : update({ filter: addTerm(filter.value, `function ${operator} ${quote(f)}`) });
	};
	return {
		...measureKeys(),
		i: () => layoutSet(layoutNow() === "inverted" ? "icicle" : "inverted"),
		v: () => layoutSet(layoutNow() === "sandwich" ? "icicle" : "sandwich"),
		r: () => setOption("rec", merges() ? null : "merge"),
		n: () => cycle(1),
		N: () => cycle(-1),
		f: term("="),
		x: term("!="),
		h: hidden((f) => [f.hash, null]),
		H: hidden((f) => [null, f.module]),
		c: () => {
			const text = name();
			return text === null ? false : void copyText(text, "Name");
		},
		t: () => {
			location.hash = pageHref(["tree", "flame"], {});
		},
		"Ctrl+f": () => document.getElementById("flame-search")?.focus(),
	};
}

function FlamePage(): JSX.Element {
	const [px, setPx] = useState(innerWidth),
		[cycle, setCycle] = useState(0),
		[paint, setPaint] = useState(0);
	const [found, setFound] = useState<Found | null>(null);
	const layout = layoutNow(),
		text = searched();
	const answer = useApi<Flame>("flame", flameParams(px, layout === "sandwich" ? "icicle" : layout, null));
	const { painter, legend } = usePainter();
	const search = useMemo(() => searchOf(text), [text]);
	const share = useShare("flame", flameParams(px, layout, frame.value), search, found);
	const step = (by: number) => setCycle((c) => c + by || by);
	const chosen = (): Named | null => {
		const flame = answer.data,
			at = frame.value === null || !flame ? -1 : flame.hashes.indexOf(frame.value);
		return at >= 0
			? { name: flame!.names[at]!, hash: frame.value!, module: flame!.modules[flame!.name_module[at]!] ?? null }
			: null;
	};
	useKeys(flameKeys(step, chosen));
	const part: Part = {
		painter,
		search,
		cycle,
		onWidth: (width) => setPx((asked) => widthKept(asked, width)),
		onPaint: (ms) => setPaint((old) => (Math.abs(old - ms) < 0.4 ? old : ms)),
		onMatches: (matches, graph) => setFound({ matches, graph }),
	};
	return (
		<div class="flame-page">
			<h1 class="sr">Flame graph</h1>
			<Toolbar matches={text ? (found?.matches ?? null) : null} share={share} onCycle={step} />
			{!misses("times") && <Minimap />}
			<div class="flame-main">
				<section class="card flame-card" aria-label="Flame graph">
					<div class="flame-head">
						{layout !== "sandwich" && answer.data && <Crumbs flame={answer.data} />}
						<Hidden />
						<Legend items={legend} />
					</div>
					{layout === "sandwich" ? <Sandwich {...part} px={px} /> : <Single {...part} answer={answer} />}
				</section>
				{frame.value && <Inspector hash={frame.value} onSandwich={() => layoutSet("sandwich")} />}
			</div>
			<Foot answer={answer} paint={paint} />
		</div>
	);
}

export const page: Page = {
	id: "flame",
	title: "Flame graph",
	icon: IconFlame,
	key: "f",
	group: "Explore",
	order: 2,
	component: FlamePage,
	dependsOnFrames: true,
	hasFunctions: true,
	hasMetric: true,
	searches: "frames",
	canHide: true,
	keys: [
		["\u2191\u2193\u2190\u2192", "to the caller, the largest callee, the neighbours"],
		["Enter", "zoom in"],
		["Esc", "zoom out"],
		["Space", "its details"],
		["Shift+F10", "menu of the function; also a right click"],
		["0", "everything"],
		["i", "inverted"],
		["v", "sandwich"],
		["r", "recursion as one box"],
		["Ctrl+F", "search"],
		["n N", "next, previous match"],
		["f", "only stacks with the function"],
		["x", "only stacks without it"],
		...(REPORT
			? []
			: ([
					["h", "hide it: its share goes to its callers"],
					["H", "hide its module"],
				] as const)),
		["c", "copy its name"],
		["1 \u2026 9", "measure"],
		["t", "as a table: the call tree"],
	],
};
