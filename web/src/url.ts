/*
 * The address of what is on the screen: #/PAGE?v=1&c=TAPE&t=FROM..UNTIL&at=MOMENT&q=FILTER&m=METRIC&z=PATH&s=FRAME
 * and the pages' own options. It stands in the fragment, which browsers send to no server. Times are
 * seconds with all their digits; frames are hashes of names, which other tapes share. Keys this version does not
 * know are options, and so survive.
 */
import type { Hex, Ns } from "./api/types";

export const URL_VERSION = 1;

export type Metric = string; /* a word of vocabulary.ts; of these the app itself knows "peak" and "live" */

export interface Range {
	from: Ns;
	until: Ns;
}

/* The one selection that all pages share. Values, never changed in place. */
export interface Selection {
	page: string;
	tape: string; /* id, or "last" */
	range: Range | null; /* null: from start to end */
	at: Ns | null; /* the time point; null: the peak */
	filter: string;
	metric: Metric;
	path: readonly Hex[]; /* zoomed into, outermost first */
	frame: Hex | null; /* selected */
	options: Readonly<Record<string, string>>;
}

export const START: Selection = {
	page: "overview",
	tape: "last",
	range: null,
	at: null,
	filter: "",
	metric: "peak",
	path: [],
	frame: null,
	options: {},
};

const KNOWN = new Set(["v", "c", "t", "at", "q", "m", "z", "s", "k"]);

/* 1500000000 -> "1.5" */
export function secondsText(ns: Ns): string {
	const whole = Math.floor(ns / 1e9);
	const rest = String(Math.round(ns - whole * 1e9))
		.padStart(9, "0")
		.replace(/0+$/, "");
	return rest ? `${whole}.${rest}` : String(whole);
}

export function secondsParse(text: string): Ns | null {
	const match = /^(\d{1,9})(?:\.(\d{1,9}))?$/.exec(text);
	return match ? Number(match[1]) * 1e9 + Number((match[2] ?? "").padEnd(9, "0")) : null;
}

export function rangeParse(text: string | null): Range | null {
	const [a, b] = (text ?? "").split("..");
	const from = secondsParse(a ?? ""),
		until = secondsParse(b ?? "");
	return from !== null && until !== null && from < until ? { from, until } : null;
}

export function rangeFormat(range: Range): string {
	return `${secondsText(range.from)}..${secondsText(range.until)}`;
}

/* Brings an older address up to date, version by version. */
const UPGRADES: ((params: URLSearchParams) => void)[] = [];

function upgrade(params: URLSearchParams): void {
	const version = Number(params.get("v") ?? URL_VERSION);
	for (let v = Math.max(version, 1); v < URL_VERSION; v++) UPGRADES[v - 1]?.(params);
}

/* The selection and the token (which is nobody else's) in a fragment. What cannot be read is as if it were not there. */
export function fragmentParse(fragment: string): { selection: Selection; token: string | null } {
	const text = fragment.replace(/^#/, "");
	const mark = text.indexOf("?");
	const slash = text.startsWith("/");
	const page = slash ? text.slice(1, mark < 0 ? undefined : mark) : "";
	const params = new URLSearchParams(slash ? (mark < 0 ? "" : text.slice(mark + 1)) : text);
	upgrade(params);
	const metric = params.get("m") ?? "";
	const options: Record<string, string> = {};
	for (const [key, value] of params) if (slash && !KNOWN.has(key)) options[key] = value;
	return {
		token: params.get("k"),
		selection: {
			page: page || START.page,
			tape: /^[0-9a-f]{32}$/.test(params.get("c") ?? "") ? params.get("c")! : "last",
			range: rangeParse(params.get("t")),
			at: secondsParse(params.get("at") ?? ""),
			filter: params.get("q") ?? "",
			metric: /^[a-z_]{1,32}$/.test(metric) ? metric : START.metric,
			path: (params.get("z") ?? "").split(".").filter((hash) => /^[0-9a-f]{16}$/.test(hash)),
			frame: /^[0-9a-f]{16}$/.test(params.get("s") ?? "") ? params.get("s") : null,
			options,
		},
	};
}

export function fragmentFormat(s: Selection): string {
	const params = new URLSearchParams({ v: String(URL_VERSION) });
	const set = (key: string, value: string | null) => {
		if (value) params.set(key, value);
	};
	set("c", s.tape === "last" ? null : s.tape);
	set("t", s.range && rangeFormat(s.range));
	set("at", s.at === null ? null : secondsText(s.at));
	set("q", s.filter);
	set("m", s.metric === START.metric ? null : s.metric);
	set("z", s.path.join("."));
	set("s", s.frame);
	for (const key of Object.keys(s.options).sort()) set(key, s.options[key]!);
	return `#/${s.page}?${params}`;
}
