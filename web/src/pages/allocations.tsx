/* Every single block. */
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import { usePages } from "../api/pages";
import { useApi } from "../api/use";
import type { Alloc, AllocDetail, Allocs, FilterCheck } from "../api/types";
import { momentText } from "../clock";
import { addTerm } from "../filter";
import { FunctionLine } from "../lists/name";
import * as format from "../format";
import { useOpenRow } from "../lists/open";
import { sortBy, sortNow } from "../lists/order";
import { Stack } from "../lists/stack";
import { named } from "../names";
import { moduleColour } from "../palette";
import { commonParams, detail, filter, range, tape, tapeId, update } from "../store";
import { threadOf, threadText } from "../thread";
import { Dot } from "../ui/basics";
import { Bytes, Duration, Near } from "../ui/cells";
import { capital, goesOn, neverFreed } from "../vocabulary";
import { IconAllocations } from "../ui/icons";
import { Empty, EmptyByFilter, ErrorCard, Loading, misses, Shown } from "../ui/states";
import { copyText } from "../ui/toast";
import { VirtualGrid } from "../ui/vgrid";
import type { Column, Sort } from "../ui/vgrid";
import { pageHref } from "./links";
import type { Page } from "./registry";
import "../flame/flame.css";
import "../lists/lists.css";

const USUAL: Sort = { id: "time", order: "asc" };
const SORTS = ["time", "address", "size", "usable", "lifetime", "thread", "latency"];
const RISING = ["time", "address", "thread"];
const DETAIL_PX = 380;

const STEP_NS = 1e3; /* the usual step of times: a microsecond, so that most rows have as many digits */

/* Neighbours that read alike get a finer step. */
function Time(props: { ns: number }): JSX.Element {
	const text = format.apart(props.ns, useContext(Near), (ns, digits) =>
		momentText(ns, STEP_NS / 10 ** (digits - format.DIGITS)),
	);
	return <span title={`${format.exact(props.ns)} ns`}>{text}</span>;
}

function columnsOf(hasLatency: boolean, hasThreads: boolean): Column<Alloc>[] {
	const text = (
		id: string,
		title: string,
		track: string,
		cell: Column<Alloc>["cell"],
		more: Partial<Column<Alloc>> = {},
	): Column<Alloc> => ({ id, title, track, cell, ...more });
	const number = { numeric: true, sort: true };
	return [
		text("time", "Time", "minmax(92px, 112px)", (a) => <Time ns={a.ns} />, { sort: true, value: (a) => a.ns }),
		text("size", "Size", "minmax(70px, 92px)", (a) => <Bytes value={a.size} />, {
			...number,
			help: "requested",
			value: (a) => a.size,
		}),
		text("usable", "Usable", "minmax(70px, 92px)", (a) => <Bytes value={a.usable} class="muted" />, {
			...number,
			help: "provided by the allocator",
			value: (a) => a.usable,
		}),
		text(
			"lifetime",
			"Lifetime",
			"minmax(70px, 96px)",
			(a) =>
				a.lost_free ? (
					<span class="muted" title="Its free was not recorded">
						unknown
					</span>
				) : (
					<Duration value={a.free_ns === null ? null : a.free_ns - a.ns} />
				),
			number,
		),
		...(hasLatency
			? [
					text(
						"latency",
						"Latency",
						"84px",
						(a) => (a.latency_ns === null ? "\u2014" : <Duration value={a.latency_ns} />),
						{ ...number, help: "how long the allocator took" },
					),
				]
			: []),
		text("site", "Call site", "minmax(216px, 1fr)", (a) => (
			<FunctionLine
				name={a.brief ?? ""}
				place={format.place(a.file, a.line) || (a.module ? format.baseName(a.module) : null)}
				title={[a.function, a.file && `${a.file}:${a.line ?? "?"}`, a.module].filter(Boolean).join("\n")}
			>
				<Dot colour={moduleColour(a.module)} />
			</FunctionLine>
		)),
		text(
			"call",
			"Call",
			"minmax(92px, min(132px, 11%))",
			(a) => (
				<span class="code" title={a.free_call ? `freed by ${a.free_call}` : undefined}>
					{a.call}
					{a.chain_length > 1 && <span class="muted"> ×{a.chain_length}</span>}
				</span>
			),
			{ help: "the function called; × blocks of its realloc chain" },
		),
		text(
			"thread",
			"Thread",
			hasThreads ? "minmax(110px, min(300px, 20%))" : "minmax(110px, 14%)",
			(a) => (
				<span
					class="thread"
					title={`allocated by ${threadText(a.thread_name, a.thread)}${a.free_thread !== null ? `, freed by ${threadOf(a.free_thread)}` : ""}`}
				>
					{a.thread_name && <span class="ellipsis">{a.thread_name}</span>}{" "}
					<span>{a.thread_name ? `(${a.thread})` : a.thread}</span>
					{a.free_thread !== null && a.free_thread !== a.thread && (
						<span class="muted ellipsis">→ {threadOf(a.free_thread)}</span>
					)}
				</span>
			),
			{ sort: true },
		),
		text("address", "Address", "116px", (a) => <span class="code">{a.address}</span>, { sort: true }),
	];
}

