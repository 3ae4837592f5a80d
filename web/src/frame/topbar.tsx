/* The bar at the top: which tape, which part of it, and what can be done with it. */
import type { JSX } from "preact";
import { held } from "../api/client";
import type { Tape } from "../api/types";
import * as format from "../format";
import {
	asking,
	behind,
	canMark,
	canPause,
	canSnapshot,
	canStop,
	growth,
	holding,
	holdSet,
	isLive,
	reconnecting,
	recordingPaused,
} from "../live";
import { frames } from "../frames";
import { isSession } from "../session";
import { href, info, selection, tape, update } from "../store";
import { theme, themeToggle } from "../theme";
import { Popover } from "../ui/basics";
import {
	IconCamera,
	IconCheck,
	IconChevron,
	IconFlag,
	IconHelp,
	IconLink,
	IconLock,
	IconMoon,
	IconPause,
	IconPlay,
	IconStop,
	IconSun,
} from "../ui/icons";
import { Sparkline } from "../ui/sparkline";
import { copyText } from "../ui/toast";
import { pauseLabel, pauseToggle, snapshot } from "./controls";
import { ExportMenu } from "./export";
import { FilterBar } from "./filterbar";
import { helpOpen } from "./help";
import { FramesMenu } from "./framesmenu";
import { TimeRange } from "./timerange";

/* Figures are of the moment that stands here, or of the next reading where the answer took longer. */
function liveStateOf(t: Tape): [kind: string, text: string, title: string] {
	const at = format.moment(t.duration_ns, t.duration_ns),
		often = `The program is still running. The tape is read every ${t.refresh_ms / 1000} s; the figures are as of ${at}, or one update later.`;
	if (reconnecting.value) return ["warn", `Reconnecting \u00b7 ${at}`, `The event stream was interrupted. ${often}`];
	if (holding.value)
		return [
			"warn",
			`Held at ${at}, ${format.duration(behind.value)} behind`,
			`New requests are answered as of ${held.value ? "that time" : "now"}.`,
		];
	return ["info", `Live \u00b7 ${at}`, often];
}

function stateOf(t: Tape): [kind: string, text: string, title: string] {
	if (t.state === "failed") return ["bad", "Not readable", t.error ?? ""];
	if (t.state === "loading")
		return [
			"info",
			t.progress ? `Loading ${Math.floor((100 * t.progress.done) / Math.max(1, t.progress.total))} %` : "Loading",
			"Pages show what is loaded so far",
		];
	if (t.lost_events > 0)
		return [
			"warn",
			`${format.count(t.lost_events)} lost`,
			"Events that could not be recorded: true totals are higher",
		];
	if (t.damage_count > 0)
		return [
			"warn",
			"Damaged",
			`${format.exact(t.damage_count)} parts of the tape could not be read: true totals are higher`,
		];
	if (t.state === "truncated" && t.import) return ["info", "Converted", "How the program ended is unknown"];
	if (t.state === "truncated") return ["warn", "Truncated", `The tape ends early: ${t.end}`];
	if (t.state === "live") return liveStateOf(t);
	return [
		"good",
		"Complete",
		t.end === "still running" ? "Recorded up to this point; the program continued" : `The program ${t.end}`,
	];
}

export function StateBadge(props: { tape: Tape }): JSX.Element {
	const [kind, text, title] = stateOf(props.tape);
	return (
		<span class={`badge ${kind}`} title={title}>
			{props.tape.state === "live" && <i class="pulse" />}
			{text}
		</span>
	);
}

/* Another tape has other frames and another clock; what is asked of it stays. */
function switchTo(t: Tape): void {
	update({ tape: t.id, range: null, at: null, path: [], frame: null });
}

/* A session is one tape of all processes that the first one started. */
function whoOf(t: Tape): string {
	const who = isSession(t) ? "and its processes" : `pid ${t.pid}`;
	return t.pid > 0 ? who + (t.state === "live" ? "" : ` \u00b7 ${format.duration(t.duration_ns)}`) : "";
}

function Switcher(props: { tapes: readonly Tape[]; shown: Tape }): JSX.Element {
	return (
		<Popover label="Switch tape" class="icon-button" panelClass="tape-menu" button={<IconChevron />}>
			{(close) => (
				<>
					<p class="menu-title">Tapes</p>
					{props.tapes.map((t) => (
						<button
							key={t.id}
							type="button"
							class="menu-item"
							aria-current={t.id === props.shown.id || undefined}
							onClick={() => {
								switchTo(t);
								close();
							}}
						>
							{t.id === props.shown.id ? <IconCheck /> : <span class="icon" />}
							<span>
								<b>{t.name}</b> <span class="muted">{whoOf(t)}</span>
							</span>
							<span class="hint">{t.file}</span>
						</button>
					))}
				</>
			)}
		</Popover>
	);
}

