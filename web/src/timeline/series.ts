/* What the timeline stacks, bottom to top, and in which colours. */
import type { Curves } from "../api/types";
import type { Frames } from "../frames";
import { moduleColour, SERIES } from "../palette";
import type { Colour } from "../palette";

export type Mode = "module" | "my" | "function" | "lifetime" | "thread" | "size" | "rate";
export const MODES: readonly { value: Mode; label: string; title: string }[] = [
	{ value: "module", label: "By module", title: "Live bytes by the module that allocated" },
	{ value: "my", label: "By my code", title: "Live bytes by the function of your own code that allocated" },
	{ value: "function", label: "By function", title: "Live bytes by the function that allocated, of libraries too" },
	{ value: "lifetime", label: "By lifetime", title: "Live bytes by how long their blocks lived" },
	{ value: "thread", label: "By thread", title: "Live bytes by the thread that allocated" },
	{ value: "size", label: "By size", title: "Live bytes by the size of the block" },
	{ value: "rate", label: "Alloc rate", title: "Allocations and frees per second" },
];

/* What is asked for; null: the server chooses, and says in `by` what it chose. */
export function bandsParams(mode: Mode | null): { bands: string; frames?: Frames } {
	if (mode === null || mode === "rate") return { bands: "auto" };
	if (mode === "my") return { bands: "function", frames: "my" };
	return mode === "function" ? { bands: "function", frames: "exact" } : { bands: mode };
}

/* What an answer shows. */
export function modeOf(data: Curves | null, chosen: Mode | null, frames: Frames): Mode {
	if (chosen !== null) return chosen;
	return data?.by === "function" ? (frames === "my" ? "my" : "function") : "module";
}

export interface Series {
	title: string;
	colour: Colour;
	values: readonly number[];
	q: string | null;
}

/* What leaked is red and the rest is grey; a module has its colour on every page; others take what is left. */
function bandColours(data: Curves, mode: Mode): Colour[] {
	const fixed = data.bands.map((b): Colour | null => {
		if (b.rest) return "grey";
		if (b.q === "leaked" || b.q === "not freed") return "red";
		const module = mode === "module" ? moduleColour(b.title) : "grey";
		return module === "grey" ? null : module;
	});
	const free = SERIES.filter((c) => !fixed.includes(c));
	return fixed.map((c) => c ?? free.shift() ?? "grey");
}

/* The server's "1.00 us .. 10.0 us" as the app writes such lengths. */
function bandTitle(title: string, mode: Mode): string {
	return mode === "lifetime" || mode === "size"
		? title
				.replace(/\bus\b/g, "\u00b5s")
				.replace(/(\d)\.0+(?= )/g, "$1")
				.replace(/ \.\. /, " \u2013 ")
		: title;
}

export function seriesOf(data: Curves, mode: Mode): Series[] {
	if (mode === "rate") {
		const perSecond = (data.cols * 1e9) / (data.until_ns - data.from_ns);
		return [
			{ title: "allocations", colour: "teal", q: null, values: data.allocated_count.map((n) => n * perSecond) },
		];
	}
	if (data.bands.length === 0) return [{ title: "live", colour: "blue", q: null, values: data.live_max }];
	const colours = bandColours(data, mode);
	return data.bands
		.map((b, i) => ({ title: bandTitle(b.title, mode), colour: colours[i]!, values: b.values, q: b.q }))
		.reverse();
}

/* The frees of rate mode: a line over the area. */
export function freesOf(data: Curves): number[] {
	const perSecond = (data.cols * 1e9) / (data.until_ns - data.from_ns);
	return data.freed_count.map((n) => n * perSecond);
}

export function topOf(series: readonly Series[], cols: number): number[] {
	const top = new Array<number>(cols).fill(0);
	for (const s of series) for (let i = 0; i < cols; i++) top[i]! += s.values[i] ?? 0;
	return top;
}
