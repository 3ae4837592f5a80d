/*
 * The filter: one token for each condition that must hold, and a field for the next one. The server reads what is typed
 * (memtape-filter(7) is its language), so it also says what is wrong and where; until it is right the filter
 * that was there stays.
 */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { FilterCheck } from "../api/types";
import { byteToIndex, joinTerms, removeTerm, terms } from "../filter";
import * as format from "../format";
import { useKeys } from "../keys";
import { filter, tapeId, update } from "../store";
import { IconClose, IconFilter } from "../ui/icons";
import { useCompletion } from "./completion";
import type { Suggestion } from "./completion";

const CHECK_MS = 200;

function useLater<T>(value: T, ms: number): T {
	const [late, setLate] = useState(value);
	useEffect(() => {
		const timer = setTimeout(() => setLate(value), ms);
		return () => clearTimeout(timer);
	}, [value]);
	return late;
}

interface Problem {
	message: string;
	hint: string | null;
	suggest: string | null;
	from: number;
	until: number;
}

/* What the server says to the filter as it would be with `draft`. */
function useCheck(draft: string): { problem: Problem | null; count: number | null; settled: boolean } {
	const list = terms(filter.value),
		text = draft.trim();
	const whole = joinTerms(text ? [...list, text] : list);
	const asked = useLater(whole, CHECK_MS);
	const answer = useApi<FilterCheck>("filter", asked ? { c: tapeId.value, q: asked } : null);
	const settled = asked === whole && !answer.loading;
	const body = asked ? answer.error?.body : undefined;
	if (!body) return { problem: null, count: asked && answer.data ? answer.data.count : null, settled };
	const begin = text ? whole.lastIndexOf(text) : 0;
	const from = body.pos === null ? 0 : byteToIndex(whole, body.pos) - begin;
	const until = body.pos === null ? text.length : byteToIndex(whole, body.pos + (body.len ?? 1)) - begin;
	return {
		problem: { message: body.message, hint: body.hint, suggest: body.suggest, from, until },
		count: null,
		settled,
	};
}

function Token(props: { text: string; onEdit: () => void; onRemove: () => void }): JSX.Element {
	return (
		<li class="chip">
			<code class="ellipsis token-text" title={`${props.text}\nClick to edit`} onClick={props.onEdit}>
				{props.text}
			</code>
			<button type="button" aria-label={`Remove ${props.text}`} onClick={props.onRemove}>
				<IconClose />
			</button>
		</li>
	);
}

/* The text under the field, of which only the line below the mistake is visible. */
function Underline(props: { text: string; problem: Problem | null; scroll: number }): JSX.Element | null {
	const { text, problem } = props;
	if (!problem || !text) return null;
	const from = Math.max(0, Math.min(problem.from, text.length)),
		until = Math.max(from, problem.until);
	const wrong = text.slice(from, until) || " ";
	return (
		<div class="filter-under" aria-hidden="true" style={{ transform: `translateX(${-props.scroll}px)` }}>
			{text.slice(0, from)}
			<u>{wrong}</u>
			{text.slice(until)}
		</div>
	);
}

function Suggestions(props: {
	list: readonly Suggestion[];
	chosen: number;
	onTake: (s: Suggestion) => void;
}): JSX.Element {
	return (
		<ul id="filter-list" role="listbox" aria-label="Suggestions">
			{props.list.map((s, i) => (
				<li
					key={s.text}
					id={`filter-item-${i}`}
					role="option"
					class="menu-item"
					aria-selected={i === props.chosen}
					onPointerDown={(e) => {
						e.preventDefault();
						props.onTake(s);
					}}
				>
					<code>{s.label}</code>
					<span class="hint ellipsis">{s.hint}</span>
				</li>
			))}
		</ul>
	);
}

function Verdict(props: {
	draft: string;
	problem: Problem | null;
	count: number | null;
	onUse: (text: string) => void;
}): JSX.Element | null {
	const { problem } = props;
	if (problem)
		return (
			<div class="filter-verdict bad" id="filter-verdict">
				{problem.message}
				{problem.suggest && (
					<>
						{" "}
						<button
							type="button"
							class="link"
							onPointerDown={(e) => e.preventDefault()}
							onClick={() => props.onUse(problem.suggest!)}
						>
							Use <code>{problem.suggest}</code>
						</button>
					</>
				)}
				{problem.hint && <div class="muted">{problem.hint}</div>}
			</div>
		);
	if (props.draft && props.count !== null)
		return (
			<div class="filter-verdict" id="filter-verdict">
				{format.count(props.count)} allocations match. <kbd>Enter</kbd> applies it.
			</div>
		);
	return null;
}