/* Columns of facts that the tape does not have. */
const NEEDS: Record<string, string[]> = {
	time: ["times"],
	usable: ["usable_sizes"],
	lifetime: ["times", "frees", "freed"],
	call: ["functions"],
	thread: ["threads"],
	address: ["addresses"],
};

/* How the block grew: a bar for each step, as high as it was large. */
function Chain(props: { chain: readonly Alloc[]; row: number }): JSX.Element {
	const { chain } = props,
		most = Math.max(...chain.map((a) => a.size), 1),
		w = 400 / chain.length;
	return (
		<figure>
			<svg
				class="chain"
				viewBox="0 0 400 64"
				preserveAspectRatio="none"
				role="img"
				aria-label={`Realloc chain: ${chain.map((a) => format.bytes(a.size)).join(", ")}`}
			>
				{chain.map((a, i) => {
					const h = Math.max(2, (a.size / most) * 60);
					return (
						<rect
							key={a.row}
							x={i * w + 0.5}
							width={Math.max(0.5, w - 1)}
							y={64 - h}
							height={h}
							class={a.row === props.row ? "now" : ""}
						>
							<title>{`${momentText(a.ns, STEP_NS)}: ${format.bytes(a.size)}`}</title>
						</rect>
					);
				})}
			</svg>
			<figcaption class="muted">
				{format.bytes(chain[0]!.size)} → {format.bytes(chain[chain.length - 1]!.size)} in {chain.length - 1}{" "}
				{chain.length === 2 ? "step" : "steps"}
			</figcaption>
		</figure>
	);
}

function Beside(props: { alloc: Alloc; detail: AllocDetail["neighbours"] }): JSX.Element {
	const { alloc, detail } = props,
		end = (a: Alloc) => parseInt(a.address, 16) + a.usable;
	const item = (a: Alloc, now: boolean) => (
		<li class={now ? "now" : ""} aria-current={now || undefined}>
			<span class="code">{a.address}</span>
			<b>{format.bytes(a.size)}</b>
			<span class="code ellipsis" title={a.function}>
				{named(a.brief)}
			</span>
		</li>
	);
	const gap = (bytes: number) => bytes > 16 && <li class="gap">{format.bytes(bytes)} between</li>;
	return (
		<ol class="memory">
			{detail.before && (
				<>
					{item(detail.before, false)}
					{gap(parseInt(alloc.address, 16) - end(detail.before))}
				</>
			)}
			{item(alloc, true)}
			{detail.after && (
				<>
					{gap(parseInt(detail.after.address, 16) - end(alloc))}
					{item(detail.after, false)}
				</>
			)}
		</ol>
	);
}

