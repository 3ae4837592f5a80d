/* The selected tape's time: how long it is, where its peaks and marks are, and how its moments are written. */
import { computed } from "@preact/signals";
import type { Ns } from "./api/types";
import * as format from "./format";
import type { Clock } from "./moment";
import { at, detail, range, tape } from "./store";
import type { Range } from "./url";

export const clock = computed<Clock>(() => ({
	duration: tape.value?.duration_ns ?? 0,
	peak: detail.value?.peak_ns ?? null,
	rssPeak: detail.value?.rss_peak_ns ?? null,
	marks: detail.value?.marks ?? [],
}));

/* The range in nanoseconds, whole tape or not. */
export const span = computed<Range>(() => range.value ?? { from: 0, until: clock.value.duration });

export function momentText(ns: Ns, step?: Ns): string {
	return format.moment(ns, clock.value.duration, step);
}

export function rangeText(r: Range): string {
	return `${momentText(r.from)} \u2013 ${momentText(r.until)}`;
}

/* "at peak", "at 01:38.0" */
export function atText(): string {
	return at.value === null ? "at peak" : `at ${momentText(at.value)}`;
}
