/* One short message at the foot of the window, read out by screen readers. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";

const SHOWN_MS = 4000;
const message = signal<{ text: string; bad: boolean } | null>(null);
let timer: ReturnType<typeof setTimeout> | undefined;

export function toast(text: string, bad = false): void {
	message.value = { text, bad };
	clearTimeout(timer);
	timer = setTimeout(
		() => {
			message.value = null;
		},
		bad ? 2 * SHOWN_MS : SHOWN_MS,
	);
}

export async function copyText(text: string, what: string): Promise<void> {
	try {
		await navigator.clipboard.writeText(text);
		toast(`${what} copied`);
	} catch {
		toast(`The browser refused to copy: ${what.toLowerCase()}`, true);
	}
}

export function Toast(): JSX.Element {
	const shown = message.value;
	return (
		<div class="toast-place" role="status" aria-live="polite">
			{shown && <div class={`toast ${shown.bad ? "bad" : ""}`}>{shown.text}</div>}
		</div>
	);
}
