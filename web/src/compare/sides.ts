/* What is compared, and how the address says it: `with` (the other tape; none: the same one), `ta` and `tb` (moments), `ra` and `rb` (spans of time), `per`. */
import type { Params } from "../api/client";
import type { Tape } from "../api/types";
import { commonParams, detail, info, metric, option, selection, tape, update } from "../store";
import { measureOf } from "../vocabulary";

export interface Sides {
	a: Tape;
	b: Tape;
	isOne: boolean; /* one tape at two moments */
	hasMoments: boolean;
	hasSpans: boolean; /* of what was allocated: when */
	at: readonly [string, string];
	spans: readonly [string, string]; /* "1s..peak"; "": all of it */
	per: readonly [number, number] | null; /* null: absolute */
}

export const UNITS_MAX = 1e9;

/* "1000:2500" or "1000" */
export function perParse(text: string): [number, number] | null {
	const match = /^\s*(\d{1,10})(?:\s*:\s*(\d{1,10}))?\s*$/.exec(text);
	const a = Number(match?.[1] ?? 0),
		b = Number(match?.[2] ?? a);
	return a >= 1 && b >= 1 && a <= UNITS_MAX && b <= UNITS_MAX ? [a, b] : null;
}

export const LIVE = "live";

/* "1s..peak" as the API's from and until of a side. */
export function spanParams(side: "a" | "b", text: string): Params {
	const [from = "", until = ""] = text.split("..").map((s) => s.trim());
	return {
		...(from && from !== "start" ? { [`${side}_from`]: from } : {}),
		...(until ? { [`${side}_until`]: until } : {}),
	};
}

/* What the server compares of one tape, until moments are chosen. */
function usualPair(id: string): { a: string; b: string } {
	return detail.value?.tape.id === id ? detail.value.pair : { a: "start", b: "peak" };
}

export function sidesNow(): Sides | null {
	const shown = tape.value,
		all = info.value?.tapes ?? [],
		others = all.filter((t) => t.id !== shown?.id && t.state !== "failed" && t.state !== "loading");
	if (!shown) return null;
	const word = option("with"),
		other = others.find((t) => t.id === word) ?? others[0] ?? shown;
	const isSecond =
		word === "" && all.indexOf(other) < all.indexOf(shown); /* `memtape serve before after` shows the last */
	const [a, b] = word === "self" ? [shown, shown] : isSecond ? [other, shown] : [shown, other];
	const isOne = b.id === a.id,
		measure = measureOf(metric.value),
		hasSpans = measure.spans,
		hasMoments = !hasSpans && (isOne || measure.at),
		usual = isOne ? usualPair(shown.id) : null;
	return {
		a,
		b,
		isOne,
		hasMoments,
		hasSpans,
		at: [option("ta", usual?.a ?? "peak"), option("tb", usual?.b ?? "peak")],
		spans: [option("ra", isOne ? "start..50%" : ""), option("rb", isOne ? "50%..end" : "")],
		per: perParse(option("per")),
	};
}

export function sidesParams(s: Sides): Params {
	return {
		...commonParams(),
		c: s.a.id,
		...(s.isOne ? {} : { b: s.b.id }),
		m: s.hasMoments ? LIVE : metric.value,
		...(s.hasSpans ? { ...spanParams("a", s.spans[0]), ...spanParams("b", s.spans[1]) } : {}),
		...(s.hasMoments ? { a_at: s.at[0], b_at: s.at[1] } : {}),
		...(s.per ? { a_per: s.per[0], b_per: s.per[1] } : {}),
	};
}

/* Another pair has other frames. Options that are given change, null removes one. */
export function sidesSet(change: Readonly<Record<string, string | null>>, tapeId?: string): void {
	const options: Record<string, string> = { ...selection.value.options };
	for (const [name, value] of Object.entries(change))
		if (value) options[name] = value;
		else delete options[name];
	update({
		...(tapeId && tapeId !== tape.value?.id ? { tape: tapeId, range: null, at: null } : {}),
		path: [],
		frame: null,
		options,
	});
}

export function swap(s: Sides): void {
	const per = s.per ? `${s.per[1]}:${s.per[0]}` : null;
	const at: Record<string, string> = s.hasMoments
		? { ta: s.at[1], tb: s.at[0] }
		: s.hasSpans
			? { ra: s.spans[1], rb: s.spans[0] }
			: {};
	sidesSet({ ...at, per, with: s.isOne ? "self" : s.a.id }, s.b.id);
}
