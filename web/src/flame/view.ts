/* What the flame graph page is set to: options of the address, and what they mean for a request. */
import type { Params } from "../api/client";
import { baseName } from "../format";
import { metricParams, option, path, selection, setOption, update } from "../store";
import type { Hex } from "../api/types";
import type { Colouring } from "./colours";

export type Layout = "icicle" | "flame" | "inverted" | "sandwich";

export const LAYOUTS: readonly { value: Layout; label: string; title: string }[] = [
	{ value: "icicle", label: "Icicle", title: "main on top, callees below" },
	{ value: "flame", label: "Flame", title: "main at the bottom" },
	{ value: "inverted", label: "Inverted", title: "allocating functions on top, callers below" },
	{ value: "sandwich", label: "Sandwich", title: "one function: callers above, callees below" },
];
export const COLOURINGS: readonly { value: Colouring; label: string }[] = [
	{ value: "module", label: "module" },
	{ value: "namespace", label: "namespace" },
	{ value: "self", label: "own share" },
];

const WIDTH_STEP = 64;

export function layoutNow(): Layout {
	const word = option("lay", "icicle");
	return LAYOUTS.find((l) => l.value === word)?.value ?? "icicle";
}
export function layoutSet(layout: Layout): void {
	setOption("lay", layout === "icicle" ? null : layout);
}
export function colouringNow(): Colouring {
	const word = option("col", "module");
	return COLOURINGS.find((c) => c.value === word)?.value ?? "module";
}
export const merges = () => option("rec") === "merge";

/* What has no box just now, as the server is asked for it: hashes of functions, and short names of modules. */
export const hiddenFunctions = () => option("hide").split(".").filter(Boolean);
export const hiddenModules = () => option("hidem").split("/").filter(Boolean);

/* A step that `u` takes back. What was chosen may be gone, and so is its way in the path. */
export function hide(hash: Hex | null, module: string | null): void {
	const { options } = selection.value;
	update({
		path: path.value.filter((h) => h !== hash),
		frame: null,
		options: {
			...options,
			...(hash ? { hide: [...new Set([...hiddenFunctions(), hash])].join(".") } : {}),
			...(module ? { hidem: [...new Set([...hiddenModules(), baseName(module)])].join("/") } : {}),
		},
	});
}
export const searched = () => option("find");

/* A width that does not ask anew for every pixel of a window being resized. */
export function widthOf(px: number): number {
	return Math.max(WIDTH_STEP, Math.min(8192, Math.ceil(px / WIDTH_STEP) * WIDTH_STEP));
}

/*
 * An answer serves a narrower picture as well: the panel beside the graph, which comes with the first zoom, asks for nothing anew.
 * Another width is asked for where the picture is wider, or boxes would be thinner than a third of a pixel.
 */
export const widthKept = (asked: number, width: number) => (width > asked || width < asked / 3 ? width : asked);

export function flameParams(px: number, layout: Layout, focus: Hex | null, isUp = false): Params | null {
	if (px <= 0 || (layout === "sandwich" && !focus)) return null;
	const dir = layout === "inverted" || isUp ? "up" : "down";
	const root = layout !== "sandwich" && path.value.length > 0 ? { root: path.value.join(".") } : {};
	return {
		...metricParams(),
		...root,
		...(layout === "sandwich" ? { focus: focus! } : {}),
		dir,
		px: widthOf(px),
		...(option("hide") ? { hide: option("hide") } : {}),
		...(option("hidem") ? { hide_modules: option("hidem") } : {}),
		...(merges() ? { recursion: "merge" } : {}),
	};
}
