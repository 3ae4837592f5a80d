/* Above the flame graph: measure, layout, colour, search. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import * as format from "../format";
import { Measures } from "../measures";
import { setOption } from "../store";
import { Popover, Segmented } from "../ui/basics";
import { IconCheck, IconChevron, IconSearch } from "../ui/icons";
import type { Matches } from "./graph";
import type { Share } from "./share";
import { COLOURINGS, colouringNow, LAYOUTS, layoutNow, layoutSet, merges, searched } from "./view";

const TYPING_MS = 150;

function Looks(): JSX.Element {
	const item = (label: string, on: boolean, act: () => void) => (
		<button key={label} type="button" class="menu-item" role="menuitemcheckbox" aria-checked={on} onClick={act}>
			<span class="menu-check">{on && <IconCheck />}</span>
			{label}
		</button>
	);
	return (
		<Popover
			label={`Colour: ${COLOURINGS.find((c) => c.value === colouringNow())!.label}, folding`}
			button={
				<>
					{colouringNow() === COLOURINGS[0]!.value
						? "Colour"
						: `Colour: ${COLOURINGS.find((c) => c.value === colouringNow())!.label}`}
					<IconChevron />
				</>
			}
			class="button small"
			end
		>
			{() => (
				<div role="menu" aria-label="Colour and folding">
					{COLOURINGS.map((c) =>
						item(`by ${c.label}`, c.value === colouringNow(), () =>
							setOption("col", c.value === "module" ? null : c.value),
						),
					)}
					<hr />
					{item("recursion as one box (r)", merges(), () => setOption("rec", merges() ? null : "merge"))}
				</div>
			)}
		</Popover>
	);
}

export function Search(props: {
	matches: Matches | null;
	share: Share | null; /* null: it is not known yet */
	onCycle: (step: number) => void;
}): JSX.Element {
	const [text, setText] = useState(searched());
	const field = useRef<HTMLInputElement>(null);
	useEffect(() => {
		if (document.activeElement !== field.current) setText(searched());
	}, [searched()]);
	useEffect(() => {
		const later = setTimeout(() => {
			if (text !== searched()) setOption("find", text || null, "replace");
		}, TYPING_MS);
		return () => clearTimeout(later);
	}, [text]);
	const { matches, share } = props;
	return (
		<label class="flame-search">
			<IconSearch />
			<span class="sr">Search functions; a regular expression</span>
			<input
				ref={field}
				id="flame-search"
				type="search"
				placeholder="Search"
				spellcheck={false}
				autocomplete="off"
				value={text}
				onInput={(e) => setText(e.currentTarget.value)}
				onKeyDown={(e) => {
					if (e.key === "Enter") props.onCycle(e.shiftKey ? -1 : 1);
					else if (e.key === "Escape") {
						setText("");
						setOption("find", null, "replace");
						e.currentTarget.blur();
					} else return;
					e.preventDefault();
					e.stopPropagation();
				}}
			/>
			{searched() && matches && (
				<output
					class="num"
					title={`matching frames in the picture, and the share of all stacks with such a function${share?.isLeast ? ", at least" : ""}`}
				>
					{matches.boxes.length} ·{" "}
					<b>{share ? `${share.isLeast ? "\u2265\u2009" : ""}${format.percent(share.value)}` : "\u2026"}</b>
				</output>
			)}
		</label>
	);
}

export function Toolbar(props: {
	matches: Matches | null;
	share: Share | null; /* null: it is not known yet */
	onCycle: (step: number) => void;
}): JSX.Element {
	return (
		<div class="flame-tools" role="group" aria-label="View">
			<Measures />
			<Segmented label="Layout" value={layoutNow()} choices={LAYOUTS} onChange={layoutSet} />
			<span class="grow" />
			<Looks />
			<Search {...props} />
		</div>
	);
}
