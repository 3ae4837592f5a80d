/*
 * A table of any length: only the rows in view are in the document. Browsers end at some ten million pixels, so a longer
 * list is scrolled by a scrollbar of 8,000,000 and its rows are placed by hand. One element scrolls, has the role of the
 * grid and takes the keys; the current row is its active descendant.
 */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { beside } from "../format";
import { useJumpTarget } from "../keys";
import { leastWidth, tracksOf } from "../table/columns";
import { GridHead } from "../table/head";
import { Near } from "./cells";
import { isMenuKey } from "./menu";
import "../table/table.css";

const SPACER_MAX_PX = 8_000_000;
const HEAD_PX = 34;
const SPARE_ROWS = 4;

export interface Rows<R> {
	count: number;
	get: (index: number) => R | undefined; /* undefined: being fetched */
	need: (first: number, last: number) => void; /* what is in view now */
}

export interface Column<R> {
	id: string;
	title: string;
	help?: string;
	track: string; /* as in grid-template-columns */
	numeric?: boolean;
	sort?: boolean; /* onSort is called with the column's id */
	value?: (
		row: R,
	) => number | null | undefined; /* what its <Bytes> or <Count> shows: told apart from its neighbours' */
	cell: (row: R, index: number) => ComponentChildren;
}

export interface Sort {
	id: string;
	order: "asc" | "dsc";
}

export interface VirtualGridProps<R> {
	label: string; /* also the name by which dragged widths are kept */
	rows: Rows<R>;
	columns: readonly Column<R>[];
	rowHeight?: number;
	sort?: Sort;
	onSort?: (id: string) => void;
	selected?: number | null;
	onSelect?: (index: number, row: R | undefined) => void; /* moving with the keys; a click where nothing opens */
	onActivate?: (index: number, row: R | undefined) => void; /* a click, Enter: the row opens */
	onKey?: (event: KeyboardEvent, index: number, row: R | undefined) => boolean; /* true: taken */
	onMenu?: (
		index: number,
		row: R | undefined,
		x: number,
		y: number,
	) => void; /* a right click, Shift+F10: client coordinates */
	tree?: (row: R) => { level: number; expanded: boolean | null }; /* a treegrid */
	detail?: { index: number; height: number; content: ComponentChildren } | null; /* opened below a row */
	minWidth?: number; /* narrower, it is scrolled sideways */
}

interface View {
	top: number;
	height: number;
} /* in the whole list's own pixels */

/* Where things are: the list's height, and how the scrollbar's pixels stand for it. */
function measure(count: number, rowHeight: number, detail: number, height: number) {
	const whole = count * rowHeight + detail;
	const spacer = Math.min(whole, SPACER_MAX_PX);
	const ratio = whole > spacer ? (whole - height) / (spacer - height) : 1;
	return { whole, spacer, ratio };
}

const valueOf = <R,>(column: Column<R>, row: R | undefined) => (row === undefined ? null : column.value?.(row));

/* A click on what does something of its own, or that ends the selection of text, opens nothing. */
function opensBy(event: MouseEvent): boolean {
	const within = (event.target as Element).closest("a, button, input, summary, label"),
		chosen = getSelection();
	return !within && event.detail < 2 && (!chosen || chosen.isCollapsed);
}

