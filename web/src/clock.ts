/* The selected tape's time: how long it is, where its peaks and marks are, and how its moments are written. */
import { computed } from "@preact/signals";
import type { Ns, RecordingPause } from "./api/types";
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

/* When no allocations were recorded, on purpose: the parts of the tape that the timeline hatches. */
export interface Pause extends Range {
	by: string; /* in words */
}

const PAUSED_BY: Record<RecordingPause["by"], string> = {
	start: "from the start",
	program: "by the program",
	signal: "by a signal",
	control: "on request",
	time: "by --delay or --duration",
};

export const pauses = computed<readonly Pause[]>(() =>
	(tape.value?.pauses ?? []).map((p) => ({
		from: p.begin_ns,
		until: p.end_ns ?? clock.value.duration,
		by: PAUSED_BY[p.by],
	})),
);

export const pauseAt = (ns: Ns): Pause | undefined => pauses.value.find((p) => ns >= p.from && ns < p.until);

/* How much of a part of the time they take. */
export const pausedIn = (from: Ns, until: Ns): Ns =>
	pauses.value.reduce((sum, p) => sum + Math.max(0, Math.min(until, p.until) - Math.max(from, p.from)), 0);

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
