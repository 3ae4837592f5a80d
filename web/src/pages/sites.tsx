/* Who allocates: allocations in groups, what the filter lets through of each beside all that it made. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Savings } from "../api/answers";
import type { Params } from "../api/client";
import { usePages } from "../api/pages";
import type { PagedAnswer } from "../api/pages";
import type { GroupSums, Site, Sites } from "../api/types";
import { useApi } from "../api/use";
import { momentText, rangeText, span } from "../clock";
import { addTerm } from "../filter";
import { FunctionLine } from "../lists/name";
import * as format from "../format";
import { isLive } from "../live";
import { useOpenRow } from "../lists/open";
import { sortBy, sortNow } from "../lists/order";
import { Stack } from "../lists/stack";
import { moduleColour } from "../palette";
import { commonParams, filter, option, range, selection, update } from "../store";
import { Dot, Segmented } from "../ui/basics";
import { BarCell, Bytes, Count, Duration, Never } from "../ui/cells";
import { IconSites } from "../ui/icons";
import { Sparkline } from "../ui/sparkline";
import { Empty, EmptyByFilter, ErrorCard, Loading, misses } from "../ui/states";
import { VirtualGrid } from "../ui/vgrid";
import type { Column, Sort } from "../ui/vgrid";
import { capital, goesOn, measures, sumOfKey, vocabulary } from "../vocabulary";
import { pageHref } from "./links";
import type { Page } from "./registry";
import "../flame/flame.css";
import "../lists/lists.css";

const BY = "function";
const USUAL: Sort = { id: "peak_size", order: "dsc" };
const LIFE = "lifetime_p50",
	SAVES = "saves",
	TIMED = ["temporary", SAVES, LIFE, "spark"]; /* columns of times */
const DETAIL_PX = 300,
	HEAD_PX = 16,
	LETTER_PX = 6.5; /* so wide is a column's title, about */

/* What the filter lets through; beside it, in grey, all of the group where that is more. */
function Both(props: { matched: number; all: number; kind: "bytes" | "count"; bad?: boolean }): JSX.Element {
	const Kind = props.kind === "bytes" ? Bytes : Count;
	return (
		<span class="both">
			{props.all !== props.matched && (
				<span class="global">{props.kind === "bytes" ? format.bytes(props.all) : format.count(props.all)}</span>
			)}
			<b>
				<Kind value={props.matched} class={props.bad && props.matched > 0 ? "bad" : ""} />
			</b>
		</span>
	);
}

/* By how much the peak is lower without it, and what is left. */
function Saves(props: { site: Site }): JSX.Element {
	const { saves_bytes: saves, peak_without_bytes: rest, peak_without_ns: ns } = props.site;
	if (saves === null || rest === null)
		return (
			<span class="muted" title="Sort by it to see it">
				{"\u2014"}
			</span>
		);
	return (
		<span
			title={
				saves === 0
					? "The peak would be the same without it"
					: `The peak would be ${format.bytes(rest)}${ns === null ? "" : `, at ${momentText(ns)}`}`
			}
		>
			<Bytes value={saves} class={saves === 0 ? "muted" : ""} />
			{saves > 0 && <span class="muted"> → {format.bytes(rest)}</span>}
		</span>
	);
}

/* Whether anything of it was freed. */
function hasLife(site: Site): boolean {
	return site.only_matched.lifetime_p50 !== null;
}

function Name(props: { site: Site }): JSX.Element {
	const { site } = props,
		where = format.place(site.file, site.line) || (site.module ? format.baseName(site.module) : "");
	const stacks = site.stack_count > 1 ? `${format.exact(site.stack_count)} stacks` : "";
	return (
		<FunctionLine
			name={site.title}
			place={where && where !== site.title ? where : null}
			title={[site.function ?? site.title, site.file && `${site.file}:${site.line ?? "?"}`, site.module, stacks]
				.filter(Boolean)
				.join("\n")}
		>
			<Dot colour={moduleColour(site.module)} />
		</FunctionLine>
	);
}

/* The measures that groups have; a bar where the number is of bytes that somebody holds or asked for. */
function measureColumns(maxima: (pick: (s: GroupSums) => number) => number): Column<Site>[] {
	return measures().flatMap((m): Column<Site>[] => {
		const key = m.sort && m.in_reports ? sumOfKey(m.sort) : null;
		if (!key) return [];
		const what = key.endsWith("_count") ? "count" : "bytes",
			pick = (s: GroupSums) => s[key] ?? 0,
			title = m.title.replace(/(.) allocations$/, "$1") /* the table is one of allocations */,
			isLeak = key.startsWith("leaked"),
			hasBar = what === "bytes" && !isLeak;
		const both = (s: Site) => (
			<Both matched={pick(s.only_matched)} all={pick(s.all)} kind={what} bad={isLeak && !goesOn.value} />
		);
		const track = hasBar
			? "minmax(112px, 150px)"
			: `minmax(${Math.max(84, HEAD_PX + title.length * LETTER_PX)}px, 150px)`;
		return [
			{
				id: m.sort!,
				track,
				title: capital(title),
				help: m.doc,
				numeric: true,
				sort: true,
				value: (s) => pick(s.only_matched),
				cell: (s) =>
					hasBar ? (
						<BarCell value={pick(s.only_matched)} max={maxima(pick)}>
							{both(s)}
						</BarCell>
					) : (
						both(s)
					),
			},
		];
	});
}

