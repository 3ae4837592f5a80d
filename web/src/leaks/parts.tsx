/* What the views of the Leaks page share. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { FunctionLine } from "../lists/name";
import * as format from "../format";
import { useOpenRow } from "../lists/open";
import { moduleColour } from "../palette";
import { Dot } from "../ui/basics";
import { copyText } from "../ui/toast";
import { VirtualGrid } from "../ui/vgrid";
import type { Column, Rows } from "../ui/vgrid";

export const CLASSES = [
	{ key: "definitely_lost", title: "Definitely lost", meaning: "nothing points to it" },
	{ key: "indirectly_lost", title: "Indirectly lost", meaning: "only lost blocks point to it" },
	{ key: "possibly_lost", title: "Possibly lost", meaning: "only pointers into its middle lead to it" },
	{ key: "still_reachable", title: "Still reachable", meaning: "the program could still free it" },
] as const;

export type ClassKey = (typeof CLASSES)[number]["key"];

const WORDS: Record<string, string> = {
	...Object.fromEntries(CLASSES.map((c) => [c.key, c.title.toLowerCase()])),
	suppressed: "suppressed",
	not_scanned: "not scanned",
};

export function ClassWord(props: { of: string | null }): JSX.Element {
	return (
		<span class={props.of === "definitely_lost" ? "bad" : "muted"}>{props.of === null ? "" : WORDS[props.of]}</span>
	);
}

export interface AtPlace {
	function: string | null;
	brief: string | null;
	file: string | null;
	line: number | null;
	module: string | null;
}

/* A function and where it is. */
export function PlaceName(props: { of: AtPlace; otherwise?: string }): JSX.Element {
	const p = props.of;
	return (
		<FunctionLine
			name={p.brief ?? props.otherwise ?? "no stack"}
			place={format.place(p.file, p.line) || (p.module ? format.baseName(p.module) : null)}
			title={[p.function, p.file && `${p.file}:${p.line ?? "?"}`, p.module].filter(Boolean).join("\n")}
		>
			<Dot colour={moduleColour(p.module ?? "")} />
		</FunctionLine>
	);
}

export function Suppression(props: { title: string }): JSX.Element {
	const rule = `leak:${props.title.replace(/(.)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)(?: const)?$/, "$1")}`;
	return (
		<div>
			<h3>Suppress it</h3>
			<p class="suppress">
				<code>{rule}</code>
				<button type="button" class="link" onClick={() => void copyText(rule, "Rule")}>
					Copy
				</button>
				<span class="muted">
					for <code>memtape report --suppressions FILE</code>, and for LeakSanitizer
				</span>
			</p>
		</div>
	);
}

/* All of a list, one row of which is open, in the page's address. */
export function OpenList<T>(props: {
	label: string;
	items: readonly T[];
	columns: Column<T>[];
	minWidth: number;
	detailPx: number;
	detail: (item: T) => JSX.Element;
}): JSX.Element {
	const { items, detail, detailPx } = props,
		{ at, open, toggle, select } = useOpenRow();
	const rows = useMemo<Rows<T>>(
		() => ({ count: items.length, get: (i) => items[i], need: () => undefined }),
		[items],
	);
	const shown = open === null ? undefined : items[open];
	return (
		<VirtualGrid
			label={props.label}
			rows={rows}
			columns={props.columns}
			rowHeight={30}
			minWidth={props.minWidth}
			selected={at}
			onSelect={select}
			onActivate={toggle}
			detail={
				open !== null && shown !== undefined ? { index: open, height: detailPx, content: detail(shown) } : null
			}
		/>
	);
}

/* A figure that is also a filter of the list below. */
export function KindTile(props: {
	title: string;
	meaning: string;
	bytes: number;
	note: string;
	tone: string;
	pressed: boolean;
	onClick: () => void;
}): JSX.Element {
	return (
		<button
			type="button"
			class={`leak-kind ${props.bytes > 0 ? props.tone : ""}`}
			aria-pressed={props.pressed}
			title={props.meaning}
			onClick={props.onClick}
		>
			<span>{props.title}</span>
			<b>{format.bytes(props.bytes)}</b>
			<span class="muted">{props.note}</span>
		</button>
	);
}

export const counted = (n: number, one: string, many = `${one}s`) => `${format.exact(n)} ${n === 1 ? one : many}`;
