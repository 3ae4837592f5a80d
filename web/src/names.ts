/* Names of functions where there is little room: what they are in and their parameters give way to their last words. */

/* Where the parameters begin: the first "(" that is no part of a name. */
function parametersAt(name: string): number {
	let depth = 0;
	for (let i = 0; i < name.length; i++) {
		const c = name[i]!;
		if (c === "{" || (c === "<" && !/\boperator<?$/.test(name.slice(0, i)))) depth++;
		else if (c === "}" || (c === ">" && name[i - 1] !== "-" && !/\boperator>?$/.test(name.slice(0, i)))) depth--;
		else if (c === "(" && depth <= 0 && i > 0) {
			if (name.startsWith("(anonymous namespace)", i)) i += "(anonymous namespace)".length - 1;
			else if (name.slice(0, i).endsWith("operator") && name[i + 1] === ")") i++;
			else return i;
		}
	}
	return name.length;
}

/* "a::f(int) const" -> "a::f" */
export const withoutParameters = (name: string): string => name.slice(0, parametersAt(name));

/* "net::Session::Session" -> "Session::Session"; "a::Cache<b::K>::insert" -> "Cache<b::K>::insert" */
function lastWords(name: string): string {
	let depth = 0,
		seen = 0;
	for (let i = name.length - 1; i > 0; i--) {
		const c = name[i]!;
		if (c === ">" && name[i - 1] !== "-") depth++;
		else if (c === "<") depth--;
		else if (c === ":" && name[i - 1] === ":" && depth === 0) {
			if (++seen === 2) return name.slice(i + 1);
			i--;
		}
	}
	return name;
}

/* "Cache<std::string, double>::insert" -> "Cache<…>::insert" */
const withoutArguments = (name: string): string =>
	/\boperator[<>-]/.test(name) ? name : name.replace(/(?<=\w)<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>/g, "<\u2026>");

/* What has no name: "0x7c240 [libz.so.1+0x7c240]"; the report says it as the second part. */
export const UNNAMED = /^(0x[0-9a-f]+) \[(.+\+0x[0-9a-f]+)\]$/;

/* The name, or module and address of what has none. */
export const named = (name: string | null | undefined): string => UNNAMED.exec(name ?? "")?.[2] ?? name ?? "";

/* From the whole name to the shortest, each once. Where there is no name, module and address are all of it. */
export function shorter(name: string): string[] {
	const unnamed = UNNAMED.exec(name);
	if (unnamed) return [unnamed[2]!, unnamed[1]!];
	const whole = name.startsWith("0x") ? name : withoutParameters(name),
		last = lastWords(whole);
	return [name, whole, last, withoutArguments(last)].filter((text, i, all) => all.indexOf(text) === i);
}

/* "pipeline::make_cycle" -> "make_cycle": enough of a name where its line stands beside it. */
export const lastWord = (name: string): string =>
	/\boperator\b/.test(name) ? name : name.replace(/^.*::(?=[\w~{}#]+(?:<\u2026>)?$)/, "");

const KNOWN_MAX = 20_000;
const known = new Map<string, readonly string[]>();

/* As much of the name as so many letters take: the longest of shorter() that they do, or the shortest, cut; "": too few. */
export function fitted(name: string, letters: number): string {
	if (name.length <= letters && !UNNAMED.test(name)) return name;
	if (letters < 4) return "";
	let ways = known.get(name);
	if (!ways) {
		if (known.size >= KNOWN_MAX) known.clear();
		known.set(name, (ways = shorter(name)));
	}
	const way = ways.find((w) => w.length <= letters) ?? ways[ways.length - 1]!;
	return way.length <= letters ? way : way.slice(0, letters - 1) + "\u2026";
}