function columnsOf(maxima: (pick: (s: GroupSums) => number) => number): Column<Site>[] {
	const columns: Column<Site>[] = [
		{ id: "title", title: "Call site", track: "minmax(200px, 1fr)", cell: (s) => <Name site={s} /> },
		...measureColumns(maxima),
		{
			id: SAVES,
			title: "Saves",
			track: "minmax(136px, 160px)",
			numeric: true,
			sort: true,
			help: "how much lower the peak would be without it → the peak that is left",
			cell: (s) => <Saves site={s} />,
		},
		{
			id: LIFE,
			title: "Life p50",
			track: "minmax(60px, 84px)",
			numeric: true,
			sort: true,
			help: "median lifetime of the freed blocks",
			cell: (s) => (hasLife(s) ? <Duration value={s.only_matched.lifetime_p50} /> : <Never />),
		},
		{
			id: "spark",
			title: "Over time",
			track: "70px",
			cell: (s) =>
				s.spark && (
					<Sparkline values={s.spark} colour={hasLife(s) || goesOn.value ? moduleColour(s.module) : "red"} />
				),
		},
	];
	return misses("times") ? columns.filter((c) => !TIMED.some((word) => c.id.startsWith(word))) : columns;
}

/*
 * The rows with the peak without each, which takes a pass over all events: it comes after the rows, and of a program
 * that still runs only where they are sorted by it.
 */
function useSites(params: Params, isSorted: boolean): PagedAnswer<Site, Sites> {
	const rows = usePages<Site, Sites>("sites", params);
	const wants = !REPORT && !isSorted && !isLive.value && !misses("times") && rows.count > 0 && !rows.stale;
	const saved = usePages<Site, Sites>("sites", wants ? { ...params, spark: 0, saves: 1 } : null);
	return useMemo(
		() => ({
			...rows,
			get: (i) => {
				const row = rows.get(i),
					more = wants && !saved.stale ? saved.get(i) : undefined;
				if (!row || more?.key !== row.key) return row;
				const { saves_bytes, peak_without_bytes, peak_without_ns } = more;
				return { ...row, saves_bytes, peak_without_bytes, peak_without_ns };
			},
			need: (from, until) => {
				rows.need(from, until);
				if (wants) saved.need(from, until);
			},
		}),
		[rows, saved, wants],
	);
}

/* What leaving it out would save, computed when the row is open. */
function Without(props: { filter: string }): JSX.Element | null {
	const { data } = useApi<Savings>("savings", { ...commonParams(), q: props.filter, top: 1 });
	if (!data?.selected) return null;
	const { saves_bytes, peak_without_bytes, peak_without_ns } = data.selected;
	return (
		<>
			<dt>Without it</dt>
			<dd>
				{saves_bytes === 0 ? (
					"the peak would be the same"
				) : (
					<>
						the peak would be <Bytes value={peak_without_bytes} /> instead of{" "}
						<Bytes value={data.peak_bytes} />
						{peak_without_ns !== null && !misses("times") && `, at ${momentText(peak_without_ns)}`}
					</>
				)}
			</dd>
		</>
	);
}

