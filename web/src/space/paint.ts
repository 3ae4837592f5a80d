/* The colours of cells and what they mean. */
import type { Heap, HeapClass } from "../api/types";
import { mix } from "../flame/colours";
import * as format from "../format";
import { named } from "../names";
import { HEX, INK, SERIES } from "../palette";
import type { Theme } from "../theme";
import { threadText } from "../thread";

export const PAINTS = [
	{ value: "use", label: "Use", title: "How much of a cell is in use" },
	{ value: "age", label: "Age", title: "How old most of it is" },
	{ value: "size", label: "Size", title: "The size of the blocks that most of it belongs to" },
	{ value: "thread", label: "Thread", title: "The thread that allocated most of it" },
	{ value: "site", label: "Call site", title: "The function that allocated most of it" },
] as const;
export type Paint = (typeof PAINTS)[number]["value"];

export interface Shade {
	title: string;
	colour: string;
	bytes: number;
	count: number;
}

const isOrdered = (by: string) => by === "age" || by === "size";

/* What has an order is light to dark; what has none takes the series' colours, and the rest is grey. */
function shadeColour(by: string, index: number, count: number, theme: Theme): string {
	const hex = HEX[theme];
	return isOrdered(by)
		? mix(hex.purple, INK[theme].surface, 0.22 + (0.78 * index) / Math.max(1, count - 1))
		: hex[SERIES[index] ?? "grey"];
}

function classTitle(by: string, classes: readonly HeapClass[], index: number): string {
	const c = classes[index]!,
		next = classes[index + 1]?.from;
	const text = (v: number) => (by === "age" ? format.duration(v) : format.bytes(v)).replace(/\.0+ /, " ");
	if (isOrdered(by))
		return next === undefined
			? `${text(c.from!)} and more`
			: index === 0
				? `below ${text(next)}`
				: `${text(c.from!)} – ${text(by === "age" ? next : next - 1)}`;
	return c.brief ? named(c.brief) : c.tid === undefined ? "others" : threadText(c.name, c.tid);
}

/* One for each class; beyond the colours there are, classes share the last. */
export function shadesOf(space: Heap, theme: Theme): Shade[] {
	const most = isOrdered(space.by) ? space.classes.length : SERIES.length + 1,
		shades: Shade[] = [];
	space.classes.forEach((c, i) => {
		if (i < most)
			shades.push({
				title: i === SERIES.length && !isOrdered(space.by) ? "others" : classTitle(space.by, space.classes, i),
				colour: shadeColour(space.by, i, most, theme),
				bytes: c.bytes,
				count: c.count,
			});
		else {
			shades[most - 1]!.bytes += c.bytes;
			shades[most - 1]!.count += c.count;
		}
	});
	return shades;
}

/* Orange, but where a class is orange. */
export function freeColour(by: string, theme: Theme): string {
	return by === "thread" || by === "site"
		? mix(HEX[theme].grey, INK[theme].surface, 0.34)
		: mix(HEX[theme].orange, INK[theme].surface, 0.42);
}

export interface Colours {
	free: string;
	empty: string;
	pin: string;
	chosen: string;
	cell: (share: number, shade: number) => string;
}

const LEVELS = 8;

export function coloursOf(space: Heap, shades: readonly Shade[], theme: Theme): Colours {
	const ink = INK[theme],
		hex = HEX[theme],
		known = new Map<number, string>();
	const cell = (share: number, shade: number) => {
		const level = Math.ceil(Math.min(1, share) * LEVELS),
			key = shade * (LEVELS + 1) + level;
		let colour = known.get(key);
		if (!colour) {
			const full = shades[Math.min(shade, shades.length - 1)]?.colour ?? hex.blue;
			colour = full.startsWith("#") ? mix(full, ink.surface, 0.2 + (0.8 * level) / LEVELS) : full;
			known.set(key, colour);
		}
		return colour;
	};
	return { free: freeColour(space.by, theme), empty: ink.sunken, pin: ink.text, chosen: ink.accent, cell };
}
