/* Colours of a difference: blue has less, orange has more, the stronger the more of it changed; grey stayed. */
import type { Graph } from "../flame/graph";
import { isMerged } from "../flame/graph";
import type { Painter } from "../flame/colours";
import { mix } from "../flame/colours";
import * as format from "../format";
import { HEX, INK } from "../palette";
import type { Theme } from "../theme";
import type { DiffFlame } from "../api/types";
import * as words from "./words";

/* -1 gone .. 0 the same .. 1 new */
export function relative(before: number, after: number): number {
	const most = Math.max(before, after);
	return most > 0 ? (after - before) / most : 0;
}

const STEPS = 24; /* colours in each direction: that many texts are made, not one a box */

function scale(theme: Theme): { less: string; same: string; more: string } {
	const base = theme === "light" ? "#ffffff" : INK.dark.sunken;
	return {
		less: mix(HEX.light.blue, base, theme === "light" ? 0.62 : 0.66),
		same: mix(HEX[theme].grey, base, theme === "light" ? 0.24 : 0.26),
		more: mix(HEX.light.orange, base, theme === "light" ? 0.68 : 0.72),
	};
}

function hexOf(rgb: string): string {
	return (
		"#" +
		rgb
			.match(/\d+/g)!
			.map((n) => Number(n).toString(16).padStart(2, "0"))
			.join("")
	);
}

/* By t of -1 .. 1. Small changes are to be seen, so the strength grows fast at first. */
export function colourOf(theme: Theme, t: number): string {
	const { less, same, more } = scale(theme);
	return mix(hexOf(t < 0 ? less : more), hexOf(same), Math.sqrt(Math.min(1, Math.abs(t))));
}

export function colours(theme: Theme): readonly string[] {
	return Array.from({ length: 2 * STEPS + 1 }, (_, i) => colourOf(theme, i / STEPS - 1));
}

export function diffPainter(graph: Graph, theme: Theme): Painter {
	const flame = graph.flame as DiffFlame,
		known = colours(theme);
	const unit = flame.unit,
		before = (box: number) => flame.before[box] ?? 0,
		after = (box: number) => flame.after[box] ?? 0;
	return {
		legend: [],
		fill: (box) => known[Math.round((relative(before(box), after(box)) + 1) * STEPS)]!,
		figures: (box) => `${words.change(after(box) - before(box), unit)}  ${words.value(after(box), unit)}`,
		facts: (box) => [
			["Before", words.value(before(box), unit)],
			["After", words.value(after(box), unit)],
			[
				"Change",
				`${words.arrow(after(box) - before(box))} ${words.change(after(box) - before(box), unit)} \u00b7 ${words.share(before(box), after(box))}`,
			],
			...(isMerged(graph, box)
				? []
				: ([["Allocations, both", format.exact(flame.count[box]!)]] as [string, string][])),
		],
	};
}
