/* What is said above every page: the server is gone, numbers are lower bounds, the tape was made or edited, the address needs its token. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { server } from "../api/client";
import type { Tape } from "../api/types";
import * as format from "../format";
import { pageHref } from "../pages/links";
import { infoError, infoLoad, isSession, losses, outdated, pausesText } from "../session";
import { page, tape, token } from "../store";
import type { Metric } from "../url";
import { IconWarning } from "../ui/icons";
import { measureTitle } from "../vocabulary";
import { Unnamed } from "./unnamed";
import "./banner.css";

function timeText(ms: number): string {
	const date = new Date(ms),
		two = (n: number) => String(n).padStart(2, "0");
	return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/* Of a tape that is not as memtape recorded it: what it was made of or lost on purpose, in a line; behind it, all of that. */
function Origin(props: { tape: Tape }): JSX.Element | null {
	const { import: made, edits = [] } = props.tape,
		short = edits.map((e) => e.split(": ")[0]!);
	/* The chip says of a session what it is. */
	if (made && (!isSession(props.tape) || made.missing.length + made.notes.length > 0)) {
		const no = made.missing.map((m) => m.replace(/_/g, " ")),
			more = no.length > 5 ? no.splice(4).length : 0;
		short.unshift(
			`made from ${made.file} (${made.tool || made.format})${no.length > 0 ? `, without ${no.join(", ")}${more ? ` and ${more} more facts` : ""}` : ""}`,
		);
	}
	if (short.length === 0) return null;
	const facts = [...(made?.words ? [`not in that file: ${made.words}`] : []), ...(made?.notes ?? []), ...edits];
	return (
		<details class="banner info">
			<summary>This tape was {short.join("; ")}.</summary>
			<ul>
				{facts.map((f) => (
					<li key={f}>{f}</li>
				))}
			</ul>
		</details>
	);
}

/* Recording began while it ran: what was there before, and what nobody knows of it. */
function Attached(props: { tape: Tape }): JSX.Element | null {
	const { attached, name } = props.tape;
	if (!attached) return null;
	const { before } = attached;
	return (
		<details class="banner info">
			<summary>
				Recording began while {name} ran.{" "}
				{before.count > 0
					? `${format.counted(before.count, "block")} (${format.bytes(before.bytes)}) from before ${before.count === 1 ? "is" : "are"} shown without stacks.`
					: "Blocks from before are not shown."}
				{!before.is_complete && " There are others from before, which are not known."}
			</summary>
			<ul>
				{before.count > 0 && (
					<li>
						Blocks from before have the thread <b>before attach</b>, their usable sizes, and neither stacks
						nor ages: they were allocated at an unknown time.
					</li>
				)}
				{!before.is_complete && (
					<li>
						{before.trouble ?? "Blocks from before are looked for; they appear when they were found."} When
						a block that is not known is freed, that is no mistake of the program.
					</li>
				)}
				{attached.other_places > 0 && (
					<li>
						Not recorded: calls through {format.counted(attached.other_places, "place")} that lead to
						another allocator.
					</li>
				)}
				{attached.functions === 0 && (
					<li>
						Not recorded: calls by pointers that the program had obtained before with <code>dlsym</code>;{" "}
						<code>memtape attach --hook=inline</code> records these, too.
					</li>
				)}
			</ul>
		</details>
	);
}

export function Banners(): JSX.Element | null {
	const { gone, heard } = server.value;
	const lost = tape.value ? losses(tape.value) : null,
		pauses = tape.value ? pausesText(tape.value) : null;
	if (gone)
		return (
			<div class="banner bad" role="alert">
				<IconWarning />
				The server does not answer; showing data from {timeText(heard)}. Retrying …
			</div>
		);
	if (outdated.value)
		return (
			<div class="banner warn" role="alert">
				<IconWarning />
				The server was updated.
				<button type="button" class="button small" onClick={() => location.reload()}>
					Reload
				</button>
			</div>
		);
	return (
		<>
			{lost && (
				<div class="banner warn">
					<IconWarning />
					{lost}
				</div>
			)}
			{pauses && (
				<div class="banner warn">
					<IconWarning />
					{pauses}
				</div>
			)}
			{tape.value && <Attached tape={tape.value} />}
			{tape.value && <Origin tape={tape.value} />}
			{tape.value && <Unnamed tape={tape.value} />}
		</>
	);
}

/* Without its token the server answers nobody. */
export function TokenForm(): JSX.Element {
	const [text, setText] = useState("");
	const submit = (event: Event) => {
		event.preventDefault();
		const given = /[#&?]k=([^&]+)/.exec(text)?.[1] ?? text.trim();
		sessionStorage.setItem("memtape.token", given);
		token.value = given;
		void infoLoad();
	};
	return (
		<form class="state" onSubmit={submit}>
			<IconWarning />
			<h1>Access token required</h1>
			<p>
				Open the full address that <code>memtape serve</code> printed (it ends in <code>#k=…</code>), or paste
				it here.
			</p>
			<div class="row">
				<input
					class="field token-field"
					aria-label="Address or token"
					value={text}
					onInput={(e) => setText(e.currentTarget.value)}
					autocomplete="off"
				/>
				<button type="submit" class="button primary">
					Open
				</button>
			</div>
		</form>
	);
}

/* Pages that can show what the kernel did, which are no allocations. */
const KERNEL_PAGES = ["flame", "tree"];

function KernelEvents(props: { measures: readonly string[] }): JSX.Element {
	return (
		<div class="state">
			<h1>What the kernel did</h1>
			<p>This tape has no allocations, but events of the kernel with their stacks (memtape trace):</p>
			<p>
				{props.measures.map((word) => (
					<a class="button" href={pageHref(["flame"], { metric: word as Metric })}>
						{measureTitle(word as Metric)}
					</a>
				))}
			</p>
		</div>
	);
}

/* A tape that is not readable, not yet, or empty. null: the pages can show it. */
export function TapeState(props: { tape: Tape }): JSX.Element | null {
	const t = props.tape;
	if (t.state === "failed")
		return (
			<div class="state" role="alert">
				<IconWarning />
				<h1>{t.file} cannot be read</h1>
				<p>{t.error}</p>
				<p>
					<code>memtape verify {t.file}</code> shows what is left of it.
				</p>
			</div>
		);
	if (t.state === "loading" && t.allocation_count === 0) {
		const share = t.progress ? t.progress.done / Math.max(1, t.progress.total) : 0;
		return (
			<div class="state" role="status">
				<h1>Reading {t.file}</h1>
				<progress value={share} max={1} aria-label="Read so far" />
				<p>{t.progress ? `${Math.floor(share * 100)} % of ${format.bytes(t.tape_bytes)}` : "\u2026"}</p>
			</div>
		);
	}
	if (t.allocation_count === 0 && t.has.kernel.length > 0)
		return KERNEL_PAGES.includes(page.value) ? null : <KernelEvents measures={t.has.kernel} />;
	if (t.allocation_count === 0 && t.state !== "live")
		return (
			<div class="state">
				<h1>The tape is empty</h1>
				<p>{t.name} allocated nothing while it was recorded. Record it again from the start:</p>
				<p>
					<code class="command">memtape record -- {t.argv.join(" ") || t.name}</code>
				</p>
			</div>
		);
	return null;
}

export function needsToken(): boolean {
	return infoError.value?.status === 401;
}
