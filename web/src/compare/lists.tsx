/* Beside the graph: the verdict, the chosen function, what changed most, what is new and what is gone. */
import type { JSX } from "preact";
import { addTerm, quote } from "../filter";
import * as format from "../format";
import { filter, frame, href, info, update } from "../store";
import { IconClose, IconCopy } from "../ui/icons";
import { copyText } from "../ui/toast";
import { measureOf } from "../vocabulary";
import type { Sides } from "./sides";
import type { Diff, DiffRow, Hex } from "../api/types";
import { FunctionName } from "../lists/name";
import { named, withoutParameters } from "../names";
import * as words from "./words";

const SHOWN = 12,
	FEW = 6;

const changeOf = (diff: Diff) => diff.totals[diff.metric]!.difference;
const rowsOf = (diff: Diff, ...statuses: readonly DiffRow["status"][]) =>
	diff.rows.filter((row) => statuses.includes(row.status) && row.difference !== 0);

export const titleOf = (row: DiffRow) =>
	row.function === null ? (row.module ?? "other code") : named(row.brief ?? row.function);
const placeOf = (row: DiffRow) =>
	[format.place(row.file, row.line), row.caller ? `by ${row.caller_brief ?? row.caller}` : ""]
		.filter(Boolean)
		.join(" \u00b7 ");

function choose(hash: Hex | null): void {
	update({ frame: frame.value === hash ? null : hash }, "replace");
}

function Pair(props: { a: number; b: number; most: number }): JSX.Element {
	const width = (n: number) => ({
		width: `${props.most > 0 ? Math.max((n / props.most) * 100, n > 0 ? 0.6 : 0) : 0}%`,
	});
	return (
		<span class="compare-pair" aria-hidden="true">
			<i class="before" style={width(props.a)} />
			<i class="after" style={width(props.b)} />
		</span>
	);
}

function Row(props: { row: DiffRow; unit: Diff["unit"]; most: number }): JSX.Element {
	const { row, unit } = props;
	return (
		<li>
			<button
				type="button"
				class="compare-row"
				aria-pressed={row.hash !== null && frame.value === row.hash}
				disabled={row.hash === null}
				title={`${row.function ?? row.module}\n${placeOf(row)}\n${words.exactChange(row.difference, unit)}`}
				onClick={() => choose(row.hash)}
			>
				<FunctionName name={withoutParameters(titleOf(row))} />
				<b class={`num ${words.tone(row.difference)}`}>
					{words.arrow(row.difference)} {words.change(row.difference, unit)}
				</b>
				<Pair a={row.a} b={row.b} most={props.most} />
				<span class="num muted">{words.pair(row.a, row.b, unit)}</span>
			</button>
		</li>
	);
}

function Changes(props: { diff: Diff }): JSX.Element {
	const { diff } = props,
		rows = rowsOf(diff, "grown", "shrunk").slice(0, SHOWN),
		most = Math.max(...rows.map((r) => Math.max(r.a, r.b)), 0);
	const differ = diff.counts.new + diff.counts.gone + diff.counts.grown + diff.counts.shrunk;
	return (
		<section>
			<h2 class="compare-title">
				Biggest changes{" "}
				<span class="note">
					{format.exact(differ)} {differ === 1 ? "differs" : "differ"}, {format.exact(diff.counts.same)} the
					same
				</span>
			</h2>
			{rows.length === 0 && <p class="muted">Nothing present on both sides has changed.</p>}
			<ol class="compare-rows">
				{rows.map((row) => (
					<Row key={`${row.hash}${row.module}${row.a}${row.b}`} row={row} unit={diff.unit} most={most} />
				))}
			</ol>
			{diff.counts.grown + diff.counts.shrunk > rows.length && (
				<p class="muted compare-more">
					and {format.exact(diff.counts.grown + diff.counts.shrunk - rows.length)} more: <kbd>t</kbd> lists
					them
				</p>
			)}
		</section>
	);
}

function Single(props: {
	title: string;
	note: string;
	rows: readonly DiffRow[];
	count: number;
	of: number;
	unit: Diff["unit"];
}): JSX.Element | null {
	if (props.count === 0) return null;
	const shareOf = (row: DiffRow) => (props.of > 0 ? format.percent(Math.max(row.a, row.b) / props.of) : "");
	return (
		<section>
			<h3 class="compare-title small">
				{props.title} <span class="note">{props.note}</span>
			</h3>
			<ol class="compare-singles">
				{props.rows.slice(0, FEW).map((row) => (
					<li key={`${row.hash}${row.module}`}>
						<button
							type="button"
							class="compare-single"
							aria-pressed={row.hash !== null && frame.value === row.hash}
							disabled={row.hash === null}
							title={`${row.function ?? row.module}\n${placeOf(row)}\n${shareOf(row)}`}
							onClick={() => choose(row.hash)}
						>
							<FunctionName name={withoutParameters(titleOf(row))} />
							<b class={`num ${words.tone(row.difference)}`}>
								{words.change(row.difference, props.unit)}
							</b>
							<span class="num muted">{shareOf(row)}</span>
						</button>
					</li>
				))}
			</ol>
			{props.count > FEW && <p class="muted compare-more">and {format.exact(props.count - FEW)} more</p>}
		</section>
	);
}

