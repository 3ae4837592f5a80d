/* A mark on the tape while it is recorded: the moment is that of Enter. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ApiError, post } from "../api/client";
import { markOpen } from "../live";
import { Sheet } from "../ui/sheet";
import { toast } from "../ui/toast";

async function make(text: string): Promise<void> {
	try {
		await post("mark", { text });
		toast(`Marked: ${text}`);
	} catch (error) {
		toast(error instanceof ApiError ? error.body.message : "The server does not answer", true);
	}
}

function Open(): JSX.Element {
	const input = useRef<HTMLInputElement>(null);
	useEffect(() => { input.current?.focus(); }, []);
	const onKeyDown = (event: KeyboardEvent) => {
		const text = input.current!.value.trim();
		if (event.key !== "Enter" || text === "")
			return;
		markOpen.value = false;
		void make(text);
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
