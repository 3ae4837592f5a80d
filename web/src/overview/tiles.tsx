/* Six figures of what is selected. Each leads to the page that explains it. */
import type { JSX } from "preact";
import { useApi } from "../api/use";
import type { Bytes, Ns, Summary, Timeline } from "../api/types";
import { momentText } from "../clock";
import * as format from "../format";
import { pageHref } from "../pages/links";
import { losses } from "../session";
import { commonParams, range, tape } from "../store";
import { ErrorCard, misses } from "../ui/states";
import { Tile } from "../ui/tile";

interface Peak {
	bytes: Bytes;
	ns: Ns;
}
interface RangePeaks {
	peak: Peak;
	rss: Peak | null;
}

function blocks(count: number, of: string): string {
	return `${format.count(count)} ${of}${count === 1 ? "" : "s"}`;
}

/*
 * The summary tells of the whole recording's peak. With a range it is the highest point of the curve within it: what was alive then,
 * whenever it was allocated, so the link's range begins at the start.
 */
function useRangePeaks(): RangePeaks | null {
	const r = range.value;
	const answer = useApi<Timeline>("timeline", r ? { ...commonParams(), by: "none", cols: 1 } : null);
	if (!r || !answer.data) return null;
	const { peak, rss } = answer.data,
		bytes = Math.max(...rss.bytes, 0);
	return { peak, rss: bytes > 0 ? { bytes, ns: rss.ns[rss.bytes.indexOf(bytes)]! } : null };
}

/* What was lost was not counted, so sums are lower bounds. Leaks are not: a free may be among what was lost. */
const incomplete = () => tape.value !== null && losses(tape.value) !== null;

function peakTile(s: Summary, inRange: Peak | null): JSX.Element {
	const peak = inRange ?? s.peak;
	const link = inRange
		? { metric: "live" as const, at: inRange.ns, range: { from: 0, until: range.value?.until ?? s.duration_ns } }
		: { metric: "peak" as const };
	const count = inRange ? "" : ` in ${blocks(s.peak.count, "block")}`;
	return (
		<Tile
			title={inRange ? "Peak heap in range" : "Peak heap"}
			parts={format.bytesParts(peak.bytes)}
			exact={format.exactBytes(peak.bytes) + count}
			href={pageHref(["flame"], link)}
			values={s.sparks.live}
			colour="blue"
			approx={s.approx}
			atLeast={incomplete()}
			note={
				misses("times") ? (
					`in ${blocks(s.peak.count, "block")}`
				) : peak.bytes > 0 ? (
					<>
						at <b>{momentText(peak.ns)}</b>
					</>
				) : (
					"nothing alive"
				)
			}
		/>
	);
}

function rssTile(s: Summary, inRange: RangePeaks | null): JSX.Element {
	const rss = inRange ? inRange.rss : s.rss_peak,
		peak = (inRange?.peak ?? s.peak).bytes,
		title = inRange ? "Peak RSS in range" : "Peak RSS";
	if (!rss)
		return (
			<Tile
				title={title}
				parts={["\u2014", ""]}
				exact=""
				href={pageHref(["flame"], {})}
				values={null}
				colour="grey"
				note={s.rss_peak ? "not sampled in this range" : "not sampled on this tape"}
			/>
		);
	const above = peak > 0 ? rss.bytes / peak - 1 : 9;
	const note =
		above > 2 ? (
			peak > 0 ? (
				<>
					<b>{format.times(above + 1)}</b> the peak heap
				</>
			) : (
				"no heap in the selection"
			)
		) : (
			<>
				<b>{format.percent(Math.abs(above))}</b> {above < 0 ? "below" : "above"} heap
			</>
		);
	return (
		<Tile
			title={title}
			parts={format.bytesParts(rss.bytes)}
			exact={format.exactBytes(rss.bytes)}
			href={pageHref(["flame"], { at: rss.ns, metric: "live" })}
			values={s.sparks.rss}
			colour="grey"
			note={note}
		/>
	);
}

