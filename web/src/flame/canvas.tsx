/*
 * The flame graph on the screen: a canvas as large as its window, scrolled over the picture. A click goes into a box at once
 * with the boxes that are there; the server's answer for the new width then takes their place.
 */
import { Fragment } from "preact";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Flame, Hex } from "../api/types";
import * as format from "../format";
import { named } from "../names";
import { theme } from "../theme";
import { Tooltip } from "../ui/basics";
import { isMenuKey, menuShow } from "../ui/menu";
import { useJumpTarget, useKeys } from "../keys";
import type { Painter } from "./colours";
import { draw, pictureHeight, rowAtY, ROW_PX } from "./draw";
import type { Scene, Window } from "./draw";
import { frameItems } from "./framemenu";
import {
	boxAt,
	boxByPath,
	graphOf,
	hashOf,
	isMerged,
	largestOf,
	matchesOf,
	moduleOf,
	fullNameOf,
	nameOf,
	pathOf,
	stepFrom,
} from "./graph";
import type { Graph, Matches, Step } from "./graph";

const ZOOM_MS = 120;
const NONE = -1;

export interface FlameCanvasProps {
	flame: Flame;
	label: string;
	isUp: boolean;
	path: readonly Hex[]; /* zoomed into; may be ahead of the answer */
	painter: (graph: Graph) => Painter;
	search: RegExp | null;
	selected: Hex | null;
	stale: boolean;
	onZoom: (path: readonly Hex[]) => void;
	onSelect: (hash: Hex | null) => void;
	onWidth?: (px: number) => void;
	onMatches?: (matches: Matches, graph: Graph) => void;
	onPaint?: (ms: number) => void;
	cycle?: number; /* when it changes, the ring goes to that match, from 1 */
	hidesAncestors?: boolean;
}

function useSize(ref: { current: HTMLElement | null }): { width: number; height: number } {
	const [size, setSize] = useState({ width: 0, height: 0 });
	useLayoutEffect(() => {
		const look = () => {
			const { clientWidth: width, clientHeight: height } = ref.current!;
			setSize((s) => (s.width === width && s.height === height ? s : { width, height }));
		};
		const watch = new ResizeObserver(look);
		watch.observe(ref.current!);
		look();
		return () => watch.disconnect();
	}, []);
	return size;
}

/* The path of what is drawn, and where in it the wanted path ends: a box to be shown at full width. */
function windowOf(graph: Graph, path: readonly Hex[]): Window {
	const root = graph.flame.root ?? [];
	const isBelow = root.every((hash, i) => path[i] === hash);
	const box = isBelow ? boxByPath(graph, path.slice(root.length)) : 0;
	const at = Math.max(box, 0);
	return { from: graph.flame.begin[at] ?? 0, span: graph.flame.value[at] ?? 0 };
}

/* The window that is shown, on its way to the one that is wanted. A new answer is not moved to: it looks alike. */
function useWindow(graph: Graph, wanted: Window, redraw: () => void): { current: Window } {
	const now = useRef(wanted),
		of = useRef(graph);
	useLayoutEffect(() => {
		const from = now.current,
			isNew = of.current !== graph;
		of.current = graph;
		if (isNew || matchMedia("(prefers-reduced-motion: reduce)").matches) {
			now.current = wanted;
			redraw();
			return;
		}
		if (from.from === wanted.from && from.span === wanted.span) return;
		const begun = performance.now();
		let frame = 0;
		const step = () => {
			const t = Math.min(1, (performance.now() - begun) / ZOOM_MS),
				eased = 1 - (1 - t) ** 3;
			now.current = {
				from: from.from + (wanted.from - from.from) * eased,
				span: from.span + (wanted.span - from.span) * eased,
			};
			redraw();
			if (t < 1) frame = requestAnimationFrame(step);
		};
		frame = requestAnimationFrame(step);
		return () => cancelAnimationFrame(frame);
	}, [graph, wanted.from, wanted.span]);
	return now;
}

