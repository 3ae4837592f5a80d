/* The answers of /diff and /diff/flame (docs/http-api.md). */
import type { Flame, Head, Hex, Ns } from "../api/types";

export interface Side {
	id: Hex;
	name: string;
	file: string;
	at_ns: Ns | null;
	units: number;
	total: number;
	count: number;
}
export type Status = "new" | "gone" | "grown" | "shrunk" | "same";
export interface DiffRow {
	hash: Hex | null;
	function: string | null; /* null: a row of a module */
	module: string | null;
	file?: string | null;
	line?: number | null;
	caller?: string | null;
	status: Status;
	a: number;
	b: number;
	difference: number;
	a_count: number;
	b_count: number;
}
export interface Diff extends Head {
	m: string;
	unit: "bytes" | "count";
	a: Side;
	b: Side;
	by: string;
	difference: number;
	main: DiffRow | null;
	counts: Record<Status, number>;
	changed: DiffRow[];
	new: DiffRow[];
	gone: DiffRow[];
}

/* `value` is the width: each stack where it is larger. */
export interface DiffFlame extends Flame {
	a: Side;
	b: Side;
	before: number[];
	after: number[];
}
