/* What is compared, and how the address says it: `with` (the other tape; none: the same one), `ta` and `tb` (moments), `per`. */
import type { Params } from "../api/client";
import type { Tape } from "../api/types";
import { commonParams, info, metric, option, selection, tape, update } from "../store";

export interface Sides {
	a: Tape;
	b: Tape;
	isOne: boolean; /* one tape at two moments */
	hasMoments: boolean;
	at: readonly [string, string];
	per: readonly [number, number] | null; /* null: absolute */
}

export const UNITS_MAX = 1e9;

/* "1000:2500" or "1000" */
export function perParse(text: string): [number, number] | null {
	const match = /^\s*(\d{1,10})(?:\s*:\s*(\d{1,10}))?\s*$/.exec(text);
	const a = Number(match?.[1] ?? 0), b = Number(match?.[2] ?? a);
	return a >= 1 && b >= 1 && a <= UNITS_MAX && b <= UNITS_MAX ? [a, b] : null;
}

export function sidesNow(): Sides | null {
	const a = tape.value, others = (info.value?.tapes ?? []).filter((t) => t.id !== a?.id && t.state !== "failed" && t.state !== "loading");
	if (!a)
		return null;
	const word = option("with"), asked = others.find((t) => t.id === word);
	const b = word === "self" ? a : asked ?? others[0] ?? a;
	const isOne = b.id === a.id, hasMoments = isOne || metric.value === "live";
	return { a, b, isOne, hasMoments, at: [option("ta", isOne ? "start" : "peak"), option("tb", "peak")], per: perParse(option("per")) };
}

export function sidesParams(s: Sides): Params {
	return {
		...commonParams(), c: s.a.id, ...(s.isOne ? {} : { b: s.b.id }), m: s.hasMoments ? "live" : metric.value,
		...(s.hasMoments ? { a_at: s.at[0], b_at: s.at[1] } : {}), ...(s.per ? { a_per: s.per[0], b_per: s.per[1] } : {}),
	};
}

/* Another pair has other frames. Options that are given change, null removes one. */
export function sidesSet(change: Readonly<Record<string, string | null>>, tapeId?: string): void {
	const options: Record<string, string> = { ...selection.value.options };
	for (const [name, value] of Object.entries(change))
		if (value)
			options[name] = value;
		else
			delete options[name];
	update({ ...(tapeId && tapeId !== tape.value?.id ? { tape: tapeId, range: null, at: null } : {}), path: [], frame: null, options });
}

export function swap(s: Sides): void {
	const per = s.per ? `${s.per[1]}:${s.per[0]}` : null;
	const at: Record<string, string> = s.hasMoments ? { ta: s.at[1], tb: s.at[0] } : {};
	sidesSet({ ...at, per, with: s.isOne ? "self" : s.a.id }, s.isOne ? undefined : s.b.id);
}
