/* The bar at the top: which tape, which part of it, and what can be done with it. */
import type { JSX } from "preact";
import type { Tape } from "../api/types";
import * as format from "../format";
import { href, info, tape, update } from "../store";
import { theme, themeToggle } from "../theme";
import { Popover } from "../ui/basics";
import { IconCheck, IconChevron, IconHelp, IconLink, IconMoon, IconSun } from "../ui/icons";
import { copyText } from "../ui/toast";
import { ExportMenu } from "./export";
import { FilterBar } from "./filterbar";
import { helpOpen } from "./help";
import { TimeRange } from "./timerange";

function stateOf(t: Tape): [kind: string, text: string, title: string] {
	if (t.state === "failed")
		return ["bad", "Not readable", t.error ?? ""];
	if (t.state === "loading")
		return ["info", t.progress ? `Loading ${Math.floor((100 * t.progress.done) / Math.max(1, t.progress.total))} %` : "Loading", "Pages show what is loaded so far"];
	if (t.lost_events > 0)
		return ["warn", `${format.count(t.lost_events)} lost`, "Events that could not be recorded: true totals are higher"];
	if (t.damage_count > 0)
		return ["warn", "Damaged", `${format.exact(t.damage_count)} parts of the tape could not be read: true totals are higher`];
	if (t.state === "truncated")
		return ["warn", "Truncated", `The tape ends early: ${t.end}`];
	if (t.state === "live")
		return ["info", "Live", "The program still runs"];
	return ["good", "Complete", `The program ${t.end}`];
}

export function StateBadge(props: { tape: Tape }): JSX.Element {
	const [kind, text, title] = stateOf(props.tape);
	return <span class={`badge ${kind}`} title={title}>{props.tape.state === "live" && <i class="pulse" />}{text}</span>;
}

/* Another tape has other frames and another clock; what is asked of it stays. */
function switchTo(t: Tape): void {
	update({ tape: t.id, range: null, at: null, path: [], frame: null });
}

function Switcher(props: { tapes: readonly Tape[]; shown: Tape }): JSX.Element {
	return (
		<Popover label="Switch tape" class="icon-button" button={<IconChevron />}>
			{(close) => (
				<>
					<p class="menu-title">Tapes</p>
					{props.tapes.map((t) => (
						<button key={t.id} type="button" class="menu-item" onClick={() => { switchTo(t); close(); }}>
							{t.id === props.shown.id ? <IconCheck /> : <span class="icon" />}
							<span><b>{t.name}</b> {t.pid > 0 && <span class="muted">pid {t.pid} · {format.duration(t.duration_ns)}</span>}</span>
							<span class="hint">{t.file}</span>
						</button>
					))}
				</>
			)}
		</Popover>
	);
}

function TapeChip(): JSX.Element | null {
	const t = tape.value, tapes = info.value?.tapes ?? [];
	if (!t)
		return null;
	return (
		<div class="tape-chip">
			<b class="ellipsis" title={`${t.argv.join(" ")}\n${t.file}`}>{t.name}</b>
			{t.pid > 0 && <span class="muted tape-more">pid {t.pid} · {format.duration(t.duration_ns)}</span>}
			<StateBadge tape={t} />
			{tapes.length > 1 && <Switcher tapes={tapes} shown={t} />}
		</div>
	);
}

/* The address names the tape by its id, so it works with the same tape elsewhere. It never has the token. */
export function copyLink(): void {
	const fragment = href(tape.value ? { tape: tape.value.id } : {});
	void copyText(location.href.split("#")[0] + fragment, "Link");
}

export function TopBar(): JSX.Element {
	const dark = theme.value === "dark";
	return (
		<header class="top">
			<TapeChip />
			{REPORT ? <p class="top-note grow ellipsis">Report of {tape.value?.file}; <code>memtape serve</code> has filters, single allocations and the rest</p> : <FilterBar />}
			<TimeRange />
			{!REPORT && <ExportMenu />}
			<div class="top-icons">
				<button type="button" class="icon-button" aria-label="Copy link" title="Copy link (y)" onClick={copyLink}><IconLink /></button>
				<button type="button" class="icon-button" aria-label={dark ? "Light theme" : "Dark theme"} title={dark ? "Light theme" : "Dark theme"} onClick={themeToggle}>
					{dark ? <IconSun /> : <IconMoon />}
				</button>
				<button type="button" class="icon-button" aria-label="Help" title="Help (?)" onClick={() => { helpOpen.value = true; }}><IconHelp /></button>
			</div>
		</header>
	);
}
