/*
 * Size by lifetime: where the blocks are. Dragging over cells - or moving with the arrow keys, Shift widens - and letting
 * go (Enter) adds what they are as conditions of the filter.
 */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { Axis, Grid } from "../api/types";
import { joinTerms, replaceTerm, terms } from "../filter";
import * as format from "../format";
import { commonParams, filter, option, setOption, update } from "../store";
import { Th } from "../table/th";
import { Card, Segmented, Tooltip } from "../ui/basics";
import { Bytes } from "../ui/cells";
import { EmptyByFilter, Loading, Shown } from "../ui/states";
import { goesOn, neverFreed, neverWord } from "../vocabulary";

const NX = 24,
	NY = 15;
const UNIT = 10; /* of the picture: a cell's pitch */
const BAR_ROWS = 2.6; /* height of the histogram below */
const GAP_ROWS = 0.7;

interface Cell {
	x: number;
	y: number;
} /* y: 0 is the shortest lifetime, ny is "never" */
interface Box {
	from: Cell;
	until: Cell;
}

export interface Heat {
	nx: number;
	ny: number;
	values: (cell: Cell) => number;
	max: number;
	maxNever: number;
	columns: number[];
	grid: Grid;
}

function heatOf(grid: Grid, what: "count" | "bytes"): Heat {
	const nx = grid.x.edges.length - 1,
		ny = grid.y.edges.length - 1,
		never = grid.never?.[what] ?? [];
	const values = (c: Cell) => (c.y === ny ? (never[c.x] ?? 0) : (grid[what][c.y * nx + c.x] ?? 0));
	const columns = Array.from({ length: nx }, (_, x) => {
		let sum = never[x] ?? 0;
		for (let y = 0; y < ny; y++) sum += values({ x, y });
		return sum;
	});
	return { nx, ny, values, columns, grid, max: Math.max(...grid[what], 0), maxNever: Math.max(...never, 0) };
}

/* A single block is still to be seen beside millions. */
function strength(value: number, max: number): number {
	return value <= 0 || max <= 0 ? 0 : 0.16 + 0.84 * (Math.log1p(value) / Math.log1p(max));
}

function ordered(box: Box): Box {
	return {
		from: { x: Math.min(box.from.x, box.until.x), y: Math.min(box.from.y, box.until.y) },
		until: { x: Math.max(box.from.x, box.until.x), y: Math.max(box.from.y, box.until.y) },
	};
}

const sizeText = (bytes: number) =>
	bytes % 1024 === 0 && bytes >= 1024
		? format
				.bytes(bytes)
				.replace(" ", "")
				.replace(/\.0+(?=\D)/, "")
		: String(bytes);

/* memtape-filter(7)'s words for a box: both ends of its ranges belong to it, so the upper edge is one less. */
export function boxTerms(grid: Grid, box: Box): { size: string; life: string } {
	const { from, until } = ordered(box),
		ny = grid.y.edges.length - 1,
		x = grid.x.edges,
		y = grid.y.edges;
	const size = `size in ${sizeText(Math.round(x[from.x]!))}..${Math.round(x[until.x + 1]!) - 1}`;
	const ns = (n: number) => `${Math.round(n)}ns`;
	if (from.y === ny) return { size, life: "not freed" };
	if (until.y === ny) return { size, life: `(lifetime >= ${ns(y[from.y]!)} or not freed)` };
	return { size, life: `lifetime in ${ns(y[from.y]!)}..${ns(Math.round(y[until.y + 1]!) - 1)}` };
}

function apply(grid: Grid, box: Box): void {
	const { size, life } = boxTerms(grid, box);
	const others = terms(replaceTerm(replaceTerm(filter.value, "size", ""), "lifetime", "")).filter(
		(t) => t !== "not freed" && !/^\(lifetime >= \d+ns or not freed\)$/.test(t),
	);
	update({ filter: joinTerms([...others, size, life]) });
}

/* Round values on an axis and where they are, as a share of it: powers of `base`, fewer where there would be more than `most`. */
export function labels(
	axis: Axis,
	base: number,
	text: (v: number) => string,
	most: number,
): { share: number; text: string }[] {
	const low = Math.max(1, axis.edges[0]!),
		high = axis.edges[axis.edges.length - 1]!;
	const powers = Math.log(high / low) / Math.log(base),
		step = base ** Math.max(1, Math.ceil(powers / most));
	const shareOf = (v: number) =>
		axis.log ? Math.log(v / low) / Math.log(high / low) : (v - axis.edges[0]!) / (high - axis.edges[0]!);
	const found: { share: number; text: string }[] = [];
	for (let v = step ** Math.ceil(Math.log(low) / Math.log(step) - 1e-9); v <= high; v *= step)
		found.push({ share: shareOf(v), text: text(v) });
	return found;
}

