/* How what was never freed came, and what grows to the end. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { useApi } from "../api/use";
import type { Answer } from "../api/use";
import type { GrowthReport, GrowthSite } from "../api/types";
import { momentText } from "../clock";
import { addTerm } from "../filter";
import * as format from "../format";
import { Stack } from "../lists/stack";
import { pageHref } from "../pages/links";
import { commonParams, filter, option, setOption, update } from "../store";
import { Card } from "../ui/basics";
import { BarCell, Bytes, Count } from "../ui/cells";
import { Sparkline } from "../ui/sparkline";
import { Empty, Loading, misses, Shown } from "../ui/states";
import type { Column } from "../ui/vgrid";
import { counted, KindTile, OpenList, PlaceName, Suppression } from "./parts";

const SITES_MAX = 200,
	DETAIL_PX = 300;

const PATTERNS = [
	{ key: "growing", title: "Growing", meaning: "steady growth to the end: almost certainly a leak" },
	{ key: "unsteady", title: "Unsteady", meaning: "neither steady growth nor a level" },
	{ key: "levelled_off", title: "Levelled off", meaning: "grew, then stayed: caches, pools, tables" },
	{ key: "burst", title: "Burst", meaning: "very many blocks within a moment or early, and kept" },
	{ key: "one_off", title: "One-off", meaning: "few blocks, within a moment or early, and kept: initialisation" },
] as const;
const ALWAYS = ["growing", "levelled_off", "one_off"];

function columnsOf(max: number, goesOn: boolean): Column<GrowthSite>[] {
	const number = { numeric: true };
	const columns: Column<GrowthSite>[] = [
		{ id: "site", title: "Call site", track: "minmax(180px, 1fr)", cell: (s) => <PlaceName of={s} /> },
		{
			id: "leaked",
			title: goesOn ? "Not freed yet" : "Never freed",
			track: "minmax(100px, 150px)",
			...number,
			value: (s) => s.leaked_bytes,
			cell: (s) => (
				<BarCell value={s.leaked_bytes} max={max}>
					<Bytes value={s.leaked_bytes} />
				</BarCell>
			),
		},
		{
			id: "count",
			title: "Blocks",
			track: "minmax(58px, 84px)",
			...number,
			value: (s) => s.leaked_blocks,
			cell: (s) => <Count value={s.leaked_blocks} />,
		},
		{
			id: "share",
			title: "of its blocks",
			track: "minmax(86px, 96px)",
			...number,
			help: "share of the blocks it allocated",
			cell: (s) => format.percent(s.never_freed_share),
		},
		{
			id: "rate",
			title: "Rate",
			track: "minmax(80px, 104px)",
			...number,
			help: "bytes per second, by linear fit",
			cell: (s) =>
				s.bytes_per_s === null ? (
					<span class="muted">{"\u2014"}</span>
				) : (
					<span title={`R\u00b2 ${(s.r2 ?? 0).toFixed(3)}`}>{format.bytes(s.bytes_per_s)}/s</span>
				),
		},
		{
			id: "times",
			title: "First … last",
			track: "minmax(140px, 170px)",
			...number,
			cell: (s) => (
				<span>
					{momentText(s.first_ns)} … {momentText(s.last_ns)}
				</span>
			),
		},
		{
			id: "kind",
			title: "Pattern",
			track: "minmax(78px, 96px)",
			cell: (s) => (
				<span class={s.pattern === "growing" ? "bad" : "muted"}>
					{PATTERNS.find((p) => p.key === s.pattern)?.title}
				</span>
			),
		},
		{
			id: "spark",
			title: "Over time",
			track: "70px",
			cell: (s) => <Sparkline values={s.course} colour={s.pattern === "growing" ? "red" : "grey"} />,
		},
	];
	return misses("times") ? columns.slice(0, 4) : columns;
}

function Detail(props: { site: GrowthSite }): JSX.Element {
	const { site } = props,
		only = site.filter ? addTerm(addTerm(filter.value, site.filter), "leaked") : null;
	return (
		<div class="detail">
			<Stack title="Its largest stack" stack={site.stack} />
			<div class="detail-side">
				<div class="detail-actions">
					{only && (
						<>
							<a class="button small" href={pageHref(["allocations"], { filter: only })}>
								List {format.count(site.leaked_blocks)}
							</a>
							<a
								class="button small"
								href={pageHref(["flame"], { filter: only, metric: "leaked", path: [] })}
							>
								Flame graph
							</a>
							<button
								type="button"
								class="button small"
								onClick={() => update({ filter: addTerm(filter.value, `not (${site.filter})`) })}
							>
								Without this
							</button>
						</>
					)}
				</div>
				{!misses("times") && (
					<div>
						<h3>Live bytes over time</h3>
						<Sparkline values={site.course} colour="red" width={420} height={64} />
					</div>
				)}
				<p>{site.evidence}.</p>
				{site.function && <Suppression title={site.function} />}
			</div>
		</div>
	);
}

function List(props: { sites: readonly GrowthSite[]; goesOn: boolean }): JSX.Element {
	const { sites, goesOn } = props;
	return (
		<OpenList
			label={goesOn ? "Call sites with blocks not freed yet" : "Call sites that leak"}
			items={sites}
			columns={columnsOf(Math.max(...sites.map((s) => s.leaked_bytes), 0), goesOn)}
			minWidth={920}
			detailPx={DETAIL_PX}
			detail={(site) => <Detail site={site} />}
		/>
	);
}

/* How each call site's live bytes went, as the report growth judges. */
export const useGrowth = (): Answer<GrowthReport> =>
	useApi<GrowthReport>("growth", { ...commonParams(), top: SITES_MAX });

