/*
 * What a curve of never freed bytes says of itself: it goes on growing, it came at once, or it levelled off. From some
 * two dozen points, so it is a judgement and not a proof; the page says so.
 */
export type Kind = "growing" | "once" | "levelled";

export const KINDS: readonly { kind: Kind; title: string; meaning: string }[] = [
	{ kind: "growing", title: "Growing", meaning: "grows steadily to the end: a typical leak" },
	{
		kind: "levelled",
		title: "Levelled off",
		meaning: "grew, then stayed: caches, pools, tables that reached their size",
	},
	{ kind: "once", title: "One-off", meaning: "allocated within a moment and kept: initialisation" },
];

export interface Fit {
	perStep: number;
	r2: number;
}

/* Least squares of values at 0, 1, 2 ... */
export function fit(values: readonly number[]): Fit {
	const n = values.length,
		meanX = (n - 1) / 2,
		meanY = values.reduce((a, b) => a + b, 0) / Math.max(1, n);
	let xy = 0,
		xx = 0,
		yy = 0;
	values.forEach((y, x) => {
		xy += (x - meanX) * (y - meanY);
		xx += (x - meanX) ** 2;
		yy += (y - meanY) ** 2;
	});
	return { perStep: xx > 0 ? xy / xx : 0, r2: xx > 0 && yy > 0 ? (xy * xy) / (xx * yy) : 0 };
}

const ONCE_SHARE = 0.9; /* of the rise within two neighbouring points: at once */
const LATE_SHARE = 0.12; /* of the rise in the last quarter: still growing (even growth has a quarter) */
const GROWING_R2 = 0.8;

export function classify(curve: readonly number[], count: number): Kind {
	const last = curve[curve.length - 1] ?? 0,
		first = curve[0] ?? 0,
		rise = last - first;
	if (count < 3 || rise <= 0 || first > last * ONCE_SHARE) return "once";
	const steps = curve.slice(1).map((v, i) => v - curve[i]!);
	for (let i = 0; i < steps.length; i++) if (steps[i]! + (steps[i + 1] ?? 0) >= rise * ONCE_SHARE) return "once";
	const late = last - curve[Math.floor((curve.length - 1) * 0.75)]!;
	return late >= rise * LATE_SHARE && fit(curve).r2 >= GROWING_R2 ? "growing" : "levelled";
}
