/* Where an axis has its numbers. */
import type { Bytes, Ns } from "../api/types";

function upTo(max: number, step: number): number[] {
	const ticks: number[] = [];
	for (let i = 0; i * step <= max * (1 + 1e-9) && ticks.length < 100; i++) ticks.push(i * step);
	return ticks;
}

/* From 0 to the first tick that is not below max: powers of two, so that labels are round in IEC. */
export function byteTicks(max: Bytes, about: number): number[] {
	const step = Math.max(1, 2 ** Math.ceil(Math.log2(Math.max(max, 1) / about)));
	return upTo(Math.ceil(Math.max(max, 1) / step) * step, step);
}

/* Steps of 1, 2 or 5 times a power of ten. */
export function countTicks(max: number, about: number): number[] {
	const rough = Math.max(max, 1e-9) / about,
		power = 10 ** Math.floor(Math.log10(rough));
	const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough * (1 - 1e-9))!;
	return upTo(Math.ceil(max / step - 1e-9) * step || step, step);
}

const LONG = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

/* Moments between from and until, at most `most` of them, and their distance. */
export function timeTicks(from: Ns, until: Ns, most: number): { step: Ns; ticks: Ns[] } {
	const rough = (until - from) / Math.max(1, most);
	const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
	const step =
		rough < 1e9
			? [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough)!
			: (LONG.find((s) => s * 1e9 >= rough) ?? Math.ceil(rough / 86400e9) * 86400) * 1e9;
	const ticks: Ns[] = [];
	for (let t = Math.ceil(from / step) * step; t <= until; t += step) ticks.push(t);
	return { step, ticks };
}
