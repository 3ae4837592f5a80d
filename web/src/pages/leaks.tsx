/* What was never freed, told apart by how it came. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useApi } from "../api/use";
import type { Site, Sites, Summary } from "../api/types";
import { clock, momentText } from "../clock";
import { addTerm } from "../filter";
import * as format from "../format";
import { useOpenRow } from "../lists/open";
import { classify, fit, KINDS } from "../leaks/classify";
import type { Kind } from "../leaks/classify";
import { Stack } from "../lists/stack";
import { moduleColour } from "../palette";
import { commonParams, filter, option, setOption, update } from "../store";
import { Card, Dot } from "../ui/basics";
import { BarCell, Bytes, Count } from "../ui/cells";
import { IconLeaks } from "../ui/icons";
import { Sparkline } from "../ui/sparkline";
import { Empty, ErrorCard, Loading, misses } from "../ui/states";
import { copyText } from "../ui/toast";
import { VirtualGrid } from "../ui/vgrid";
import type { Column, Rows } from "../ui/vgrid";
import { pageHref } from "./links";
import type { Page } from "./registry";
import "../flame/flame.css";
import "../lists/lists.css";
import "../reports/reports.css";
import "../leaks/leaks.css";

const SITES_MAX = 200,
	SPARK = 24,
	DETAIL_PX = 290;

interface Leak {
	site: Site;
	kind: Kind;
	rate: number;
	r2: number;
}

/* The rate is of the time that is shown. */
function leakOf(site: Site, seconds: number): Leak {
	const curve = site.spark ?? [],
		line = fit(curve);
	return {
		site,
		kind: classify(curve, site.only_matched.leaked_count),
		rate: seconds > 0 ? (line.perStep * (curve.length - 1)) / seconds : 0,
		r2: line.r2,
	};
}

function columnsOf(max: number): Column<Leak>[] {
	const number = { numeric: true };
	const columns: Column<Leak>[] = [
		{
			id: "site",
			title: "Call site",
			track: "minmax(180px, 1fr)",
			cell: (l) => (
				<div
					class="list-name"
					title={[l.site.title, l.site.file && `${l.site.file}:${l.site.line ?? "?"}`, l.site.module]
						.filter(Boolean)
						.join("\n")}
				>
					<Dot colour={moduleColour(l.site.module)} />
					<span class="code ellipsis">{l.site.title}</span>
					<span class="muted ellipsis">
						{format.place(l.site.file, l.site.line) ||
							(l.site.module ? format.baseName(l.site.module) : "")}
					</span>
				</div>
			),
		},
		{
			id: "leaked",
			title: "Never freed",
			track: "minmax(100px, 150px)",
			...number,
			cell: (l) => (
				<BarCell value={l.site.only_matched.leaked_size} max={max}>
					<Bytes value={l.site.only_matched.leaked_size} />
				</BarCell>
			),
		},
		{
			id: "count",
			title: "Blocks",
			track: "minmax(58px, 84px)",
			...number,
			cell: (l) => <Count value={l.site.only_matched.leaked_count} />,
		},
		{
			id: "share",
			title: "of its blocks",
			track: "minmax(86px, 96px)",
			...number,
			help: "share of the blocks it allocated",
			cell: (l) => format.percent(l.site.only_matched.leaked_count / Math.max(1, l.site.all.allocated_count)),
		},
		{
			id: "rate",
			title: "Rate",
			track: "minmax(80px, 104px)",
			...number,
			help: "bytes per second, by linear fit",
			cell: (l) =>
				l.kind === "once" ? (
					<span class="muted">{"\u2014"}</span>
				) : (
					<span title={`R\u00b2 ${l.r2.toFixed(3)}`}>{format.bytes(l.rate)}/s</span>
				),
		},
		{
			id: "times",
			title: "First … last",
			track: "minmax(140px, 170px)",
			...number,
			cell: (l) => (
				<span>
					{momentText(l.site.only_matched.min_timestamp ?? 0)} …{" "}
					{momentText(l.site.only_matched.max_timestamp ?? 0)}
				</span>
			),
		},
		{
			id: "kind",
			title: "Pattern",
			track: "minmax(78px, 96px)",
			cell: (l) => (
				<span class={l.kind === "growing" ? "bad" : "muted"}>
					{KINDS.find((k) => k.kind === l.kind)!.title}
				</span>
			),
		},
		{
			id: "spark",
			title: "Over time",
			track: "70px",
			cell: (l) =>
				l.site.spark && <Sparkline values={l.site.spark} colour={l.kind === "growing" ? "red" : "grey"} />,
		},
	];
	return misses("times") ? columns.slice(0, 4) : columns;
}

