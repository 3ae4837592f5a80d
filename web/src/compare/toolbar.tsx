/* Above the comparison: the two sides, what of them, and for how much work. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Tape } from "../api/types";
import { Measures, measuresInOrder } from "../measures";
import { info, metric, option, setOption, update } from "../store";
import { Dot, Popover, Segmented } from "../ui/basics";
import { IconCheck, IconChevron, IconCompare } from "../ui/icons";
import { useFit } from "../ui/fit";
import { capital } from "../vocabulary";
import type { Measure } from "../vocabulary";
import { Moments } from "./moments";
import { LIVE, perParse, sidesSet, swap } from "./sides";
import type { Sides } from "./sides";

/* Two runs of one program have one name: then the files tell them apart. */
export function tapeTitle(t: Tape, others: readonly Tape[]): string {
	return others.some((o) => o.id !== t.id && o.name === t.name) ? t.file.replace(/\.mtape$/, "") : t.name;
}

function SideMenu(props: {
	label: string;
	colour: "blue" | "orange";
	shown: Tape;
	isOne: boolean;
	isB: boolean;
	onChoose: (id: string) => void;
}): JSX.Element {
	const tapes = info.value?.tapes ?? [],
		letter = props.isB ? "B" : "A"; /* as in the curve */
	return (
		<Popover
			label={`${props.label} ${tapeTitle(props.shown, tapes)}`}
			class="button compare-side"
			button={
				<>
					<Dot colour={props.colour} />
					<span class="muted">{props.label}</span>{" "}
					<b class="ellipsis">{tapes.length === 1 ? letter : tapeTitle(props.shown, tapes)}</b>
					<IconChevron />
				</>
			}
		>
			{(close) => (
				<>
					<p class="menu-title">{props.label}</p>
					{tapes.map((t) => (
						<button
							key={t.id}
							type="button"
							class="menu-item"
							onClick={() => {
								close();
								props.onChoose(t.id);
							}}
						>
							{t.id === props.shown.id ? <IconCheck /> : <span class="icon" />}
							<b>{tapeTitle(t, tapes)}</b>
							<span class="hint">{t.file}</span>
						</button>
					))}
					{tapes.length === 1 && (
						<p class="compare-hint">
							Only one tape is served, so two moments of it are compared. For two runs:{" "}
							<code>memtape serve before.mtape after.mtape</code>
						</p>
					)}
				</>
			)}
		</Popover>
	);
}

/* A moment is typed: 1.5s, 25%, peak, end, mark(NAME). */
function Moment(props: { label: string; name: string; value: string; isSpan?: boolean }): JSX.Element {
	const [text, setText] = useState(props.value);
	useEffect(() => setText(props.value), [props.value]);
	const commit = () => {
		if ((props.isSpan || text.trim()) && text !== props.value) sidesSet({ [props.name]: text.trim() });
	};
	return (
		<input
			class={`field compare-moment ${props.isSpan ? "span" : ""}`}
			aria-label={props.label}
			placeholder={props.isSpan ? "all of it" : ""}
			title={`${props.label}: ${props.isSpan ? "1s..2.5s, 25%..peak, mark(NAME)..end" : "1.5s, 25%, start, peak, end, mark(NAME)"}`}
			value={text}
			style={{ "--letters": Math.max(11, Math.min(LETTERS, text.length + 2)) }}
			spellcheck={false}
			autocomplete="off"
			onInput={(e) => setText(e.currentTarget.value)}
			onBlur={commit}
			onKeyDown={(e) => {
				if (e.key === "Enter") commit();
			}}
		/>
	);
}

/* In a line without room: a button that says which, and the choice in its panel. */
function PerMenu(): JSX.Element {
	const word = option("per"),
		now = word ? `Per ${word}` : "Absolute";
	return (
		<Popover
			label={`Scale: ${now}`}
			class="button small"
			end
			button={
				<>
					{now} <IconChevron />
				</>
			}
		>
			{() => <Per />}
		</Popover>
	);
}

