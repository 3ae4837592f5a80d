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

/* How many findings cost memory or are errors. */
function FindingsBadge(): JSX.Element | null {
	const t = tape.value,
		known = t !== null && t.event_count > 0 && (page.value === "overview" || t.event_count <= BADGE_EVENTS_MAX);
	const serious = (useFindings(known).data?.findings ?? []).filter((f) => f.serious);
	if (!t || serious.length === 0) return null;
	const words = `serious ${serious.length === 1 ? "finding" : "findings"}`;
	return (
		<span class={`rail-badge ${serious.some(isGrave) ? "bad" : ""}`} title={`${serious.length} ${words}`}>
			{serious.length}
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