export function VirtualGrid<R>(props: VirtualGridProps<R>): JSX.Element {
	const { rows, rowHeight = 30, detail } = props;
	const id = useId();
	const box = useRef<HTMLDivElement>(null);
	const [view, setView] = useState<View>({ top: 0, height: 600 });
	const wanted = useRef<number | null>(null); /* the exact place the keys or the wheel went to */
	const active = Math.min(props.selected ?? 0, Math.max(0, rows.count - 1));
	const place = measure(rows.count, rowHeight, detail?.height ?? 0, view.height);
	const topOf = (i: number) => i * rowHeight + (detail && i > detail.index ? detail.height : 0);
	const rowAt = (y: number) => {
		if (detail && y > (detail.index + 1) * rowHeight)
			y = Math.max((detail.index + 1) * rowHeight, y - detail.height);
		return Math.floor(y / rowHeight);
	};

	const scrolled = () => {
		const el = box.current;
		if (!el) /* a last notice of its size, after it has gone */ return;
		const height = Math.max(rowHeight, el.clientHeight - HEAD_PX);
		const now = measure(rows.count, rowHeight, detail?.height ?? 0, height);
		if (wanted.current !== null && Math.abs(wanted.current / now.ratio - el.scrollTop) >= 2)
			wanted.current = null; /* the scrollbar was moved */
		const top = wanted.current ?? el.scrollTop * now.ratio;
		setView((v) => (v.top === top && v.height === height ? v : { top, height }));
	};
	useLayoutEffect(scrolled, [rows.count, detail?.index, detail?.height]);
	useEffect(() => {
		const watch = new ResizeObserver(scrolled);
		watch.observe(box.current!);
		return () => watch.disconnect();
	});

	const first = Math.max(0, rowAt(view.top) - SPARE_ROWS);
	const last = Math.min(rows.count - 1, rowAt(view.top + view.height) + SPARE_ROWS);
	useEffect(() => {
		if (last >= first) rows.need(first, last);
	}, [first, last, rows]);

	const moveTo = (top: number) => {
		wanted.current = top;
		box.current!.scrollTop = top / place.ratio;
		scrolled();
	};
	/* Where a pixel of the scrollbar stands for many, a wheel still moves by its own. */
	const wheeled = (event: WheelEvent) => {
		if (place.ratio === 1 || event.ctrlKey || event.shiftKey || event.deltaY === 0) return;
		const unit =
			event.deltaMode === WheelEvent.DOM_DELTA_LINE
				? rowHeight
				: event.deltaMode === WheelEvent.DOM_DELTA_PAGE
					? view.height
					: 1;
		event.preventDefault();
		moveTo(Math.max(0, Math.min(place.whole - view.height, (wanted.current ?? view.top) + event.deltaY * unit)));
	};
	const reveal = (index: number) => {
		const top = topOf(index);
		const next =
			top < view.top ? top : top + rowHeight > view.top + view.height ? top + rowHeight - view.height : null;
		if (next !== null) moveTo(next);
	};
	useEffect(() => {
		if (detail) reveal(detail.index);
	}, [detail?.index]);
	const go = (index: number) => {
		const to = Math.max(0, Math.min(rows.count - 1, index));
		props.onSelect?.(to, rows.get(to));
		box.current!.scrollIntoView({ block: "nearest" });
		reveal(to);
	};
	const onKeyDown = (event: KeyboardEvent) => {
		if (event.target !== box.current || rows.count === 0 || event.ctrlKey || event.altKey || event.metaKey) return;
		const page = Math.max(1, Math.floor(view.height / rowHeight) - 1);
		const to: Record<string, number> = {
			ArrowDown: active + (props.selected == null ? 0 : 1),
			ArrowUp: active - 1,
			PageDown: active + page,
			PageUp: active - page,
			Home: 0,
			End: rows.count - 1,
		};
		if (props.onKey?.(event, active, rows.get(active))) event.preventDefault();
		else if (event.key in to) {
			event.preventDefault();
			go(to[event.key]!);
		} else if (props.onMenu && isMenuKey(event)) {
			const r = box.current!.getBoundingClientRect(),
				down = Math.min(view.height, topOf(active) - view.top + rowHeight);
			event.preventDefault();
			props.onMenu(active, rows.get(active), r.left + 40, r.top + HEAD_PX + Math.max(0, down));
		} else if (event.key === "Enter") {
			event.preventDefault();
			props.onActivate?.(active, rows.get(active));
		}
	};

	useJumpTarget(box);
	const tracks = tracksOf(props.label, props.columns),
		least = leastWidth(props.label, props.columns, props.minWidth ?? 0);
	const shift = box.current && place.ratio !== 1 ? view.top / place.ratio - view.top : 0;
	const drawn: JSX.Element[] = [];
	for (let i = first; i <= last; i++)
		drawn.push(
			<GridRow
				key={i}
				{...props}
				id={`${id}-${i}`}
				index={i}
				row={rows.get(i)}
				tracks={tracks}
				height={rowHeight}
				y={topOf(i) + shift}
				active={i === active}
				near={(c) => beside(i, (n) => valueOf(c, rows.get(n)))}
				isOpen={i === detail?.index}
				chosen={i === props.selected}
			/>,
		);
	return (
		<div
			class="vgrid"
			ref={box}
			role={props.tree ? "treegrid" : "grid"}
			aria-label={props.label}
			aria-rowcount={rows.count + 1}
			tabIndex={0}
			aria-activedescendant={active >= first && active <= last ? `${id}-${active}` : undefined}
			onScroll={scrolled}
			onWheel={wheeled}
			onKeyDown={onKeyDown}
			style={{ "--grid-min": least > 0 ? `${least}px` : "100%" }}
		>
			<GridHead
				label={props.label}
				columns={props.columns}
				tracks={tracks}
				sort={props.sort}
				onSort={props.onSort}
			/>
			<div class="vgrid-space" role="rowgroup" style={{ height: `${place.spacer}px` }}>
				{drawn}
				{detail && detail.index >= first - 1 && detail.index <= last && (
					<div
						class="vgrid-detail"
						role="row"
						style={{
							height: `${detail.height}px`,
							transform: `translateY(${(detail.index + 1) * rowHeight + shift}px)`,
						}}
					>
						<div role="gridcell">{detail.content}</div>
					</div>
				)}
			</div>
		</div>
	);
}

function GridRow<R>(
	props: VirtualGridProps<R> & {
		id: string;
		index: number;
		row: R | undefined;
		tracks: string;
		height: number;
		y: number;
		active: boolean;
		chosen: boolean;
		isOpen: boolean;
		near: (column: Column<R>) => readonly (number | null | undefined)[];
	},
): JSX.Element {
	const { row, index } = props;
	const tree = row !== undefined ? props.tree?.(row) : undefined;
	return (
		<div
			class={[
				"vgrid-row",
				props.active ? "active" : "",
				props.onActivate ? "opens" : "",
				props.isOpen ? "open" : "",
				tree ? "branch" : "",
			]
				.filter(Boolean)
				.join(" ")}
			role="row"
			id={props.id}
			aria-rowindex={index + 2}
			aria-selected={props.chosen}
			aria-level={tree?.level}
			aria-expanded={tree?.expanded ?? undefined}
			style={{
				gridTemplateColumns: props.tracks,
				height: `${props.height}px`,
				transform: `translateY(${props.y}px)`,
			}}
			onClick={(event) => {
				if (!props.onActivate) props.onSelect?.(index, row);
				else if (opensBy(event)) props.onActivate(index, row);
			}}
			onContextMenu={(event) => {
				if (!props.onMenu) return;
				event.preventDefault();
				props.onMenu(index, row, event.clientX, event.clientY);
			}}
		>
			{props.columns.map((c) => (
				<div key={c.id} role="gridcell" class={c.numeric ? "num" : ""}>
					{row !== undefined ? (
						c.value ? (
							<Near.Provider value={props.near(c)}>{c.cell(row, index)}</Near.Provider>
						) : (
							c.cell(row, index)
						)
					) : (
						<span class="skeleton" style={{ display: "block", height: "10px" }} />
					)}
				</div>
			))}
		</div>
	);
}
