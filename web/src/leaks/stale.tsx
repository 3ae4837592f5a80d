/* Live memory that the program does not use: for how long it was not used, and whose it is. */
import type { JSX } from "preact";
import { useApi } from "../api/use";
import type { Stale, StaleSite } from "../api/types";
import { momentText } from "../clock";
import { filter, commonParams } from "../store";
import * as format from "../format";
import { Stack } from "../lists/stack";
import { Card } from "../ui/basics";
import { BarCell, Bytes, Count } from "../ui/cells";
import { Empty, Loading, Shown } from "../ui/states";
import type { Column } from "../ui/vgrid";
import { counted, OpenList, PlaceName } from "./parts";

const SITES_MAX = 200,
	DETAIL_PX = 250;

/* The answer's words for touched memory begin a title. */
const titled = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

function columnsOf(max: number, done: string): Column<StaleSite>[] {
	const number = { numeric: true };
	return [
		{ id: "site", title: "Call site", track: "minmax(180px, 1fr)", cell: (s) => <PlaceName of={s} /> },
		{
			id: "stale",
			title: "Not used",
			track: "minmax(100px, 150px)",
			...number,
			value: (s) => s.stale_bytes,
			cell: (s) => (
				<BarCell value={s.stale_bytes} max={max}>
					<Bytes value={s.stale_bytes} />
				</BarCell>
			),
		},
		{
			id: "share",
			title: "of its bytes",
			track: "minmax(86px, 96px)",
			...number,
			cell: (s) => format.percent(s.bytes > 0 ? s.stale_bytes / s.bytes : 0),
		},
		{
			id: "recent",
			title: titled(done),
			track: "minmax(90px, 110px)",
			...number,
			value: (s) => s.recent_bytes,
			cell: (s) => <Bytes value={s.recent_bytes} />,
		},
		{
			id: "blocks",
			title: "Blocks",
			track: "minmax(58px, 84px)",
			...number,
			help: "alive then",
			value: (s) => s.blocks,
			cell: (s) => <Count value={s.blocks} />,
		},
		{
			id: "oldest",
			title: "Longest",
			track: "minmax(80px, 100px)",
			...number,
			help: `for how long the page longest untouched was not ${done}`,
			cell: (s) => (s.oldest_ns === null ? <span class="muted">{"\u2014"}</span> : format.duration(s.oldest_ns)),
		},
	];
}

function Detail(props: { site: StaleSite }): JSX.Element {
	const { site } = props;
	return (
		<div class="detail">
			<Stack title="Its largest stack" stack={site.stack} />
			<div class="detail-side">
				<p>
					{counted(site.stale_blocks, "block")} of {format.exact(site.blocks)} not used at all.
					{site.untouched_bytes > 0 &&
						` ${format.bytes(site.untouched_bytes)} have no memory behind them: never touched, or given back.`}
					{site.unknown_bytes > 0 && ` ${format.bytes(site.unknown_bytes)} were not watched for so long.`}
				</p>
			</div>
		</div>
	);
}

function List(props: { sites: readonly StaleSite[]; done: string }): JSX.Element {
	const { sites, done } = props;
	return (
		<OpenList
			label="Call sites of memory that is not used"
			items={sites}
			columns={columnsOf(Math.max(...sites.map((s) => s.stale_bytes), 0), done)}
			minWidth={780}
			detailPx={DETAIL_PX}
			detail={(site) => <Detail site={site} />}
		/>
	);
}

/* What the live bytes are, as figures that add up. */
function Parts(props: { of: Stale }): JSX.Element {
	const s = props.of;
	const parts = [
		["Not used", s.stale_bytes, `not ${s.done} for ${format.duration(s.idle_ns)} or longer`],
		[`${titled(s.done)} since`, s.recent_bytes, ""],
		["No memory behind it", s.untouched_bytes, "never touched, or given back"],
		["Unknown", s.unknown_bytes, "not watched for so long"],
	] as const;
	return (
		<dl class="leak-kinds">
			{parts
				.filter(([title, bytes]) => title !== "Unknown" || bytes > 0)
				.map(([title, bytes, meaning]) => (
					<div key={title} class="leak-kind">
						<dt>{title}</dt>
						<dd>
							<b>{format.bytes(bytes)}</b>
							<span class="muted">
								{format.percent(s.bytes > 0 ? bytes / s.bytes : 0)}
								{meaning && `, ${meaning}`}
							</span>
						</dd>
					</div>
				))}
		</dl>
	);
}

export function StaleView(): JSX.Element {
	const answer = useApi<Stale>("stale", { ...commonParams(), top: SITES_MAX }),
		data = answer.data,
		shown = (data?.sites ?? []).filter((s) => s.stale_bytes > 0);
	return (
		<>
			{data && <Parts of={data} />}
			<Card title="Call sites" class="report-grow" stale={answer.stale} note={format.exact(shown.length)}>
				<Shown answer={answer} loading={<Loading rows={8} />}>
					{(data) =>
						shown.length > 0 ? (
							<List sites={shown} done={data.done} />
						) : (
							<Empty title={`All live memory was ${data.done}`}>
								{filter.value && <p>Or nothing that matches the filter was not.</p>}
							</Empty>
						)
					}
				</Shown>
			</Card>
			{data && (
				<p class="flame-foot">
					Live blocks after {momentText(data.time_ns)}, by page; {data.precision}. Pages were looked at every{" "}
					{format.duration(data.period_ns)}, since {momentText(data.watched_since_ns)}.
					{data.blind && ` What is only read was not seen: ${data.blind}.`}
					{data.trouble && ` Watching ended: ${data.trouble}.`}
				</p>
			)}
		</>
	);
}
