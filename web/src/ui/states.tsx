/* What a card shows when it has no answer: a skeleton, nothing found, or an error with its way out. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, curlLine, get } from "../api/client";
import type { Answer } from "../api/use";
import { corrected, removeTerm, terms } from "../filter";
import * as format from "../format";
import { commonParams, filter, metric, range, tape, update } from "../store";
import { IconSearch, IconWarning } from "./icons";

export function Loading(props: { rows?: number; height?: number }): JSX.Element {
	return (
		<div class="loading" role="status" aria-label="Loading">
			{Array.from({ length: props.rows ?? 3 }, (_, i) => (
				<div
					key={i}
					class="skeleton"
					style={{ width: `${100 - ((i * 5) % 3) * 9}%`, height: `${props.height ?? 16}px` }}
				/>
			))}
		</div>
	);
}

export function Empty(props: { title: string; children?: ComponentChildren }): JSX.Element {
	return (
		<div class="state">
			<IconSearch />
			<h3>{props.title}</h3>
			{props.children}
		</div>
	);
}

/* Made of another tool's file that does not say this ("times", "usable_sizes"): docs/http-api.md has all words. */
export const misses = (...facts: string[]) => facts.find((f) => tape.value?.import?.missing.includes(f));

export function Missing(props: { fact: string; children: ComponentChildren }): JSX.Element {
	return (
		<Empty title={`This tape has no ${props.fact.replace("_", " ")}`}>
			<p>
				{props.children} The {tape.value?.import?.tool || tape.value?.import?.format} file it was converted from
				does not have them; a recording by memtape does.
			</p>
		</Empty>
	);
}

/* How many allocations each condition lets through alone; empty: not known yet. */
function useCounts(list: readonly string[]): readonly number[] {
	const common = commonParams(),
		of = JSON.stringify(common),
		[known, setKnown] = useState({ of: "", counts: [] as number[] });
	useEffect(() => {
		const abort = new AbortController();
		if (!REPORT && list.length > 1)
			Promise.all(list.map((q) => get<{ count: number }>("filter", { ...common, q }, abort.signal))).then(
				(all) => setKnown({ of, counts: all.map((a) => a.count) }),
				() => undefined,
			);
		return () => abort.abort();
	}, [of]);
	return known.of === of ? known.counts : [];
}

/* Nothing matches: what to take away, and which condition is the one that nothing fulfils. */
export function EmptyByFilter(props: { what?: string }): JSX.Element {
	const list = terms(filter.value),
		counts = useCounts(list),
		none = counts.filter((n) => n === 0).length;
	const told =
		none > 0
			? `${list.length - none} of ${list.length} conditions match something; the marked ones match nothing.`
			: counts.length > 0
				? "Each condition matches something, but nothing matches all of them."
				: "";
	return (
		<Empty title={`No ${props.what ?? "allocations"} match`}>
			{told && <p role="status">{told}</p>}
			<p>{list.length + (range.value ? 1 : 0) > 0 ? "Remove one of:" : "The tape has none."}</p>
			<div class="actions">
				{list.map((term, i) => (
					<button
						key={term}
						type="button"
						class={`button small ${counts[i] === 0 ? "wrong" : ""}`}
						title={counts[i] === undefined ? undefined : `alone: ${format.exact(counts[i]!)} allocations`}
						onClick={() => update({ filter: removeTerm(filter.value, i) })}
					>
						<code>{term}</code> ×{counts[i] === 0 && <span class="sr"> matches nothing</span>}
					</button>
				))}
				{range.value && (
					<button type="button" class="button small" onClick={() => update({ range: null })}>
						time range ×
					</button>
				)}
			</div>
		</Empty>
	);
}

export function ErrorCard(props: { error: ApiError; retry: () => void }): JSX.Element {
	const { error } = props;
	return (
		<div class="state" role="alert">
			<IconWarning />
			<h3>{error.body.message}</h3>
			{error.body.hint && <p>{error.body.hint}</p>}
			<div class="actions">
				{REPORT ? (
					filter.value && (
						<button
							type="button"
							class="button small"
							onClick={() =>
								update({
									filter: "",
									at: null,
									metric: metric.value === "live" ? "peak" : metric.value,
								})
							}
						>
							Remove the filter
						</button>
					)
				) : (
					<>
						{error.body.parameter === "q" && error.body.suggest && (
							<button
								type="button"
								class="button small"
								onClick={() => update({ filter: corrected(filter.value, error.body) })}
							>
								Use <code>{error.body.suggest}</code>
							</button>
						)}
						<button type="button" class="button small" onClick={props.retry}>
							Try again
						</button>
						<button
							type="button"
							class="button small"
							onClick={() => void navigator.clipboard.writeText(curlLine(error.request))}
						>
							Copy request
						</button>
					</>
				)}
			</div>
		</div>
	);
}

/* The usual order: an error without old content, a skeleton, the content. */
export function Shown<T>(props: {
	answer: Answer<T>;
	loading?: ComponentChildren;
	children: (data: T) => ComponentChildren;
}): JSX.Element {
	const { answer } = props;
	if (answer.data !== null && !answer.error) return <>{props.children(answer.data)}</>;
	if (answer.error) return <ErrorCard error={answer.error} retry={answer.retry} />;
	return <>{props.loading ?? <Loading />}</>;
}
