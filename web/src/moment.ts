/*
 * Moments as people type them: "1:02.5", "12.5", "2m30s", "250ms", "75%", "start", "end", "peak", "peakrss", "mark(NAME)", and
 * any of these with an offset: "peak-2s".
 */
import type { Mark, Ns } from "./api/types";
import { markFind } from "./timeline/marks";

export interface Clock {
	duration: Ns;
	peak: Ns | null;
	rssPeak: Ns | null;
	marks: readonly Mark[];
}

const UNITS: Record<string, number> = {
	ns: 1,
	us: 1e3,
	µs: 1e3,
	ms: 1e6,
	s: 1e9,
	m: 60e9,
	min: 60e9,
	h: 3600e9,
	d: 86400e9,
};

/* null: not a length of time */
export function durationParse(text: string): Ns | null {
	if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1e9;
	const clock = /^(?:(\d+):)?(\d{1,2}):(\d{1,2}(?:\.\d+)?)$/.exec(text);
	if (clock) return (Number(clock[1] ?? 0) * 3600 + Number(clock[2]) * 60 + Number(clock[3])) * 1e9;
	let rest = text.replace(/\s+/g, ""),
		ns = 0;
	if (!rest) return null;
	while (rest) {
		const part = /^(\d+(?:\.\d+)?)(ns|us|µs|ms|min|s|m|h|d)/.exec(rest);
		if (!part) return null;
		ns += Number(part[1]) * UNITS[part[2]!]!;
		rest = rest.slice(part[0].length);
	}
	return ns;
}

function wordParse(text: string, clock: Clock): Ns | null {
	const mark = /^mark\((.+)\)$/i.exec(text);
	if (mark) return markFind(clock.marks, mark[1]!)?.ns ?? null;
	const percent = /^(\d+(?:\.\d+)?)\s*%$/.exec(text);
	if (percent) return (clock.duration * Number(percent[1])) / 100;
	switch (text.toLowerCase()) {
		case "start":
			return 0;
		case "end":
			return clock.duration;
		case "peak":
			return clock.peak;
		case "peakrss":
			return clock.rssPeak;
		default:
			return durationParse(text);
	}
}

/* Whole nanoseconds within the tape, or null: it cannot be read, or there is no such moment. */
export function momentParse(text: string, clock: Clock): Ns | null {
	const trimmed = text.trim();
	const offset = /^(start|end|peakrss|peak|mark\(.+\))\s*([+-])\s*([^()]+)$/i.exec(trimmed);
	let ns = wordParse(offset ? offset[1]! : trimmed, clock);
	if (offset && ns !== null) {
		const by = durationParse(offset[3]!.trim());
		ns = by === null ? null : offset[2] === "+" ? ns + by : ns - by;
	}
	return ns === null ? null : Math.round(Math.max(0, Math.min(clock.duration, ns)));
}
