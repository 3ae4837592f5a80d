/* What can be done with a recording while it goes on: a mark on its tape, of the moment of Enter, a copy of it, its end. */
import type { JSX } from "preact";
import { signal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { ApiError, post } from "../api/client";
import * as format from "../format";
import { asking, holdSet, recordingPaused, recordingPausedTake } from "../live";
import { pageFind } from "../pages/registry";
import { page, tape, update } from "../store";
import { Sheet } from "../ui/sheet";
import { toast } from "../ui/toast";

async function make<T>(what: string, body: unknown, said: (made: T) => string): Promise<void> {
	try {
		toast(said(await post<T>(what, body)));
	} catch (error) {
		toast(error instanceof ApiError ? error.body.message : "The server does not answer", true);
	}
}

/* The tapes that there are, as the stream tells soon, have it then. */
export const snapshot = () => make<{ file: string }>("snapshot", {}, (made) => `Snapshot: ${made.file}`);

export const scanning = signal(false);

/* The pages show it with the tape's next reading, if they are not held. */
export async function scanNow(): Promise<void> {
	if (scanning.value) return;
	scanning.value = true;
	await make<{ scan: number; pause_ns: number }>("leak-scan", {}, (made) => {
		holdSet(false);
		return `Leak scan ${made.scan}: the program stood still for ${format.duration(made.pause_ns)}`;
	});
	scanning.value = false;
}

/* What can be undone is done at once. */
export const pauseToggle = () =>
	make<{ paused: boolean; changed: boolean }>("pause", { on: !recordingPaused.value }, (made) => {
		recordingPausedTake(made.paused);
		if (!made.changed) return made.paused ? "Recording was paused already" : "Recording was resumed already";
		return made.paused
			? "Recording paused; the program continues, and its allocations are not recorded"
			: "Recording resumed";
	});

export const pauseLabel = () => (recordingPaused.value ? "Resume recording" : "Pause recording");

const close = () => {
	asking.value = null;
};

function Mark(): JSX.Element {
	const input = useRef<HTMLInputElement>(null);
	useLayoutEffect(() => {
		input.current?.focus();
	}, []);
	const onKeyDown = (event: KeyboardEvent) => {
		const text = input.current!.value.trim();
		if (event.key !== "Enter" || text === "") return;
		close();
		void make("mark", { text }, () => `Marked: ${text}`);
	};
	return (
		<Sheet label="Mark this moment" class="palette" onClose={close}>
			<input
				ref={input}
				class="palette-input"
				placeholder="Name of this moment, then Enter"
				aria-label="Name of the mark"
				maxLength={85}
				spellcheck={false}
				autocomplete="off"
				onKeyDown={onKeyDown}
			/>
		</Sheet>
	);
}

/* Whole tapes are shown as they are: nothing is left to be held. */
function stop(): void {
	const { name, id, attached } = tape.value!;
	close();
	void make("stop", {}, () => {
		holdSet(false);
		if (pageFind(page.value)?.needsNoTape) update({ page: "overview", tape: id });
		return attached ? `Detached; ${name} continues as before` : "Recording stopped; the program continues";
	});
}

/* What cannot be undone is not done by a mere Enter: the first button is the one that changes nothing. */
function Stop(): JSX.Element {
	const attached = tape.value?.attached,
		act = attached ? "Detach" : "Stop the recording";
	return (
		<Sheet label={act} class="question" onClose={close}>
			<h2>
				{attached ? "Detach from " : "Stop the recording"}
				{attached && tape.value?.name}?
			</h2>
			<p>
				The tape ends here and is complete. <b>{tape.value?.name}</b>{" "}
				{attached
					? "goes on as if nothing had happened. Attaching to it again makes another tape."
					: "keeps running but is no longer recorded. A stopped recording cannot be resumed."}
			</p>
			<div class="row">
				<button type="button" class="button" onClick={close}>
					Keep recording
				</button>
				<button type="button" class="button primary" onClick={stop}>
					{act}
				</button>
			</div>
		</Sheet>
	);
}

export function Asking(): JSX.Element | null {
	return asking.value === "mark" ? <Mark /> : asking.value ? <Stop /> : null;
}