interface Hover {
	box: number;
	ancestor: number;
	x: number;
	y: number;
}

function Tip(props: { graph: Graph; painter: Painter; hover: Hover }): JSX.Element {
	const { graph, hover } = props,
		{ flame } = graph,
		{ box } = hover;
	const facts = props.painter.facts?.(box) ?? [
		[
			"Total",
			`${format.value(flame.value[box]!, flame.unit)} · ${format.percent(flame.value[box]! / (flame.total || 1))}`,
		],
		...(isMerged(graph, box)
			? []
			: ([
					["Self", format.value(flame.self[box]!, flame.unit)],
					["Allocations", format.exact(flame.count[box]!)],
				] as const)),
	];
	const place = format.place(flame.file[box] ?? null, flame.line[box] || null),
		module = moduleOf(graph, box),
		full = fullNameOf(graph, box);
	return (
		<Tooltip x={hover.x} y={hover.y}>
			<b class="code flame-tip-name">{named(nameOf(graph, box))}</b>
			{full && <p class="code flame-tip-full">{full}</p>}
			{(place || module) && (
				<p class="flame-tip-place">
					{[place, module && format.baseName(module)].filter(Boolean).join(" \u00b7 ")}
				</p>
			)}
			<dl class="pairs">
				{facts.map(([title, value]) => (
					<Fragment key={title}>
						<dt>{title}</dt>
						<dd>{value}</dd>
					</Fragment>
				))}
			</dl>
			<p class="flame-tip-hint">
				{isMerged(graph, box) ? "Click to see them" : "Click to zoom \u00b7 right-click for more"}
			</p>
		</Tooltip>
	);
}

/* What the ring is on, for those who do not see it. */
function Described(props: { id: string; graph: Graph; painter: Painter; box: number }): JSX.Element {
	const { graph, box } = props,
		{ flame } = graph;
	const siblings =
		flame.parent[box]! >= 0 ? graph.firstChild[flame.parent[box]! + 1]! - graph.firstChild[flame.parent[box]!]! : 1;
	const place = flame.parent[box]! >= 0 ? graph.children.indexOf(box) - graph.firstChild[flame.parent[box]!]! + 1 : 1;
	return (
		<span
			id={props.id}
			role="treeitem"
			class="sr"
			aria-level={flame.depth[box]! + 1}
			aria-posinset={place}
			aria-setsize={siblings}
			aria-selected="true"
		>
			{named(nameOf(graph, box))},{" "}
			{props.painter
				.facts?.(box)
				.map(([title, value]) => `${title} ${value}`)
				.join(", ") ??
				`${format.value(flame.value[box]!, flame.unit)}, ${format.percent(flame.value[box]! / (flame.total || 1))}`}
		</span>
	);
}

