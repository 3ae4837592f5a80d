/* The timeline on a canvas: grid, stacked areas and lines. Everything that is touched lies above it in the document. */
import { alpha, HEX, INK } from "../palette";
import type { Theme } from "../theme";
import type { Series } from "./series";

export interface Frame {
	width: number; /* of the canvas in CSS pixels */
	height: number;
	left: number; /* the plot within it */
	right: number;
	top: number;
	bottom: number;
}

export interface Picture {
	theme: Theme;
	frame: Frame;
	series: readonly Series[]; /* bottom to top */
	lines: readonly {
		values: readonly (readonly [share: number, value: number])[];
		colour: string;
	}[]; /* share: 0..1 of the width */
	linesBelow: boolean;
	max: number;
	yTicks: readonly number[];
	yText: (value: number) => string;
	xTicks: readonly { share: number; text: string }[];
	hatched: readonly (readonly [from: number, until: number])[]; /* shares: where nothing was recorded */
}

/* A canvas that is sharp on this screen; sizes from here on are CSS pixels. */
export function canvasFit(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
	const ratio = devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
	}
	const ctx = canvas.getContext("2d")!;
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	ctx.clearRect(0, 0, width, height);
	return ctx;
}

function drawAxes(ctx: CanvasRenderingContext2D, p: Picture, yOf: (v: number) => number): void {
	const { frame: f } = p,
		ink = INK[p.theme];
	ctx.font = "500 11px 'Inter Variable', system-ui, sans-serif";
	ctx.fillStyle = ink.muted;
	ctx.strokeStyle = ink.grid;
	ctx.lineWidth = 1;
	ctx.textBaseline = "middle";
	ctx.textAlign = "right";
	for (const tick of p.yTicks) {
		const y = Math.round(yOf(tick)) + 0.5;
		ctx.beginPath();
		ctx.moveTo(f.left, y);
		ctx.lineTo(f.width - f.right, y);
		ctx.stroke();
		ctx.fillText(p.yText(tick), f.left - 8, y);
	}
	ctx.textBaseline = "alphabetic";
	for (const { share, text } of p.xTicks) {
		const x = f.left + share * (f.width - f.left - f.right),
			half = ctx.measureText(text).width / 2;
		ctx.textAlign = x - half < 2 ? "left" : x + half > f.width ? "right" : "center";
		ctx.fillText(text, Math.max(2, Math.min(f.width, x)), f.height - 5);
	}
}

/* The edges between areas, from the bottom: edges[0] is the base line. */
function edgesOf(series: readonly Series[]): number[][] {
	const cols = series[0]?.values.length ?? 0;
	const edges: number[][] = [new Array<number>(cols).fill(0)];
	for (const s of series) edges.push(edges[edges.length - 1]!.map((base, i) => base + (s.values[i] ?? 0)));
	return edges;
}

function drawAreas(ctx: CanvasRenderingContext2D, p: Picture, yOf: (v: number) => number): void {
	const { frame: f } = p,
		width = f.width - f.left - f.right;
	const edges = edgesOf(p.series),
		cols = edges[0]!.length;
	const xOf = (i: number) => f.left + ((i + 0.5) * width) / cols;
	const trace = (edge: readonly number[]) => {
		ctx.lineTo(f.left, yOf(edge[0]!));
		for (let i = 0; i < cols; i++) ctx.lineTo(xOf(i), yOf(edge[i]!));
		ctx.lineTo(f.width - f.right, yOf(edge[cols - 1]!));
	};
	if (cols === 0) return;
	p.series.forEach((s, k) => {
		const colour = HEX[p.theme][s.colour],
			low = edges[k]!,
			high = edges[k + 1]!;
		ctx.beginPath();
		trace(high);
		for (let i = cols - 1; i >= 0; i--) ctx.lineTo(xOf(i), yOf(low[i]!));
		ctx.lineTo(f.left, yOf(low[0]!));
		ctx.closePath();
		ctx.fillStyle = alpha(colour, p.theme === "light" ? 0.66 : 0.72);
		ctx.fill();
	});
	p.series.forEach((s, k) => {
		/* the upper edge, where there is something below it */
		ctx.beginPath();
		for (let i = 0, open = false; i < cols; i++) {
			const there = yOf(edges[k]![i]!) - yOf(edges[k + 1]![i]!) > 0.4; /* pixels */
			if (there && open) ctx.lineTo(xOf(i), yOf(edges[k + 1]![i]!));
			else if (there) ctx.moveTo(xOf(i), yOf(edges[k + 1]![i]!));
			open = there;
		}
		ctx.strokeStyle = HEX[p.theme][s.colour];
		ctx.lineWidth = 1.25;
		ctx.lineJoin = "round";
		ctx.stroke();
	});
}

function drawLines(ctx: CanvasRenderingContext2D, p: Picture, yOf: (v: number) => number): void {
	const { frame: f } = p,
		width = f.width - f.left - f.right;
	for (const line of p.lines) {
		ctx.beginPath();
		for (const [share, value] of line.values) ctx.lineTo(f.left + share * width, yOf(value));
		ctx.strokeStyle = line.colour;
		ctx.lineWidth = 1.5;
		ctx.lineJoin = "round";
		ctx.stroke();
	}
}

const HATCH_PX = 7,
	HATCHED_LEAST_PX = 2; /* what is shorter is seen all the same */

/* The ground below the areas, then lines over them: nothing is known there but what was there before. */
function drawHatched(ctx: CanvasRenderingContext2D, p: Picture, part: "ground" | "lines"): void {
	const { frame: f } = p,
		width = f.width - f.left - f.right,
		height = f.height - f.top - f.bottom,
		ink = INK[p.theme];
	for (const [from, until] of p.hatched) {
		const x = f.left + from * width,
			w = Math.max(HATCHED_LEAST_PX, (until - from) * width);
		if (x > f.width - f.right || x + w < f.left) continue;
		ctx.save();
		ctx.beginPath();
		ctx.rect(x, f.top, w, height);
		ctx.clip();
		if (part === "ground") {
			ctx.fillStyle = alpha(ink.muted, 0.14);
			ctx.fill();
		} else {
			const first = Math.max(f.left, x) - height;
			ctx.beginPath();
			for (let at = first - (first % HATCH_PX); at < Math.min(x + w, f.width); at += HATCH_PX) {
				ctx.moveTo(at, f.top + height);
				ctx.lineTo(at + height, f.top);
			}
			ctx.strokeStyle = alpha(ink.text, 0.34);
			ctx.lineWidth = 1;
			ctx.stroke();
		}
		ctx.restore();
	}
}

export function drawTimeline(canvas: HTMLCanvasElement, p: Picture): void {
	const { frame: f } = p;
	const ctx = canvasFit(canvas, f.width, f.height);
	const height = f.height - f.top - f.bottom;
	const yOf = (v: number) => f.top + height - (p.max > 0 ? (v / p.max) * height : 0);
	drawAxes(ctx, p, yOf);
	ctx.save();
	ctx.beginPath();
	ctx.rect(f.left, f.top - 2, f.width - f.left - f.right, height + 3);
	ctx.clip();
	drawHatched(ctx, p, "ground");
	if (p.linesBelow) drawLines(ctx, p, yOf);
	drawAreas(ctx, p, yOf);
	drawHatched(ctx, p, "lines");
	if (!p.linesBelow) drawLines(ctx, p, yOf);
	ctx.restore();
}
