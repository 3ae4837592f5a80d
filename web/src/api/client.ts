/*
 * Asking the server. Answers of the last 64 requests are kept (by address and generation); two who ask the same at the
 * same time share one request; a request nobody waits for any more is aborted, so that the server stops, too.
 */
import { computed, signal } from "@preact/signals";
import { framesParams } from "../frames";
import { tape, token } from "../store";
import { isReport, packed } from "./pack";
import type { ErrorBody } from "./types";

export const API = "/api/v1/";
const KEPT = 64;

export class ApiError extends Error {
	constructor(
		readonly status: number,
		readonly body: ErrorBody,
		readonly request: string,
	) {
		super(body.message);
	}
}

/* When the server was last heard, and whether it is gone now. */
export const server = signal<{ gone: boolean; heard: number }>({ gone: false, heard: Date.now() });

export type Params = Readonly<Record<string, string | number | null | undefined>>;

export function requestUrl(path: string, asked: Params = {}): string {
	const params: Params = { ...framesParams(path), ...asked };
	const query = new URLSearchParams();
	for (const key of Object.keys(params).sort())
		if (params[key] !== null && params[key] !== undefined && params[key] !== "")
			query.set(key, String(params[key]));
	const text = query.toString();
	return API + path + (text ? "?" + text : "");
}

/* For those who want to repeat it in a terminal. */
export function curlLine(url: string): string {
	return `curl -H 'Authorization: Bearer ${token.value}' '${location.origin}${url}'`;
}

export function authorized(): HeadersInit {
	return token.value ? { Authorization: `Bearer ${token.value}` } : {};
}

async function errorOf(response: Response, url: string): Promise<ApiError> {
	let body: ErrorBody | undefined;
	try {
		body = (await response.json()).error;
	} catch {
		/* not ours: a proxy's page, or cut off */
	}
	const none = { hint: null, parameter: null, pos: null, len: null, suggest: null };
	return new ApiError(
		response.status,
		{ ...none, message: response.statusText || `HTTP ${response.status}`, ...body },
		url,
	);
}

/* What boot.ts asked before there was an app: each serves once, if it is good. */
async function early(url: string): Promise<Response | null> {
	const asked = (globalThis as { memtapeEarly?: Record<string, Promise<Response>> }).memtapeEarly,
		answer = asked?.[url];
	if (!answer) return null;
	delete asked[url];
	return answer.then(
		(response) => (response.ok ? response : null),
		() => null,
	);
}

/* The moment of a tape that grows which is asked for; 0: now. */
export const held = signal(0);

/* One request, without memory. AbortError passes through. */
export async function request(url: string, init: RequestInit = {}): Promise<Response> {
	if (held.value && /[?&]c=/.test(url)) url += `&gen=${held.value}`;
	let response: Response;
	try {
		response = isReport
			? await packed(url)
			: ((await early(url)) ??
				(await fetch(url, { ...init, headers: { ...authorized(), ...init.headers }, cache: "no-store" })));
	} catch (error) {
		if ((error as Error).name !== "AbortError") server.value = { ...server.value, gone: true };
		throw error;
	}
	server.value = { gone: false, heard: Date.now() };
	if (!response.ok) throw await errorOf(response, url);
	return response;
}

const kept = new Map<string, unknown>();

function keep(key: string, value: unknown): void {
	kept.delete(key);
	kept.set(key, value);
	if (kept.size > KEPT) kept.delete(kept.keys().next().value!);
}

/* A tape has other answers when it was read again: because it has grown, or whose functions are has changed. */
export const generation = computed(() => tape.value?.readings ?? 0);
const keyOf = (url: string) => `${tape.peek()?.id ?? ""} ${generation.peek()} ${url}`;

export function cached<T>(url: string): T | undefined {
	const key = keyOf(url);
	const value = kept.get(key) as T | undefined;
	if (value !== undefined) keep(key, value);
	return value;
}

interface Flight {
	promise: Promise<unknown>;
	abort: AbortController;
	waiting: number;
	turn: number;
}
const flights = new Map<string, Flight>();

/* Whether somebody waits for an answer. */
export const busy = (): boolean => flights.size > 0;

/* On a large tape these take every processor for seconds: they wait until what a page begins with is there. */
const TURNS: Readonly<Record<string, number>> = { curves: 1, overview: 1, sites: 2, grid: 2, growth: 3, findings: 3 };

async function turnCome(turn: number): Promise<void> {
	while (turn > 0) {
		await new Promise((done) => {
			setTimeout(done);
		}); /* until all of the page have asked */
		const earlier = [...flights.values()].filter((f) => f.turn < turn);
		if (earlier.length === 0) return;
		await Promise.allSettled(earlier.map((f) => f.promise));
	}
}

async function fly(url: string, key: string, turn: number, abort: AbortController): Promise<unknown> {
	try {
		await turnCome(turn);
		const value = await (await request(url, { signal: abort.signal })).json();
		keep(key, value);
		return value;
	} finally {
		if (flights.get(key)?.abort === abort) flights.delete(key);
	}
}

/* GET PATH. Aborting the signal gives up waiting; when nobody waits, the request ends. */
export function get<T>(path: string, params: Params = {}, signal?: AbortSignal): Promise<T> {
	const url = requestUrl(path, params),
		key = keyOf(url);
	const known = cached<T>(url);
	if (known !== undefined) return Promise.resolve(known);
	let flight = flights.get(key);
	if (!flight) {
		const abort = new AbortController(),
			turn = params.by === "none" ? 0 : (TURNS[path] ?? 0);
		flight = { promise: fly(url, key, turn, abort), abort, waiting: 0, turn };
		flights.set(key, flight);
	}
	const mine = flight;
	mine.waiting++;
	return new Promise<T>((resolve, reject) => {
		let left = false;
		const leave = () => {
			if (left) return;
			left = true;
			if (--mine.waiting === 0) {
				flights.delete(key);
				mine.abort.abort();
			}
			reject(new DOMException("superseded", "AbortError"));
		};
		signal?.addEventListener("abort", leave, { once: true });
		mine.promise.then(
			(value) => {
				left = true;
				resolve(value as T);
			},
			(error) => {
				left = true;
				reject(error);
			},
		);
		if (signal?.aborted) leave();
	});
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
	const response = await request(API + path, {
		method: "POST",
		body: JSON.stringify(body),
		headers: { "Content-Type": "application/json" },
		signal: signal ?? null,
	});
	return (await response.json()) as T;
}

/* Saves an answer as a file: a link could not carry the token. */
export async function download(path: string, params: Params): Promise<void> {
	const response = await request(requestUrl(path, params));
	const named = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "");
	const url = URL.createObjectURL(await response.blob());
	const link = document.createElement("a");
	link.href = url;
	link.download = named?.[1] ?? String(params.to ?? path);
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
