/* What the colour of a box says: its module, its namespace, or how much of it is its own. */
import { HEX, INK, moduleColour, SERIES } from "../palette";
import type { Colour } from "../palette";
import type { Theme } from "../theme";
import type { Graph } from "./graph";
import { moduleOf } from "./graph";
import { baseName } from "../format";

export type Colouring = "module" | "namespace" | "self";

export interface Legend {
	title: string;
	colour: Colour;
}

const JITTER = 0.05; /* so that siblings of one colour can be told apart */
const STRENGTH: Record<Theme, number> = { light: 0.44, dark: 0.46 };

function channels(hex: string): [number, number, number] {
	const n = parseInt(hex.slice(1), 16);
	return [n >> 16, (n >> 8) & 255, n & 255];
}

/* a over b */
export function mix(a: string, b: string, share: number): string {
	const [x, y] = [channels(a), channels(b)];
	return `rgb(${x.map((v, i) => Math.round(v * share + y[i]! * (1 - share))).join(" ")})`;
}

function hashText(text: string): number {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return (h >>> 0) / 4294967296;
}

/* "arrow::Buffer::Make" -> "arrow"; "PyList_New" -> "PyList"; "" when it has none. */
export function namespaceOf(name: string): string {
	const bare = name.replace(/^(?:operator\b.*|\(.*|<.*)$/, "");
	const scope = /^([A-Za-z_][\w$]*)::/.exec(bare);
	if (scope) return scope[1]!;
	const prefix = /^_*([A-Za-z][A-Za-z0-9]*)_/.exec(bare);
	return prefix ? prefix[1]! : "";
}

/* The namespaces with most of their own, in order. */
function namespaces(graph: Graph): string[] {
	const sums = new Map<string, number>();
	graph.flame.self.forEach((self, box) => {
		const name = graph.flame.name[box]!;
		if (name < 0 || box === 0) return;
		const space = namespaceOf(graph.flame.names[name]!);
		if (space) sums.set(space, (sums.get(space) ?? 0) + self + 1);
	});
	return [...sums]
		.sort((a, b) => b[1] - a[1])
		.slice(0, SERIES.length)
		.map(([space]) => space);
}

export interface Painter {
	fill: (box: number) => string;
	legend: readonly Legend[];
	figures?: (box: number) => string; /* at a box's right end; not given: its value and share */
	facts?: (
		box: number,
	) => readonly (readonly [
		title: string,
		value: string,
	])[]; /* under the pointer; not given: total, self, allocations */
}

export function painterOf(graph: Graph, colouring: Colouring, theme: Theme): Painter {
	const { flame } = graph,
		base = theme === "light" ? "#ffffff" : INK.dark.sunken;
	const known = new Map<number, string>();
	const spaces = colouring === "namespace" ? namespaces(graph) : [];
	const used = new Map<string, Colour>();
	/* Where nothing is the program's own, all would be grey. */
	const hasOwn = flame.role.some((role, name) => role === 0 && flame.name_module[name]! >= 0);
	const isAll = (box: number) => box === 0 && moduleOf(graph, 0) === null;
	const colourOf = (box: number): Colour => {
		const name = flame.name[box]!;
		if (name < 0 || isAll(box) || (hasOwn && flame.role[name] !== 0)) return "grey";
		if (colouring === "namespace") {
			const at = spaces.indexOf(namespaceOf(flame.names[name]!));
			return at >= 0 ? SERIES[at]! : "grey";
		}
		return moduleColour(moduleOf(graph, box));
	};
	const selfFill = (box: number) => {
		const share = flame.value[box]! > 0 ? flame.self[box]! / flame.value[box]! : 0;
		return mix(HEX[theme].blue, base, 0.12 + 0.55 * share);
	};
	const fill = (box: number): string => {
		const name = flame.name[box]!;
		if (colouring === "self") return name < 0 ? mix(HEX[theme].grey, base, 0.2) : selfFill(box);
		const done = known.get(name);
		if (done) return done;
		const jitter = name < 0 ? -0.18 : (hashText(flame.names[name]!) - 0.5) * 2 * JITTER;
		const text = mix(HEX[theme][colourOf(box)], base, STRENGTH[theme] + jitter);
		known.set(name, text);
		return text;
	};
	if (colouring === "module")
		for (let box = isAll(0) ? 1 : 0; box < flame.name.length; box++) {
			const module = moduleOf(graph, box),
				colour = colourOf(box);
			if (module && colour !== "grey") used.set(baseName(module), colour);
		}
	else spaces.forEach((space, i) => used.set(space, SERIES[i]!));
	const legend = [...used]
		.map(([title, colour]) => ({ title, colour }))
		.sort((a, b) => SERIES.indexOf(a.colour) - SERIES.indexOf(b.colour));
	return {
		fill,
		legend:
			colouring === "self"
				? [{ title: "more of its own: darker", colour: "blue" }]
				: [...legend, { title: "other", colour: "grey" }],
	};
}