function Detail(props: { leak: Leak }): JSX.Element {
	const { site } = props.leak,
		only = site.q ? addTerm(addTerm(filter.value, site.q), "leaked") : null,
		rule = `leak:${site.title.replace(/\(.*$/, "")}`;
	return (
		<div class="detail">
			<Stack title="Its largest stack" stack={site.stack ?? []} />
			<div class="detail-side">
				<div class="detail-actions">
					{only && (
						<a class="button small" href={pageHref(["allocations"], { filter: only })}>
							List {format.count(site.only_matched.leaked_count)}
						</a>
					)}
					{only && (
						<a
							class="button small"
							href={pageHref(["flame"], { filter: only, metric: "leaked", path: [] })}
						>
							Flame graph
						</a>
					)}
					{site.q && (
						<button
							type="button"
							class="button small"
							onClick={() => update({ filter: addTerm(filter.value, `not (${site.q})`) })}
						>
							Without this
						</button>
					)}
				</div>
				{site.spark && !misses("times") && (
					<div>
						<h3>Never freed, over time</h3>
						<Sparkline values={site.spark} colour="red" width={420} height={64} />
					</div>
				)}
				{!misses("times") && <p>{KINDS.find((k) => k.kind === props.leak.kind)!.meaning}.</p>}
				<div>
					<h3>Suppress it</h3>
					<p class="suppress">
						<code>{rule}</code>
						<button type="button" class="link" onClick={() => void copyText(rule, "Rule")}>
							Copy
						</button>
						<span class="muted">for `memtape report --suppressions FILE`, and for LeakSanitizer</span>
					</p>
				</div>
			</div>
		</div>
	);
}

function List(props: { leaks: readonly Leak[] }): JSX.Element {
	const { leaks } = props,
		{ at, open, toggle, select } = useOpenRow();
	const rows = useMemo<Rows<Leak>>(
		() => ({ count: leaks.length, get: (i) => leaks[i], need: () => undefined }),
		[leaks],
	);
	return (
		<VirtualGrid
			label="Call sites that leak"
			rows={rows}
			columns={columnsOf(Math.max(...leaks.map((l) => l.site.only_matched.leaked_size), 0))}
			rowHeight={30}
			minWidth={920}
			selected={at}
			onSelect={select}
			onActivate={toggle}
			detail={
				open !== null && leaks[open]
					? { index: open, height: DETAIL_PX, content: <Detail leak={leaks[open]!} /> }
					: null
			}
		/>
	);
}

function LeaksPage(): JSX.Element {
	const common = commonParams(),
		wanted = option("kind");
	const answer = useApi<Sites>("sites", {
		...common,
		q: addTerm(filter.value, "leaked"),
		by: "function",
		sort: "leaked_size",
		order: "dsc",
		n: SITES_MAX,
		spark: SPARK,
	});
	const suppressed = useApi<Summary>("summary", common).data?.suppressed;
	const leaks = useMemo(
		() =>
			(answer.data?.rows ?? [])
				.filter((s) => s.only_matched.leaked_count > 0)
				.map((s) => leakOf(s, clock.value.duration / 1e9)),
		[answer.data],
	);
	const shown = leaks.filter((l) => !wanted || l.kind === wanted),
		sum = (list: readonly Leak[]) => list.reduce((n, l) => n + l.site.only_matched.leaked_size, 0);
	const kinds = [
		{ kind: "" as const, title: "All", meaning: "everything that leaked" },
		...(misses("times") ? [] : KINDS),
	]; /* a kind is what the curve looks like */
	return (
		<div class="report-page">
			<h1 class="sr">Leaks</h1>
			<div class="leak-kinds" role="group" aria-label="Kinds">
				{kinds.map((k) => {
					const list = k.kind ? leaks.filter((l) => l.kind === k.kind) : leaks;
					return (
						<button
							key={k.kind}
							type="button"
							class={`leak-kind ${list.length > 0 ? k.kind : ""}`}
							aria-pressed={wanted === k.kind}
							title={k.meaning}
							onClick={() => setOption("kind", k.kind || null)}
						>
							<span>{k.title}</span>
							<b>{format.bytes(sum(list))}</b>
							<span class="muted">
								{format.exact(list.length)} {list.length === 1 ? "site" : "sites"}
							</span>
						</button>
					);
				})}
			</div>
			<Card
				title="Call sites"
				class="report-grow"
				stale={answer.stale}
				note={`${format.exact(shown.length)}${(answer.data?.count ?? 0) > SITES_MAX ? ` of the largest ${SITES_MAX}` : ""}${misses("times") ? "" : "; patterns are judged by the curve"}`}
			>
				{answer.error ? (
					<ErrorCard error={answer.error} retry={answer.retry} />
				) : !answer.data ? (
					<Loading rows={8} />
				) : shown.length === 0 ? (
					<Empty title="Nothing was leaked">{filter.value && <p>Nothing that matches the filter.</p>}</Empty>
				) : (
					<List leaks={shown} />
				)}
			</Card>
			{suppressed && suppressed.count > 0 && (
				<p class="flame-foot">
					{format.bytes(suppressed.bytes)} in {format.exact(suppressed.count)}{" "}
					{suppressed.count === 1 ? "block" : "blocks"} more suppressed, by built-in rules or a suppressions
					file. The filter <code>suppressed</code> selects them.
				</p>
			)}
			<p class="flame-foot">
				The tape does not show whether a block is still reachable: these blocks were not freed before the
				recording ended.
			</p>
		</div>
	);
}

export const page: Page = {
	id: "leaks",
	title: "Leaks",
	icon: IconLeaks,
	key: "l",
	group: "Diagnose",
	order: 1,
	component: LeaksPage,
	keys: [["Enter", "stack and suppression of a site"]],
};
