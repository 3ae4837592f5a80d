/* That functions appear as addresses, or under the name of a neighbour: whose, and what would help. Said until it is put away. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useApi } from "../api/use";
import type { GroupSums, Sites, Tape } from "../api/types";
import type { TapeModule } from "../api/answers";
import * as format from "../format";
import { pageFind } from "../pages/registry";
import { commonParams, detail, metric, page } from "../store";
import { prefGet, prefSet } from "../theme";
import { IconClose } from "../ui/icons";
import { measureOf, sumOfKey } from "../vocabulary";

const WORDS: Readonly<Record<string, string>> = {
	exported: "only exported names",
	none: "no names",
	gone: "not on this machine",
	changed: "a different build than the one on this machine",
};
const SHARE_LEAST = 0.05; /* of what is shown: less is not worth a line above the page */
const MODULES_MAX = 200;
const USUAL = "peak_size";

const PREF = "memtape.unnamed.v1",
	KEPT = 50;
const putAway = signal<readonly string[]>((prefGet(PREF) ?? "").split(" ").filter(Boolean)); /* ids of tapes */

function away(tape: Tape): void {
	putAway.value = [...putAway.value, tape.id].slice(-KEPT);
	prefSet(PREF, putAway.value.join(" "));
}

/* What the page's measure has of the modules, of all; null: not known yet. */
function useShare(of: readonly TapeModule[], all: readonly TapeModule[], isAsked: boolean): number | null {
	const key = sumOfKey((pageFind(page.value)?.hasMetric ? measureOf(metric.value).sort : null) ?? USUAL) ?? USUAL;
	const params = { ...commonParams(), by: "module", sort: key, n: MODULES_MAX },
		{ data } = useApi<Sites>("sites", isAsked && !REPORT ? params : null);
	if (REPORT) {
		/* it has no such answer: the share of the stacks */
		const stacks = (list: readonly TapeModule[]) => list.reduce((n, m) => n + m.stacks, 0);
		return stacks(of) / Math.max(1, stacks(all));
	}
	if (!data) return null;
	const names = new Set(of.flatMap((m) => [m.path, m.name])),
		sum = (rows: Sites["rows"]) => rows.reduce((n, r) => n + (r.only_matched[key as keyof GroupSums] ?? 0), 0);
	return sum(data.rows.filter((r) => names.has(r.module ?? ""))) / Math.max(1, sum(data.rows));
}

export function Unnamed(props: { tape: Tape }): JSX.Element | null {
	const all = detail.value?.modules ?? [],
		list = all.filter((m) => m.stacks > 0 && WORDS[m.symbols]).sort((a, b) => b.stacks - a.stacks);
	const isAsked =
		list.length > 0 && pageFind(page.value)?.hasFunctions === true && !putAway.value.includes(props.tape.id);
	const share = useShare(list, all, isAsked);
	if (!isAsked || share === null || share <= SHARE_LEAST) return null;
	const more = list.length - 1;
	return (
		<div class="banner info closable">
			<details>
				<summary>
					No debug information for {list[0]!.name}
					{more > 0 && ` and ${more} more ${more === 1 ? "module" : "modules"}`}: some functions appear as
					addresses, without source lines ({format.percent(share)} of what is shown).
				</summary>
				<ul>
					{list.map((m) => (
						<li key={m.path}>
							{m.path}: {WORDS[m.symbols]}
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
