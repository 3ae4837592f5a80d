/*
 * What is selected. A page is a function of it: whatever changes it on one page changes every page. It lives in the
 * address; `update` is the only way to change it.
 */
import { batch, computed, signal } from "@preact/signals";
import type { ReadonlySignal } from "@preact/signals";
import type { Hex, Info, Ns, Tape, TapeDetail } from "./api/types";
import { fragmentFormat, fragmentParse, START } from "./url";
import { measureKnown, measureOf } from "./vocabulary";
import type { Metric, Range, Selection } from "./url";

const TOKEN_KEY = "memtape.token";
const FIRST = 1; /* history.state of where the app was entered */

export const selection = signal<Selection>(START);
export const token = signal<string>("");

const part = <K extends keyof Selection>(key: K): ReadonlySignal<Selection[K]> => computed(() => selection.value[key]);
export const page = part("page");
export const tapeId = part("tape");
export const range = part("range");
export const at = part("at");
export const filter = part("filter");
export const metric: ReadonlySignal<Metric> = computed(() => measureKnown(selection.value.metric, START.metric));
export const path = part("path");
export const frame = part("frame");

/* What the server said about its tapes and about the one selected; null: not yet. */
export const info = signal<Info | null>(null);
export const detail = signal<TapeDetail | null>(null);
export const tape: ReadonlySignal<Tape | null> = computed(() => {
	const tapes = info.value?.tapes ?? [];
	return (
		tapes.find((t) => t.id === tapeId.value) ?? (tapeId.value === "last" ? (tapes[tapes.length - 1] ?? null) : null)
	);
});

/* True while something is dragged: requests are then spaced, and the address is not pushed. */
export const dragging = signal(false);

/* What "find" is a search of, by page: pages that search the same share it. The registry of pages says it. */
const searches = new Map<string, string>();

export function searchesSet(page: string, of: string): void {
	searches.set(page, of);
}

/* What is open on a page is not open on another, and what "by" and "find" mean there is another question. */
function changed(change: Partial<Selection>): Selection {
	const now = selection.value,
		next = { ...now, ...change };
	if (next.page === now.page) return next;
	const options: Record<string, string> = { ...next.options },
		searched = searches.get(now.page);
	const isShared = searched !== undefined && searched === searches.get(next.page);
	for (const name of isShared ? ["open", "by"] : ["open", "by", "find"])
		if (options[name] === now.options[name]) delete options[name];
	return { ...next, options };
}

/*
 * Changes the selection and its address. "push" makes a step that Back undoes: going to a page, zooming, committing a
 * filter; "replace" is for what changes continuously.
 */
export function update(change: Partial<Selection>, how: "push" | "replace" = "push"): void {
	const next = changed(change);
	const fragment = fragmentFormat(next);
	if (fragment !== location.hash) {
		if (how === "push") history.pushState(0, "", fragment);
		else history.replaceState(history.state, "", fragment);
	}
	batch(() => {
		selection.value = next;
	});
}

export function option(name: string, otherwise = ""): string {
	return selection.value.options[name] ?? otherwise;
}

/* null or "": back to what it is by itself. */
export function setOption(name: string, value: string | null, how: "push" | "replace" = "push"): void {
	const { [name]: _, ...rest } = selection.value.options;
	update({ options: value ? { ...rest, [name]: value } : rest }, how);
}

/* The address of a change of the selection, for links; they work in a new tab, too. */
export function href(change: Partial<Selection>): string {
	return fragmentFormat(changed(change));
}

/* What nearly every request says. The names are the API's. */
export function commonParams(): Record<string, string> {
	const s = selection.value;
	const params: Record<string, string> = { c: s.tape };
	if (s.filter) params.q = s.filter;
	if (s.range && !REPORT) {
		/* a report knows the whole recording */
		params.from = nsText(s.range.from);
		params.until = nsText(s.range.until);
	}
	return params;
}

/* The same with the metric and, where the metric has one, its moment. */
export function metricParams(): Record<string, string> {
	const params = { ...commonParams(), m: metric.value };
	return measureOf(metric.value).at ? { ...params, ...atParams() } : params;
}

/* The time point, as a parameter. */
export function atParams(): { at: string } {
	return { at: at.value === null ? "peak" : nsText(at.value) };
}

export function nsText(ns: Ns): string {
	return `${Math.round(ns)}ns`;
}

export type { Hex, Metric, Range, Selection };

/* The last known token survives a reload of the tab, and nothing else gets it. */
function tokenTake(fresh: string | null): void {
	if (fresh !== null) sessionStorage.setItem(TOKEN_KEY, fresh);
	token.value = fresh ?? sessionStorage.getItem(TOKEN_KEY) ?? "";
}

function readAddress(): void {
	const { selection: next, token: fresh } = fragmentParse(location.hash);
	tokenTake(fresh);
	history.replaceState(history.state, "", fragmentFormat(next));
	selection.value = next;
}

/* Back, but not out of the app. */
export function undo(): void {
	if (history.state !== FIRST) history.back();
}

/* Once, before anything is drawn. */
export function storeInit(): void {
	if (history.state === null) history.replaceState(FIRST, "");
	readAddress();
	addEventListener("popstate", readAddress);
	addEventListener("hashchange", readAddress);
}