export function FlameCanvas(props: FlameCanvasProps): JSX.Element {
	const { flame, isUp, path, search, selected } = props;
	const holder = useRef<HTMLDivElement>(null),
		canvas = useRef<HTMLCanvasElement>(null);
	const [scroll, setScroll] = useState(0);
	const [hover, setHover] = useState<Hover | null>(null);
	const [cursor, setCursor] = useState(NONE);
	const { width, height } = useSize(holder);
	useJumpTarget(canvas);
	const graph = useMemo(() => graphOf(flame), [flame]);
	const painter = useMemo(() => props.painter(graph), [graph, props.painter]);
	const matches = useMemo(() => matchesOf(graph, search), [graph, search?.source, search?.flags]);
	const root = flame.root ?? [],
		names = flame.root_briefs ?? [];
	const ancestorNames = root.length > 0 && !props.hidesAncestors ? ["all", ...names.slice(0, -1)] : [];
	const whole = pictureHeight(graph, ancestorNames.length);
	const id = `flame-${props.label.replace(/\W/g, "")}`;

	const scene = (): Scene => ({
		graph,
		painter,
		theme: theme.value,
		window: shown.current,
		isUp,
		ancestors: ancestorNames.length,
		ancestorNames,
		width,
		height,
		scroll: isUp ? scroll + Math.min(0, whole - height) : scroll,
		matches,
		searching: search !== null,
		selected,
		cursor,
		hover: hover ? (hover.ancestor >= 0 ? -hover.ancestor - 2 : hover.box) : NONE,
	});
	const paint = () => {
		const ctx = canvas.current?.getContext("2d");
		if (!ctx || width === 0) return;
		const ratio = devicePixelRatio || 1;
		if (
			canvas.current!.width !== Math.round(width * ratio) ||
			canvas.current!.height !== Math.round(height * ratio)
		) {
			canvas.current!.width = Math.round(width * ratio);
			canvas.current!.height = Math.round(height * ratio);
		}
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		props.onPaint?.(draw(ctx, scene()));
	};
	const shown = useWindow(graph, windowOf(graph, path), () => paint());
	useLayoutEffect(paint);
	useEffect(() => {
		void document.fonts.ready.then(paint);
	}, []);
	useEffect(() => {
		if (width > 0) props.onWidth?.(width);
	}, [width]);
	useEffect(() => {
		props.onMatches?.(matches, graph);
	}, [matches]);
	useLayoutEffect(() => setHover(null), [graph]);
	useEffect(() => setCursor(selected ? largestOf(graph, selected) : NONE), [graph]);
	useEffect(() => {
		if (selected && (cursor < 0 || hashOf(graph, cursor) !== selected)) setCursor(largestOf(graph, selected));
	}, [selected]);
	useEffect(() => {
		if (isUp && holder.current) holder.current.scrollTop = whole;
	}, [isUp, graph]);

	const reveal = (box: number) => {
		const row = graph.flame.depth[box]! + ancestorNames.length;
		const top = isUp ? whole - (row + 1) * ROW_PX : row * ROW_PX,
			el = holder.current!;
		if (top < el.scrollTop) el.scrollTop = top;
		else if (top + ROW_PX > el.scrollTop + height) el.scrollTop = top + ROW_PX - height;
	};
	/* Where a function fills the whole picture, moving about does not yet choose another one. */
	const choose = (box: number) => {
		setCursor(box);
		reveal(box);
		if (box > 0 && !isMerged(graph, box) && !props.hidesAncestors) props.onSelect(hashOf(graph, box));
	};
	useEffect(() => {
		if (props.cycle && matches.boxes.length > 0)
			choose(matches.boxes[(props.cycle - 1 + matches.boxes.length * 1000) % matches.boxes.length]!);
	}, [props.cycle]);
	/* What is merged has no name: its parent is what can be looked into. */
	const zoom = (box: number) => {
		const at = isMerged(graph, box) ? graph.flame.parent[box]! : box;
		if (!isMerged(graph, box) && box > 0) props.onSelect(hashOf(graph, box));
		props.onZoom([...root, ...pathOf(graph, at)]);
	};
	const out = () => (path.length > 0 ? props.onZoom(path.slice(0, -1)) : undefined);

	/* Of the box that has the ring. */
	const showMenu = (box: number, x: number, y: number) => {
		const isNamed = !isMerged(graph, box) && box > 0,
			hash = hashOf(graph, box);
		setHover(null);
		menuShow({
			back: () => canvas.current,
			title: named(nameOf(graph, box)),
			x,
			y,
			items: [
				...(props.hidesAncestors ? [] : [{ label: "Zoom in", hint: "Enter", run: () => zoom(box) }]),
				...(path.length > 0 ? [{ label: "Zoom out", hint: "Esc", run: out }] : []),
				...(isNamed
					? frameItems({
							name: nameOf(graph, box),
							hash,
							file: flame.file[box] ?? null,
							line: flame.line[box] || null,
							module: moduleOf(graph, box),
						})
					: []),
			],
		});
	};
	const menuByKey = () => {
		const box = Math.max(cursor, 0),
			r = canvas.current!.getBoundingClientRect(),
			row = flame.depth[box]! + ancestorNames.length;
		const top = isUp ? whole - (row + 1) * ROW_PX : row * ROW_PX,
			left = ((flame.begin[box]! - shown.current.from) / (shown.current.span || 1)) * width;
		choose(box);
		showMenu(
			box,
			r.left + Math.max(0, Math.min(width - 40, left)) + 8,
			r.top + Math.max(0, Math.min(height, top + ROW_PX - holder.current!.scrollTop)),
		);
	};
	const find = (e: PointerEvent | MouseEvent): Hover => {
		const r = canvas.current!.getBoundingClientRect();
		const row = rowAtY({ ...scene() }, e.clientY - r.top);
		const value = shown.current.from + ((e.clientX - r.left) / Math.max(width, 1)) * shown.current.span;
		const ancestor = row >= 0 && row < ancestorNames.length ? row : NONE;
		return {
			ancestor,
			box: ancestor >= 0 ? NONE : boxAt(graph, row - ancestorNames.length, value),
			x: e.clientX,
			y: e.clientY,
		};
	};
	const onKeyDown = (e: KeyboardEvent) => {
		const up: Record<string, Step> = {
			ArrowUp: "parent",
			ArrowDown: "child",
			ArrowLeft: "previous",
			ArrowRight: "next",
		};
		let step = up[e.key];
		if (isUp && (step === "parent" || step === "child")) step = step === "parent" ? "child" : "parent";
		if (step && !e.ctrlKey && !e.altKey && !e.metaKey) choose(cursor < 0 ? 0 : stepFrom(graph, cursor, step));
		else if (e.key === "Enter" && cursor >= 0) zoom(cursor);
		else if (isMenuKey(e) && flame.value.length > 0) menuByKey();
		else if (e.key === " " && cursor >= 0) props.onSelect(hashOf(graph, cursor));
		else return;
		e.preventDefault();
	};
	useKeys({
		Escape: () => (path.length > 0 ? out() : selected ? props.onSelect(null) : false),
		Backspace: () => (path.length > 0 ? out() : false),
		0: () => props.onZoom([]),
		Home: () => props.onZoom([]),
	});
	return (
		<div
			class={`flame-holder ${props.stale ? "stale" : ""}`}
			ref={holder}
			onScroll={() => setScroll(holder.current!.scrollTop)}
		>
			<div class="flame-space" style={{ height: `${Math.max(whole, 1)}px` }}>
				<canvas
					ref={canvas}
					class="flame-canvas"
					tabIndex={0}
					role="tree"
					aria-label={props.label}
					aria-activedescendant={cursor >= 0 ? id : undefined}
					aria-describedby="flame-help"
					style={{
						width: `${width}px`,
						height: `${height}px`,
						cursor: hover && (hover.box >= 0 || hover.ancestor >= 0) ? "pointer" : "default",
					}}
					onPointerMove={(e) => setHover(find(e))}
					onPointerLeave={() => setHover(null)}
					onContextMenu={(e) => {
						const at = find(e);
						if (at.box < 0) return;
						e.preventDefault();
						canvas.current!.focus();
						choose(at.box);
						showMenu(at.box, e.clientX, e.clientY);
					}}
					onClick={(e) => {
						const at = find(e);
						if (at.ancestor >= 0) props.onZoom(root.slice(0, at.ancestor));
						else if (at.box >= 0) zoom(at.box);
					}}
					onKeyDown={onKeyDown}
				>
					{cursor >= 0 && cursor < flame.value.length && (
						<Described id={id} graph={graph} painter={painter} box={cursor} />
					)}
				</canvas>
			</div>
			{hover && hover.box >= 0 && hover.box < flame.value.length && (
				<Tip graph={graph} painter={painter} hover={hover} />
			)}
		</div>
	);
}
