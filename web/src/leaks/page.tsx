/* What was never freed: what a leak scan says of it, what holds it, and how it came. */
import type { JSX } from "preact";
import { useApi } from "../api/use";
import type { LeakScan, Summary } from "../api/types";
import { momentText } from "../clock";
import * as format from "../format";
import { scanning, scanNow } from "../frame/controls";
import { canScan } from "../live";
import { commonParams, option, setOption, tape } from "../store";
import { Segmented } from "../ui/basics";
import { IconLeaks } from "../ui/icons";
import { Loading } from "../ui/states";
import { Classes } from "./classes";
import { Growth } from "./growth";
import { Holders } from "./holders";
import { StaleView } from "./stale";
import "../flame/flame.css";
import "../lists/lists.css";
import "../reports/reports.css";
import "./leaks.css";

const VIEWS = [
	{ value: "classes", label: "Lost or reachable", title: "classes of a leak scan, as Memcheck's" },
	{ value: "holders", label: "Holders", title: "what keeps memory alive" },
	{ value: "growth", label: "Over time", title: "what grows, and what stays" },
	{ value: "stale", label: "Not used", title: "live memory that nobody uses" },
] as const;
type View = (typeof VIEWS)[number]["value"];

/* Which of them the tape has. */
const viewsOf = (scan: boolean, touches: boolean) =>
	VIEWS.filter(({ value }) => value === "growth" || (value === "stale" ? touches : scan));

const REASONS: Record<LeakScan["reason"], string> = {
	unknown: "",
	exit: "at the end of the program",
	killed: "before a signal ended the program",
	request: "on request",
	period: "at an interval",
	core: "of a core dump",
};

/* When it was made, and what it does not know. */
function ScanNote(props: { scan: LeakScan }): JSX.Element {
	const { scan } = props;
	const doubts = [
		scan.missed_threads > 0 &&
			`${format.exact(scan.missed_threads)} ${scan.missed_threads === 1 ? "thread" : "threads"} could not be stopped`,
		scan.unread_bytes > 0 && `${format.bytes(scan.unread_bytes)} could not be read`,
	].filter(Boolean);
	return (
		<p class="leak-note">
			Scan {scan.id}, {REASONS[scan.reason]} after {momentText(scan.time_ns)}.
			{scan.pause_ns > 0 &&
				` The program stood still for ${format.duration(scan.pause_ns)}${scan.threads > 1 ? ` with ${format.exact(scan.threads)} threads` : ""}.`}
			{doubts.length > 0 && ` What they point to may look lost: ${doubts.join(", ")}.`}
		</p>
	);
}

function Suppressed(props: { summary: Summary }): JSX.Element | null {
	const { suppressed } = props.summary;
	return suppressed && suppressed.count > 0 ? (
		<p class="leak-note">
			{format.bytes(suppressed.bytes)} in {format.exact(suppressed.count)}{" "}
			{suppressed.count === 1 ? "block" : "blocks"} more suppressed, by built-in rules or a suppressions file. The
			filter <code>suppressed</code> selects them.
		</p>
	) : null;
}

/* Of a program that is being recorded; the scan may take a while, the program's standstill is short. */
function ScanNow(): JSX.Element | null {
	return canScan.value ? (
		<button
			type="button"
			class="button"
			aria-disabled={scanning.value}
			title="Look for leaks in the program now. It stands still while its memory is copied."
			onClick={() => void scanNow()}
		>
			<IconLeaks />
			{scanning.value ? "Scanning …" : "Scan now"}
		</button>
	) : null;
}

export function LeaksPage(): JSX.Element {
	const answer = useApi<Summary>("summary", commonParams()),
		summary = answer.data,
		scan = summary?.leak_classes ? summary.leak_scan : undefined;
	if (!summary && !answer.error) return <Loading rows={8} />;
	const views = viewsOf(scan !== undefined, tape.value?.has.touches ?? false);
	const view: View = views.find((v) => v.value === option("view"))?.value ?? views[0]!.value;
	return (
		<div class="report-page">
			<h1 class="sr">Leaks</h1>
			{(views.length > 1 || canScan.value) && (
				<div class="list-tools">
					{views.length > 1 && (
						<Segmented
							label="View"
							value={view}
							choices={views}
							onChange={(v) => setOption("view", v === views[0]!.value ? null : v)}
						/>
					)}
					<span class="grow" />
					<ScanNow />
				</div>
			)}
			{view === "classes" && <Classes />}
			{view === "holders" && <Holders />}
			{view === "growth" && <Growth />}
			{view === "stale" && <StaleView />}
			{summary && view === "growth" && <Suppressed summary={summary} />}
			{scan && (view === "classes" || view === "holders") && <ScanNote scan={scan} />}
			{!scan && view === "growth" && (
				<p class="leak-note">
					Whether these blocks are lost or something still points to them is known from a leak scan:{" "}
					{canScan.value && "\u201cScan now\u201d above, "}
					<code>memtape record --leak-scan</code>, or <code>memtape leaks PID</code> while the program runs.
					{summary?.leak_scan?.trouble &&
						` The scan of this tape has no result: ${summary.leak_scan.trouble}.`}
				</p>
			)}
		</div>
	);
}