function cellText(heat: Heat, cell: Cell): { size: string; life: string; count: number; bytes: number } {
	const { x, y } = heat.grid,
		i = cell.y * heat.nx + cell.x,
		never = cell.y === heat.ny;
	return {
		size: `${format.tickBytes(x.edges[cell.x]!)} \u2013 ${format.tickBytes(x.edges[cell.x + 1]!)}`,
		life: never
			? neverFreed()
			: `${format.duration(y.edges[cell.y]!)} \u2013 ${format.duration(y.edges[cell.y + 1]!)}`,
		count: (never ? heat.grid.never?.count[cell.x] : heat.grid.count[i]) ?? 0,
		bytes: (never ? heat.grid.never?.bytes[cell.x] : heat.grid.bytes[i]) ?? 0,
	};
}

function Cells(props: { heat: Heat }): JSX.Element {
	const { heat } = props,
		rows = heat.ny + (heat.grid.never ? 1 : 0),
		list: JSX.Element[] = [];
	for (let y = 0; y < rows; y++)
		for (let x = 0; x < heat.nx; x++) {
			const value = heat.values({ x, y }),
				never = y === heat.ny;
			if (value > 0)
				list.push(
					<rect
						key={y * heat.nx + x}
						x={x * UNIT + 0.4}
						y={(rows - 1 - y) * UNIT + 0.4}
						width={UNIT - 0.8}
						height={UNIT - 0.8}
						rx="1"
						class={never ? "heat-never" : "heat-cell"}
						fill-opacity={strength(value, never ? heat.maxNever : heat.max).toFixed(3)}
					/>,
				);
		}
	return <>{list}</>;
}

function Histogram(props: { heat: Heat; y: number }): JSX.Element {
	const most = Math.max(...props.heat.columns, 0),
		height = BAR_ROWS * UNIT;
	return (
		<>
			{props.heat.columns.map((v, x) => {
				const h = v > 0 && most > 0 ? Math.max(0.8, (Math.log1p(v) / Math.log1p(most)) * height) : 0;
				return (
					<rect
						key={x}
						x={x * UNIT + 0.4}
						y={props.y + height - h}
						width={UNIT - 0.8}
						height={h}
						rx="1"
						class="heat-bar"
					/>
				);
			})}
		</>
	);
}

function useSelecting(heat: Heat, rows: number) {
	const ref = useRef<SVGSVGElement>(null);
	const [box, setBox] = useState<Box | null>(null);
	const [hover, setHover] = useState<{ cell: Cell; x: number; y: number } | null>(null);
	const down = useRef(false);
	const cellAt = (e: PointerEvent): Cell => {
		const r = ref.current!.getBoundingClientRect(),
			high = rows + GAP_ROWS + BAR_ROWS;
		const clamp = (v: number, most: number) => Math.max(0, Math.min(most, Math.floor(v)));
		const x = clamp(((e.clientX - r.left) / r.width) * heat.nx, heat.nx - 1);
		return { x, y: rows - 1 - clamp(((e.clientY - r.top) / r.height) * high, rows - 1) };
	};
	const pointer = {
		onPointerDown: (e: PointerEvent) => {
			down.current = true;
			ref.current!.setPointerCapture(e.pointerId);
			const cell = cellAt(e);
			setBox({ from: cell, until: cell });
		},
		onPointerMove: (e: PointerEvent) => {
			const cell = cellAt(e);
			setHover({ cell, x: e.clientX, y: e.clientY });
			if (down.current) setBox((b) => b && { ...b, until: cell });
		},
		onPointerUp: () => {
			if (down.current && box) apply(heat.grid, box);
			down.current = false;
			setBox(null);
		},
		onPointerLeave: () => setHover(null),
	};
	const onKeyDown = (e: KeyboardEvent) => {
		const move: Record<string, [number, number]> = {
			ArrowLeft: [-1, 0],
			ArrowRight: [1, 0],
			ArrowUp: [0, 1],
			ArrowDown: [0, -1],
		};
		const now = box ?? { from: { x: 0, y: 0 }, until: { x: 0, y: 0 } },
			by = move[e.key];
		if (by) {
			const to = {
				x: Math.max(0, Math.min(heat.nx - 1, now.until.x + by[0])),
				y: Math.max(0, Math.min(rows - 1, now.until.y + by[1])),
			};
			setBox(box ? { from: e.shiftKey ? now.from : to, until: to } : now);
		} else if (e.key === "Enter" && box) {
			apply(heat.grid, box);
			setBox(null);
		} else if (e.key === "Escape" && box) setBox(null);
		else return;
		e.preventDefault();
	};
	return { ref, box, hover, pointer, onKeyDown };
}

