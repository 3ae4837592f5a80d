/* Six figures of what is selected. Each leads to the page that explains it. What needs every allocation comes later. */
import type { JSX } from "preact";
import { useApi, useReading } from "../api/use";
import type { Answer } from "../api/use";
import type { Bytes, Curves, GrowthReport, Ns, Overview, OverviewSpan, Summary } from "../api/types";
import { momentText } from "../clock";
import * as format from "../format";
import { useGrowth } from "../leaks/growth";
import { measureTitle } from "../vocabulary";
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

/* What is drawn in a tile; null: it is not known yet. */
function spark(o: Overview | null, value: (span: OverviewSpan) => number): number[] | null {
	return o && o.spans.map(value);
}

/*
 * The summary tells of the whole recording's peak. With a range it is the highest point of the curve within it: what was alive then,
 * whenever it was allocated, so the link's range begins at the start.
 */
function rangePeaks(curves: Curves | null): RangePeaks | null {
	if (!range.value || !curves) return null;
	const { peak, rss } = curves,
		bytes = Math.max(...rss.bytes, 0);
	return { peak, rss: bytes > 0 ? { bytes, ns: rss.ns[rss.bytes.indexOf(bytes)]! } : null };
}

/* What was lost was not counted, so sums are lower bounds. Leaks are not: a free may be among what was lost. */
const incomplete = () => tape.value !== null && losses(tape.value) !== null;

function peakTile(s: Summary, o: Overview | null, inRange: Peak | null, stale: boolean): JSX.Element {
	const peak = inRange ?? { bytes: s.peak.bytes, ns: s.peak.time_ns };
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
			values={spark(o, (span) => span.live_bytes_max)}
			stale={stale}
			colour="blue"
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

function rssTile(s: Summary, o: Overview | null, inRange: RangePeaks | null, stale: boolean): JSX.Element {
	const rss = inRange ? inRange.rss : (o?.rss_peak ?? null),
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
				stale={stale}
				colour="grey"
				note={!o ? "" : inRange ? "not sampled in this range" : "not sampled on this tape"}
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
			values={spark(o, (span) => span.rss_bytes ?? 0)}
			stale={stale}
			colour="grey"
			note={note}
		/>
	);
}

function countTile(s: Summary, o: Overview | null, stale: boolean): JSX.Element {
	return (
		<Tile
			title="Allocations"
			parts={format.countParts(s.allocations.count)}
			exact={format.exact(s.allocations.count)}
			href={pageHref(["sites"], { metric: "count" }, { sort: "allocated_count" })}
			atLeast={incomplete()}
			values={spark(o, (span) => span.rate)}
			stale={stale}
			colour="teal"
			note={
				misses("times")
					? "times unknown"
					: o && (
							<>
								<b>{format.count(Math.round(o.rate_mean))}/s</b> · at most{" "}
								{format.count(Math.round(o.rate_max))}/s
							</>
						)
			}
		/>
	);
}

function allocatedTile(s: Summary, o: Overview | null, stale: boolean): JSX.Element {
	const mean = s.allocations.count ? s.allocations.bytes / s.allocations.count : 0;
	return (
		<Tile
			title="Allocated"
			parts={format.bytesParts(s.allocations.bytes)}
			exact={format.exactBytes(s.allocations.bytes)}
			href={pageHref(["flame"], { metric: "allocated" })}
			atLeast={incomplete()}
			values={spark(o, (span) => span.allocated_bytes)}
			stale={stale}
			colour="purple"
			note={
				<>
					mean <b>{format.bytes(mean)}</b>
					{o && o.size_p50 !== null && (
						<span class="tile-more">
							{" "}
							· median {o.size_is_exact ? "" : "\u2248 "}
							{format.bytes(o.size_p50)}
						</span>
					)}
				</>
			}
		/>
	);
}

/* While the program runs nobody knows what it will still free. What was made once and kept is no alarm. */
function leakedTile(s: Summary, o: Overview | null, growth: GrowthReport | null, stale: boolean): JSX.Element {
	const live = s.goes_on;
	return (
		<Tile
			title={measureTitle("leaked")}
			parts={format.bytesParts(s.leaked.bytes)}
			exact={`${format.exactBytes(s.leaked.bytes)} in ${format.exact(s.leaked.count)} blocks`}
			href={pageHref(["leaks", "sites"], { metric: "leaked" }, { sort: "leaked_size" })}
			bad={s.leaked.bytes > 0 && !live && !(growth && growth.one_off.leaked_bytes === s.leaked.bytes)}
			values={spark(o, (span) => span.leaked_bytes)}
			stale={stale}
			colour={live ? "blue" : "red"}
			note={
				<>
					<b>{blocks(s.leaked.count, "block")}</b>
					{o && ` of ${blocks(o.leaking_functions, "site")}`}
					{growth &&
						growth.growing.leaked_bytes > 0 &&
						` \u00b7 ${format.bytes(growth.growing.leaked_bytes)} growing`}
					{s.suppressed && s.suppressed.count > 0 && (
						<span class="tile-more"> · {format.bytes(s.suppressed.bytes)} more suppressed</span>
					)}
				</>
			}
		/>
	);
}

function temporaryTile(s: Summary, o: Overview | null, stale: boolean): JSX.Element {
	if (misses("times", "frees", "freed"))
		return (
			<Tile
				title="Temporary"
				parts={["\u2014", ""]}
				exact=""
				href={pageHref(["sites"], {})}
				values={null}
				stale={stale}
				colour="grey"
				note="not known on this tape"
			/>
		);
	const share = s.allocations.count ? s.temporary.count / s.allocations.count : 0;
	const [number, unit] = format.percent(share).split(" ") as [string, string?];
	return (
		<Tile
			title="Temporary"
			parts={[number, unit ?? ""]}
			exact={`${format.exact(s.temporary.count)} of ${format.exact(s.allocations.count)} allocations`}
			href={pageHref(["sites"], { metric: "temporary" }, { sort: "temporary_count" })}
			values={spark(o, (span) => span.temporary_count)}
			stale={stale}
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
	const answer = useApi<Summary>("summary", commonParams()),
		overview = useApi<Overview>("overview", commonParams()),
		grown = useGrowth(),
		curves = useApi<Curves>("curves", range.value ? { ...commonParams(), points: 1 } : null);
	const [s, o, growth, inCurves] = useReading(answer.url, answer.data, overview.data, grown.data, curves.data);
	const inRange = rangePeaks(inCurves),
		dims = (...of: Answer<unknown>[]) => !answer.stale && of.some((a) => a.stale && a.url !== "");
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
					{peakTile(s, o, inRange?.peak ?? null, dims(overview, curves))}
					{rssTile(s, o, inRange, dims(overview, curves))}
					{countTile(s, o, dims(overview))}
					{allocatedTile(s, o, dims(overview))}
					{leakedTile(s, o, growth, dims(overview, grown))}
					{temporaryTile(s, o, dims(overview))}
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
