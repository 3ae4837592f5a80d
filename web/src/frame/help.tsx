/* `?`: the sheet around what comes later (help/words.tsx). */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { info } from "../store";
import { IconClose } from "../ui/icons";
import { later } from "../ui/later";
import { Sheet } from "../ui/sheet";

export const helpOpen = signal(false);

const Words = later("HelpWords");

export function Help(): JSX.Element | null {
	if (!helpOpen.value) return null;
	const close = () => {
		helpOpen.value = false;
	};
	return (
		<Sheet label="Help" onClose={close}>
			<header class="sheet-head">
				<h2>Keys and terms</h2>
				<span class="muted">memtape {info.value?.version}</span>
				<span class="grow" />
				<button type="button" class="icon-button" aria-label="Close" onClick={close}>
					<IconClose />
				</button>
			</header>
			<Words />
		</Sheet>
	);
}
