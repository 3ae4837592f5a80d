/* That functions appear as addresses: whose, and what would help. The summary says it. Said until it is put away. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useApi } from "../api/use";
import type { Summary, Tape } from "../api/types";
import * as format from "../format";
import { pageFind } from "../pages/registry";
import { commonParams, page } from "../store";
import { prefGet, prefSet } from "../theme";
import { IconClose } from "../ui/icons";

const PREF = "memtape.unnamed.v1",
	KEPT = 50;
const putAway = signal<readonly string[]>((prefGet(PREF) ?? "").split(" ").filter(Boolean)); /* ids of tapes */

function away(tape: Tape): void {
	putAway.value = [...putAway.value, tape.id].slice(-KEPT);
	prefSet(PREF, putAway.value.join(" "));
}

export function Unnamed(props: { tape: Tape }): JSX.Element | null {
	const isAsked = pageFind(page.value)?.hasFunctions === true && !putAway.value.includes(props.tape.id);
	const { data } = useApi<Summary>("summary", isAsked ? commonParams() : null);
	const unnamed = isAsked ? data?.unnamed : undefined;
	if (!unnamed || unnamed.modules.length === 0) return null;
	const list = unnamed.modules;
	const more = list.length - 1;
	return (
		<div class="banner info closable">
			<details>
				<summary>
					No debug information for {format.baseName(list[0]!.module)}
					{more > 0 && ` and ${more} more ${more === 1 ? "module" : "modules"}`}: some functions appear as raw
					addresses ({format.percent(unnamed.share / 100)} of the peak).
				</summary>
				<ul>
					{list.map((m) => (
						<li key={m.module}>
							{m.module}: {format.bytes(m.bytes)}, {m.reason}
							{m.build_id && (
								<>
									, build-id <code>{m.build_id}</code>
								</>
							)}
						</li>
					))}
					<li>
						<code>memtape symbols list {props.tape.file}</code> shows where to get them;{" "}
						<code>DEBUGINFOD_URLS</code> or <code>--debug-dir DIR</code> of memtape serve makes it use them.
					</li>
				</ul>
			</details>
			<button
				type="button"
				class="icon-button"
				aria-label="Do not show this again for this tape"
				title="Do not show this again for this tape"
				onClick={() => away(props.tape)}
			>
				<IconClose />
			</button>
		</div>
	);
}
