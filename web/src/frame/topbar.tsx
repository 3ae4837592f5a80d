/* The bar at the top: which tape, which part of it, and what can be done with it. */
import type { JSX } from "preact";
import * as format from "../format";
import { tape } from "../store";
import { theme, themeToggle } from "../theme";
import { IconMoon, IconSun } from "../ui/icons";

function TapeChip(): JSX.Element | null {
	const t = tape.value;
	if (!t)
		return null;
	return <div class="tape-chip"><b>{t.name}</b> <span class="muted">pid {t.pid} · {format.duration(t.duration_ns)}</span></div>;
}

export function TopBar(): JSX.Element {
	return (
		<header class="top">
			<TapeChip />
			<span class="grow" />
			<button type="button" class="icon-button" aria-label={theme.value === "dark" ? "Light theme" : "Dark theme"} onClick={themeToggle}>
				{theme.value === "dark" ? <IconSun /> : <IconMoon />}
			</button>
		</header>
	);
}
