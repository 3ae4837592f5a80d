/* The flame graph as a table that opens: the same numbers, for reading, sorting by eye and for screen readers. */
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import type { Hex } from "../api/types";
import { addTerm, quote } from "../filter";
import { frameItems } from "../flame/framemenu";
import { Inspector } from "../flame/inspector";
import * as format from "../format";
import { useKeys } from "../keys";
import { measureKeys, Measures } from "../measures";
import { FunctionLine } from "../lists/name";
import { moduleColour } from "../palette";
import { filter, frame, metric, metricParams, option, path, range, setOption, update } from "../store";
import { useTree } from "../tree/load";
import type { Line, Tree } from "../tree/load";
import { Dot, Segmented } from "../ui/basics";
import { BarCell, Bytes, Count, leakClass, Value } from "../ui/cells";
import { IconChevron, IconTree } from "../ui/icons";
import { EmptyByFilter, Empty, ErrorCard, Loading } from "../ui/states";
import { menuShow } from "../ui/menu";
import { VirtualGrid } from "../ui/vgrid";
import type { Column, Rows } from "../ui/vgrid";
import { measureOf, measureTitle } from "../vocabulary";
import { pageHref } from "./links";
import type { Page } from "./registry";
import "../flame/flame.css";
import "../tree/tree.css";

const INDENT_PX = 12,
	INDENT_DEEP_PX = 3,
	DEEP = 10;
/* The column that would say the same as the measure's. */
const SAME: Readonly<Record<string, string>> = { peak: "peak", count: "allocations", leaked: "leaked" };
const DIRECTIONS = [
	{ value: "down" as const, label: "Top-down", title: "from main to the allocating functions" },
	{ value: "up" as const, label: "Bottom-up", title: "from the allocating functions to main" },
];

/* Deep levels take less room, so that the names are still to be read. */
function indentOf(depth: number): number {
	return Math.min(depth, DEEP) * INDENT_PX + Math.max(0, depth - DEEP) * INDENT_DEEP_PX;
}

function Name(props: { line: Line; tree: Tree }): JSX.Element {
	const { line, tree } = props,
		row = line.row,
		indent = { paddingLeft: `${indentOf(line.level - 1)}px` };
	if (!row)
		return (
			<div class="tree-name" style={indent}>
				<span class="tree-toggle leaf" />
				<button type="button" class="link" tabIndex={-1} onClick={() => tree.loadMore(line)}>
					{format.exact(line.more)} more …
				</button>
			</div>
		);
	const where = format.place(row.file, row.line) || (row.module ? format.baseName(row.module) : "");
	return (
		<div
			class="tree-name"
			style={indent}
			title={[row.function, row.file && `${row.file}:${row.line ?? "?"}`, row.module].filter(Boolean).join("\n")}
		>
			<button
				type="button"
				tabIndex={-1}
				class={`tree-toggle ${line.open ? "open" : ""} ${row.children === 0 ? "leaf" : ""}`}
				aria-label={line.open ? "Close" : "Open"}
				onClick={(e) => {
					e.stopPropagation();
					tree.toggle(line);
				}}
			>
				<IconChevron />
			</button>
			<FunctionLine name={row.brief} place={where || null} title={row.function}>
				<Dot colour={moduleColour(row.module)} />
			</FunctionLine>
		</div>
	);
}

function columnsOf(tree: Tree): Column<Line>[] {
	const { unit } = measureOf(metric.value);
	const number = (
		id: string,
		head: string,
		track: string,
		help: string,
		cell: (line: Line) => JSX.Element | null,
		value?: (line: Line) => number | undefined,
	): Column<Line> => ({
		id,
		title: head,
		track,
		numeric: true,
		help,
		cell: (line) => line.row && cell(line),
		...(value && { value }),
	});
	const all: Column<Line>[] = [
		{
			id: "function",
			title: "Function",
			track: "minmax(190px, 1fr)",
			cell: (line) => <Name line={line} tree={tree} />,
		},
		number(
			"total",
			measureTitle(metric.value),
			"132px",
			"including callees",
			(l) => (
				<BarCell value={l.row!.total} max={tree.total}>
					<Value value={l.row!.total} unit={unit} />
				</BarCell>
			),
			(l) => l.row?.total,
		),
		number("share", "Share", "62px", "of the selection", (l) => (
			<span>{format.percent(tree.total ? l.row!.total / tree.total : 0)}</span>
		)),
		number(
			"self",
			"Self",
			"80px",
			"without callees",
			(l) => <Value value={l.row!.self} unit={unit} />,
			(l) => l.row?.self,
		),
		number(
			"allocations",
			measureTitle("count"),
			"80px",
			measureOf("count").doc,
			(l) => <Count value={l.row!.allocations} />,
			(l) => l.row?.allocations,
		),
		number(
			"peak",
			"At peak",
			"80px",
			measureOf("peak").doc,
			(l) => <Bytes value={l.row!.peak} />,
			(l) => l.row?.peak,
		),
		number(
			"leaked",
			measureTitle("leaked"),
			"80px",
			measureOf("leaked").doc,
			(l) => <Bytes value={l.row!.leaked} class={leakClass(l.row!.leaked)} />,
			(l) => l.row?.leaked,
		),
	];
	return all.filter((c) => c.id !== SAME[metric.value]);
}

