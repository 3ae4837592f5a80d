/* Differences as people read them: a sign, an arrow, a share. */
import * as format from "../format";

type Unit = "bytes" | "count";

/* For one unit of work there are parts of one. */
function amount(n: number, unit: Unit): string {
	const size = Math.abs(n);
	if (Number.isInteger(size) || size >= 100) return format.value(Math.round(size), unit);
	return `${size.toFixed(size < 1 ? 3 : 2)}${unit === "bytes" ? " B" : ""}`;
}

export function value(n: number, unit: Unit): string {
	return amount(n, unit);
}

/* +21.1 MiB, −49 MiB, 0 B */
export function change(n: number, unit: Unit): string {
	return (n > 0 ? "+" : n < 0 ? "\u2212" : "") + amount(n, unit);
}

export function exactChange(n: number, unit: Unit): string {
	return (n > 0 ? "+" : "") + format.exactValue(n, unit);
}

/* "22.8 → 41.7 MiB": the unit once, where it is the same */
export function pair(a: number, b: number, unit: Unit): string {
	const [x, y] = [amount(a, unit).split(" "), amount(b, unit).split(" ")];
	return `${x.length === 2 && x[1] === y[1] ? x[0]! : x.join(" ")} \u2192 ${y.join(" ")}`;
}

/* +44.3 %, or so many times as much; of nothing everything is new */
export function share(before: number, after: number): string {
	if (before === after) return "\u00b10 %";
	if (before === 0) return "new";
	if (after === 0) return "gone";
	const part = (after - before) / before;
	if (part >= 9.995) return format.times(after / before);
	return (part > 0 ? "+" : "\u2212") + format.percent(Math.abs(part));
}

export const arrow = (n: number) => (n > 0 ? "\u25b2" : n < 0 ? "\u25bc" : "");
export const tone = (n: number) => (n > 0 ? "more" : n < 0 ? "less" : "");

/* A word of a command line, for a shell. */
export const shell = (text: string): string =>
	/^[\w.,%:/@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