export function Growth(): JSX.Element {
	const answer = useGrowth(),
		data = answer.data,
		goesOn = data?.goes_on ?? false,
		wanted = option("kind");
	const shown = useMemo(
		() =>
			(data?.sites ?? [])
				.filter((s) => !wanted || s.pattern === wanted)
				.sort((a, b) => b.leaked_bytes - a.leaked_bytes),
		[data, wanted],
	);
	const kinds = PATTERNS.filter((p) => ALWAYS.includes(p.key) || (data?.[p.key].sites ?? 0) > 0);
	const all = data ? [...PATTERNS.map((p) => data[p.key]), data.unknown] : [];
	const sum = (of: (s: GrowthReport["growing"]) => number) => all.reduce((n, s) => n + of(s), 0);
	return (
		<>
			<div class="leak-kinds" role="group" aria-label="Patterns">
				<KindTile
					title="All"
					meaning={goesOn ? "everything that is not freed yet" : "everything that was never freed"}
					bytes={sum((s) => s.leaked_bytes)}
					note={counted(
						sum((s) => s.sites),
						"site",
					)}
					tone=""
					pressed={!wanted}
					onClick={() => setOption("kind", null)}
				/>
				{!misses("times") &&
					kinds.map((p) => (
						<KindTile
							key={p.key}
							title={p.title}
							meaning={p.meaning}
							bytes={data?.[p.key].leaked_bytes ?? 0}
							note={counted(data?.[p.key].sites ?? 0, "site")}
							tone={p.key}
							pressed={wanted === p.key}
							onClick={() => setOption("kind", wanted === p.key ? null : p.key)}
						/>
					))}
			</div>
			<Card
				title="Call sites"
				class="report-grow"
				stale={answer.stale}
				note={`${format.exact(shown.length)}${sum((s) => s.sites) > SITES_MAX ? ` of ${format.exact(sum((s) => s.sites))}` : ""}${misses("times") ? "" : "; patterns are judged by the curve of live bytes"}`}
			>
				<Shown answer={answer} loading={<Loading rows={8} />}>
					{() =>
						shown.length > 0 ? (
							<List sites={shown} goesOn={goesOn} />
						) : (
							<Empty title={goesOn ? "Everything is freed" : "Nothing was leaked"}>
								{filter.value && <p>Nothing that matches the filter.</p>}
							</Empty>
						)
					}
				</Shown>
			</Card>
		</>
	);
}
