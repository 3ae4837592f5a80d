/* What can be done with a recording while it goes on: a mark on its tape, of the moment of Enter, and a copy of it. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiError, post } from "../api/client";
import { markOpen } from "../live";
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

function Open(): JSX.Element {
	const input = useRef<HTMLInputElement>(null);
	useEffect(() => { input.current?.focus(); }, []);
	const onKeyDown = (event: KeyboardEvent) => {
		const text = input.current!.value.trim();
		if (event.key !== "Enter" || text === "")
			return;
		markOpen.value = false;
		void make("mark", { text }, () => `Marked: ${text}`);
	};
	return (
		<Sheet label="Mark this moment" class="palette" onClose={() => { markOpen.value = false; }}>
			<input ref={input} class="palette-input" placeholder="Name of this moment, then Enter" aria-label="Name of the mark" maxLength={85} spellcheck={false} autocomplete="off" onKeyDown={onKeyDown} />
		</Sheet>
	);
}

export function MarkSheet(): JSX.Element | null {
	return markOpen.value ? <Open /> : null;
}
