/* The boxes onto a canvas. Only what is in the window is drawn. */
import { fitted } from "../names";
import { INK } from "../palette";
import type { Theme } from "../theme";
import * as format from "../format";
import type { Painter } from "./colours";
import { mix } from "./colours";
import { deepestOf, isMerged, nameOf } from "./graph";
import type { Graph, Matches } from "./graph";

export const ROW_PX = 21;
const LEAST_PX = 0.5,
	TEXT_LEAST_PX = 26,
	FIGURES_LEAST_PX = 190,
	PAD_PX = 5;
const FONT = '450 12px "JetBrains Mono", ui-monospace, monospace';
const FIGURE_FONT = '560 11.5px "Inter Variable", system-ui, sans-serif';
const MATCH = "#f9d03b",
	MATCH_INK = "#141a24";

/* What part of the graph's width is spread over the canvas. */
export interface Window {
	from: number;
	span: number;
}

export interface Scene {
	graph: Graph;
	painter: Painter;
	theme: Theme;
	window: Window;
	isUp: boolean; /* the first box at the bottom */
	ancestors: number; /* rows above (below, if it grows up) the first box: the way to it */
	ancestorNames: readonly string[];
	width: number;
	height: number;
	scroll: number; /* of the whole picture's height */
	matches: Matches;
	searching: boolean;
	selected: string | null; /* hash: all boxes of the function have a line around them */
	cursor: number; /* box with the ring; -1: none */
	hover: number;
}

/* Rows of the whole picture. */
export function rowsOf(graph: Graph, ancestors: number): number {
	return deepestOf(graph) + 1 + ancestors;
}

export function pictureHeight(graph: Graph, ancestors: number): number {
	return rowsOf(graph, ancestors) * ROW_PX;
}

/* The top of a row of the picture, in the window's pixels. */
function rowTop(scene: Scene, row: number): number {
	const at = scene.isUp ? rowsOf(scene.graph, scene.ancestors) - 1 - row : row;
	return at * ROW_PX - scene.scroll;
}

export function rowAtY(scene: Pick<Scene, "graph" | "ancestors" | "isUp" | "scroll">, y: number): number {
	const row = Math.floor((y + scene.scroll) / ROW_PX);
	return scene.isUp ? rowsOf(scene.graph, scene.ancestors) - 1 - row : row;
}

/* "HashTable::gr..." in so many pixels; all letters have one width. */
const cut = (name: string, px: number, letter: number): string => fitted(name, Math.floor(px / letter));

interface Pen {
	ctx: CanvasRenderingContext2D;
	scene: Scene;
	scale: number;
	letter: number;
}

function label(pen: Pen, box: number, x: number, y: number, w: number, color: string): void {
	const { ctx, scene } = pen,
		{ flame, total } = scene.graph;
	const left = Math.max(x, 0) + PAD_PX,
		right = Math.min(x + w, scene.width) - PAD_PX;
	let room = right - left;
	ctx.fillStyle = color;
	if (room >= FIGURES_LEAST_PX) {
		const value = flame.value[box]!;
		const text =
			scene.painter.figures?.(box) ??
			`${format.value(value, flame.unit)}  ${format.percent(total ? value / flame.total : 0)}`;
		ctx.font = FIGURE_FONT;
		ctx.textAlign = "right";
		const width = ctx.measureText(text).width;
		const name = nameOf(scene.graph, box).length * pen.letter;
		if (name + width + 14 <= room) {
			ctx.fillText(text, right, y + 14.5);
			room -= width + 10;
		}
	}
	ctx.font = FONT;
	ctx.textAlign = "left";
	ctx.fillText(cut(nameOf(scene.graph, box), room, pen.letter), left, y + 14.5);
}

