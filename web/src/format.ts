/* Numbers as people read them: IEC units, durations, counts. A point is a point in every country. */
import type { Bytes, Ns } from "./api/types";

const IEC = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const SI = ["", "k", "M", "G", "T"];

export const DIGITS = 3; /* of a short number */
const DIGITS_MAX = 7 /* so many tell rows apart at most */,
	EQUALS_MAX = 100;

/* So many digits, or all of the whole part: 1.24, 12.4, 124, 1020. */
function rounded(value: number, digits: number): string {
	for (let places = digits - 1; places > 0; places--)
		if (value < 10 ** (digits - places) - 0.5 * 10 ** -places) return value.toFixed(places);
	return value.toFixed(0);
}

function scaled(value: number, base: number, units: readonly string[], digits = DIGITS): [string, string] {
	const sign = value < 0 ? "\u2212" : "";
	let size = Math.abs(value),
		unit = 0;
	while (unit + 1 < units.length && Number(rounded(size, digits)) >= base) {
		size /= base;
		unit++;
	}
	return [sign + (unit === 0 && Number.isInteger(size) ? String(size) : rounded(size, digits)), units[unit]!];
}

/* The number and its unit apart, for big figures. */
export function bytesParts(bytes: Bytes): [string, string] {
	return scaled(bytes, 1024, IEC);
}
export function countParts(count: number): [string, string] {
	return scaled(count, 1000, SI);
}

export function bytes(value: Bytes, digits = DIGITS): string {
	return scaled(value, 1024, IEC, digits).join(" ");
}

/* On an axis, where numbers are round: 24 MiB, 1.5 GiB */
export function tickBytes(value: Bytes): string {
	return bytes(value).replace(/(\.\d*?)0+ /, (_, kept: string) => (kept === "." ? " " : kept + " "));
}

/* 48.2 M; below 10,000 all digits: 8,412 */
export function count(value: number, digits = DIGITS): string {
	return Math.abs(value) < 10_000 && Number.isInteger(value)
		? exact(value)
		: scaled(value, 1000, SI, digits).join(" ").trim();
}

type MaybeNumber = number | null | undefined;

/* The next other numbers above and below in a column; equal ones between are passed over, so that they read alike. */
export function beside(at: number, get: (index: number) => MaybeNumber): readonly MaybeNumber[] {
	const own = get(at);
	return [-1, 1].map((step) => {
		let i = at + step;
		while (Math.abs(i - at) < EQUALS_MAX && get(i) === own) i += step;
		return get(i);
	});
}

/* With as many digits as it takes to read otherwise than each of its neighbours that is another number. */
export function apart(
	value: number,
	neighbours: readonly MaybeNumber[],
	say: (value: number, digits: number) => string,
): string {
	const others = neighbours.filter((n): n is number => typeof n === "number" && n !== value);
	let digits = DIGITS;
	while (digits < DIGITS_MAX && others.some((n) => say(n, digits) === say(value, digits))) digits++;
	return say(value, digits);
}

/* 1,234,567 */
export function exact(value: number): string {
	const [whole, rest] = String(Math.abs(value)).split(".");
	return (value < 0 ? "\u2212" : "") + whole!.replace(/\B(?=(\d{3})+$)/g, ",") + (rest ? "." + rest : "");
}

export function exactBytes(value: Bytes): string {
	return `${exact(value)} B`;
}

/* A length of time: 310 ms, 1.9 s, 2 min 08 s, 3 h 20 min */
export function duration(ns: Ns): string {
	if (ns < 0) return "\u2212" + duration(-ns);
	if (ns < 1000) return `${Math.round(ns)} ns`;
	if (ns < 59.95e9) {
		const [text, unit] = scaled(ns, 1000, ["ns", "\u00b5s", "ms", "s"]);
		return `${text.replace(/\.?0+$/, (zeros) => (text.includes(".") ? "" : zeros))} ${unit}`;
	}
	const s = Math.round(ns / 1e9);
	if (s < 3600) return `${Math.floor(s / 60)} min ${String(s % 60).padStart(2, "0")} s`;
	const m = Math.round(s / 60);
	if (m < 48 * 60) return `${Math.floor(m / 60)} h ${String(m % 60).padStart(2, "0")} min`;
	return `${Math.floor(m / 1440)} d ${Math.floor((m % 1440) / 60)} h`;
}

/* A point of time on a tape that lasts `of`: as many decimals as tell its moments apart. 00:47.1, 1:02:03, 12.345 ms */
export function moment(ns: Ns, of: Ns, step: Ns = of / 1000): string {
	if (of < 1e9) {
		const [unit, name] = of < 1e6 ? [1e3, "\u00b5s"] : [1e6, "ms"];
		return `${(ns / unit).toFixed(decimals(step / unit))} ${name}`;
	}
	const places = decimals(step / 1e9);
	const total = Number((ns / 1e9).toFixed(places));
	if (of < 10e9) return `${total.toFixed(places)} s`;
	const h = Math.floor(total / 3600),
		m = Math.floor(total / 60) % 60,
		s = (total % 60).toFixed(places);
	const text = `${String(m).padStart(2, "0")}:${s.padStart(places ? places + 3 : 2, "0")}`;
	return of >= 3600e9 ? `${h}:${text}` : text;
}

function decimals(step: number): number {
	return step >= 1 ? 0 : Math.min(6, Math.ceil(-Math.log10(step) - 1e-9));
}

/* 0.322 -> 32.2 %; what is there is never 0.0 % */
export function percent(share: number): string {
	if (!Number.isFinite(share)) return "\u2014";
	const value = share * 100;
	return value !== 0 && Math.abs(value) < 0.05 ? "<0.1 %" : `${value.toFixed(1)} %`;
}

/* A value of a metric's unit, and all its digits for titles and copying. */
export function value(n: number, unit: "bytes" | "count"): string {
	return unit === "bytes" ? bytes(n) : count(n);
}
export function exactValue(n: number, unit: "bytes" | "count"): string {
	return unit === "bytes" ? exactBytes(n) : exact(n);
}

/* The last component of a path. */
export function baseName(path: string): string {
	return path.slice(path.lastIndexOf("/") + 1);
}

/* "hash_join.cc:214", or what of it is known. */
export function place(file: string | null, line: number | null): string {
	return file ? baseName(file) + (line ? `:${line}` : "") : "";
}

/* 1, "block" -> "1 block" */
export function counted(n: number, thing: string): string {
	return `${exact(n)} ${thing}${n === 1 ? "" : "s"}`;
}

/* 2.3 -> "2.3×" */
export function times(factor: number): string {
	return `${factor >= 9.95 ? factor.toFixed(0) : factor.toFixed(1)}×`;
}
