/*
 * The filter bar's view of memtape-filter(7): the terms that `and` joins at the top. Their grammar is the server's
 * business; here only quotes and parentheses are understood.
 */

interface Word {
	text: string;
	pos: number;
	end: number;
	depth: number;
}

/* Words outside of quotes, with how deep in parentheses they are. An open quote goes on to the end. */
function words(filter: string): Word[] {
	const found: Word[] = [];
	const pattern = /"(?:\\"|[^"])*"?|'(?:\\'|[^'])*'?|&&|\|\||[()]|[A-Za-z_][\w.]*|[^\s\w"'()]+|[\d.][\w.%]*/g;
	let depth = 0;
	for (const match of filter.matchAll(pattern)) {
		const text = match[0];
		if (text === ")") depth = Math.max(0, depth - 1);
		found.push({ text: text.toLowerCase(), pos: match.index!, end: match.index! + text.length, depth });
		if (text === "(") depth++;
	}
	return found;
}

function splitAt(filter: string, joins: readonly string[]): string[] {
	const parts: string[] = [];
	let begin = 0;
	for (const word of words(filter))
		if (word.depth === 0 && joins.includes(word.text)) {
			parts.push(filter.slice(begin, word.pos).trim());
			begin = word.end;
		}
	parts.push(filter.slice(begin).trim());
	return parts.filter((part) => part !== "");
}

function hasOr(filter: string): boolean {
	return words(filter).some((word) => word.depth === 0 && (word.text === "or" || word.text === "||"));
}

/* The terms that all must hold; an `or` at the top makes the whole filter one term. */
export function terms(filter: string): string[] {
	const whole = filter.trim();
	if (!whole) return [];
	return hasOr(whole) ? [whole] : splitAt(whole, ["and", "&&"]);
}

export function joinTerms(list: readonly string[]): string {
	return list.length < 2 ? list.join("") : list.map((term) => (hasOr(term) ? `(${term})` : term)).join(" and ");
}

/* The filter with one more condition; one that is there already is not repeated. */
export function addTerm(filter: string, term: string): string {
	const list = terms(filter);
	return list.includes(term.trim()) ? filter : joinTerms([...list, term.trim()]);
}

/* ... with a condition in place of those on the same field, e.g. a new range of sizes for the old one. */
export function replaceTerm(filter: string, field: string, term: string): string {
	const others = terms(filter).filter((t) => !new RegExp(`^(not\\s+)?${field}\\b`).test(t) || hasOr(t));
	return joinTerms(term ? [...others, term] : others);
}

export function removeTerm(filter: string, index: number): string {
	return joinTerms(terms(filter).filter((_, i) => i !== index));
}

/* A text as the filter language quotes it: within quotes only the quote itself is escaped. */
export function quote(text: string): string {
	return text.includes('"') && !text.includes("'") ? `'${text}'` : `"${text.replace(/"/g, '\\"')}"`;
}

/* What stands left of the cursor: which word is being typed, and for which field a value is (null: a field is). */
export interface Typing {
	field: string | null;
	operator: string | null;
	prefix: string;
	pos: number;
}

export function typingAt(text: string, cursor: number): Typing {
	const left = words(text.slice(0, cursor));
	const last = left[left.length - 1];
	const touching = last !== undefined && last.end === cursor && !/\s$/.test(text.slice(0, cursor));
	const word = touching && !/^[=!<>~()]/.test(last.text) ? last : undefined;
	const before = word ? left.slice(0, -1) : left;
	const operator = before[before.length - 1],
		field = before[before.length - 2];
	const pos = word ? word.pos : cursor;
	const prefix = text.slice(pos, cursor);
	if (operator && field && /^(=|==|!=|<|<=|>|>=|~|!~|in)$/.test(operator.text))
		return { field: field.text, operator: operator.text, prefix: prefix.replace(/^["']/, ""), pos };
	return { field: null, operator: null, prefix, pos };
}

/* Bytes of UTF-8 (the server's) to units of a JavaScript string. */
export function byteToIndex(text: string, byte: number): number {
	return new TextDecoder().decode(new TextEncoder().encode(text).slice(0, byte)).length;
}

/* The filter with what the server proposes in the place of what it found wrong. */
export function corrected(
	filter: string,
	wrong: { pos: number | null; len: number | null; suggest: string | null },
): string {
	const at = (byte: number) => byteToIndex(filter, byte),
		pos = wrong.pos ?? 0;
	return (
		filter.slice(0, at(pos)) +
		(wrong.suggest ?? "") +
		(wrong.pos === null ? "" : filter.slice(at(pos + (wrong.len ?? 1))))
	);
}
