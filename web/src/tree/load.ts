/*
 * The call tree as far as it was opened: rows in the order of the screen, children asked for when their parent is opened.
 * A new question (measure, filter, range, direction) begins again with what was open being asked for anew.
 */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, generation, get, requestUrl } from "../api/client";
import type { Params } from "../api/client";
import type { Hex, TreeRow, TreeRows } from "../api/types";
import { setOption } from "../store";

const PAGE_ROWS = 200;
const HOT_DEPTH = 64; /* how far "*" goes */

export interface Line {
	path: readonly Hex[]; /* of this row, from the outermost */
	level: number; /* 1: a root */
	row: TreeRow | null; /* null: "more of them", the last of its siblings */
	more: number; /* how many */
	open: boolean;
}

interface Branch {
	rows: TreeRow[];
	count: number;
}

export interface Tree {
	lines: readonly Line[];
	total: number;
	error: ApiError | null;
	loading: boolean;
	toggle: (line: Line, open?: boolean) => void;
	expandHottest: (line: Line) => void;
	loadMore: (line: Line) => void;
	retry: () => void;
}

const keyOf = (path: readonly Hex[]) => path.join(".");

/* What is on the screen of the branches that are there and open. */
function linesOf(branches: ReadonlyMap<string, Branch>, open: ReadonlySet<string>): Line[] {
	const lines: Line[] = [];
	const add = (path: readonly Hex[], level: number) => {
		const branch = branches.get(keyOf(path));
		if (!branch) return;
		for (const row of branch.rows) {
			const own = [...path, row.hash],
				isOpen = open.has(keyOf(own));
			lines.push({ path: own, level, row, more: 0, open: isOpen });
			if (isOpen) add(own, level + 1);
		}
		if (branch.count > branch.rows.length)
			lines.push({ path, level, row: null, more: branch.count - branch.rows.length, open: false });
	};
	add([], 1);
	return lines;
}

export function useTree(params: Params | null, first: readonly Hex[]): Tree {
	const url = params ? requestUrl("children", params) : "";
	const [branches, setBranches] = useState<ReadonlyMap<string, Branch>>(new Map());
	const [open, setOpen] = useState<ReadonlySet<string>>(
		() => new Set(first.map((_, i) => keyOf(first.slice(0, i + 1)))),
	);
	const [total, setTotal] = useState(0);
	const [error, setError] = useState<ApiError | null>(null);
	const [loading, setLoading] = useState(true);
	const [attempt, setAttempt] = useState(0);
	const asking = useRef(new AbortController());

	const ask = async (path: readonly Hex[], off: number): Promise<Branch | null> => {
		const where = path.length > 0 ? { path: keyOf(path) } : {};
		const answer = await get<TreeRows>(
			"children",
			{ ...params!, ...where, off, n: PAGE_ROWS },
			asking.current.signal,
		);
		if (path.length === 0) setTotal(answer.total);
		return { rows: answer.rows, count: answer.count };
	};
	const failed = (e: unknown) => {
		if (e instanceof ApiError) setError(e);
	};
	const keep = (path: readonly Hex[], branch: Branch | null) => {
		if (branch) setBranches((old) => new Map(old).set(keyOf(path), branch));
	};
	useEffect(() => {
		if (!params) return;
		const abort = (asking.current = new AbortController());
		setError(null);
		setLoading(true);
		const paths = [[], ...[...open].map((key) => key.split("."))];
		Promise.all(
			paths.map(
				async (path) =>
					[
						keyOf(path),
						await ask(path, 0).catch((e) => {
							if (path.length === 0) throw e;
							return null;
						}),
					] as const,
			),
		).then(
			(found) => {
				setBranches(new Map(found.filter((f): f is [string, Branch] => f[1] !== null)));
				setLoading(false);
			},
			(e) => {
				failed(e);
				if (!abort.signal.aborted) setLoading(false);
			},
		);
		return () => abort.abort();
	}, [url, attempt, generation.value]);

	/* The address has what was opened last: there Back and links begin again. */
	const openPath = (path: readonly Hex[]) => {
		setOpen((old) => new Set(old).add(keyOf(path)));
		setOption("open", keyOf(path), "replace");
	};
	const expand = async (path: readonly Hex[]): Promise<Branch | null> => {
		const known = branches.get(keyOf(path)) ?? (await ask(path, 0));
		keep(path, known);
		openPath(path);
		return known;
	};
	return {
		lines: useMemo(() => linesOf(branches, open), [branches, open]),
		total,
		error,
		loading,
		toggle: (line, wanted) => {
			if (!line.row || line.row.children === 0) return;
			if (wanted ?? !line.open) expand(line.path).catch(failed);
			else {
				setOpen((old) => {
					const next = new Set(old);
					next.delete(keyOf(line.path));
					return next;
				});
				setOption("open", keyOf(line.path.slice(0, -1)), "replace");
			}
		},
		/* From here along the largest child, to the end. */
		expandHottest: (line) => {
			const go = async () => {
				let path = line.path,
					row = line.row;
				for (let i = 0; row && row.children > 0 && i < HOT_DEPTH; i++) {
					const branch: Branch | null = await expand(path);
					row = branch?.rows[0] ?? null;
					if (row) path = [...path, row.hash];
				}
			};
			go().catch(failed);
		},
		loadMore: (line) => {
			const have = branches.get(keyOf(line.path));
			if (have)
				ask(line.path, have.rows.length).then(
					(more) => more && keep(line.path, { rows: [...have.rows, ...more.rows], count: more.count }),
					failed,
				);
		},
		retry: () => setAttempt((n) => n + 1),
	};
}