function Detail(props: { site: Site }): JSX.Element {
	const { site } = props,
		sums = site.only_matched,
		timeless = misses("times");
	const only = site.q && addTerm(filter.value, site.q),
		not = site.q && addTerm(filter.value, `not (${site.q})`);
	return (
		<div class="detail">
			<Stack
				title={site.stack_count > 1 ? "Its largest stack" : "Stack"}
				stack={site.stack ?? []}
				note={site.stack_count > 1 ? `of ${format.exact(site.stack_count)}` : ""}
			/>
			<div class="detail-side">
				<div class="detail-actions">
					{only && (
						<a
							class="button small"
							href={pageHref(["allocations"], { filter: only }, { sort: "", order: "" })}
						>
							List {format.count(sums.allocated_count)}
						</a>
					)}
					{only && (
						<a class="button small" href={pageHref(["flame"], { filter: only, path: [] })}>
							Flame graph
						</a>
					)}
					{only && (
						<button type="button" class="button small" onClick={() => update({ filter: only })}>
							Only this
						</button>
					)}
					{not && (
						<button type="button" class="button small" onClick={() => update({ filter: not })}>
							Without this
						</button>
					)}
				</div>
				{site.spark && !timeless && (
					<div>
						<h3>Live bytes over time</h3>
						<Sparkline
							values={site.spark}
							colour={hasLife(site) || goesOn.value ? "blue" : "red"}
							width={420}
							height={64}
						/>
					</div>
				)}
				<dl class="pairs">
					{only && !REPORT && <Without filter={only} />}
					<dt>Sizes</dt>
					<dd>
						{format.bytes(sums.min_size ?? 0)}
						{sums.max_size !== sums.min_size && ` \u2013 ${format.bytes(sums.max_size ?? 0)}`}, mean{" "}
						{format.bytes(sums.size / Math.max(1, sums.allocated_count))}
					</dd>
					<dt>Slack</dt>
					<dd>{format.bytes(sums.usable_size - sums.size)}</dd>
					{!timeless && (
						<>
							<dt>First, last</dt>
							<dd>
								{momentText(sums.min_timestamp ?? 0)} … {momentText(sums.max_timestamp ?? 0)}
							</dd>
						</>
					)}
					{hasLife(site) && !timeless && (
						<>
							<dt>Lifetime</dt>
							<dd>
								half under {format.duration(sums.lifetime_p50!)}, 90 % under{" "}
								{format.duration(sums.lifetime_p90!)}, 99 % under {format.duration(sums.lifetime_p99!)}
							</dd>
						</>
					)}
					{!timeless && (
						<>
							<dt>Temporary</dt>
							<dd>
								{format.exact(sums.temporary_count)} (
								{format.percent(sums.temporary_count / Math.max(1, sums.allocated_count))})
							</dd>
						</>
					)}
				</dl>
			</div>
		</div>
	);
}

function SitesPage(): JSX.Element {
	const groups = vocabulary.value?.groups ?? [],
		by = groups.find((g) => g.word === option("by"))?.word ?? BY;
	const sort = sortNow(
		columnsOf(() => 0)
			.filter((c) => c.sort)
			.map((c) => c.id),
		USUAL,
	);
	const { at, open, toggle, select } = useOpenRow();
	const rows = useSites({ ...commonParams(), by, sort: sort.id, order: sort.order, spark: 24 }, sort.id === SAVES);
	const first = rows.first?.rows ?? [];
	const shown = open !== null ? rows.get(open) : undefined;
	return (
		<div class="list-page">
			<h1 class="sr">Call sites</h1>
			<div class="list-tools">
				<Segmented
					label="Group by"
					value={by}
					choices={groups.map((g) => ({ value: g.word, label: capital(g.word), title: g.doc }))}
					onChange={(b) =>
						update({ options: { ...selection.value.options, by: b === BY ? "" : b, open: "" } })
					}
				/>
				<span class="grow" />
				<span class="note" role="status">
					{rows.first
						? `${format.exact(rows.count)} ${rows.count === 1 ? "group" : "groups"}${misses("times") ? "" : `, ${rangeText(span.value)}`}`
						: ""}
				</span>
			</div>
			<section class={`card list-card ${rows.stale && !rows.loading ? "stale" : ""}`} aria-label="Call sites">
				{rows.error ? (
					<ErrorCard error={rows.error} retry={rows.retry} />
				) : rows.loading ? (
					<Loading rows={12} height={18} />
				) : rows.count === 0 ? (
					filter.value || range.value ? (
						<EmptyByFilter />
					) : (
						<Empty title="The tape has no allocations" />
					)
				) : (
					<VirtualGrid
						label="Call sites"
						rows={rows}
						columns={columnsOf((pick) => Math.max(...first.map((s) => pick(s.only_matched)), 0))}
						rowHeight={32}
						minWidth={1060}
						sort={sort}
						onSort={(id) => sortBy(sort, id, USUAL)}
						selected={at}
						onSelect={select}
						onActivate={toggle}
						onKey={(e, i) => {
							if (e.key !== " ") return false;
							toggle(i);
							return true;
						}}
						detail={
							open !== null && shown
								? { index: open, height: DETAIL_PX, content: <Detail site={shown} /> }
								: null
						}
					/>
				)}
			</section>
			<p class="flame-foot">
				<span class="keys">
					<span>
						<kbd>Enter</kbd>open a row
					</span>
					<span>
						<kbd>Esc</kbd>close it
					</span>
				</span>
				<span class="grow" />
				{filter.value && <span>bold: matches the filter; grey: the whole group</span>}
			</p>
		</div>
	);
}

export const page: Page = {
	id: "sites",
	title: "Call sites",
	icon: IconSites,
	key: "s",
	group: "Explore",
	order: 4,
	component: SitesPage,
	dependsOnFrames: true,
	hasFunctions: true,
	keys: [
		["\u2191\u2193", "row by row"],
		["Enter", "its stack, its curve, actions"],
		["Esc", "close it"],
	],
};
