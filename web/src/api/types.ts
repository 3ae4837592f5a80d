/* The answers of the server's /api/v1 (docs/http-api.md), one interface each. null: not known. What is not made of
   tables yet is written here by hand. */
export * from "./answers";
import type { Bytes, Frame, Head, Hex, Import, Mark, Ns, Sum } from "./answers";

export interface Info extends Head {
	version: string;
	can_mark?: boolean;
	can_snapshot?: boolean;
	can_stop?: boolean;
	tapes: Tape[];
}
export interface Tape {
	id: Hex;
	name: string; /* short name of the program */
	file: string; /* name of the tape, without folders */
	exe: string;
	argv: string[];
	pid: number;
	start_realtime_ns: string; /* decimal text: it is over 2^53 */
	duration_ns: Ns;
	state: "complete" | "truncated" | "live" | "loading" | "failed";
	gen: number; /* one more whenever a tape that is still recorded was read again */
	error: string | null;
	progress: { done: number; total: number } | null;
	end: string; /* "exited 0", "killed by SIGKILL", ... */
	refresh_ms: number; /* live: it is read again so often at most */
	live_bytes: Bytes; /* at the end */
	event_count: number;
	allocation_count: number;
	stack_count: number;
	thread_count: number;
	module_count: number;
	tape_bytes: Bytes;
	lost_events: number;
	damage_count: number;
	truncated_stacks: number;
	import?: Import | null; /* of what it was made when it was not recorded */
	edits?: string[]; /* what was done to it later: stripped, anonymised */
	has: { rows: boolean; free_stacks: boolean; usage: boolean; space: boolean; latency: boolean; marks: boolean };
}

export interface TapeDetail extends Head {
	tape: Tape;
	threads: { tid: number; name: string; index: number }[];
	modules: { path: string; name: string; build_id: Hex; symbols: string; stacks: number }[];
	marks: Mark[];
	peak_ns: Ns;
	rss_peak_ns: Ns | null;
}

/* Columns of equal length, parents before children, siblings left to right; box 0 is the root. */
export interface Flame extends Head {
	m: string;
	total: number;
	unit: "bytes" | "count";
	boxes: number;
	of: number; /* nodes of the whole tree */
	root: Hex[]; /* the way to box 0 */
	root_names: string[];
	names: string[];
	modules: string[];
	hashes: Hex[]; /* of names: 16 digits, the same in every tape */
	name_module: number[]; /* by name: index into modules, -1: none */
	role: number[]; /* by name: 0 program, 1 allocator, 2 start */
	parent: number[];
	name: number[]; /* -1: merged slivers */
	value: number[];
	self: number[];
	begin: number[]; /* left edge in units of value; the root's is 0 */
	count: number[]; /* merged: how many subtrees, else allocations */
	depth: number[];
	file: (string | null)[];
	line: number[];
}

export interface FrameShare {
	hash: Hex;
	function: string;
	module: string | null;
	value: number;
}
export interface FrameDetail extends Head {
	hash: Hex;
	function: string;
	module: string | null;
	file: string | null;
	line: number | null;
	metrics: { m: string; title: string; unit: "bytes" | "count"; total: number; self: number; share: number }[];
	life: { p50: Ns; p99: Ns } | null;
	curve: { from_ns: Ns; until_ns: Ns; values: number[] };
	sizes: { min: Bytes; max: Bytes; count: number; bytes: Bytes }[];
	callers: FrameShare[];
	callees: FrameShare[];
	lines: { file: string; line: number; value: Bytes }[];
}

export interface TreeRow {
	hash: Hex;
	function: string;
	module: string | null;
	file: string | null;
	line: number | null;
	total: number;
	self: number;
	allocations: number;
	peak: Bytes;
	leaked: Bytes;
	children: number;
}
export interface TreeRows extends Head {
	m: string;
	total: number;
	count: number;
	rows: TreeRow[];
}

export type SitesBy = "stack" | "function" | "source" | "module" | "thread" | "size" | "mark" | "call";
export interface GroupSums {
	allocated: Sum;
	leaked: Sum;
	temporary: Sum;
	peak: Sum;
	usable: Bytes;
	size_min: Bytes;
	size_max: Bytes;
	first_ns: Ns;
	last_ns: Ns;
}
export interface Site {
	key: string;
	title: string;
	q: string | null; /* the filter that selects the group */
	hash: Hex | null;
	module: string | null;
	file: string | null;
	line: number | null;
	stack: Frame[]; /* innermost first */
	stack_count: number;
	matched: GroupSums;
	all: GroupSums;
	life: { p50: Ns; p90: Ns; p99: Ns } | null;
	spark: number[] | null;
}
export interface Sites extends Head {
	by: string;
	count: number;
	rows: Site[];
}

export interface Alloc {
	row: number;
	address: Hex;
	size: Bytes;
	usable: Bytes;
	ns: Ns;
	free_ns: Ns | null;
	thread: number;
	thread_name: string;
	free_thread: number | null;
	call: string;
	free_call: string | null;
	function: string;
	module: string | null;
	file: string | null;
	line: number | null;
	hash: Hex;
	temporary: boolean;
	at_peak: boolean;
	lost_free: boolean;
	chain_length: number;
	latency_ns: Ns | null;
}
export interface Allocs extends Head {
	count: number;
	rows: Alloc[];
}
export interface AllocDetail extends Head {
	alloc: Alloc;
	stack: Frame[];
	free_stack: Frame[] | null;
	chain: Alloc[]; /* the realloc chain, at most 64 around it */
	neighbours: { before: Alloc | null; after: Alloc | null }; /* alive at the same time, next in memory */
}

export interface Axis {
	kind: string;
	unit: "ns" | "bytes";
	log: boolean;
	edges: number[]; /* n + 1 */
}
export interface Grid extends Head {
	x: Axis;
	y: Axis;
	count: number[]; /* row by row, the lowest first */
	bytes: number[];
	never: { count: number[]; bytes: number[] } | null; /* y=lifetime: never freed, by column */
}

export interface Field {
	name: string;
	aliases: string[];
	type: string;
	scope: string;
	doc: string;
	none: string | null;
	percent: string | null;
}
export interface Fields extends Head {
	fields: Field[];
	units: string[];
	operators: string[];
	moments: string[];
	sorts: { groups: string[]; by: string[] };
}
export interface Names extends Head {
	values: { text: string; count: number }[];
}
export interface FilterCheck extends Head {
	ok: boolean;
	count: number;
	total: number;
}

export interface ErrorBody {
	message: string;
	hint: string | null;
	parameter: string | null;
	pos: number | null; /* bytes into the parameter's value */
	len: number | null;
	suggest: string | null;
}

/* The heap at a moment, cell by cell. */
export interface SpaceRegion {
	begin: string;
	end: string;
	kind: string;
	name: string;
	resident_bytes: Bytes;
	live_bytes: Bytes;
	free_pages: number;
	longest_free_bytes: Bytes;
	cell_bytes: Bytes;
	live: Bytes[];
	resident: Bytes[];
	pinned: number[]; /* pages of the cell that one block keeps */
	class?: number[]; /* of classes; their number: nothing is alive there */
}
export interface SpaceClass {
	bytes: Bytes;
	count: number;
	from?: number;
	tid?: number;
	name?: string;
	function?: string;
	module?: string | null;
	hash?: Hex;
}
export interface Heap extends Head {
	at_ns: Ns;
	has_snapshot: boolean;
	pages_known: boolean;
	by: string;
	region_count: number;
	classes: SpaceClass[];
	regions: SpaceRegion[];
}
