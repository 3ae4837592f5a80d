/*
 * A flame graph's boxes, arranged for drawing and for asking: which lie in a row, which is under the pointer, which match.
 * The server has merged what is too small to see (name -1), so children never exceed their parent.
 */
import type { Flame, Hex } from "../api/types";

export interface Graph {
	flame: Flame;
	rows: Int32Array[]; /* by depth: boxes from left to right */
	children: Int32Array; /* all boxes but the first, those of one parent together, from left to right ... */
	firstChild: Int32Array; /* ... by box: where its children begin in `children`; one more entry at the end */
	total: number; /* value of the first box: the graph's width */
}

/* Places of the boxes by a number of each, in their order: a counting sort. */
function grouped(numbers: readonly number[], groups: number, from: number): { items: Int32Array; first: Int32Array } {
	const first = new Int32Array(groups + 1),
		items = new Int32Array(Math.max(0, numbers.length - from));
	for (let i = from; i < numbers.length; i++) first[numbers[i]! + 1]!++;
	for (let g = 0; g < groups; g++) first[g + 1]! += first[g]!;
	const next = first.slice();
	for (let i = from; i < numbers.length; i++) items[next[numbers[i]!]!++] = i;
	return { items, first };
}

export function graphOf(flame: Flame): Graph {
	const count = flame.value.length;
	let deepest = 0;
	for (const depth of flame.depth) deepest = Math.max(deepest, depth);
	const byDepth = grouped(flame.depth, deepest + 1, 0),
		byParent = grouped(flame.parent, count, 1);
	const rows: Int32Array[] = [];
	for (let d = 0; d <= deepest; d++)
		rows.push(
			byDepth.items
				.slice(byDepth.first[d]!, byDepth.first[d + 1]!)
				.sort((a, b) => flame.begin[a]! - flame.begin[b]!),
		);
	return {
		flame,
		rows,
		children: byParent.items,
		firstChild: byParent.first,
		total: count > 0 ? flame.value[0]! : 0,
	};
}

/* The box of a row that holds a value on the horizontal axis; -1: none. */
export function boxAt(graph: Graph, depth: number, value: number): number {
	const row = graph.rows[depth];
	if (!row) return -1;
	const { begin, value: widths } = graph.flame;
	let low = 0,
		high = row.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (begin[row[middle]!]! <= value) low = middle + 1;
		else high = middle;
	}
	const box = low > 0 ? row[low - 1]! : -1;
	return box >= 0 && value < begin[box]! + widths[box]! ? box : -1;
}

export function childrenOf(graph: Graph, box: number): Int32Array {
	return graph.children.subarray(graph.firstChild[box]!, graph.firstChild[box + 1]!);
}

export function isMerged(graph: Graph, box: number): boolean {
	return graph.flame.name[box]! < 0;
}

/* As people read it. */
export function nameOf(graph: Graph, box: number): string {
	const name = graph.flame.name[box]!,
		count = graph.flame.count[box]!;
	return name >= 0 ? graph.flame.briefs[name]! : `${count} smaller ${count === 1 ? "frame" : "frames"}`;
}

/* In full, where that says more; null: it does not. */
export function fullNameOf(graph: Graph, box: number): string | null {
	const name = graph.flame.name[box]!;
	return name >= 0 && graph.flame.names[name] !== graph.flame.briefs[name] ? graph.flame.names[name]! : null;
}

export function hashOf(graph: Graph, box: number): Hex | null {
	const name = graph.flame.name[box]!;
	return name >= 0 ? graph.flame.hashes[name]! : null;
}

export function moduleOf(graph: Graph, box: number): string | null {
	const name = graph.flame.name[box]!;
	const module = name >= 0 ? graph.flame.name_module[name]! : -1;
	return module >= 0 ? graph.flame.modules[module]! : null;
}

/* Hashes from below the first box to this one; the first itself has none. */
export function pathOf(graph: Graph, box: number): Hex[] {
	const path: Hex[] = [];
	for (let at = box; at > 0; at = graph.flame.parent[at]!) path.push(hashOf(graph, at) ?? "");
	return path.reverse();
}

/* The box that is reached by such hashes; -1: there is none. */
export function boxByPath(graph: Graph, path: readonly Hex[]): number {
	let box = graph.total > 0 ? 0 : -1;
	for (const hash of path) {
		if (box < 0) break;
		box = childrenOf(graph, box).find((child) => hashOf(graph, child) === hash) ?? -1;
	}
	return box;
}

export function deepestOf(graph: Graph): number {
	return graph.rows.length - 1;
}

/* The largest box of a function: where to go when it is chosen elsewhere. -1: it is not drawn. */
export function largestOf(graph: Graph, hash: Hex): number {
	let best = -1;
	for (let i = 0; i < graph.flame.value.length; i++)
		if (hashOf(graph, i) === hash && (best < 0 || graph.flame.value[i]! > graph.flame.value[best]!)) best = i;
	return best;
}

/* A search text: a regular expression if it is one, else the text itself. Capitals in it count. */
export function searchOf(text: string): RegExp | null {
	if (!text) return null;
	const flags = /[A-Z]/.test(text) ? "u" : "iu";
	try {
		return new RegExp(text, flags);
	} catch {
		return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), flags);
	}
}

export interface Matches {
	names: ReadonlySet<number>;
	boxes: number[]; /* from left to right, outer before inner */
	value: number; /* of all of them together: what lies inside of another match counts once */
	isBeyondFilter: boolean; /* some match only as shortened for people, which filters do not know */
}

export function matchesOf(graph: Graph, search: RegExp | null): Matches {
	const names = new Set<number>();
	let isBeyondFilter = false;
	if (search)
		graph.flame.names.forEach((name, i) => {
			const isFull = search.test(name);
			if (!isFull && !search.test(graph.flame.briefs[i]!)) return;
			names.add(i);
			isBeyondFilter ||= !isFull;
		});
	const inside = new Uint8Array(graph.flame.value.length),
		boxes: number[] = [];
	let value = 0;
	for (let i = 0; names.size > 0 && i < inside.length; i++) {
		const parent = graph.flame.parent[i]!,
			outer = parent >= 0 && inside[parent] === 1;
		const is = i > 0 && names.has(graph.flame.name[i]!);
		inside[i] = outer || is ? 1 : 0;
		if (is) {
			boxes.push(i);
			value += outer ? 0 : graph.flame.value[i]!;
		}
	}
	boxes.sort(
		(a, b) => graph.flame.begin[a]! - graph.flame.begin[b]! || graph.flame.depth[a]! - graph.flame.depth[b]!,
	);
	return { names, boxes, value, isBeyondFilter };
}

export type Step = "parent" | "child" | "previous" | "next";

/* Where an arrow key leads; the same box when there is no such place. */
export function stepFrom(graph: Graph, box: number, step: Step): number {
	const parent = graph.flame.parent[box]!;
	if (step === "parent") return parent >= 0 ? parent : box;
	if (step === "child") {
		const children = childrenOf(graph, box);
		return children.length > 0 ? children[0]! : box;
	}
	const row = graph.rows[graph.flame.depth[box]!]!;
	const to = row.indexOf(box) + (step === "next" ? 1 : -1);
	return row[to] ?? box;
}
