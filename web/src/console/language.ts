/* SQL as far as an editor needs it: colours, and what could be meant. */

export interface Schema {
	tables: ReadonlyMap<string, readonly string[]>;
	functions: readonly string[];
}
export interface Token {
	kind: "keyword" | "text" | "number" | "comment" | "function" | "plain";
	text: string;
}

const KEYWORDS = (
	"select from where group by order limit offset having as on join left inner cross using and or not in is null like glob between case when then else end distinct union all except " +
	"intersect with recursive asc desc exists cast over partition rows values"
).split(" ");
const KEYWORD = new Set(KEYWORDS);

/* The text of `memtape sql --schema`: a table at the margin, its columns below it, functions with parentheses. */
export function schemaParse(text: string): Schema {
	const tables = new Map<string, string[]>(),
		functions: string[] = [];
	let columns: string[] | null = null;
	for (const line of text.split("\n")) {
		const table = /^([a-z_]+)(?:\([^)]*\))?:/.exec(line),
			column = /^\s+([a-z_]+)(?:\s|$)/.exec(line),
			call = /^\s*([a-z_]+)\(/.exec(line);
		if (table) {
			columns = [];
			tables.set(table[1]!, columns);
		} else if (call) functions.push(call[1]!);
		else if (column && columns) columns.push(column[1]!);
	}
	return { tables, functions: [...new Set(functions)] };
}

export function highlight(sql: string): Token[] {
	const tokens: Token[] = [];
	const pattern =
		/(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:''|[^'])*'?|"(?:""|[^"])*"?)|(\b\d[\w.]*)|([A-Za-z_]\w*)(\s*\()?|[\s\S]/g;
	for (const m of sql.matchAll(pattern)) {
		const text = m[0];
		if (m[1]) tokens.push({ kind: "comment", text });
		else if (m[2]) tokens.push({ kind: "text", text });
		else if (m[3]) tokens.push({ kind: "number", text });
		else if (m[4]) {
			const isKeyword = KEYWORD.has(m[4].toLowerCase());
			tokens.push({ kind: isKeyword ? "keyword" : m[5] ? "function" : "plain", text: m[4] });
			if (m[5]) tokens.push({ kind: "plain", text: m[5] });
		} else tokens.push({ kind: "plain", text });
	}
	return tokens;
}

export function wordAt(sql: string, cursor: number): { text: string; pos: number } {
	const text = /[A-Za-z_]\w*$/.exec(sql.slice(0, cursor))?.[0] ?? "";
	return { text, pos: cursor - text.length };
}

/* What the word before the cursor may become: columns of the tables that are named, tables, functions, keywords. */
export function completions(schema: Schema, sql: string, cursor: number): string[] {
	const { text, pos } = wordAt(sql, cursor),
		typed = text.toLowerCase();
	if (typed.length < 1) return [];
	const named = [...schema.tables.keys()].filter((t) => new RegExp(`\\b${t}\\b`, "i").test(sql));
	const ofTable = /([A-Za-z_]\w*)\.$/.exec(sql.slice(0, pos));
	const columns =
		(ofTable && schema.tables.get(ofTable[1]!.toLowerCase())) || named.flatMap((t) => schema.tables.get(t)!);
	const afterFrom = /\b(from|join)\s+$/i.test(sql.slice(0, pos));
	const all = afterFrom
		? [...schema.tables.keys()]
		: [...columns, ...schema.tables.keys(), ...schema.functions, ...KEYWORDS.map((k) => k.toUpperCase())];
	return [...new Set(all)].filter((w) => w.toLowerCase().startsWith(typed) && w.toLowerCase() !== typed).slice(0, 9);
}
