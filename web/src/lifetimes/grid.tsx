/* A field of cells: how many blocks, or bytes, had two properties at once. What is drawn around becomes the selection. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { Axis, Grid } from "../api/types";
import { clock, momentText } from "../clock";
import { useJumpTarget } from "../keys";
import { replaceTerm } from "../filter";
import * as format from "../format";
import { labels } from "../overview/heat";
import { commonParams, filter, update } from "../store";
import type { Selection } from "../store";
import { TapeFlags } from "../timeline/flags";
import { timeTicks } from "../timeline/ticks";
import { Card, Tooltip } from "../ui/basics";
import { EmptyByFilter, Loading, Shown } from "../ui/states";
import { useWidth } from "../ui/width";
import { goesOn, neverFreed, neverWord } from "../vocabulary";

interface Cell {
	x: number;
	y: number;
}

const UNIT = 10,
	TICK_PX = 60; /* a label of a time and the space beside it */

export const axisText = (axis: Axis, v: number) =>
	axis.kind === "time" ? momentText(v) : axis.unit === "bytes" ? format.tickBytes(v) : format.duration(v);

/* Both ends belong to a range of the filter language. */
function rangeTerm(axis: Axis, from: number, until: number): string {
	const low = Math.round(axis.edges[from]!),
		high = Math.round(axis.edges[until + 1]!) - 1;
	return axis.unit === "bytes" ? `size in ${low}..${high}` : `${axis.kind} in ${low}ns..${high}ns`;
}

/* What a box of cells selects: time is the range, all else a condition. */
export function boxSelection(grid: Grid, from: Cell, until: Cell): Partial<Selection> {
	const x = [Math.min(from.x, until.x), Math.max(from.x, until.x)] as const,
		y = [Math.min(from.y, until.y), Math.max(from.y, until.y)] as const;
	const rows = grid.y.edges.length - 1,
		change: Partial<Selection> = {};
	let text = filter.value;
	if (grid.x.kind === "time") change.range = { from: grid.x.edges[x[0]]!, until: grid.x.edges[x[1] + 1]! };
	else text = replaceTerm(text, grid.x.kind, rangeTerm(grid.x, x[0], x[1]));
	if (y[0] >= rows) text = replaceTerm(text, "freed", "not freed");
	else if (y[1] < rows) text = replaceTerm(text, grid.y.kind, rangeTerm(grid.y, y[0], y[1]));
	return { ...change, filter: text };
}

function strength(value: number, most: number): number {
	return value > 0 && most > 0 ? 0.14 + 0.86 * (Math.log1p(value) / Math.log1p(most)) : 0;
}

