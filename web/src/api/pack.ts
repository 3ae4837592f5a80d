/*
 * The answers that a report has in itself: `memtape report --html` asks the server's questions and writes what it
 * said into the page, gzip in base64. Questions are found again whatever the width they are asked for.
 */
import type { GroupSums } from "./types";
import { sumOfKey } from "../vocabulary";

interface Answers {
	[url: string]: unknown;
}
interface Row {
	key?: string;
	hash?: string;
	[name: string]: unknown;
}
interface Rows {
	count: number;
	rows: Row[];
}
interface Boxes {
	root: string[];
	root_names: string[];
	root_briefs: string[];
	names: string[];
	briefs: string[];
	hashes: string[];
	parent: number[];
	name: number[];
	depth: number[];
	begin: number[];
	value: number[];
	[name: string]: unknown;
}

const MISSING = "Not in this report";
const ROWS = 50; /* of an answer, if not said */

/* How finely something is drawn, and which part of a list: of these the report has what it has. */
const LAYOUT: Readonly<Record<string, readonly string[]>> = {
	curves: ["points", "top"],
	flame: ["px", "root"],
	sites: ["off", "n", "sort", "order", "spark", "saves"],
	children: ["off", "n"],
	threads: ["top"],
	mappings: ["top"],
	growth: ["top"],
	"leak-classes": ["top"],
	holders: ["top"],
	retained: ["top"],
};
/* What a question means that does not say it. */
const USUAL: Readonly<Record<string, string>> = {
	m: "peak",
	at: "peak",
	dir: "down",
	by: "function",
	q: "",
	from: "0ns",
	frames: "my",
	recursion: "keep",
	l0: "1",
};

const element = REPORT ? document.getElementById("capture") : null;

/* Whether this page is a report, which has no server: the build says so. */
export const isReport = REPORT;

interface Pack {
	info: { tapes: { file: string; duration_ns: number }[] };
	found: ReadonlyMap<string, unknown[]>;
}
let pack: Promise<Pack> | null = null;

async function unpack(text: string): Promise<Pack> {
	const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
	const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	const answers = JSON.parse(await new Response(plain).text()) as Answers,
		found = new Map<string, unknown[]>();
	const info = answers["/api/v1/info"] as Pack["info"];
	for (const [url, answer] of Object.entries(answers)) {
		const question = questionOf(url, info.tapes[0]!.duration_ns);
		found.set(question, [...(found.get(question) ?? []), answer]);
	}
	return { info, found };
}

function partsOf(url: string): { path: string; params: URLSearchParams } {
	const mark = url.indexOf("?");
	const path = (mark < 0 ? url : url.slice(0, mark)).replace(/^.*\/v1\//, "");
	return { path, params: new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1)) };
}

/* Equal questions in equal words; duration: until the end is until nothing. */
export function questionOf(url: string, duration: number): string {
	const { path, params } = partsOf(url);
	const usual: Record<string, string> = { ...USUAL, until: `${duration}ns` };
	if ((params.get("at") ?? "peak") === "peak")
		for (const key of ["m", "sort"]) if (params.get(key) === "live") params.set(key, "peak");
	params.delete("c");
	for (const [key, value] of [...params]) if (usual[key] === value || LAYOUT[path]?.includes(key)) params.delete(key);
	params.sort();
	return `${path}?${params}`;
}

function sumOf(row: Row, sort: string): number {
	const sums = row.only_matched as GroupSums | undefined;
	if (sort === "saves") return Number(row.saves_bytes ?? 0);
	if (sort === "lifetime_p50") return sums?.lifetime_p50 ?? Infinity;
	return sums?.[sumOfKey(sort) ?? "size"] ?? 0;
}

/* The best of every order that was asked for, once each, in the order that is wanted now. */
function rowsOf(found: readonly Rows[], params: URLSearchParams): Rows {
	const rows = [...new Map(found.flatMap((a) => a.rows).map((row) => [row.key ?? row.hash, row])).values()];
	const sort = params.get("sort"),
		sign = params.get("order") === "asc" ? 1 : -1;
	if (sort)
		rows.sort((a, b) => {
			const x = sumOf(a, sort),
				y = sumOf(b, sort);
			return x === y ? 0 : x < y ? -sign : sign;
		});
	const off = Number(params.get("off") ?? 0);
	return { ...found[0]!, count: rows.length, rows: rows.slice(off, off + Number(params.get("n") ?? ROWS)) };
}

/* What is in and below a box, as the server answers it; null: the way is not in the graph. */
export function zoomed(flame: Boxes, path: readonly string[]): Boxes | null {
	const at = [0];
	for (const hash of path) {
		const box = flame.parent.findIndex(
			(p, i) => i > 0 && p === at[at.length - 1] && flame.name[i]! >= 0 && flame.hashes[flame.name[i]!] === hash,
		);
		if (box < 0) return null;
		at.push(box);
	}
	const top = at[at.length - 1]!,
		keep: number[] = [],
		place = new Map<number, number>();
	flame.parent.forEach((p, i) => {
		if (i === top || (i > top && place.has(p))) {
			place.set(i, keep.length);
			keep.push(i);
		}
	});
	const cut: Boxes = { ...flame };
	for (const [key, column] of Object.entries(flame))
		if (
			Array.isArray(column) &&
			column.length === flame.parent.length &&
			["name", "value", "self", "count", "parent", "begin", "depth", "file", "line"].includes(key)
		)
			cut[key] = keep.map((i) => column[i]);
	cut.parent = keep.map((i) => (i === top ? -1 : place.get(flame.parent[i]!)!));
	cut.begin = cut.begin.map((x) => x - flame.begin[top]!);
	cut.depth = cut.depth.map((d) => d - flame.depth[top]!);
	cut.boxes = keep.length;
	cut.root = [...path];
	cut.root_names = at.slice(1).map((i) => flame.names[flame.name[i]!]!);
	cut.root_briefs = at.slice(1).map((i) => flame.briefs[flame.name[i]!]!);
	return cut;
}

function find(all: Pack, url: string): unknown {
	const { path, params } = partsOf(url);
	const found = all.found.get(questionOf(url, all.info.tapes[0]!.duration_ns));
	if (!found) return undefined;
	if (path === "sites" || path === "children") return rowsOf(found as Rows[], params);
	const root = path === "flame" ? params.get("root") : null;
	return root ? (zoomed(found[0] as Boxes, root.split(".")) ?? undefined) : found[0];
}

/* In place of the server. */
export async function packed(url: string): Promise<Response> {
	pack ??= unpack(element!.textContent ?? "");
	const all = await pack,
		answer = find(all, url);
	if (answer !== undefined) return new Response(JSON.stringify(answer));
	const hint = `Run \`memtape serve ${all.info.tapes[0]!.file}\``;
	return new Response(JSON.stringify({ error: { message: MISSING, hint } }), { status: 404 });
}
