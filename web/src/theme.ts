/* Light or dark: as the system has it until somebody chooses; boot.ts does the same before the first paint. */
import { signal } from "@preact/signals";

export type Theme = "light" | "dark";
const KEY = "memtape.theme.v1";

export const theme = signal<Theme>(document.documentElement.dataset.theme === "dark" ? "dark" : "light");

function apply(next: Theme): void {
	document.documentElement.dataset.theme = next;
	theme.value = next;
}

export function themeToggle(): void {
	const next = theme.peek() === "dark" ? "light" : "dark";
	prefSet(KEY, next);
	apply(next);
}

export function themeInit(): void {
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", (event) => {
		if (!prefGet(KEY)) apply(event.matches ? "dark" : "light");
	});
}

/* Preferences, and nothing else, are kept in the browser. Without storage they last as long as the tab. */
export function prefGet(key: string): string | null {
	try {
		return localStorage.getItem(key);
	} catch {
		return null;
	}
}
export function prefSet(key: string, value: string): void {
	try {
		localStorage.setItem(key, value);
	} catch {
		/* no storage */
	}
}
