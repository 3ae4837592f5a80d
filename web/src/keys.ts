/*
 * The keyboard. Components say what keys mean while they are on the screen; the one that came last is asked first. Keys
 * are named as KeyboardEvent.key has them, with "Ctrl+" and "Alt+" before; "g o" is g and then o. While somebody types
 * in a field, only keys with Ctrl and Escape are looked at.
 */
import { signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { prefGet, prefSet } from "./theme";

/* false: not for me, ask the next */
export type KeyHandler = (event: KeyboardEvent) => void | false;
export type KeyMap = Readonly<Record<string, KeyHandler>>;

const PREF = "memtape.keys.v1";
const SEQUENCE_MS = 1500;

/* Single letters can be switched off: speech input types them by accident (WCAG 2.1.4). */
export const lettersOn = signal(prefGet(PREF) !== "off");
export function lettersSet(on: boolean): void {
	lettersOn.value = on;
	prefSet(PREF, on ? "on" : "off");
}

const maps: { current: KeyMap }[] = [];

/* While the component is mounted. */
export function useKeys(map: KeyMap): void {
	const ref = useRef(map);
	ref.current = map;
	useEffect(() => {
		maps.push(ref);
		return () => {
			maps.splice(maps.indexOf(ref), 1);
		};
	}, []);
}

export function isTyping(target: EventTarget | null): boolean {
	return (
		target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
	);
}

function nameOf(event: KeyboardEvent): string {
	const key = event.key === " " ? "Space" : event.key;
	return (event.ctrlKey || event.metaKey ? "Ctrl+" : "") + (event.altKey ? "Alt+" : "") + key;
}

let pending = "",
	pendingSince = 0;

function onKey(event: KeyboardEvent): void {
	if (event.defaultPrevented || event.isComposing) return;
	const plain = nameOf(event);
	const commanding = plain.startsWith("Ctrl+") || plain === "Escape";
	if (!commanding && (isTyping(event.target) || (!lettersOn.value && plain.length === 1))) return;
	const name = pending && event.timeStamp - pendingSince < SEQUENCE_MS ? `${pending} ${plain}` : plain;
	pending = "";
	for (let i = maps.length - 1; i >= 0; i--) {
		const handler = maps[i]!.current[name];
		if (handler && handler(event) !== false) {
			event.preventDefault();
			return;
		}
	}
	if (plain === "g") {
		pending = "g";
		pendingSince = event.timeStamp;
	}
}

export function keysInit(): void {
	addEventListener("keydown", onKey);
	addEventListener("focusin", (event) => {
		last = event.target as Element;
		if (last !== document.getElementById("main")) jumping = false;
	});
}

/*
 * After a jump to a page, keys go to its list or graph as soon as that is there: the first one that says it is a target.
 * Whoever moves the focus elsewhere before keeps it there.
 */
const targets: RefObject<HTMLElement | SVGElement | null>[] = [];
let jumping = false,
	last: Element | null = null; /* what had the focus last */

function land(): void {
	const main = document.getElementById("main"),
		rests = document.activeElement === main || document.activeElement === document.body;
	const target = targets.find((ref) => ref.current?.isConnected)?.current,
		to = target && target.tabIndex < 0 ? target.querySelector<HTMLElement>("a") : target;
	if (!jumping || !rests || !to) return;
	jumping = false;
	to.focus({ preventScroll: true });
}

/* While the component is mounted. Where the element itself cannot have the focus, its first link takes it. `is`: of several of a page, the one. */
export function useJumpTarget(ref: RefObject<HTMLElement | SVGElement | null>, is = true): void {
	useEffect(() => {
		if (!is) return;
		const element = ref.current;
		targets.push(ref);
		land();
		return () => {
			targets.splice(targets.indexOf(ref), 1);
			/* What takes its place, now or after an empty answer, goes on with the keys. */
			if (last && element?.contains(last)) jumping = true;
		};
	}, []);
}

/* Takes the focus from where it is. `go` brings the page; what is there already is left alone until then. */
export function jump(go: () => void): void {
	document.getElementById("main")?.focus();
	go();
	jumping = true;
	requestAnimationFrame(land);
}

/* Up and down between the rows of a table, by the first link of each. */
export function rowKeys(event: KeyboardEvent): void {
	const rows = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("tr:has(a)")],
		now = rows.findIndex((row) => row.contains(document.activeElement));
	const to: Record<string, number> = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: rows.length - 1 };
	if (now < 0 || !(event.key in to) || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
	event.preventDefault();
	rows[Math.max(0, Math.min(rows.length - 1, to[event.key]!))]!.querySelector<HTMLElement>("a")!.focus();
}

/* A click beside the links of a row does what the first of them does. */
export function rowClick(event: MouseEvent): void {
	const row = event.currentTarget as HTMLElement,
		chosen = getSelection();
	if ((event.target as Element).closest("a, button") || (chosen && !chosen.isCollapsed)) return;
	row.querySelector<HTMLElement>("a")?.click();
}