function Field(props: { grid: Grid; what: "count" | "bytes"; isMain: boolean }): JSX.Element {
	const { grid } = props,
		nx = grid.x.edges.length - 1,
		ny = grid.y.edges.length - 1,
		rows = ny + (grid.never ? 1 : 0);
	const svg = useRef<SVGSVGElement>(null),
		[from, setFrom] = useState<Cell | null>(null),
		[at, setAt] = useState<Cell | null>(null),
		[tip, setTip] = useState<{ x: number; y: number } | null>(null);
	useJumpTarget(svg, props.isMain);
	const value = (c: Cell, what = props.what) =>
		c.y === ny ? (grid.never?.[what][c.x] ?? 0) : (grid[what][c.y * nx + c.x] ?? 0);
	const most = Math.max(...grid[props.what], 1),
		mostNever = Math.max(...(grid.never?.[props.what] ?? []), 1);
	const cells: JSX.Element[] = [];
	for (let y = 0; y < rows; y++)
		for (let x = 0; x < nx; x++) {
			const v = value({ x, y });
			if (v > 0)
				cells.push(
					<rect
						key={y * nx + x}
						x={x * UNIT + 0.3}
						y={(rows - 1 - y) * UNIT + 0.3}
						width={UNIT - 0.6}
						height={UNIT - 0.6}
						rx=".8"
						class={y === ny ? "heat-never" : "heat-cell"}
						fill-opacity={strength(v, y === ny ? mostNever : most).toFixed(3)}
					/>,
				);
		}
	const cellOf = (e: PointerEvent): Cell => {
		const r = svg.current!.getBoundingClientRect(),
			clamp = (v: number, n: number) => Math.max(0, Math.min(n - 1, Math.floor(v)));
		return {
			x: clamp(((e.clientX - r.left) / r.width) * nx, nx),
			y: rows - 1 - clamp(((e.clientY - r.top) / r.height) * rows, rows),
		};
	};
	const done = () => {
		if (from && at) update(boxSelection(grid, from, at));
		setFrom(null);
	};
	const onKeyDown = (e: KeyboardEvent) => {
		const move: Record<string, [number, number]> = {
				ArrowLeft: [-1, 0],
				ArrowRight: [1, 0],
				ArrowUp: [0, 1],
				ArrowDown: [0, -1],
			},
			by = move[e.key];
		if (by) {
			const now = at ?? { x: 0, y: 0 },
				to = {
					x: Math.max(0, Math.min(nx - 1, now.x + by[0])),
					y: Math.max(0, Math.min(rows - 1, now.y + by[1])),
				};
			setFrom(e.shiftKey ? (from ?? now) : to);
			setAt(to);
		} else if (e.key === "Enter") done();
		else if (e.key === "Escape" && from) setFrom(null);
		else return;
		e.preventDefault();
		e.stopPropagation();
	};
	const px = useWidth(svg),
		ticks = Math.max(2, Math.min(8, Math.floor(px / TICK_PX)));
	const times = grid.x.kind === "time" ? timeTicks(grid.x.edges[0]!, grid.x.edges[nx]!, ticks) : null,
		width = grid.x.edges[nx]! - grid.x.edges[0]!;
	const along = times
		? times.ticks.map((t) => ({ share: (t - grid.x.edges[0]!) / (width || 1), text: momentText(t, times.step) }))
		: labels(grid.x, 16, format.tickBytes, 7);
	const said =
		at &&
		`${axisText(grid.x, grid.x.edges[at.x]!)}, ${at.y === ny ? neverFreed() : axisText(grid.y, grid.y.edges[at.y]!)}: ${format.exact(value(at, "count"))} blocks, ${format.bytes(value(at, "bytes"))}`;
	const isMarked = grid.x.kind === "time" && clock.value.marks.length > 0;
	return (
		<div class={`field-grid ${isMarked ? "marked" : ""}`}>
			<ul class="field-y" aria-hidden="true">
				{grid.never && (
					<li class={goesOn.value ? "" : "bad"} style={{ bottom: `${((rows - 0.5) / rows) * 100}%` }}>
						{neverWord()}
					</li>
				)}
				{labels(grid.y, 10, format.duration, 7)
					.filter((l) => l.share < 0.97)
					.map((l) => (
						<li key={l.text} style={{ bottom: `${((l.share * ny) / rows) * 100}%` }}>
							{l.text}
						</li>
					))}
			</ul>
			<svg
				ref={svg}
				viewBox={`0 0 ${nx * UNIT} ${rows * UNIT}`}
				preserveAspectRatio="none"
				tabindex={0}
				role="application"
				aria-label="Arrow keys move, Shift widens, Enter selects"
				onPointerDown={(e) => {
					svg.current!.setPointerCapture(e.pointerId);
					setFrom(cellOf(e));
					setAt(cellOf(e));
				}}
				onPointerMove={(e) => {
					setAt(cellOf(e));
					setTip({ x: e.clientX, y: e.clientY });
				}}
				onPointerUp={done}
				onPointerLeave={() => setTip(null)}
				onKeyDown={onKeyDown}
			>
				{cells}
				{from && at && (
					<rect
						class="heat-box"
						x={Math.min(from.x, at.x) * UNIT}
						y={(rows - 1 - Math.max(from.y, at.y)) * UNIT}
						width={(Math.abs(at.x - from.x) + 1) * UNIT}
						height={(Math.abs(at.y - from.y) + 1) * UNIT}
					/>
				)}
			</svg>
			{isMarked && (
				<div class="field-marks">
					<TapeFlags from={grid.x.edges[0]!} until={grid.x.edges[nx]!} width={px} />
				</div>
			)}
			<ul class="field-x" aria-hidden="true">
				{along.map((l) => (
					<li
						key={l.text}
						class={l.share < 0.03 ? "first" : l.share > 0.97 ? "last" : ""}
						style={{ left: `${l.share * 100}%` }}
					>
						{l.text}
					</li>
				))}
			</ul>
			<p class="sr" role="status">
				{said}
			</p>
			{tip && at && !from && (
				<Tooltip x={tip.x} y={tip.y}>
					<dl class="pairs">
						<dt>{grid.x.kind}</dt>
						<dd>
							{axisText(grid.x, grid.x.edges[at.x]!)} – {axisText(grid.x, grid.x.edges[at.x + 1]!)}
						</dd>
						<dt>{grid.y.kind}</dt>
						<dd>
							{at.y === ny
								? neverFreed()
								: `${axisText(grid.y, grid.y.edges[at.y]!)} – ${axisText(grid.y, grid.y.edges[at.y + 1]!)}`}
						</dd>
						<dt>Blocks</dt>
						<dd>{format.exact(value(at, "count"))}</dd>
						<dt>Bytes</dt>
						<dd>{format.bytes(value(at, "bytes"))}</dd>
					</dl>
				</Tooltip>
			)}
		</div>
	);
}

export function GridCard(props: {
	title: string;
	x: string;
	y: string;
	nx: number;
	ny: number;
	what: "count" | "bytes";
	isMain?: boolean; /* keys go there after a jump to the page */
}): JSX.Element {
	const answer = useApi<Grid>("grid", { ...commonParams(), x: props.x, y: props.y, nx: props.nx, ny: props.ny });
	return (
		<Card title={props.title} class="field-card" stale={answer.stale} note="drag to select">
			<Shown answer={answer} loading={<Loading rows={8} height={18} />}>
				{(grid) =>
					grid.count.every((v) => v === 0) && !grid.never?.count.some((v) => v > 0) ? (
						<EmptyByFilter />
					) : (
						<Field grid={grid} what={props.what} isMain={props.isMain ?? false} />
					)
				}
			</Shown>
		</Card>
	);
}
