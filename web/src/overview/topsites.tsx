/* The functions with most of it, and how each behaves over time. */
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { useApi } from "../api/use";
import type { GroupSums, Site, Sites, Sum } from "../api/types";
import { rangeText } from "../clock";
import { addTerm } from "../filter";
import * as format from "../format";
import { rowClick, rowKeys, useJumpTarget } from "../keys";
import { FunctionLine } from "../lists/name";
import { moduleColour } from "../palette";
import { pageHref } from "../pages/links";
import { commonParams, filter, option, range, setOption } from "../store";
import { Th } from "../table/th";
import { Card, Dot, Segmented } from "../ui/basics";
import { BarCell, Bytes, Count, Duration, Near } from "../ui/cells";
import { Sparkline } from "../ui/sparkline";
import { EmptyByFilter, Loading, misses, Shown } from "../ui/states";
import { capital, countOfKey, goesOn, measures, sumOfKey } from "../vocabulary";
import type { Measure } from "../vocabulary";

const ROWS = 9;

/* What call sites are ranked by: measures in bytes that groups have. */
interface Rank {
	measure: Measure;
	sort: string;
	sum: (sums: GroupSums) => Sum;
}

function ranks(): Rank[] {
	return measures().flatMap((measure) => {
		const { sort } = measure,
			key = sort && measure.unit === "bytes" && measure.in_reports ? sumOfKey(sort) : null;
		const sum = (s: GroupSums): Sum => ({ bytes: s[key!] ?? 0, count: s[countOfKey(key!)] ?? 0 });
		return sort && key ? [{ measure, sort, sum }] : [];
	});
}

function Row(props: {
	site: Site;
	at: number;
	sort: string;
	sum: Sum;
	near: readonly (number | null | undefined)[];
	max: number;
	never: boolean;
}): JSX.Element {
	const { site, sum } = props,
		life = site.only_matched.lifetime_p50,
		colour = moduleColour(site.module);
	const where = format.place(site.file, site.line) || (site.module && format.baseName(site.module)) || "";
	const narrowed = site.q ? { filter: addTerm(filter.value, site.q) } : {};
	return (
		<tr class="opens" onClick={rowClick}>
			<td>
				<FunctionLine
					name={site.title}
					place={where}
					href={pageHref(["sites"], {}, { sort: props.sort, open: String(props.at) })}
					title={`${site.function ?? site.title}\n${site.file ?? ""}${site.line ? `:${site.line}` : ""}\n${site.module ?? ""}`}
				>
					<Dot colour={colour} />
				</FunctionLine>
			</td>
			<td class="num">
				<BarCell value={sum.bytes} max={props.max}>
					<a class="plain" href={pageHref(["allocations"], narrowed)}>
						<Near.Provider value={props.near}>
							<Bytes value={sum.bytes} />
						</Near.Provider>
					</a>
				</BarCell>
			</td>
			<td class="num muted-2">
				<Count value={sum.count} />
			</td>
			{!misses("times") && (
				<>
					<td class="num muted-2">{life !== null || props.never ? <Duration value={life} /> : "\u2014"}</td>
					<td class="site-spark">
						{site.spark && (
							<Sparkline
								values={site.spark}
								colour={props.never && life === null && !goesOn.value ? "red" : colour}
							/>
						)}
					</td>
				</>
			)}
		</tr>
	);
}

function Table(props: { data: Sites; rank: Rank }): JSX.Element {
	const rows = props.data.rows.filter((s) => props.rank.sum(s.only_matched).bytes > 0);
	const body = useRef<HTMLTableSectionElement>(null);
	useJumpTarget(body);
	const timed = !misses("times"),
		max = Math.max(...rows.map((s) => props.rank.sum(s.only_matched).bytes), 0);
	if (rows.length === 0)
		return filter.value || range.value ? <EmptyByFilter /> : <p class="finding-none">No such blocks.</p>;
	return (
		<>
			<table class="sites">
				<thead>
					<tr>
						<Th table="Top call sites" title="Function" first />
						<Th table="Top call sites" title="Bytes" num class="c-value" sorted="descending">
							{capital(props.rank.measure.title)} ↓
						</Th>
						<Th table="Top call sites" title="Count" num class="c-count" />
						{timed && (
							<>
								<Th table="Top call sites" title="Life p50" num class="c-life" help="Median lifetime" />
								<Th table="Top call sites" title="Over time" class="c-spark" />
							</>
						)}
					</tr>
				</thead>
				<tbody ref={body} onKeyDown={rowKeys}>
					{rows.map((s, i) => (
						<Row
							key={s.key}
							site={s}
							at={i}
							sort={props.rank.sort}
							sum={props.rank.sum(s.only_matched)}
							near={format.beside(i, (n) => rows[n] && props.rank.sum(rows[n].only_matched).bytes)}
							max={max}
							never={s.only_matched.leaked_count * 2 > s.only_matched.allocated_count}
						/>
					))}
				</tbody>
			</table>
			<a
				class="link all-link"
				href={pageHref(["sites"], { metric: props.rank.measure.word }, { sort: props.rank.sort })}
			>
				{props.data.count === 1 ? "The call site" : `All ${format.count(props.data.count)} call sites`}
			</a>
		</>
	);
}

export function TopSitesCard(): JSX.Element {
	const all = ranks(),
		usual = all[0]!,
		rank = all.find((r) => r.measure.word === option("rank")) ?? usual;
	const answer = useApi<Sites>("sites", {
		...commonParams(),
		by: "function",
		sort: rank.sort,
		order: "dsc",
		n: ROWS,
		spark: 24,
	});
	return (
		<Card
			title="Top call sites"
			class="sites-card"
			note={range.value ? rangeText(range.value) : undefined}
			stale={answer.stale}
			tools={
				<Segmented
					label="Ranked by"
					value={rank.measure.word}
					choices={all.map(({ measure: m }) => ({ value: m.word, label: capital(m.title), title: m.doc }))}
					onChange={(word) => setOption("rank", word === usual.measure.word ? null : word, "replace")}
				/>
			}
		>
			<Shown answer={answer} loading={<Loading rows={9} height={18} />}>
				{(data) => <Table data={data} rank={rank} />}
			</Shown>
		</Card>
	);
}