function Detail(props: { row: number }): JSX.Element {
	const answer = useApi<AllocDetail>("alloc", {
		c: tapeId.value,
		row: props.row,
		...(filter.value && { q: filter.value }),
	});
	return (
		<Shown answer={answer} loading={<Loading rows={6} />}>
			{(d) => (
				<div class={`detail ${answer.stale ? "stale" : ""}`}>
					<div class="detail-side">
						<Stack
							title={`Allocated by ${d.alloc.call}`}
							stack={d.stack}
							note={momentText(d.alloc.ns, STEP_NS)}
						/>
					</div>
					<div class="detail-side">
						<div class="detail-actions">
							<button
								type="button"
								class="button small"
								onClick={() => void copyText(d.alloc.address, "Address")}
							>
								Copy address
							</button>
							<button
								type="button"
								class="button small"
								title="Only blocks at this address"
								onClick={() =>
									update({ filter: addTerm(filter.value, `address = ${d.alloc.address}`) })
								}
							>
								This address
							</button>
							<button
								type="button"
								class="button small"
								title="Everything alive at that time"
								onClick={() => {
									location.hash = pageHref(["flame"], { metric: "live", at: d.alloc.ns });
								}}
							>
								Alive then
							</button>
						</div>
						{d.chain.length > 1 && (
							<div>
								<h3>Realloc chain</h3>
								<Chain chain={d.chain} row={d.alloc.row} />
							</div>
						)}
						{!misses("addresses") && (
							<div>
								<h3>Neighbours in memory</h3>
								<Beside alloc={d.alloc} detail={d.neighbours} />
							</div>
						)}
						{d.free_stack ? (
							<Stack
								title={`Freed by ${d.alloc.free_call ?? "?"}`}
								stack={d.free_stack}
								note={d.alloc.free_ns === null ? "" : momentText(d.alloc.free_ns, STEP_NS)}
							/>
						) : (
							<p class={d.alloc.free_ns === null && !goesOn.value ? "bad" : "muted"}>
								{d.alloc.free_ns === null
									? `${capital(neverFreed())}.`
									: "No stack was recorded for its free."}
							</p>
						)}
					</div>
				</div>
			)}
		</Shown>
	);
}

function AllocationsPage(): JSX.Element {
	const sort = sortNow(SORTS, USUAL);
	const { at, open, toggle, select } = useOpenRow();
	const rows = usePages<Alloc, Allocs>("allocs", { ...commonParams(), sort: sort.id, order: sort.order });
	const shown = open !== null ? rows.get(open) : undefined;
	const isPart = filter.value !== "" || range.value !== null,
		part = useApi<FilterCheck>("filter", isPart ? commonParams() : null),
		said =
			isPart && !part.error
				? part.data
				: null; /* both figures are of one reading, which the tape's own may not be */
	const columns = columnsOf(tape.value?.has.latency ?? false, (detail.value?.threads.length ?? 0) > 1),
		known = columns.filter((c) => !misses(...(NEEDS[c.id] ?? [])));
	return (
		<div class="list-page">
			<div class="list-tools">
				<h1>Allocations</h1>
				<span class={`note ${isPart && part.stale ? "stale" : ""}`} role="status">
					{said && said.count < said.total
						? `${format.exact(said.count)} of ${format.exact(said.total)} (${format.percent(said.count / said.total)})`
						: rows.first && format.exact(rows.count)}
				</span>
				{known.length < columns.length && (
					<span class="note">
						Not known on this tape:{" "}
						{columns
							.filter((c) => !known.includes(c))
							.map((c) => c.title.toLowerCase())
							.join(", ")}
						{misses("sizes") && "; sizes are averages"}
					</span>
				)}
			</div>
			<section class={`card list-card ${rows.stale && !rows.loading ? "stale" : ""}`} aria-label="Allocations">
				{rows.error ? (
					<ErrorCard error={rows.error} retry={rows.retry} />
				) : rows.loading ? (
					<Loading rows={14} height={16} />
				) : rows.count === 0 ? (
					filter.value || range.value ? (
						<EmptyByFilter />
					) : (
						<Empty title="The tape has no allocations" />
					)
				) : (
					<VirtualGrid
						label="Allocations"
						rows={rows}
						columns={known}
						rowHeight={28}
						minWidth={known.length > 5 ? 930 : 500}
						sort={sort}
						onSort={(id) => sortBy(sort, id, USUAL, RISING)}
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
								? { index: open, height: DETAIL_PX, content: <Detail row={shown.row} /> }
								: null
						}
					/>
				)}
			</section>
			<p class="flame-foot">
				<span class="keys">
					<span>
						<kbd>Enter</kbd>both stacks, realloc chain, neighbours
					</span>
					<span>
						<kbd>Esc</kbd>close
					</span>
				</span>
			</p>
		</div>
	);
}

export const page: Page = {
	id: "allocations",
	title: "Allocations",
	icon: IconAllocations,
	key: "a",
	group: "Explore",
	order: 5,
	component: AllocationsPage,
	inReport: false,
	count: (tape) => tape.allocation_count,
	keys: [
		["\u2191\u2193", "row by row"],
		["Enter", "both stacks, realloc chain, neighbours"],
		["Esc", "close it"],
	],
};
