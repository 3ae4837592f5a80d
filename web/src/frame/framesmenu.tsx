/* The choice of frames, in the top bar of pages that show functions which depend on it. */
import type { JSX } from "preact";
import { FRAMES, frames, framesSet } from "../frames";
import { pageFind } from "../pages/registry";
import { page } from "../store";
import { Popover } from "../ui/basics";
import { whoseOpen } from "./whose";
import { IconCheck, IconChevron, IconSource } from "../ui/icons";

export function FramesMenu(): JSX.Element | null {
	const now = FRAMES.find((f) => f.value === frames.value)!;
	if (REPORT || !pageFind(page.value)?.dependsOnFrames) return null;
	return (
		<Popover
			label={`Frames: ${now.label}`}
			title={now.title}
			class={`button frames-button ${now.value === "my" ? "" : "set"}`}
			end
			button={
				<>
					<span class="frames-icon">
						<IconSource />
					</span>
					<span class="frames-word">{now.label}</span>
					<IconChevron />
				</>
			}
		>
			{(close) => (
				<>
					<p class="menu-title">Functions shown</p>
					{FRAMES.map((f) => (
						<button
							key={f.value}
							type="button"
							class="menu-item"
							aria-current={f.value === now.value || undefined}
							onClick={() => {
								framesSet(f.value);
								close();
							}}
						>
							{f.value === now.value ? <IconCheck /> : <span class="icon" />}
							<b>{f.label}</b>
							<span class="hint">{f.title}</span>
						</button>
					))}
					<button
						type="button"
						class="menu-item"
						onClick={() => {
							close();
							whoseOpen();
						}}
					>
						<span class="icon" />
						<b>Edit my code …</b>
						<span class="hint">Whose functions are: yours, a library’s, a wrapper’s</span>
					</button>
				</>
			)}
		</Popover>
	);
}