function drawBox(pen: Pen, box: number, y: number): void {
	const { ctx, scene, scale } = pen,
		{ flame } = scene.graph,
		ink = INK[scene.theme];
	const x = (flame.begin[box]! - scene.window.from) * scale,
		w = flame.value[box]! * scale;
	const match = scene.searching && scene.matches.names.has(flame.name[box]!) && !isMerged(scene.graph, box);
	const gap = w > 3 ? 1 : 0;
	ctx.fillStyle = match ? MATCH : scene.painter.fill(box);
	ctx.globalAlpha = scene.searching && !match ? 0.55 : 1;
	ctx.fillRect(x, y, Math.max(w - gap, LEAST_PX), ROW_PX - 1);
	ctx.globalAlpha = 1;
	if (box === scene.hover) {
		ctx.fillStyle = ink.text;
		ctx.globalAlpha = 0.12;
		ctx.fillRect(x, y, Math.max(w - gap, 1), ROW_PX - 1);
		ctx.globalAlpha = 1;
	}
	if (w >= TEXT_LEAST_PX)
		label(pen, box, x, y, w, match ? MATCH_INK : isMerged(scene.graph, box) ? ink.muted : ink.text);
}

/* The first box at or right of the window's left edge. */
function firstIn(scene: Scene, row: Int32Array): number {
	const { begin, value } = scene.graph.flame;
	let low = 0,
		high = row.length;
	while (low < high) {
		const middle = (low + high) >> 1,
			box = row[middle]!;
		if (begin[box]! + value[box]! <= scene.window.from) low = middle + 1;
		else high = middle;
	}
	return low;
}

function drawRow(pen: Pen, depth: number): void {
	const { scene, scale } = pen,
		row = scene.graph.rows[depth]!,
		{ begin, value } = scene.graph.flame;
	const y = rowTop(scene, depth + scene.ancestors);
	if (y + ROW_PX < 0 || y > scene.height) return;
	const end = scene.window.from + scene.window.span;
	for (let i = firstIn(scene, row); i < row.length; i++) {
		const box = row[i]!;
		if (begin[box]! >= end) break;
		if (value[box]! * scale >= LEAST_PX) drawBox(pen, box, y);
	}
}

/* The way to the first box: full width, quiet, to be clicked. */
function drawAncestors(pen: Pen): void {
	const { ctx, scene } = pen,
		ink = INK[scene.theme];
	for (let row = 0; row < scene.ancestors; row++) {
		const y = rowTop(scene, row);
		if (y + ROW_PX < 0 || y > scene.height) continue;
		ctx.fillStyle = mix(ink.line, ink.sunken, row === -scene.hover - 2 ? 0.9 : 0.35);
		ctx.fillRect(0, y, scene.width, ROW_PX - 1);
		ctx.fillStyle = ink.muted;
		ctx.font = FONT;
		ctx.textAlign = "left";
		ctx.fillText(cut(scene.ancestorNames[row] ?? "", scene.width - 2 * PAD_PX, pen.letter), PAD_PX, y + 14.5);
	}
}

function outline(pen: Pen, box: number, width: number, color: string): void {
	const { ctx, scene, scale } = pen,
		{ flame } = scene.graph;
	const x = Math.max((flame.begin[box]! - scene.window.from) * scale, 0);
	const right = Math.min((flame.begin[box]! + flame.value[box]! - scene.window.from) * scale, scene.width);
	const y = rowTop(scene, flame.depth[box]! + scene.ancestors);
	if (right <= 0 || x >= scene.width || right - x < LEAST_PX) return;
	ctx.strokeStyle = color;
	ctx.lineWidth = width;
	ctx.strokeRect(x + width / 2, y + width / 2, Math.max(right - x - width, 1), ROW_PX - 1 - width);
}

/* How long it took, in milliseconds. */
export function draw(ctx: CanvasRenderingContext2D, scene: Scene): number {
	const begun = performance.now(),
		ink = INK[scene.theme];
	ctx.font = FONT;
	const pen: Pen = {
		ctx,
		scene,
		scale: scene.window.span > 0 ? scene.width / scene.window.span : 0,
		letter: ctx.measureText("0000000000").width / 10,
	};
	ctx.clearRect(0, 0, scene.width, scene.height);
	for (let depth = 0; depth < scene.graph.rows.length; depth++) drawRow(pen, depth);
	drawAncestors(pen);
	if (scene.selected)
		scene.graph.flame.hashes.forEach((hash, name) => {
			if (hash === scene.selected)
				scene.graph.flame.name.forEach((n, box) => {
					if (n === name && box > 0) outline(pen, box, 1, ink.text);
				});
		});
	if (scene.cursor >= 0) outline(pen, scene.cursor, 2, ink.text);
	return performance.now() - begun;
}