function countTile(s: Summary): JSX.Element {
	return (
		<Tile
			title="Allocations"
			parts={format.countParts(s.allocated.count)}
			exact={format.exact(s.allocated.count)}
			href={pageHref(["sites"], { metric: "count" }, { sort: "allocated_count" })}
			atLeast={incomplete()}
			values={s.sparks.rate}
			colour="teal"
			note={
				misses("times") ? (
					"times unknown"
				) : (
					<>
						<b>{format.count(Math.round(s.rate_mean))}/s</b> · at most{" "}
						{format.count(Math.round(s.rate_max))}/s
					</>
				)
			}
		/>
	);
}

function allocatedTile(s: Summary): JSX.Element {
	const mean = s.allocated.count ? s.allocated.bytes / s.allocated.count : 0;
	return (
		<Tile
			title="Allocated"
			parts={format.bytesParts(s.allocated.bytes)}
			exact={format.exactBytes(s.allocated.bytes)}
			href={pageHref(["flame"], { metric: "allocated" })}
			atLeast={incomplete()}
			values={s.sparks.allocated}
			colour="purple"
			note={
				<>
					mean <b>{format.bytes(mean)}</b>
					{s.size_p50 !== null && ` \u00b7 median ${format.bytes(s.size_p50)}`}
				</>
			}
		/>
	);
}

/* While the program runs nobody knows what it will still free. */
function leakedTile(s: Summary): JSX.Element {
	const live = tape.value?.state === "live";
	return (
		<Tile
			title={live ? "Not freed yet" : "Leaked"}
			parts={format.bytesParts(s.leaked.bytes)}
			exact={`${format.exactBytes(s.leaked.bytes)} in ${format.exact(s.leaked.count)} blocks`}
			href={pageHref(["leaks", "sites"], { metric: "leaked" }, { sort: "leaked_size" })}
			bad={s.leaked.bytes > 0 && !live}
			values={s.sparks.leaked}
			colour={live ? "blue" : "red"}
			note={
				<>
					<b>{blocks(s.leaked.count, "block")}</b> of {blocks(s.leaked.sites, "site")}
					{s.suppressed.count > 0 && ` \u00b7 ${format.bytes(s.suppressed.bytes)} more suppressed`}
				</>
			}
		/>
	);
}

function temporaryTile(s: Summary): JSX.Element {
	if (misses("times", "frees", "freed"))
		return (
			<Tile
				title="Temporary"
				parts={["\u2014", ""]}
				exact=""
				href={pageHref(["sites"], {})}
				values={null}
				colour="grey"
				note="not known on this tape"
			/>
		);
	const share = s.allocated.count ? s.temporary.count / s.allocated.count : 0;
	const [number, unit] = format.percent(share).split(" ") as [string, string?];
	return (
		<Tile
			title="Temporary"
			parts={[number, unit ?? ""]}
			exact={`${format.exact(s.temporary.count)} of ${format.exact(s.allocated.count)} allocations`}
			href={pageHref(["sites"], { metric: "temporary" }, { sort: "temporary_count" })}
			values={s.sparks.temporary}
			colour="orange"
			note={
				<>
					<b>{format.count(s.temporary.count)}</b> freed immediately
				</>
			}
		/>
	);
}

export function Tiles(): JSX.Element {
	const answer = useApi<Summary>("summary", commonParams());
	const inRange = useRangePeaks(),
		s = answer.data;
	if (answer.error && !s)
		return (
			<section class="card">
				<ErrorCard error={answer.error} retry={answer.retry} />
			</section>
		);
	return (
		<section class={`tiles ${answer.stale ? "stale" : ""}`} aria-label="Summary">
			{s ? (
				<>
					{peakTile(s, inRange?.peak ?? null)}
					{rssTile(s, inRange)}
					{countTile(s)}
					{allocatedTile(s)}
					{leakedTile(s)}
					{temporaryTile(s)}
				</>
			) : (
				Array.from({ length: 6 }, (_, i) => (
					<div key={i} class="tile">
						<div class="skeleton tile-skeleton" />
					</div>
				))
			)}
		</section>
	);
}