function Lines(props: { tree: Tree }): JSX.Element {
	const { tree } = props;
	const [at, setAt] = useState<number | null>(null);
	const holder = useRef<HTMLDivElement>(null);
	const rows = useMemo<Rows<Line>>(
		() => ({ count: tree.lines.length, get: (i) => tree.lines[i], need: () => undefined }),
		[tree.lines],
	);
	const choose = (i: number, line: Line | undefined) => {
		setAt(i);
		if (line?.row && line.row.hash !== frame.value && frame.value !== null)
			update({ frame: line.row.hash }, "replace");
	};
	const parentOf = (i: number) => {
		let up = i - 1;
		while (up >= 0 && tree.lines[up]!.level >= tree.lines[i]!.level) up--;
		return up;
	};
	const onKey = (event: KeyboardEvent, i: number, line: Line | undefined): boolean => {
		if (!line) return false;
		if (event.key === "ArrowRight" && line.row && !line.open && line.row.children > 0) tree.toggle(line, true);
		else if (event.key === "ArrowLeft" && line.open) tree.toggle(line, false);
		else if (event.key === "ArrowLeft" && parentOf(i) >= 0) choose(parentOf(i), tree.lines[parentOf(i)]);
		else if (event.key === "*") tree.expandHottest(line);
		else if (event.key === " " && line.row)
			update({ frame: line.row.hash === frame.value ? null : line.row.hash }, "replace");
		else return event.key === "ArrowRight" || event.key === "ArrowLeft";
		return true;
	};
	const showMenu = (i: number, line: Line | undefined, x: number, y: number) => {
		const row = line?.row;
		if (!row) return;
		choose(i, line);
		menuShow({
			back: () => holder.current?.querySelector<HTMLElement>(".vgrid"),
			title: row.function,
			x,
			y,
			items: [
				{ label: "Its details", hint: "Space", run: () => update({ frame: row.hash }, "replace") },
				...frameItems({ ...row, name: row.function }),
			],
		});
	};
	return (
		<div class="tree-lines" ref={holder}>
			<VirtualGrid
				label="Call tree"
				rows={rows}
				columns={columnsOf(tree)}
				rowHeight={28}
				minWidth={690}
				selected={at}
				onSelect={choose}
				onKey={onKey}
				onActivate={(_, line) => {
					if (!line) return;
					if (line.row) {
						update({ frame: line.row.hash }, "replace");
						tree.toggle(line);
					} else tree.loadMore(line);
				}}
				onMenu={showMenu}
				tree={(line) => ({ level: line.level, expanded: line.row && line.row.children > 0 ? line.open : null })}
			/>
		</div>
	);
}

function Body(props: { tree: Tree }): JSX.Element {
	const { tree } = props;
	if (tree.error) return <ErrorCard error={tree.error} retry={tree.retry} />;
	if (tree.lines.length === 0)
		return tree.loading ? (
			<Loading rows={10} height={18} />
		) : filter.value || range.value ? (
			<EmptyByFilter />
		) : (
			<Empty title="This measure is zero on this tape" />
		);
	return <Lines tree={tree} />;
}

function TreePage(): JSX.Element {
	const direction = option("dir") === "up" ? "up" : "down";
	const open = option("open"),
		zoomed: readonly Hex[] = open ? open.split(".") : direction === "down" ? path.value : [];
	const tree = useTree({ ...metricParams(), dir: direction }, zoomed);
	const name = () => tree.lines.find((l) => l.row?.hash === frame.value)?.row?.function ?? null;
	const term = (operator: string) => () => {
		const f = name();
		return f === null ? false : update({ filter: addTerm(filter.value, `function ${operator} ${quote(f)}`) });
	};
	const keys: Record<string, () => void | false> = {
		...measureKeys(),
		t: () => {
			location.hash = pageHref(["flame", "tree"], {});
		},
		f: term("="),
		x: term("!="),
		i: () => setOption("dir", direction === "up" ? null : "up"),
		Escape: () => (frame.value ? update({ frame: null }, "replace") : false),
	};
	useKeys(keys);
	return (
		<div class="tree-page">
			<h1 class="sr">Call tree</h1>
			<div class="flame-tools" role="group" aria-label="View">
				<Measures />
				<Segmented
					label="Direction"
					value={direction}
					choices={DIRECTIONS}
					onChange={(d) => setOption("dir", d === "down" ? null : d)}
				/>
				<span class="grow" />
				<a class="button small" href={pageHref(["flame"], {})}>
					As flame graph
				</a>
			</div>
			<div class="tree-main">
				<section
					class={`card tree-card ${tree.loading && tree.lines.length > 0 ? "stale" : ""}`}
					aria-label="Call tree"
				>
					<Body tree={tree} />
				</section>
				{frame.value && (
					<Inspector
						hash={frame.value}
						onSandwich={() => {
							location.hash = pageHref(["flame"], {}, { lay: "sandwich" });
						}}
					/>
				)}
			</div>
			<p class="flame-foot">
				<span class="keys">
					<span>
						<kbd>→ ←</kbd>open, close
					</span>
					<span>
						<kbd>*</kbd>hottest path
					</span>
					<span>
						<kbd>Space</kbd>details
					</span>
					<span>
						<kbd>t</kbd>as flame graph
					</span>
				</span>
			</p>
		</div>
	);
}

export const page: Page = {
	id: "tree",
	title: "Call tree",
	icon: IconTree,
	key: "t",
	group: "Explore",
	order: 3,
	component: TreePage,
	dependsOnFrames: true,
	hasFunctions: true,
	hasMetric: true,
	searches: "frames",
	keys: [
		["\u2192 \u2190", "open, close; to the caller"],
		["*", "open the hottest path"],
		["Space", "details of the function"],
		["Shift+F10", "menu of the function; also a right click"],
		["i", "bottom-up"],
		["f x", "only stacks with, without it"],
		["1 \u2026 9", "measure"],
		["t", "as flame graph"],
	],
};
