/* Which part of the tape's time the timelines show: all, or what the wheel zoomed to. It is in the address as `view`. */
import { computed } from "@preact/signals";
import type { Ns } from "../api/types";
import { clock } from "../clock";
import { option, setOption } from "../store";
import { rangeFormat, rangeParse } from "../url";
import type { Range } from "../url";

const LEAST_NS = 1000;

export const view = computed<Range>(() => {
	const whole = { from: 0, until: clock.value.duration };
	const zoomed = rangeParse(option("view"));
	return zoomed && zoomed.from < whole.until
		? { from: zoomed.from, until: Math.min(zoomed.until, whole.until) }
		: whole;
});
export const isZoomed = computed(() => view.value.until - view.value.from < clock.value.duration);

export function viewSet(next: Range | null): void {
	const { duration } = clock.value;
	const whole = next === null || (next.from <= 0 && next.until >= duration);
	setOption("view", whole ? null : rangeFormat(next!), "replace");
}

/*
 * factor < 1: closer; `around` stays where it is on the screen. Ends are rounded outwards: as many steps back as were made
 * show the whole again, whatever its length, and not all of it but a nanosecond.
 */
export function viewZoom(around: Ns, factor: number): void {
	const { from, until } = view.value,
		{ duration } = clock.value;
	const width = Math.max(LEAST_NS, Math.min(duration, (until - from) * factor));
	const share = (around - from) / (until - from);
	const begin = Math.max(0, Math.min(duration - width, around - share * width));
	viewSet({ from: Math.floor(begin), until: Math.min(duration, Math.ceil(begin + width)) });
}

export function viewPan(byShare: number): void {
	const { from, until } = view.value,
		{ duration } = clock.value,
		width = until - from;
	const begin = Math.max(0, Math.min(duration - width, from + byShare * width));
	viewSet({ from: Math.round(begin), until: Math.round(begin + width) });
}
