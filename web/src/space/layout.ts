/* In which order regions stand, and where the cells of one: line by line, or along a Hilbert curve, which keeps neighbours together. */
import type { HeapCells } from "../api/types";

export interface Place {
	x: number;
	y: number;
}
export interface Layout {
	width: number;
	height: number;
	places: readonly Place[];
	at: (x: number, y: number) => number; /* -1: none */
}

const SIDE_MAX = 32,
	GAP = 1; /* of one square of the curve, in cells; between squares */

/* The d-th place of a Hilbert curve through a square of `side`, a power of two. */
export function hilbert(side: number, d: number): Place {
	let x = 0,
		y = 0;
	for (let s = 1, t = d; s < side; s *= 2, t = Math.floor(t / 4)) {
		const rx = 1 & (t >> 1),
			ry = 1 & (t ^ rx);
		if (ry === 0) {
			if (rx === 1) {
				x = s - 1 - x;
				y = s - 1 - y;
			}
			[x, y] = [y, x];
		}
		x += s * rx;
		y += s * ry;
	}
	return { x, y };
}

function laid(places: Place[]): Layout {
	const width = Math.max(0, ...places.map((p) => p.x)) + 1,
		height = Math.max(0, ...places.map((p) => p.y)) + 1;
	const cells = new Map(places.map((p, i) => [p.y * width + p.x, i]));
	return { width, height, places, at: (x, y) => (x >= 0 && x < width ? (cells.get(y * width + x) ?? -1) : -1) };
}

export function linear(count: number, columns: number): Layout {
	return laid(Array.from({ length: count }, (_, i) => ({ x: i % columns, y: Math.floor(i / columns) })));
}

/* Squares of the curve beside each other, as many as fit into so many columns. */
export function curved(count: number, columns: number): Layout {
	let side = 1;
	while (side < SIDE_MAX && side * side < count && side * 2 <= columns) side *= 2;
	const across = Math.max(1, Math.floor((columns + GAP) / (side + GAP)));
	return laid(
		Array.from({ length: count }, (_, i) => {
			const square = Math.floor(i / (side * side)),
				p = hilbert(side, i % (side * side));
			return { x: (square % across) * (side + GAP) + p.x, y: Math.floor(square / across) * (side + GAP) + p.y };
		}),
	);
}

export function cellKind(live: number, resident: number, pinned: number): "empty" | "free" | "pinned" | "used" {
	if (live === 0) return resident > 0 ? "free" : "empty";
	return pinned > 0 ? "pinned" : "used";
}

export function cellAddress(region: HeapCells, cell: number): { begin: number; end: number } {
	const begin = parseInt(region.begin, 16) + cell * region.cell_bytes;
	return { begin, end: Math.min(begin + region.cell_bytes, parseInt(region.end, 16)) };
}

export type Order = "unused" | "address";
export const ORDERS: readonly { value: Order; label: string; title: string }[] = [
	{ value: "unused", label: "Most unused", title: "First those with most resident memory that no block uses" },
	{ value: "address", label: "By address", title: "As they lie in memory" },
];

export const unusedOf = (r: Pick<HeapCells, "resident_bytes" | "live_bytes">): number =>
	Math.max(0, r.resident_bytes - r.live_bytes);

/* Regions come by address. */
export const inOrder = (regions: readonly HeapCells[], order: Order): readonly HeapCells[] =>
	order === "address" ? regions : [...regions].sort((a, b) => unusedOf(b) - unusedOf(a));
