/*
 * How much is in stacks with a function that is searched for. The picture lacks what is too small to draw, so the server is asked
 * with the search as one more condition of the filter; the picture alone, all that a report has, knows the least it can be.
 */
import { useRef } from "preact/hooks";
import type { Params } from "../api/client";
import type { DiffFlame, Flame } from "../api/types";
import { useApi } from "../api/use";
import { addTerm, quote } from "../filter";
import { filter } from "../store";
import type { Graph, Matches } from "./graph";

const SMALLEST_PX = 64; /* of these answers only the total is read */

export interface Found {
	matches: Matches;
	graph: Graph;
}

export interface Share {
	value: number; /* of all of the tree, whichever box fills the picture */
	isLeast: boolean;
}

/* In a group of its own no search ends in a backslash, which would take the quote with it. */
export function searchTerm(search: RegExp): string {
	return `function ~ ${quote(`(?${search.ignoreCase ? "i" : ""}:${search.source})`)}`;
}

function drawn(found: Found | null): number {
	return found && found.graph.flame.total > 0 ? found.matches.value / found.graph.flame.total : 0;
}

/* Of the picture that PATH and PARAMS ask for; null: it is being asked for. */
export function useShare(
	path: "flame" | "diff/flame",
	params: Params | null,
	search: RegExp | null,
	found: Found | null,
): Share | null {
	const of = search && params && !REPORT ? { ...params, root: null, px: SMALLEST_PX } : null;
	const whole = useApi<Flame | DiffFlame>(path, of),
		matching = useApi<Flame | DiffFlame>(path, of && { ...of, q: addTerm(filter.value, searchTerm(search!)) });
	const last = useRef<{ url: string; share: Share } | null>(null);
	if (REPORT || whole.error || matching.error) return { value: drawn(found), isLeast: true };
	const isCurrent =
		!whole.loading && !matching.loading && whole.data && matching.data && whole.data.gen === matching.data.gen;
	/* While a tape that grows is asked about again, what the same question had for an answer. */
	if (!isCurrent) return last.current?.url === matching.url ? last.current.share : null;
	const value = whole.data!.total > 0 ? matching.data!.total / whole.data!.total : 0,
		isLeast = found?.matches.isBeyondFilter ?? false;
	last.current = {
		url: matching.url,
		share: { value: isLeast ? Math.max(value, drawn(found)) : value, isLeast },
	};
	return last.current.share;
}