export function FilterBar(): JSX.Element {
	const input = useRef<HTMLInputElement>(null);
	const [draft, setDraft] = useState("");
	const [cursor, setCursor] = useState(0);
	const [chosen, setChosen] = useState(-1);
	const [focused, setFocused] = useState(false);
	const [scroll, setScroll] = useState(0);
	const [committing, setCommitting] = useState(false);
	const list = terms(filter.value);
	const check = useCheck(draft);
	const suggestions = useCompletion(focused ? draft : null, cursor);
	/* What is half typed is no mistake while there is something that it may become. */
	const halfTyped =
		suggestions.length > 0 &&
		check.problem !== null &&
		draft !== "" &&
		check.problem.until >= draft.trimEnd().length;
	const problem = halfTyped ? null : check.problem;
	useKeys({ "/": () => input.current?.focus() });

	const write = (text: string, at = text.length) => {
		setCommitting(false);
		setDraft(text);
		setCursor(at);
		setChosen(-1);
		/* Who has typed on since then keeps the cursor. */
		requestAnimationFrame(() => {
			if (input.current?.value === text) input.current.setSelectionRange(at, at);
		});
	};
	const take = (s: Suggestion) => write(draft.slice(0, s.pos) + s.text + draft.slice(cursor), s.pos + s.text.length);
	/* The server's suggestion replaces what it found wrong. */
	const use = (text: string) => {
		const p = check.problem!,
			whole = joinTerms(list);
		if (draft === "")
			/* what is wrong is the address's */
			return update({ filter: whole.slice(0, p.from) + text + whole.slice(p.until) });
		write(draft.slice(0, p.from) + text + draft.slice(p.until), p.from + text.length);
		input.current?.focus();
	};
	/* Enter before the server has said that it is right: then when it has. */
	useEffect(() => {
		if (!committing || !check.settled) return;
		setCommitting(false);
		if (draft.trim() && !check.problem) {
			update({ filter: joinTerms([...list, draft.trim()]) });
			write("");
		}
	}, [committing, check.settled]);
	const edit = (index: number) => {
		const text = list[index]!;
		update({ filter: removeTerm(filter.value, index) });
		input.current?.focus();
		write(text);
	};
	const onKeyDown = (event: KeyboardEvent) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step && suggestions.length) {
			event.preventDefault();
			setChosen((n) => Math.max(-1, Math.min(suggestions.length - 1, n + step)));
		} else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
			event.preventDefault();
			take(suggestions[chosen]!);
		} else if (event.key === "Enter") {
			event.preventDefault();
			setCommitting(true);
		} else if (event.key === "Backspace" && draft === "" && list.length) {
			event.preventDefault();
			edit(list.length - 1);
		} else if (event.key === "Escape") {
			event.preventDefault();
			if (draft) write("");
			else input.current?.blur();
		}
	};
	const moved = () => {
		setCursor(input.current!.selectionStart ?? 0);
		setScroll(input.current!.scrollLeft);
	};
	const open = focused && (suggestions.length > 0 || problem !== null || draft !== "");
	const broken = draft === "" && check.problem !== null; /* the address has a filter that cannot be read */
	return (
		<div
			class={`filter ${problem ? "wrong" : ""}`}
			role="search"
			onFocusOut={(e) => {
				if (!e.currentTarget.contains(e.relatedTarget as Node | null)) setFocused(false);
			}}
			onClick={(e) => {
				if (e.target === e.currentTarget) input.current?.focus();
			}}
		>
			<IconFilter />
			{list.length > 0 && (
				<ul class={`filter-tokens ${broken ? "wrong" : ""}`} aria-label="Conditions">
					{list.map((text, i) => (
						<Token
							key={text}
							text={text}
							onEdit={() => edit(i)}
							onRemove={() => update({ filter: removeTerm(filter.value, i) })}
						/>
					))}
				</ul>
			)}
			<div class="filter-field">
				<Underline text={draft} problem={problem} scroll={scroll} />
				<input
					ref={input}
					value={draft}
					spellcheck={false}
					autocomplete="off"
					placeholder={list.length ? "and \u2026" : "Filter: size >= 4KiB, leaked, \u2026"}
					aria-label="Filter"
					role="combobox"
					aria-expanded={open}
					aria-controls="filter-list"
					aria-autocomplete="list"
					aria-invalid={problem !== null}
					aria-activedescendant={chosen >= 0 ? `filter-item-${chosen}` : undefined}
					aria-describedby="filter-verdict"
					onInput={(e) => {
						setCommitting(false);
						setDraft(e.currentTarget.value);
						setChosen(-1);
						moved();
					}}
					onKeyDown={onKeyDown}
					onKeyUp={moved}
					onClick={moved}
					onScroll={moved}
					onFocus={() => setFocused(true)}
				/>
			</div>
			{!focused && <kbd>/</kbd>}
			{(open || broken) && (
				<div class="filter-panel">
					<Verdict draft={draft} problem={problem} count={check.settled ? check.count : null} onUse={use} />
					<Suggestions list={suggestions} chosen={chosen} onTake={take} />
				</div>
			)}
		</div>
	);
}