function Per(): JSX.Element {
	const word = option("per"),
		isPer = word !== "";
	const [text, setText] = useState(word || "1:1");
	useEffect(() => {
		if (word) setText(word);
	}, [word]);
	const isGood = perParse(text) !== null;
	const commit = () => {
		if (isPer && isGood && text !== word) setOption("per", text.trim());
	};
	return (
		<div class="row">
			<Segmented
				label="Scale"
				value={isPer ? "per" : "absolute"}
				onChange={(v) => setOption("per", v === "per" ? (isGood ? text.trim() : "1:1") : null)}
				choices={[
					{ value: "absolute", label: "Absolute" },
					{
						value: "per",
						label: "Per unit",
						title: "Divided by the work each side did: requests, lines, frames",
					},
				]}
			/>
			{isPer && (
				<label class="compare-per">
					<span class="sr">Units of work, before:after</span>
					<input
						class="field compare-moment"
						value={text}
						aria-invalid={!isGood}
						title="Units of work that both sides did, before:after, like 1000:2500"
						spellcheck={false}
						onInput={(e) => setText(e.currentTarget.value)}
						onBlur={commit}
						onKeyDown={(e) => {
							if (e.key === "Enter") commit();
						}}
					/>
				</label>
			)}
		</div>
	);
}

const title = (m: Measure) => (m.at ? "Live at moments" : capital(m.title));
const choose = (word: string) => update({ metric: word, path: [] });

/* Of one tape: what was alive at moments, or happened in spans of time. */
function OneMeasures(props: { sides: Sides; inSight: number }): JSX.Element {
	const all = measuresInOrder(),
		list = [...all.filter((m) => m.at), ...all.filter((m) => m.spans)];
	return (
		<Measures
			list={list}
			inSight={props.inSight}
			value={props.sides.hasSpans ? metric.value : LIVE}
			title={title}
			onChange={choose}
		/>
	);
}

const LETTERS = 28;

const NARROW_FROM = 1 /* moments as long as usual ones, then */,
	WORDLESS_FROM = 2 /* the sides without "Before" and "After", then */,
	IN_SIGHT = [4, 4, 4, 2, 0] /* measures, by what is left out, then */,
	MENU_FROM = 5; /* the scale as a menu */

/* One line: what has no room in it becomes a menu. */
export function Toolbar(props: { sides: Sides }): JSX.Element {
	const { sides } = props,
		{ a, b, isOne } = sides,
		line = useRef<HTMLDivElement>(null),
		left = useFit(line, MENU_FROM, `${a.id} ${b.id} ${metric.value} ${option("per")}`),
		inSight = IN_SIGHT[left] ?? 0;
	const chooseSide = (isB: boolean) => (id: string) => {
		if (isB) sidesSet({ with: id === a.id ? "self" : id, ta: null, tb: null }, a.id);
		else if (!isOne && id === b.id) swap(sides);
		else sidesSet({ with: isOne ? "self" : b.id, ta: null, tb: null }, id);
	};
	return (
		<div
			ref={line}
			class={`compare-tools ${left >= NARROW_FROM ? "narrow" : ""} ${left >= WORDLESS_FROM ? "wordless" : ""} ${left >= MENU_FROM ? "least" : ""}`}
			role="group"
			aria-label="What is compared"
		>
			<SideMenu label="Before" colour="blue" shown={a} isOne={isOne} isB={false} onChoose={chooseSide(false)} />
			{sides.hasMoments && <Moment label="Moment before" name="ta" value={sides.at[0]} />}
			{sides.hasSpans && <Moment label="Time before" name="ra" value={sides.spans[0]} isSpan />}
			<button
				type="button"
				class="icon-button compare-swap"
				aria-label="Swap before and after"
				title="Swap (s)"
				onClick={() => swap(sides)}
			>
				<IconCompare />
			</button>
			<SideMenu label="After" colour="orange" shown={b} isOne={isOne} isB onChoose={chooseSide(true)} />
			{sides.hasMoments && <Moment label="Moment after" name="tb" value={sides.at[1]} />}
			{sides.hasSpans && <Moment label="Time after" name="rb" value={sides.spans[1]} isSpan />}
			{isOne ? (
				<OneMeasures sides={sides} inSight={inSight} />
			) : (
				<Measures inSight={inSight} title={title} onChange={choose} />
			)}
			{sides.hasMoments && <Moments sides={sides} />}
			{left >= MENU_FROM ? <PerMenu /> : <Per />}
		</div>
	);
}