/* A link, which breaks as text does; buttons are boxes. */
function Main(props: { row: DiffRow }): JSX.Element {
	const { row } = props;
	return row.hash === null ? (
		<code>{titleOf(row)}</code>
	) : (
		<a class="link code" href={href({ frame: row.hash })} title={row.function ?? undefined}>
			{titleOf(row)}
		</a>
	);
}

/* "+21.1 MiB live at peak, 89.2 % of it from std::vector<Slot>::reserve." */
function Verdict(props: { diff: Diff; sides: Sides }): JSX.Element {
	const { diff, sides } = props,
		main = diff.main,
		measure = measureOf(diff.metric),
		what = measure.at ? "live" : measure.title;
	const change = changeOf(diff),
		part = main && change !== 0 ? main.difference / change : 0;
	const command =
		sides.hasSpans && sides.spans.some((span) => span !== "")
			? null
			: sides.isOne
				? `memtape diff ${sides.a.file} --at ${words.shell(sides.at.join(","))}`
				: `memtape diff ${sides.a.file} ${sides.b.file}${sides.per ? ` --per ${sides.per.join(":")}` : ""}` +
					(measure.in_reports ? ` --fail-if '${diff.metric}>5%'` : "");
	return (
		<section>
			<h3 class="compare-title small">Verdict</h3>
			{change === 0 ? (
				<p>
					<b>No difference</b> in what is {what}
					{diff.counts.same > 0 ? "" : ": there is nothing to compare"}.
				</p>
			) : (
				<p>
					<b>
						{words.change(change, diff.unit)} {what}
						{sides.per ? " per unit of work" : ""} ({words.share(diff.a.total, diff.b.total)})
					</b>
					{diff.below && diff.below.hash !== main?.hash && (
						<>
							, below{" "}
							<a class="link code" href={href({ frame: diff.below.hash })} title={diff.below.function}>
								{named(diff.below.brief)}
							</a>
							{diff.below.file && diff.below.line !== null && (
								<span class="muted"> {format.place(diff.below.file, diff.below.line)}</span>
							)}
						</>
					)}
					{main &&
						(part <= 1.001 ? (
							<>
								, {format.percent(part)} of it from <Main row={main} />
								{main.file && main.line !== null && (
									<span class="muted"> {format.place(main.file, main.line)}</span>
								)}
								.
							</>
						) : (
							<>
								; <Main row={main} /> alone accounts for {words.change(main.difference, diff.unit)},
								partly offset elsewhere.
							</>
						))}
				</p>
			)}
			{command && (
				<p class="compare-command">
					<code>
						{command.split(" ").map((word, i) => (
							<span key={i}>{word}&nbsp;</span>
						))}
					</code>
					<button
						type="button"
						class="icon-button"
						aria-label="Copy the command"
						title="The same on the command line"
						onClick={() => void copyText(command, "Command")}
					>
						<IconCopy />
					</button>
				</p>
			)}
		</section>
	);
}

/* The function that is selected: both of its values and where to go from here. */
export function Chosen(props: { name: string; a: number; b: number; unit: Diff["unit"]; sides: Sides }): JSX.Element {
	const { sides, unit } = props,
		hash = frame.value!;
	const options: Readonly<Record<string, string>> = {};
	const to = (page: string, id: string, text: string, extra = {}) => (
		<a class="button small" href={href({ page, tape: id, frame: hash, path: [], options, ...extra })}>
			{text}
		</a>
	);
	const term = { filter: addTerm(filter.value, `function = ${quote(props.name)}`) };
	return (
		<section class="compare-chosen" aria-label="Selected function">
			<header>
				<h2 class="code">{props.name}</h2>
				<button type="button" class="icon-button" aria-label="Close" onClick={() => choose(null)}>
					<IconClose />
				</button>
			</header>
			<p class="num">
				<span class="muted">{words.value(props.a, unit)} →</span> {words.value(props.b, unit)}{" "}
				<b class={words.tone(props.b - props.a)}>
					{words.arrow(props.b - props.a)} {words.change(props.b - props.a, unit)} ·{" "}
					{words.share(props.a, props.b)}
				</b>
			</p>
			<p class="muted">all boxes of the graph with this name</p>
			<div class="inspector-actions">
				{to("flame", sides.a.id, sides.isOne ? "Flame graph" : "Before: flame graph")}
				{!sides.isOne && to("flame", sides.b.id, "After: flame graph")}
				{to("sites", sides.b.id, "Call sites", term)}
				{to("allocations", sides.b.id, "Allocations", term)}
			</div>
		</section>
	);
}

/* Why there is only one tape to choose. */
function Alone(): JSX.Element | null {
	if ((info.value?.tapes.length ?? 0) !== 1) return null;
	return (
		<section>
			<h3 class="compare-title small">Two runs</h3>
			<p>Only one tape is served, so two moments of it are compared. To compare two runs or two builds:</p>
			<p class="compare-command">
				<code>memtape serve before.mtape after.mtape</code>
			</p>
		</section>
	);
}

export function Lists(props: { diff: Diff; sides: Sides }): JSX.Element {
	const { diff } = props;
	return (
		<>
			<Verdict {...props} />
			<Changes diff={diff} />
			<Single
				title="New"
				note="absent before"
				rows={rowsOf(diff, "new")}
				count={diff.counts.new}
				of={diff.b.total}
				unit={diff.unit}
			/>
			<Single
				title="Gone"
				note="absent after"
				rows={rowsOf(diff, "gone")}
				count={diff.counts.gone}
				of={diff.a.total}
				unit={diff.unit}
			/>
			<Alone />
		</>
	);
}
