/* What may be typed next in the filter: fields, then operators, then values - which the server knows, with their counts. */
import { useApi } from "../api/use";
import type { Field, Names } from "../api/types";
import { quote, typingAt } from "../filter";
import * as format from "../format";
import { tapeId } from "../store";
import { vocabulary } from "../vocabulary";

const SHOWN = 10;
const FUNCTIONS = 5;

export interface Suggestion {
	label: string;
	hint: string;
	text: string; /* replaces what is typed from `pos` to the cursor */
	pos: number;
}

const VALUES: Record<string, readonly [text: string, hint: string][]> = {
	bytes: [
		["1KiB", "1,024 bytes"],
		["64KiB", "65,536 bytes"],
		["1MiB", "1,048,576 bytes"],
	],
	duration: [
		["1ms", "a thousandth of a second"],
		["1s", "a second"],
		["10%", "a tenth of the recording"],
	],
	moment: [
		["peak", "when live bytes were highest"],
		["50%", "half of the recording"],
		["end", "the end of the recording"],
	],
};
const MEANING: Record<string, string> = {
	"=": "is",
	"!=": "is not",
	"<": "less than",
	"<=": "at most",
	">": "more than",
	">=": "at least",
	"~": "matches a regular expression",
	"!~": "does not match",
	in: "is one of, or within a range",
	"not in": "is none of, or outside of a range",
};

function matches(field: Field, prefix: string): boolean {
	return [field.name, ...field.aliases].some((name) => name.startsWith(prefix));
}

/* Types are as the manual names them: "text of any frame". */
function isText(field: Field): boolean {
	return field.type.startsWith("text");
}

function fieldSuggestions(fields: readonly Field[], names: Names | null, prefix: string, pos: number): Suggestion[] {
	const low = prefix.toLowerCase();
	const found = fields
		.filter((f) => matches(f, low))
		.slice(0, SHOWN)
		.map((f) => ({ label: f.name, hint: f.doc, text: f.name + " ", pos }));
	if (isWord(prefix) && found.length < SHOWN) {
		const text = `function ~ ${quote(prefix)}`;
		found.push({ label: text, hint: "a function of the stack with this in its name", text, pos });
		for (const v of names?.values.slice(0, Math.max(0, FUNCTIONS - found.length + 1)) ?? []) {
			const exact = `function = ${quote(v.text)}`;
			found.push({ label: exact, hint: format.count(v.count), text: exact, pos });
		}
	}
	return found;
}

function joinSuggestions(pos: number): Suggestion[] {
	return [
		["and", "both must hold"],
		["or", "one must hold"],
	].map(([w, hint]) => ({ label: w!, hint: hint!, text: w + " ", pos }));
}

function valueSuggestions(field: Field, names: Names | null, pos: number): Suggestion[] {
	const known = (VALUES[field.type] ?? []).map(([text, hint]) => ({ label: text, hint, text: text + " ", pos }));
	const values = (names?.values ?? []).slice(0, SHOWN).map((v) => ({
		label: v.text,
		hint: format.count(v.count),
		text: quote(v.text) + " ",
		pos,
	}));
	return [...values, ...known];
}

/* Something that may be a part of a function's name. */
function isWord(prefix: string): boolean {
	return prefix.length >= 2 && /^[\w:]+$/.test(prefix);
}

/* Which names the server is asked for: of the field that a value is typed for, or functions for a word alone. */
function namesWanted(field: Field | undefined, prefix: string): Record<string, string | number> | null {
	if (field) return isText(field) ? { c: tapeId.value, field: field.name, prefix, n: SHOWN } : null;
	return isWord(prefix) ? { c: tapeId.value, field: "function", prefix, n: FUNCTIONS } : null;
}

/* text null: nobody is typing */
export function useCompletion(text: string | null, cursor: number): Suggestion[] {
	const all = vocabulary.value?.fields ?? [];
	const now = typingAt(text ?? "", cursor);
	const find = (name: string) => all.find((f) => f.name === name || f.aliases.includes(name));
	const field = now.field ? find(now.field) : undefined;
	const wanted = text === null ? null : namesWanted(field, now.prefix),
		names = useApi<Names>("names", wanted),
		known = wanted && !names.stale ? names.data : null; /* of what is typed now, not of what was before */
	if (text === null || (text === "" && cursor === 0 && all.length === 0)) return [];
	if (field) return valueSuggestions(field, now.operator?.includes("~") ? null : known, now.pos);
	const before = /([A-Za-z_]\w*)\s+$/.exec(text.slice(0, now.pos));
	const previous = before ? find(before[1]!.toLowerCase()) : undefined;
	if (previous && now.prefix === "" && previous.operators.length > 0)
		return previous.operators.map((op) => ({ label: op, hint: MEANING[op] ?? "", text: op + " ", pos: now.pos }));
	if (
		now.prefix === "" &&
		/[\w"')%]\s+$/.test(text.slice(0, now.pos)) &&
		!/\b(and|or|not|in)\s+$|&&\s*$|\|\|\s*$/i.test(text.slice(0, now.pos))
	)
		return joinSuggestions(now.pos);
	return fieldSuggestions(all, known, now.prefix, now.pos);
}