/* What a program that still runs does, and a way to hold the pages. */
function LiveTools(): JSX.Element | null {
	if (!isLive.value && !holding.value) return null;
	const label = holding.value ? "Follow updates" : "Hold updates";
	return (
		<>
			<Sparkline values={growth.value} colour="blue" />
			<button
				type="button"
				class="icon-button"
				aria-label={label}
				aria-pressed={holding.value}
				title={`${label} (Space)`}
				onClick={() => holdSet(!holding.value)}
			>
				<IconLock />
			</button>
			{canPause.value && (
				<button
					type="button"
					class="icon-button"
					aria-label={pauseLabel()}
					title={
						recordingPaused.value
							? "Resume recording: allocations are recorded again"
							: "Pause recording: the program continues, and its allocations are not recorded"
					}
					onClick={() => void pauseToggle()}
				>
					{recordingPaused.value ? <IconPlay /> : <IconPause />}
				</button>
			)}
			{canMark.value && (
				<button
					type="button"
					class="icon-button"
					aria-label="Mark this moment"
					title="Mark this moment (k)"
					onClick={() => {
						asking.value = "mark";
					}}
				>
					<IconFlag />
				</button>
			)}
			{canSnapshot.value && (
				<button
					type="button"
					class="icon-button"
					aria-label="Snapshot now"
					title="Snapshot now: save the recording so far as a separate tape"
					onClick={() => void snapshot()}
				>
					<IconCamera />
				</button>
			)}
			{canStop.value && (
				<button
					type="button"
					class="icon-button"
					aria-label={tape.value?.attached ? "Detach" : "Stop the recording"}
					title={
						tape.value?.attached
							? "Detach: the tape ends; the program continues as before"
							: "Stop the recording; the program continues"
					}
					onClick={() => {
						asking.value = "stop";
					}}
				>
					<IconStop />
				</button>
			)}
		</>
	);
}

function TapeChip(): JSX.Element | null {
	const t = tape.value,
		tapes = info.value?.tapes ?? [];
	if (!t) return null;
	return (
		<div class="tape-chip">
			<b class="ellipsis" title={`${t.argv.join(" ")}\n${t.file}`}>
				{t.name}
			</b>
			<span class="muted tape-more">{whoOf(t)}</span>
			<StateBadge tape={t} />
			{recordingPaused.value && (
				<span class="badge warn" title="The program continues; its allocations are not recorded at present">
					Recording paused
				</span>
			)}
			<LiveTools />
			{tapes.length > 1 && <Switcher tapes={tapes} shown={t} />}
		</div>
	);
}

/* The address names the tape by its id, so it works with the same tape elsewhere. It never has the token. */
export function copyLink(): void {
	const options = frames.value === "my" ? {} : { options: { ...selection.value.options, frames: frames.value } };
	const fragment = href({ ...(tape.value ? { tape: tape.value.id } : {}), ...options });
	void copyText(location.href.split("#")[0] + fragment, "Link");
}

export function TopBar(): JSX.Element {
	const dark = theme.value === "dark",
		hasTape = info.value?.tapes.length !== 0;
	return (
		<header class="top">
			<TapeChip />
			{REPORT ? (
				<p class="top-note grow ellipsis">
					Report on {tape.value?.file}; <code>memtape serve</code> adds filters, single allocations and more
				</p>
			) : hasTape ? (
				<FilterBar />
			) : (
				<span class="grow" />
			)}
			{hasTape && <FramesMenu />}
			{hasTape && <TimeRange />}
			{!REPORT && hasTape && <ExportMenu />}
			<div class="top-icons">
				<button
					type="button"
					class="icon-button"
					aria-label="Copy link"
					title="Copy link (y)"
					onClick={copyLink}
				>
					<IconLink />
				</button>
				<button
					type="button"
					class="icon-button"
					aria-label={dark ? "Light theme" : "Dark theme"}
					title={dark ? "Light theme" : "Dark theme"}
					onClick={themeToggle}
				>
					{dark ? <IconSun /> : <IconMoon />}
				</button>
				<button
					type="button"
					class="icon-button"
					aria-label="Help"
					title="Help (?)"
					onClick={() => {
						helpOpen.value = true;
					}}
				>
					<IconHelp />
				</button>
			</div>
		</header>
	);
}
