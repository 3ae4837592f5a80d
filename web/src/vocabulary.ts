/*
 * What the server has words for: measures, groups, formats of files, fields and operators of filters. Nothing of it is spelled
 * in the app. It comes with the list of tapes (session.ts), before any page is drawn.
 */
import { computed, signal } from "@preact/signals";
import type { Fields, GroupSums, Measure as AnyMeasure } from "./api/types";
import type { Metric } from "./url";

export type Measure = Omit<AnyMeasure, "word"> & { word: Metric };
export type Vocabulary = Omit<Fields, "measures"> & { measures: Measure[] };

export const vocabulary = signal<Vocabulary | null>(null);

/* The selected tape ends before its program: what was never freed is not freed yet. session.ts keeps it. */
export const goesOn = signal(false);

const named = computed<readonly Measure[]>(() => {
	const all = vocabulary.value?.measures ?? [];
	return goesOn.value ? all.map((m) => ({ ...m, title: m.title_so_far })) : all;
});

/* What a block that was not freed is: "never", or "not yet". */
export const neverWord = (): string => (goesOn.value ? "not yet" : "never");
export const neverFreed = (): string => (goesOn.value ? "not freed yet" : "never freed");

/* A report has answers about those that commands have, too, and about those of a leak scan, of looks at touched pages and of events of the kernel. */
export function measures(): readonly Measure[] {
	const all = named.value;
	return REPORT ? all.filter((m) => m.in_reports || m.scan || m.touches || m.kernel) : all;
}

export function measureOf(word: Metric): Measure {
	return (
		named.value.find((m) => m.word === word) ?? {
			word,
			title: word,
			title_so_far: word,
			unit: "bytes",
			doc: "",
			sort: null,
			at: false,
			scan: false,
			touches: false,
			kernel: false,
			spans: false,
			in_reports: false,
		}
	);
}

/* "Alive at the peak" */
export function measureTitle(word: Metric): string {
	return capital(measureOf(word).title);
}

export function capital(text: string): string {
	return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/* The word of an address, or the usual one where the server does not have it. */
export function measureKnown(word: Metric, usual: Metric): Metric {
	const all = measures();
	return all.length === 0 || all.some((m) => m.word === word) ? word : usual;
}

/* The sums of a group that metrics sort by: the server's words for them. */
export type SumKey = keyof GroupSums & ("size" | `${string}_size` | `${string}_count`);

/* null: a metric that groups have no sum of. */
export function sumOfKey(key: string): SumKey | null {
	return /^(?:(?:leaked|temporary|peak)_)?size$|^(?:allocated|leaked|temporary|peak)_count$/.test(key)
		? (key as SumKey)
		: null;
}

/* How many blocks the bytes of a sum are in. */
export function countOfKey(key: SumKey): SumKey {
	return key === "size" ? "allocated_count" : (key.replace(/_size$/, "_count") as SumKey);
}
