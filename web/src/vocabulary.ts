/*
 * What the server has words for: measures, groups, formats of files, fields and operators of filters. Nothing of it is spelled
 * in the app. It comes with the list of tapes (session.ts), before any page is drawn.
 */
import { signal } from "@preact/signals";
import type { Fields, Measure as AnyMeasure } from "./api/types";
import type { Metric } from "./url";

export type Measure = Omit<AnyMeasure, "word"> & { word: Metric };
export type Vocabulary = Omit<Fields, "measures"> & { measures: Measure[] };

export const vocabulary = signal<Vocabulary | null>(null);

/* A report has answers about those that commands have, too. */
export function measures(): readonly Measure[] {
	const all = vocabulary.value?.measures ?? [];
	return REPORT ? all.filter((m) => m.in_reports) : all;
}

export function measureOf(word: Metric): Measure {
	return (
		vocabulary.value?.measures.find((m) => m.word === word) ?? {
			word,
			title: word,
			unit: "bytes",
			doc: "",
			sort: null,
			at: false,
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

type SumName = "allocated" | "leaked" | "temporary" | "peak"; /* of SiteSums */

/* The sum of a group that a key sorts by, "leaked_size": ["leaked", "bytes"]; null: it is no sum. */
export function sumOfKey(key: string): readonly [of: SumName, what: "bytes" | "count"] | null {
	const [, of, what] = /^(?:(allocated|leaked|temporary|peak)_)?(size|count)$/.exec(key) ?? [];
	return what ? [(of ?? "allocated") as SumName, what === "count" ? "count" : "bytes"] : null;
}