function Map(props: { heat: Heat }): JSX.Element {
	const { heat } = props,
		rows = heat.ny + (heat.grid.never ? 1 : 0);
	const { ref, box, hover, pointer, onKeyDown } = useSelecting(heat, rows);
	const width = heat.nx * UNIT,
		height = (rows + GAP_ROWS + BAR_ROWS) * UNIT;
	const yPlace = (row: number) => `${((row + GAP_ROWS + BAR_ROWS) * 100) / (rows + GAP_ROWS + BAR_ROWS)}%`;
	const chosen = box && ordered(box),
		told = box ? cellText(heat, box.until) : null;
	const about = hover && cellText(heat, hover.cell);
	return (
		<div class="heat">
			<ul class="heat-y" aria-hidden="true">
				{heat.grid.never && (
					<li class={goesOn.value ? "" : "bad"} style={{ bottom: yPlace(heat.ny + 0.5) }}>
						{neverWord()}
					</li>
				)}
				{labels(heat.grid.y, 10, format.duration, 6)
					.filter((l) => l.share < 0.97)
					.map((l) => (
						<li key={l.text} style={{ bottom: yPlace(l.share * heat.ny) }}>
							{l.text}
						</li>
					))}
			</ul>
			<svg
				ref={ref}
				class="heat-map"
				viewBox={`0 0 ${width} ${height}`}
				preserveAspectRatio="none"
				tabindex={0}
				role="application"
				aria-label="Size by lifetime. Arrow keys move, Shift widens, Enter filters; t shows a table"
				{...pointer}
				onKeyDown={onKeyDown}
			>
				<Cells heat={heat} />
				<Histogram heat={heat} y={(rows + GAP_ROWS) * UNIT} />
				{chosen && (
					<rect
						class="heat-box"
						x={chosen.from.x * UNIT}
						y={(rows - 1 - chosen.until.y) * UNIT}
						width={(chosen.until.x - chosen.from.x + 1) * UNIT}
						height={(chosen.until.y - chosen.from.y + 1) * UNIT}
					/>
				)}
			</svg>
			<ul class="heat-x" aria-hidden="true">
				{labels(heat.grid.x, 16, format.tickBytes, 6).map((l) => (
					<li key={l.text} class={l.share > 0.94 ? "last" : ""} style={{ left: `${l.share * 100}%` }}>
						{l.text}
					</li>
				))}
			</ul>
			<p class="sr" role="status">
				{told && `${told.size}, ${told.life}: ${told.count} blocks, ${format.bytes(told.bytes)}`}
			</p>
			{hover && about && !box && (
				<Tooltip x={hover.x} y={hover.y}>
					<dl class="pairs">
						<dt>Size</dt>
						<dd>{about.size}</dd>
						<dt>Lifetime</dt>
						<dd>{about.life}</dd>
						<dt>Blocks</dt>
						<dd>{format.exact(about.count)}</dd>
						<dt>Bytes</dt>
						<dd>{format.bytes(about.bytes)}</dd>
					</dl>
				</Tooltip>
			)}
		</div>
	);
}

/* By size: as rows, since the columns of the picture are more than fit; of what is shaded. */
function HeatTable(props: { heat: Heat; what: "count" | "bytes" }): JSX.Element {
	const { heat, what } = props,
		rows: JSX.Element[] = [];
	for (let x = 0; x < heat.nx; x++)
		for (let y = 0; y <= heat.ny; y++) {
			const t = cellText(heat, { x, y });
			if (t.count > 0)
				rows.push(
					<tr key={y * heat.nx + x}>
						<th scope="row">{t.size}</th>
						<td>{t.life}</td>
						<td class="num">{what === "count" ? format.exact(t.count) : <Bytes value={t.bytes} />}</td>
					</tr>,
				);
		}
	return (
		<div class="table-scroll" tabIndex={0} role="region" aria-label="Size by lifetime as a table">
			<table class="table">
				<thead>
					<tr>
						<Th table="Size and lifetime" title="Size" first />
						<Th table="Size and lifetime" title="Lifetime" />
						<Th table="Size and lifetime" title={what === "count" ? "Blocks" : "Bytes"} num />
					</tr>
				</thead>
				<tbody>{rows}</tbody>
			</table>
		</div>
	);
}

export function HeatCard(props: { table: boolean }): JSX.Element {
	const what = option("heat", "count") === "bytes" ? "bytes" : "count";
	const answer = useApi<Grid>("grid", { ...commonParams(), x: "size", y: "lifetime", nx: NX, ny: NY });
	return (
		<Card
			title="Size × lifetime"
			class="heat-card"
			stale={answer.stale}
			tools={
				<Segmented
					label="Shade by"
					value={what}
					choices={[
						{ value: "count", label: "Count" },
						{ value: "bytes", label: "Bytes" },
					]}
					onChange={(w) => setOption("heat", w === "count" ? null : w, "replace")}
				/>
			}
		>
			<Shown answer={answer} loading={<Loading rows={8} height={20} />}>
				{(grid) => {
					const heat = heatOf(grid, what);
					return heat.columns.every((v) => v === 0) ? (
						<EmptyByFilter />
					) : props.table ? (
						<HeatTable heat={heat} what={what} />
					) : (
						<Map heat={heat} />
					);
				}}
			</Shown>
		</Card>
	);
}
