/*
 * An answer of the server for a component. What is on the screen stays until the new answer is there: `data` is the last
 * good one until then, `stale` says that it belongs to an older question for more than 150 ms.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { dragging } from "../store";
import { ApiError, cached, generation, get, requestUrl, server } from "./client";
import type { Params } from "./client";
import type { Head } from "./types";

export interface Answer<T> {
	data: T | null;
	error: ApiError | null;
	loading: boolean; /* a request is under way */
	stale: boolean; /* data is older than the question, and has been for a while */
	url: string;
	retry: () => void;
}

const DIM_AFTER_MS = 150;
const DRAG_MS = 120; /* while dragging, a request may run this long before the next one replaces it */

interface State<T> {
	data: T | null;
	error: ApiError | null;
	loading: boolean;
	stale: boolean;
	of: string;
	asked: string;
}

/* params null: nothing is asked, and what was answered stays. */
export function useApi<T>(path: string, params: Params | null): Answer<T> {
	const url = params ? requestUrl(path, params) : "";
	const [state, setState] = useState<State<T>>(() => {
		const known = params ? cached<T>(url) : undefined;
		return {
			data: known ?? null,
			error: null,
			loading: !!params && known === undefined,
			stale: false,
			of: known ? url : "",
			asked: url,
		};
	});
	const [attempt, setAttempt] = useState(0);
	const begun = useRef(0);
	const running = useRef<AbortController | null>(null);
	useEffect(() => {
		if (!params) return;
		const known = cached<T>(url);
		if (known !== undefined) {
			running.current?.abort();
			setState({ data: known, error: null, loading: false, stale: false, of: url, asked: url });
			return;
		}
		const abort = new AbortController();
		const ask = () => {
			running.current?.abort();
			running.current = abort;
			begun.current = performance.now();
			get<T>(path, params, abort.signal).then(
				(data) => setState({ data, error: null, loading: false, stale: false, of: url, asked: url }),
				(error) => {
					/* An error is this question's answer: what another one had would stay for good. */
					if (error instanceof ApiError)
						setState((s) => ({
							...s,
							data: s.of === url ? s.data : null,
							error,
							loading: false,
							stale: false,
						}));
					else if (error.name !== "AbortError") setState((s) => ({ ...s, loading: false, stale: false }));
				},
			);
		};
		setState((s) => ({ ...s, loading: true, asked: url }));
		const dim = setTimeout(
			() => setState((s) => (s.loading && s.data && s.of !== url ? { ...s, stale: true } : s)),
			DIM_AFTER_MS,
		);
		const wait = dragging.peek() && running.current ? Math.max(0, begun.current + DRAG_MS - performance.now()) : 0;
		const later = wait > 0 ? setTimeout(ask, wait) : (ask(), undefined);
		return () => {
			clearTimeout(dim);
			clearTimeout(later);
			if (!dragging.peek()) abort.abort();
		};
	}, [url, attempt, generation.value, server.value.gone]); /* again when the tape has grown, or the server is back */
	useEffect(() => () => running.current?.abort(), []);
	/* Between a new question and its effect the last answer is not this one's. */
	return {
		...state,
		loading: state.loading || (url !== "" && state.asked !== url),
		url,
		retry: () => setAttempt((n) => n + 1),
	};
}

type Maybe<T extends readonly unknown[]> = { [K in keyof T]: T[K] | null };

/*
 * Answers that stand beside the first of them, all of one reading of a tape that grows; null where one is of another. While those of
 * a newer reading come, what is shown is of the one before, but no longer than until the first has the next: the slow must not stop it.
 */
export function useReading<A extends Head, O extends readonly Head[]>(
	url: string /* of the first */,
	first: A | null,
	...others: Maybe<O>
): Maybe<[A, ...O]> {
	const shown = useRef<{ url: string; all: Maybe<[A, ...O]>; next: A | null } | null>(null),
		held = shown.current;
	const fits = (other: Head | null) => first !== null && other?.gen === first.gen;
	const waits = others.some((other) => other !== null && !fits(other));
	if (waits && held?.url === url && held.all[0] && (held.next === null || held.next === first)) {
		held.next = first;
		return held.all;
	}
	const all = [first, ...others.map((other) => (fits(other) ? other : null))] as unknown as Maybe<[A, ...O]>;
	shown.current = { url, all, next: waits ? first : null };
	return all;
}
