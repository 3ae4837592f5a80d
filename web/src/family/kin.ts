/* Who is whose child: rows of the answer in the order of a tree, and when each lived. */
import type { ProcessOfTree } from "../api/answers";
import { quote } from "../filter";

export interface Relative {
	process: ProcessOfTree;
	index: number; /* in the answer */
	depth: number;
}

/* Children below their parents, by when they began. Without recursion: a chain of parents may be long. */
export function treeOf(processes: readonly ProcessOfTree[]): Relative[] {
	const children = new Map<number | null, number[]>();
	processes.forEach((p, i) => {
		const list = children.get(p.parent) ?? [];
		list.push(i);
		children.set(p.parent, list);
	});
	const found: Relative[] = [],
		open = [...(children.get(null) ?? [])].reverse().map((index) => ({ index, depth: 0 }));
	for (let next = open.pop(); next; next = open.pop()) {
		const { index, depth } = next;
		found.push({ process: processes[index]!, index, depth });
		for (const child of [...(children.get(index) ?? [])].reverse()) open.push({ index: child, depth: depth + 1 });
	}
	return found;
}

/* The filter that leaves this process alone. */
export const filterOf = (p: ProcessOfTree): string => `pid = ${p.pid} and process = ${quote(p.name)}`;

/* How it ended: what nobody knows is said to be that. */
export function endOf(p: ProcessOfTree): string {
	if (p.signal) return p.signal;
	if (p.exit !== null) return `exit ${p.exit}`;
	if (p.ended === "exec") return "became another program";
	return p.ended === "exit" ? "exit" : p.ended === "running" ? "running" : "not known";
}

export const isBad = (p: ProcessOfTree): boolean => p.signal !== null || (p.exit ?? 0) !== 0;
