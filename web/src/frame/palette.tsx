/* Ctrl+K: pages, metrics, actions and functions by their names. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { Names } from "../api/types";
import { clock } from "../clock";
import { addTerm, quote } from "../filter";
import * as format from "../format";
import { jump } from "../keys";
import { asking, canMark, canPause, canScan, canSnapshot, canStop, isLive, holding, holdSet } from "../live";
import { measuresHere } from "../measures";
import { offered } from "../pages/registry";
import { filter, tapeId, update } from "../store";
import { themeToggle } from "../theme";
import { Sheet } from "../ui/sheet";
import { capital } from "../vocabulary";
import { pauseLabel, pauseToggle, scanNow, snapshot } from "./controls";
import { helpOpen } from "./help";
import { whoseOpen } from "./whose";
import { copyLink } from "./topbar";

export const paletteOpen = signal(false);

interface Command {
	title: string;
	hint: string;
	run: () => void;
}

const PARTS: readonly Command[] = [
	{
		title: "Go to the peak",
		hint: "time point \u00b7 p",
		run: () => update({ at: clock.value.peak, metric: "live" }),
	},
	{ title: "Whole recording", hint: "time range", run: () => update({ range: null }) },
	{ title: "Clear the filter", hint: "filter", run: () => update({ filter: "" }) },
];

function commands(): Command[] {
	return [
		...offered().map((p) => ({
			title: p.title,
			hint: `page \u00b7 g ${p.key}`,
			run: () => jump(() => update({ page: p.id })),
		})),
		...measuresHere().map((m) => ({
			title: capital(m.title),
			hint: "metric",
			run: () => update({ metric: m.word }),
		})),
		...(REPORT ? [] : PARTS),
		...(isLive.value
			? [
					{
						title: holding.value ? "Follow updates" : "Hold updates",
						hint: "live \u00b7 Space",
						run: () => holdSet(!holding.value),
					},
				]
			: []),
		...(canMark.value
			? [
					{
						title: "Mark this moment",
						hint: "live \u00b7 k",
						run: () => {
							asking.value = "mark";
						},
					},
				]
			: []),
		...(canPause.value ? [{ title: pauseLabel(), hint: "live", run: () => void pauseToggle() }] : []),
		...(canScan.value
			? [
					{
						title: "Scan for leaks now",
						hint: "live",
						run: () => {
							update({ page: "leaks" });
							void scanNow();
						},
					},
				]
			: []),
		...(canSnapshot.value ? [{ title: "Snapshot now", hint: "live", run: () => void snapshot() }] : []),
		...(canStop.value
			? [
					{
						title: "Stop the recording",
						hint: "live",
						run: () => {
							asking.value = "stop";
						},
					},
				]
			: []),
		...(REPORT ? [] : [{ title: "My code", hint: "whose functions are", run: () => whoseOpen() }]),
		{ title: "Copy link", hint: "y", run: copyLink },
		{ title: "Light or dark", hint: "theme", run: themeToggle },
		{
			title: "Help",
			hint: "?",
			run: () => {
				helpOpen.value = true;
			},
		},
	];
}

/* All letters in their order: "fg" finds "Flame graph". */
function fits(title: string, typed: string): boolean {
	let from = 0;
	const low = title.toLowerCase();
	for (const letter of typed.toLowerCase().replace(/\s+/g, "")) {
		from = low.indexOf(letter, from) + 1;
		if (from === 0) return false;
	}
	return true;
}

function useFunctions(typed: string): Command[] {
	const names = useApi<Names>(
		"names",
		typed.length >= 2 ? { c: tapeId.value, field: "function", prefix: typed, n: 8 } : null,
	);
	if (typed.length < 2) return [];
	return (names.data?.values ?? []).map((v) => ({
		title: v.text,
		hint: `filter by function \u00b7 ${format.count(v.count)}`,
		run: () => update({ filter: addTerm(filter.value, `function = ${quote(v.text)}`) }),
	}));
}

function Open(): JSX.Element {
	const [typed, setTyped] = useState("");
	const [chosen, setChosen] = useState(0);
	const input = useRef<HTMLInputElement>(null),
		list = useRef<HTMLUListElement>(null);
	const found = [...commands().filter((c) => fits(c.title, typed)), ...useFunctions(typed)];
	const close = () => {
		paletteOpen.value = false;
	};
	const run = (command: Command | undefined) => {
		close();
		command?.run();
	};
	useLayoutEffect(() => {
		input.current?.focus();
	}, []);
	useEffect(() => {
		list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
	}, [chosen]);
	const onKeyDown = (event: KeyboardEvent) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step && found.length) setChosen((n) => (n + step + found.length) % found.length);
		else if (event.key === "Enter") run(found[chosen]);
		else return;
		event.preventDefault();
	};
	return (
		<Sheet label="Command palette" class="palette" onClose={close}>
			<input
				ref={input}
				class="palette-input"
				value={typed}
				placeholder="Pages, metrics, functions …"
				aria-label="Command"
				role="combobox"
				aria-expanded="true"
				aria-controls="palette-list"
				aria-activedescendant={found.length ? `palette-${chosen}` : undefined}
				spellcheck={false}
				autocomplete="off"
				onInput={(e) => {
					setTyped(e.currentTarget.value);
					setChosen(0);
				}}
				onKeyDown={onKeyDown}
			/>
			<ul ref={list} id="palette-list" class="palette-list" role="listbox" aria-label="Commands">
				{found.map((c, i) => (
					<li
						key={c.title + c.hint}
						id={`palette-${i}`}
						role="option"
						aria-selected={i === chosen}
						class="menu-item"
						onPointerMove={() => setChosen(i)}
						onClick={() => run(c)}
					>
						<span class="ellipsis">{c.title}</span>
						<span class="hint">{c.hint}</span>
					</li>
				))}
			</ul>
			{found.length === 0 && <p class="state">No matches</p>}
		</Sheet>
	);
}

export function Palette(): JSX.Element | null {
	return paletteOpen.value ? <Open /> : null;
}
