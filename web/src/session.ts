/* What every page needs to know: which tapes there are, what the selected one is, and whether the server is there. */
import { effect, signal } from "@preact/signals";
import { ApiError, get, request, requestUrl, server } from "./api/client";
import type { Info, Tape, TapeDetail, Curves } from "./api/types";
import * as format from "./format";
import { infoTake, streamClose, streamOpen } from "./live";
import { rankedModules, SERIES } from "./palette";
import { detail, info, tape, tapeId, token } from "./store";
import { goesOn, vocabulary } from "./vocabulary";
import type { Vocabulary } from "./vocabulary";

const LOADING_MS = 500,
	LIVE_MS = 2000,
	GONE_MS = 2000;

/* Why there is nothing to show at all; 401: the token is missing or wrong. */
export const infoError = signal<ApiError | null>(null);

/* The server is another version than the one this page came from. */
export const outdated = signal(false);

/* Of a tape that is still being read, or cannot be, the server tells the name of its file and little more. */
function whole(t: Partial<Tape> & Pick<Tape, "id" | "file" | "state">): Tape {
	return {
		gen: 0,
		readings: 0,
		exe: "",
		argv: [],
		pid: 0,
		start_realtime_ns: "0",
		duration_ns: 0,
		error: null,
		progress: null,
		end: "",
		refresh_ms: 0,
		live_bytes: 0,
		event_count: 0,
		allocation_count: 0,
		stack_count: 0,
		thread_count: 0,
		module_count: 0,
		tape_bytes: 0,
		lost_events: 0,
		damage_count: 0,
		truncated_stacks: 0,
		goes_on: false,
		attached: null,
		import: null,
		edits: [],
		paused: false,
		paused_ns: 0,
		pause_count: 0,
		pauses: [],
		has: {
			rows: false,
			free_stacks: false,
			usage: false,
			system: false,
			space: false,
			latency: false,
			marks: false,
			leak_scan: false,
			touches: false,
			kernel: [],
		},
		...t,
		name: t.name || t.file,
	};
}

let timer: ReturnType<typeof setTimeout> | undefined;
let asking: AbortController | null = null;

function again(ms: number): void {
	clearTimeout(timer);
	timer = setTimeout(() => void infoLoad(), ms);
}

/* What the server said of its tapes; while one of them changes it is followed, or asked again. */
function take(answer: Info): void {
	infoError.value = null;
	if (info.value && info.value.version !== answer.version) outdated.value = true;
	infoTake({ ...answer, tapes: answer.tapes.map(whole) });
	clearTimeout(timer);
	const is = (state: Tape["state"]) => answer.tapes.some((t) => t.state === state);
	if (!is("live") && !is("loading")) streamClose();
	else if (!streamOpen(take, () => again(0))) again(is("loading") ? LOADING_MS : LIVE_MS);
}

async function ask<T>(path: string, signal: AbortSignal): Promise<T> {
	return (await (await request(requestUrl(path), { signal })).json()) as T;
}

/* Once: when the server has become another version, the page says so. */
async function vocabularyLoad(signal: AbortSignal): Promise<void> {
	if (vocabulary.peek() === null)
		/* whose effect this is asks for nothing anew when it comes */
		vocabulary.value = await ask<Vocabulary>("fields", signal);
}

/* Asks what there is; again while something is being loaded or recorded, or when the server did not answer. */
export async function infoLoad(): Promise<void> {
	asking?.abort();
	asking = new AbortController();
	const { signal } = asking;
	try {
		const [answer] = await Promise.all([ask<Info>("info", signal), vocabularyLoad(signal)]);
		take(answer);
	} catch (error) {
		const told = error instanceof ApiError && error.status !== 503; /* which says: not now */
		if (told) infoError.value = error;
		else if ((error as Error).name !== "AbortError") again(GONE_MS);
	}
}

/* Other tabs of the same server: what one of them has changed is news to all. */
const others = REPORT ? null : new BroadcastChannel("memtape");
if (others) others.onmessage = () => void infoLoad();

export async function infoChanged(): Promise<void> {
	others?.postMessage("changed");
	await infoLoad();
}

/* Why totals are less than what happened; null: they are not. */
export function losses(t: Tape): string | null {
	const least = ": totals are lower bounds.";
	if (t.lost_events > 0) return `${format.exact(t.lost_events)} events could not be recorded${least}`;
	if (t.damage_count > 0)
		return `${t.damage_count === 1 ? "A part" : `${format.exact(t.damage_count)} parts`} of the tape could not be read${least}`;
	return t.state === "truncated" && !t.import ? `The tape ends before the program did${least}` : null;
}

/* For how long nothing was recorded, on purpose; null: never. */
export function pausesText(t: Tape): string | null {
	if (t.pause_count === 0) return null;
	const long = `${format.duration(t.paused_ns)} of ${format.duration(t.duration_ns)}`,
		times = t.pause_count > 1 ? ` ${format.exact(t.pause_count)} times` : "";
	return t.state === "live" && t.paused
		? `Recording is paused: ${t.pause_count > 1 ? `${format.exact(t.pause_count)} pauses so far, in all ` : ""}${long}, whose allocations are not on this tape.`
		: `Recording was paused${times}, for ${long}: allocations from then are not on this tape.`;
}

/* Modules are painted by their rank in the whole tape, whatever is selected. */
async function detailLoad(id: string, abort: AbortController): Promise<void> {
	try {
		const [found, ranks] = await Promise.all([
			get<TapeDetail>("tape", { c: id }, abort.signal),
			get<Curves>("curves", { c: id, bands: "module", points: 1, top: SERIES.length }, abort.signal),
		]);
		detail.value = found;
		rankedModules.value = ranks.bands.filter((b) => !b.rest).map((b) => b.title);
		if (!REPORT && found.modules.some((m) => m.stacks > 0 && m.symbols === "unread"))
			/* the ranks took their names */
			detail.value = (await (
				await request(requestUrl("tape", { c: id }), { signal: abort.signal })
			).json()) as TapeDetail;
	} catch {
		/* the pages show their own errors */
	}
}

export function sessionInit(): void {
	document.addEventListener("visibilitychange", () => {
		/* browsers have few connections for all tabs */
		if (document.hidden) streamClose();
		void infoLoad();
	});
	effect(() => {
		void token.value;
		void infoLoad();
	});
	effect(() => {
		const id = tapeId.value,
			state = tape.value?.state;
		if (!state || state === "loading" || state === "failed") return;
		const abort = new AbortController();
		void detailLoad(id, abort);
		return () => abort.abort();
	});
	effect(() => {
		goesOn.value = tape.value?.goes_on ?? false;
	});
	effect(() => {
		if (server.value.gone) again(GONE_MS);
	});
}

/* Whether the server made it of the tapes of a session's processes. */
export const isSession = (t: Tape): boolean => t.import?.format === "session";
