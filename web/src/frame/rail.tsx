/* The rail at the left: the pages there are, and what the tape is. */
import type { JSX } from "preact";
import * as format from "../format";
import { isGrave, useFindings } from "../overview/findings";
import { jump } from "../keys";
import { offered } from "../pages/registry";
import type { Page } from "../pages/registry";
import { href, page, tape, update } from "../store";

/* Looking for them takes every processor for seconds on a larger tape: there only the Overview asks. */
const BADGE_EVENTS_MAX = 4_000_000;

/* How many findings there are: as many as the Overview lists; its colour says how bad the worst is. */
function FindingsBadge(): JSX.Element | null {
	const t = tape.value,
		known = t !== null && t.event_count > 0 && (page.value === "overview" || t.event_count <= BADGE_EVENTS_MAX);
	const all = useFindings(known).data?.findings ?? [],
		serious = all.filter((f) => f.serious);
	if (!t || all.length === 0) return null;
	const words = all.length === 1 ? "finding" : "findings",
		worst = serious.some(isGrave) ? "bad" : serious.length > 0 ? "warn" : "";
	return (
		<span class={`rail-badge ${worst}`} title={`${all.length} ${words}, ${serious.length} serious`}>
			{all.length}
			<span class="sr"> {words}</span>
		</span>
	);
}

function RailLink(props: { page: Page }): JSX.Element {
	const { id, title, icon: PageIcon, count, key } = props.page;
	const number = tape.value && tape.value.event_count > 0 && count ? count(tape.value) : null;
	const go = (event: MouseEvent) => {
		if (event.ctrlKey || event.metaKey || event.shiftKey) return;
		event.preventDefault();
		if (event.detail > 0) jump(() => update({ page: id }));
		else update({ page: id }); /* by Enter: Tab goes on in the rail */
	};
	return (
		<li>
			<a
				class="rail-link"
				href={href({ page: id })}
				aria-current={page.value === id ? "page" : undefined}
				title={`${title} (g ${key})`}
				onClick={go}
			>
				<PageIcon />
				<span class="rail-title">{title}</span>
				{number !== null && (
					<span class="rail-count" title={format.exact(number)}>
						{format.count(number)}
					</span>
				)}
			</a>
			{id === "overview" && <FindingsBadge key={tape.value?.id} />}
		</li>
	);
}

export function Rail(): JSX.Element {
	const groups = [...new Set(offered().map((p) => p.group))];
	const t = tape.value;
	return (
		<nav class="rail" aria-label="Pages">
			<a
				class="brand"
				href={href({ page: "overview" })}
				onClick={(e) => {
					e.preventDefault();
					update({ page: "overview" });
				}}
			>
				<svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
					<rect width="32" height="32" rx="8" fill="var(--accent)" />
					<path d="M7 23v-6h5v-4h5V8h8v15z" fill="var(--surface)" />
				</svg>
				<span class="rail-title">memtape</span>
			</a>
			<div class="rail-pages">
				{groups.map((group) => (
					<div key={group}>
						<h2 class="rail-group">{group}</h2>
						<ul>
							{offered()
								.filter((p) => p.group === group)
								.map((p) => (
									<RailLink key={p.id} page={p} />
								))}
						</ul>
					</div>
				))}
			</div>
			{t && t.event_count > 0 && (
				<p class="rail-foot">
					{format.count(t.event_count)} events · {format.count(t.stack_count)} stacks
					<br />
					{format.bytes(t.tape_bytes)} on tape
				</p>
			)}
		</nav>
	);
}
