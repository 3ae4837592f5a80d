/* The dialog around what comes later (mycode/form.tsx). */
import type { JSX } from "preact";
import { IconClose } from "../ui/icons";
import { later } from "../ui/later";
import { Sheet } from "../ui/sheet";
import { whoseAsked } from "./whose";

const Form = later("MyCodeForm");

export function MyCodeDialog(): JSX.Element | null {
	if (REPORT || !whoseAsked.value) return null;
	const close = () => {
		whoseAsked.value = null;
	};
	return (
		<Sheet label="My code" class="my-code-sheet" onClose={close}>
			<header class="sheet-head">
				<h2>My code</h2>
				<span class="muted">whose functions are</span>
				<span class="grow" />
				<button type="button" class="icon-button" aria-label="Close" onClick={close}>
					<IconClose />
				</button>
			</header>
			<Form />
		</Sheet>
	);
}
