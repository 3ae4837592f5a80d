/* What the engine found, one finding a cause: ranked by the bytes at stake, each with its evidence and the question behind it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { Answer } from "../api/use";
import type { Finding, FindingEvidence, Findings, Frame } from "../api/types";
import { clock } from "../clock";
import * as format from "../format";
import { momentParse } from "../moment";
import { named } from "../names";
import { pageHref } from "../pages/links";
import { Stack } from "../lists/stack";
import { filter, range, tapeId } from "../store";
import type { Selection } from "../store";
import { measures } from "../vocabulary";
import { Card } from "../ui/basics";
import {
	IconAllocations,
	IconClock,
	IconLeaks,
	IconMaps,
	IconOverview,
	IconSpace,
	IconThreads,
	IconWarning,
} from "../ui/icons";
import type { Icon } from "../ui/icons";
import { Loading, Shown } from "../ui/states";

const SHOWN = 5;
const FEW = 3; /* so few are shown with all they say */

/* By words of the finding's type, so that a new type has a picture, too. */
const LOOKS: readonly [RegExp, Icon, "bad" | "warn" | "info"][] = [
	[/^(double|invalid|mismatched)_free$/, IconWarning, "bad"],
	[/^shortage$/, IconWarning, "warn"],
	[/growth$|leak/, IconLeaks, "bad"],
	[/rss|resident|return|pin/, IconSpace, "warn"],
	[/temporary|churn|per_call/, IconClock, "info"],
	[/realloc|copying/, IconOverview, "info"],
	[/misplaced/, IconMaps, "warn"],
	[/huge|large|single/, IconMaps, "warn"],
	[/thread|cross/, IconThreads, "info"],
	[/tiny|over|waste|unused/, IconAllocations, "info"],
];

function lookOf(type: string): [Icon, string] {
	const found = LOOKS.find(([words]) => words.test(type));
	return found ? [found[1], found[2]] : [IconWarning, "info"];
}

/* An error, or a leak. */
export const isGrave = (f: Finding): boolean => lookOf(f.type)[1] === "bad";

/* The selection in which the finding was found. */
function selectionOf(f: FindingEvidence): Partial<Selection> {
	const ns = (text: string | null) => (text === null ? null : momentParse(text, clock.value));
	const from = ns(f.from),
		until = ns(f.until),
		at = ns(f.at);
	const metric = f.metric !== null && measures().some((m) => m.word === f.metric) ? { metric: f.metric } : {};
	return {
		filter: f.filter ?? "",
		range: from === null && until === null ? null : { from: from ?? 0, until: until ?? clock.value.duration },
		...(at === null ? {} : { at }),
		...metric,
	};
}

/* Of a bad free there are several. */
function stacksOf(f: FindingEvidence): [string, Frame[]][] {
	const several = f.allocated_stack !== null || f.freed_before_stack !== null;
	const all: [string, Frame[] | null][] = [
		[several ? "Freed by" : "Stack", f.stack],
		["Allocated by", f.allocated_stack],
		["Freed before by", f.freed_before_stack],
	];
	return all.filter((one): one is [string, Frame[]] => one[1] !== null);
}

const linkOf = (f: FindingEvidence) =>
	pageHref([f.page ?? "sites", "sites", "allocations"], selectionOf(f), f.sort ? { sort: f.sort } : {});

/* Other kinds of problem at the same line. */
function Also(props: { of: FindingEvidence[] }): JSX.Element {
	return (
		<ul class="finding-also">
			{props.of.map((f, i) => (
				<li key={i}>
					<h4>
						<span>Also: {f.title}</span>
						<data class="num" value={f.bytes} title={format.exactBytes(f.bytes)}>
							{format.bytes(f.bytes)}
						</data>
					</h4>
					<p title={f.evidence}>
						{f.evidence} <a href={linkOf(f)}>Evidence&nbsp;→</a>
					</p>
				</li>
			))}
		</ul>
	);
}

function Item(props: { finding: Finding }): JSX.Element {
	const f = props.finding,
		[Picture, kind] = lookOf(f.type),
		stacks = stacksOf(f),
		place = format.place(f.file, f.line);
	return (
		<li class="finding">
			<span class={`finding-icon ${kind}`}>
				<Picture />
			</span>
			<div class="grow">
				<h3>
					<span>{f.title}</span>
					<data class="num" value={f.bytes} title={format.exactBytes(f.bytes)}>
						{format.bytes(f.bytes)}
					</data>
				</h3>
				{f.function && (
					<code class="finding-where" title={`${f.function}${place && ` ${place}`}`}>
						{named(f.brief ?? f.function)}
						{place && <span class="muted"> {place}</span>}
					</code>
				)}
				<p title={f.evidence}>{f.evidence}</p>
				{stacks.length > 0 && (
					<details class="finding-stacks">
						<summary>{stacks.length === 1 ? "Stack" : "Stacks"}</summary>
						{stacks.map(([title, stack]) => (
							<Stack key={title} title={title} stack={stack} />
						))}
					</details>
				)}
				<p class="finding-advice">
					{f.advice} <a href={linkOf(f)}>Evidence&nbsp;→</a>
				</p>
				{f.also.length > 0 && <Also of={f.also} />}
				{f.stake_bytes !== f.bytes && (
					<p>{format.bytes(f.stake_bytes)} at stake in all: these are the same blocks.</p>
				)}
			</div>
		</li>
	);
}

function List(props: { data: Findings }): JSX.Element {
	const { findings, missing } = props.data;
	const [all, setAll] = useState(false);
	return (
		<div class={`findings ${all || findings.length <= FEW ? "all" : ""}`}>
			{findings.length === 0 && <p class="finding-none">No findings on this tape.</p>}
			<ul>
				{(all ? findings : findings.slice(0, SHOWN)).map((f, i) => (
					<Item key={i} finding={f} />
				))}
			</ul>
			{findings.length > SHOWN && (
				<button type="button" class="link all-link" aria-expanded={all} onClick={() => setAll(!all)}>
					{all ? "Fewer" : `All ${findings.length} findings`}
				</button>
			)}
			{missing.length > 0 && (
				<details class="missing">
					<summary>
						{missing.length === 1 ? "One check was" : `${missing.length} checks were`} not possible
					</summary>
					<ul>
						{missing.map((text) => (
							<li key={text}>{text}</li>
						))}
					</ul>
				</details>
			)}
		</div>
	);
}

/* Of the whole recording. */
export const useFindings = (wanted = true): Answer<Findings> =>
	useApi<Findings>("findings", wanted ? { c: tapeId.value } : null);

export function FindingsCard(): JSX.Element {
	const answer = useFindings();
	const n = answer.data?.findings.length ?? 0;
	return (
		<Card
			title="Findings"
			class="findings-card"
			note={n > 0 ? `${n}, worst first${range.value || filter.value ? ", whole recording" : ""}` : undefined}
			stale={answer.stale}
		>
			<Shown answer={answer} loading={<Loading rows={5} height={34} />}>
				{(data) => <List data={data} />}
			</Shown>
		</Card>
	);
}
