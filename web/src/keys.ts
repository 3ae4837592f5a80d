/*
 * The keyboard. Components say what keys mean while they are on the screen; the one that came last is asked first. Keys
 * are named as KeyboardEvent.key has them, with "Ctrl+" and "Alt+" before; "g o" is g and then o. While somebody types
 * in a field, only keys with Ctrl and Escape are looked at.
 */
import { signal } from "@preact/signals";
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
}
