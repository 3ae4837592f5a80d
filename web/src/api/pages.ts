/* A long answer, page by page, for VirtualGrid. Pages are asked for when they come into view and kept while the question is the same. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Rows } from "../ui/vgrid";
import { ApiError, generation, get, requestUrl, server } from "./client";
import type { Params } from "./client";
import type { Head } from "./types";

const PAGE_ROWS = 200;
const AT_ONCE = 3;

interface Paged<R> extends Head {
	count: number;
	rows: R[];
}

export interface PagedAnswer<R, A> extends Rows<R> {
	first: A | null; /* the first page as it came: totals and such */
	error: ApiError | null;
	loading: boolean; /* nothing of this question has come yet */
	stale: boolean; /* the rows are those of the question before */
	retry: () => void;
}

interface Loaded<R, A> {
	url: string;
	count: number;
	pages: Map<number, R[]>;
	first: A | null;
}

/* The rows of PATH; params without off and n. null: nothing is asked. */
export function usePages<R, A extends Paged<R> = Paged<R>>(path: string, params: Params | null): PagedAnswer<R, A> {
	const url = params ? requestUrl(path, params) : "";
	const [shown, setShown] = useState<Loaded<R, A>>({ url: "", count: 0, pages: new Map(), first: null });
	const [error, setError] = useState<ApiError | null>(null);
	const [, redraw] = useState(0);
	const [attempt, setAttempt] = useState(0);
	const asked = useRef(new Map<number, AbortController>());
	useEffect(() => {
		if (!params) return;
		const abort = new AbortController();
		setError(null);
		get<A>(path, { ...params, off: 0, n: PAGE_ROWS }, abort.signal).then(
			(answer) => setShown({ url, count: answer.count, pages: new Map([[0, answer.rows]]), first: answer }),
			(e) => {
				if (e instanceof ApiError) setError(e);
			},
		);
		return () => {
			abort.abort();
			asked.current.forEach((a) => a.abort());
			asked.current.clear();
		};
	}, [url, attempt, generation.value, server.value.gone]);

	const load = (page: number) => {
		if (!params || shown.url !== url || shown.pages.has(page) || asked.current.has(page)) return;
		const abort = new AbortController();
		asked.current.set(page, abort);
		get<A>(path, { ...params, off: page * PAGE_ROWS, n: PAGE_ROWS }, abort.signal)
			.then(
				(answer) => {
					shown.pages.set(page, answer.rows);
					redraw((n) => n + 1);
				},
				(e) => {
					if (e instanceof ApiError) setError(e);
				},
			)
			.finally(() => asked.current.delete(page));
	};
	return useMemo(
		() => ({
			count: shown.count,
			first: shown.first,
			error,
			loading: !error && shown.first === null && params !== null,
			stale: !error && shown.url !== url,
			get: (i: number) => shown.pages.get(Math.floor(i / PAGE_ROWS))?.[i % PAGE_ROWS],
			need: (from: number, to: number) => {
				const low = Math.floor(from / PAGE_ROWS),
					high = Math.min(Math.floor(to / PAGE_ROWS), low + AT_ONCE - 1);
				for (const [page, abort] of asked.current)
					/* scrolled past before it came */
					if (page < low - 1 || page > high + 1) abort.abort();
				for (let page = low; page <= high; page++) load(page);
			},
			retry: () => setAttempt((n) => n + 1),
		}),
		[shown, error, url],
	);
}
