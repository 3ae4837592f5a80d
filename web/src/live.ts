/*
 * A tape that is still being recorded: the server tells what changes (/events, twice a second), the pages follow, and
 * can be held. Without the stream /info is asked instead.
 */
import { computed, signal } from "@preact/signals";
import { busy, held, post, request, requestUrl } from "./api/client";
import type { Info, Tape } from "./api/types";
import { dragging, info, tape } from "./store";

const WAIT_MS = 250,
	LATE_MS = 5000,
	RETRY_MS = 1000,
	RETRY_MAX_MS = 30_000,
	POINTS = 60,
	SAID_MS = 5000;

/* What the server said last, which the pages may not show yet. */
const newest = signal<Info | null>(null);
export const holding = signal(false);
export const reconnecting = signal(false);

/* Live bytes as they were told, oldest first. */
export const growth = signal<readonly number[]>([]);

const newestTape = computed(() => newest.value?.tapes.find((t) => t.id === tape.value?.id));
export const isLive = computed(() => newestTape.value?.state === "live");
/* Nanoseconds recorded that the pages do not show. */
export const behind = computed(() =>
	Math.max(0, (newestTape.value?.duration_ns ?? 0) - (tape.value?.duration_ns ?? 0)),
);

/* Whether the server attaches to processes, and the tape that it can do something with. */
export const canList = computed(() => !!newest.value?.can_list);
export const canAttach = computed(() => !!newest.value?.can_attach);
export const recorded = computed(() => newest.value?.recorded ?? null);
const isRecorded = computed(() => isLive.value && newestTape.value?.id === recorded.value);

/* Whether the server can do so with the recording: `record --serve`, or one it attached to, while the program runs. */
export const canMark = computed(() => isRecorded.value && !!newest.value?.can_mark);
export const canScan = computed(() => isRecorded.value && !!newest.value?.can_leak_scan);
export const canPause = computed(() => isRecorded.value && !!newest.value?.can_pause);
export const canSnapshot = computed(() => isRecorded.value && !!newest.value?.can_snapshot);
export const canStop = computed(() => isRecorded.value && !!newest.value?.can_stop);
export const asking = signal<"mark" | "stop" | null>(null);

/* What the server answered last, until the tape has it: that is read a moment later. */
const pauseSaid = signal<boolean | null>(null);
/* Whether allocations are left out now; the pages may be held meanwhile, which is something else. */
export const recordingPaused = computed(() => isLive.value && (pauseSaid.value ?? !!newestTape.value?.paused));

let pauseTimer: ReturnType<typeof setTimeout> | undefined;

export function recordingPausedTake(is: boolean): void {
	pauseSaid.value = is;
	clearTimeout(pauseTimer);
	pauseTimer = setTimeout(
		() => {
			pauseSaid.value = null;
		},
		Math.max(SAID_MS, 2 * (newestTape.value?.refresh_ms ?? 0)),
	);
}

let shownAt = 0,
	timer: ReturnType<typeof setTimeout> | undefined;

/* The pages go on when all of them have the answers to what they asked last, or when that takes too long. */
function show(): void {
	clearTimeout(timer);
	if (holding.value || dragging.value || newest.value === null || newest.value === info.value) return;
	if (info.value && busy() && Date.now() - shownAt < LATE_MS) {
		timer = setTimeout(show, WAIT_MS);
		return;
	}
	shownAt = Date.now();
	info.value = newest.value;
}

export function infoTake(answer: Info): void {
	newest.value = answer;
	const now: Tape | undefined = newestTape.value ?? answer.tapes[answer.tapes.length - 1];
	if (now?.state === "live") growth.value = [...growth.value.slice(1 - POINTS), now.live_bytes];
	if (now?.paused === pauseSaid.value) pauseSaid.value = null;
	show();
}

/* While the pages are held the server answers as of one moment; where it cannot, as of now. */
async function hold(on: boolean): Promise<void> {
	const c = tape.value?.id;
	held.value = 0;
	try {
		const { tape: then } = await post<{ tape: Tape }>("hold", { c, on });
		if (!on || !holding.value || tape.value?.id !== c) return;
		held.value = then.gen;
		info.value = { ...info.value!, tapes: info.value!.tapes.map((t) => (t.id === c ? { ...t, ...then } : t)) };
	} catch {
		/* said by others */
	}
}

export function holdSet(on: boolean): void {
	if (holding.value !== (holding.value = on && isLive.value)) void hold(holding.value);
	show();
}

/* --- the stream ---------------------------------------------------------------------------- */

let stream: AbortController | null = null,
	lastId = "",
	retryAt = 0,
	retryMs = RETRY_MS;

export function streamClose(): void {
	stream?.abort();
	stream = null;
}

async function read(abort: AbortController, take: (answer: Info) => void): Promise<void> {
	const response = await request(requestUrl("events"), {
		signal: abort.signal,
		headers: lastId ? { "Last-Event-ID": lastId } : {},
	});
	const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
	for (let rest = ""; ;) {
		const { done, value } = await reader.read();
		if (done) return;
		const blocks = (rest + value).split("\n\n");
		rest = blocks.pop()!;
		reconnecting.value = false;
		for (const block of blocks) {
			const event = /^id: (.*)\ndata: (.*)$/.exec(block);
			if (!event) continue;
			lastId = event[1]!;
			retryMs = RETRY_MS;
			take(JSON.parse(event[2]!) as Info);
		}
	}
}

/* Follows the stream, unless it is followed already. False: it cannot be now, ask again yourself. */
export function streamOpen(take: (answer: Info) => void, cut: () => void): boolean {
	if (stream) return true;
	if (document.hidden || Date.now() < retryAt) return false;
	const mine = (stream = new AbortController());
	read(mine, take)
		.catch(() => {})
		.then(() => {
			if (stream !== mine) return;
			stream = null;
			reconnecting.value = true;
			retryAt = Date.now() + retryMs;
			retryMs = Math.min(2 * retryMs, RETRY_MAX_MS);
			cut();
		});
	return true;
}
