/* The timeline of the overview. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { Curves } from "../api/types";
import { momentText, pausedIn, pauses } from "../clock";
import { addTerm } from "../filter";
import * as format from "../format";
import { frames } from "../frames";
import { filter, option, setOption, update } from "../store";
import { shorter } from "../names";
import { Th } from "../table/th";
import { Dot, Segmented } from "../ui/basics";
import { ErrorCard } from "../ui/states";
import { Chart } from "./chart";
import { timelineParams } from "./minimap";
import { bandsParams, MODES, modeOf, seriesOf } from "./series";
import type { Mode, Series } from "./series";
import { isZoomed, viewSet } from "./view";
import "./timeline.css";

const TABLE_ROWS = 48;
const RATE_PX = 5; /* a rate needs a while to be one */

/* null: the server chooses. */
function modeChosen(): Mode | null {
	const chosen = option("by") as Mode;
	return MODES.some((m) => m.value === chosen) ? chosen : null;
}

const NAME_LENGTH = 36; /* letters */

/* In a legend of several. */
const legendName = (title: string) => shorter(title).find((s) => s.length <= NAME_LENGTH) ?? shorter(title).pop()!;

/* A band of which there is a filter is one. */
function BandName(props: { of: Series }): JSX.Element {
	const { title, colour, q } = props.of;
	const content = (
		<>
			<Dot colour={colour} />
			<span class="ellipsis">{legendName(title)}</span>
		</>
	);
	return q && !REPORT ? (
		<button
			type="button"
			class="legend-switch band"
			title={`${title}\nOnly this`}
			onClick={() => update({ filter: addTerm(filter.value, q) })}
		>
			{content}
		</button>
	) : (
		content
	);
}

function ChartLegend(props: { data: Curves; mode: Mode }): JSX.Element {
	const { data, mode } = props,
		rssOff = option("rss") === "off";
	return (
		<ul class="legend" aria-label="Legend">
			{seriesOf(data, mode)
				.reverse()
				.map((s) => (
					<li key={s.title}>
						<BandName of={s} />
					</li>
				))}
			{mode === "rate" && (
				<li>
					<Dot colour="grey" line />
					frees
				</li>
			)}
			{pausedIn(data.from_ns, data.until_ns) > 0 && (
				<li title="No allocations were recorded then; frees were">
					<i class="hatch" />
					recording paused
				</li>
			)}
			{mode !== "rate" && data.rss.ns.length > 1 && (
				<li>
					<button
						type="button"
						class={`legend-switch ${rssOff ? "off" : ""}`}
						aria-pressed={!rssOff}
						title="Resident memory of the process, as reported by the kernel. Click to hide or show it."
						onClick={() => setOption("rss", rssOff ? null : "off", "replace")}
					>
						<i class="dot line ink" />
						RSS
					</button>
				</li>
			)}
		</ul>
	);
}

/* The same as rows: columns are joined, so that some fifty are left. */
export function TimelineTable(props: { data: Curves }): JSX.Element {
	const { data } = props,
		step = (data.until_ns - data.from_ns) / data.cols,
		each = Math.max(1, Math.ceil(data.cols / TABLE_ROWS));
	const rows = Array.from({ length: Math.ceil(data.cols / each) }, (_, r) => {
		const cut = (v: readonly number[]) => v.slice(r * each, (r + 1) * each),
			sum = (v: readonly number[]) => cut(v).reduce((a, b) => a + b, 0);
		return {
			from: data.from_ns + r * each * step,
			paused: pausedIn(
				data.from_ns + r * each * step,
				Math.min(data.until_ns, data.from_ns + (r + 1) * each * step),
			),
			max: Math.max(...cut(data.live_max)),
			min: Math.min(...cut(data.live_min)),
			allocated: sum(data.allocated_bytes),
			count: sum(data.allocated_count),
			freed: sum(data.freed_count),
		};
	});
	return (
		<div class="table-scroll" tabIndex={0} role="region" aria-label="Timeline as a table">
			<table class="table">
				<thead>
					<tr>
						<Th table="Timeline" title="From" first />
						<Th table="Timeline" title="Live, most" num />
						<Th table="Timeline" title="Live, least" num />
						<Th table="Timeline" title="Allocated" num />
						<Th table="Timeline" title="Allocations" num />
						<Th table="Timeline" title="Frees" num />
						{pauses.value.length > 0 && <Th table="Timeline" title="Recording paused" num />}
					</tr>
				</thead>
				<tbody>
					{rows.map((r) => (
						<tr key={r.from}>
							<th scope="row">{momentText(r.from)}</th>
							<td class="num" title={format.exactBytes(r.max)}>
								{format.bytes(r.max)}
							</td>
							<td class="num" title={format.exactBytes(r.min)}>
								{format.bytes(r.min)}
							</td>
							<td class="num" title={format.exactBytes(r.allocated)}>
								{format.bytes(r.allocated)}
							</td>
							<td class="num">{format.exact(r.count)}</td>
							<td class="num">{format.exact(r.freed)}</td>
							{pauses.value.length > 0 && (
								<td class="num">{r.paused > 0 ? format.duration(r.paused) : "\u2014"}</td>
							)}
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

export function TimelineCard(props: { table: boolean }): JSX.Element {
	const [px, setPx] = useState(0);
	const chosen = modeChosen();
	const width = px || (props.table ? 960 : 0);
	const answer = useApi<Curves>(
		"curves",
		chosen === "rate" ? timelineParams({}, width / RATE_PX) : timelineParams({ ...bandsParams(chosen) }, width),
	);
	const { data } = answer,
		mode = modeOf(data, chosen, frames.value);
	return (
		<section
			class={`card timeline ${mode === "my" || mode === "function" ? "functions" : ""}`}
			aria-labelledby="timeline-title"
		>
			<header class="card-head">
				<h2 id="timeline-title">{mode === "rate" ? "Allocation rate" : "Live heap"}</h2>
				<Segmented
					label="Timeline by"
					value={mode}
					choices={MODES}
					onChange={(by) => setOption("by", by, "replace")}
				/>
				{isZoomed.value && (
					<button type="button" class="button small" onClick={() => viewSet(null)}>
						Zoom out
					</button>
				)}
				<span class="grow" />
				{data && <ChartLegend data={data} mode={mode} />}
			</header>
			<div class={`timeline-body ${answer.stale ? "stale" : ""}`}>
				{answer.error && !data ? (
					<ErrorCard error={answer.error} retry={answer.retry} />
				) : props.table && data ? (
					<TimelineTable data={data} />
				) : (
					<Chart data={data} mode={mode} rss={option("rss") !== "off"} onWidth={setPx} />
				)}
				{!data && !answer.error && <div class="skeleton timeline-skeleton" />}
			</div>
		</section>
	);
}
