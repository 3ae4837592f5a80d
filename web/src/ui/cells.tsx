/* Numbers in tables and text: short on the screen, exact in the title and in what is copied (copyInit). */
import { createContext } from "preact";
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import * as format from "../format";
import { goesOn, neverWord } from "../vocabulary";

interface Exact {
	class?: string;
	approx?: boolean | undefined;
}

/* What stands above and below in the same column: a number takes as many digits as tell it apart from these. */
export const Near = createContext<readonly (number | null | undefined)[]>([]);

function Data(props: Exact & { text: string; exact: string; value: number }): JSX.Element {
	return (
		<data class={props.class} value={props.value} title={props.exact} data-exact={String(props.value)}>
			{props.approx ? "~" : ""}
			{props.text}
		</data>
	);
}

export function Bytes(props: Exact & { value: number }): JSX.Element {
	const text = format.apart(props.value, useContext(Near), format.bytes);
	return <Data {...props} text={text} exact={format.exactBytes(props.value)} />;
}
export function Count(props: Exact & { value: number }): JSX.Element {
	const text = format.apart(props.value, useContext(Near), format.count);
	return <Data {...props} text={text} exact={format.exact(props.value)} />;
}
export function Value(props: Exact & { value: number; unit: "bytes" | "count" }): JSX.Element {
	return props.unit === "bytes" ? <Bytes {...props} /> : <Count {...props} />;
}
/* The class of what leaked: none while the program may still free it. */
export const leakClass = (n: number): string => (n > 0 && !goesOn.value ? "bad" : "");

/* No alarm while the program still runs. */
export function Never(): JSX.Element {
	return <span class={goesOn.value ? "muted" : "bad"}>{neverWord()}</span>;
}

/* null: it never ended. */
export function Duration(props: Exact & { value: number | null }): JSX.Element {
	if (props.value === null) return <Never />;
	return (
		<Data
			{...props}
			value={props.value}
			text={format.duration(props.value)}
			exact={`${format.exact(props.value)} ns`}
		/>
	);
}

/* A number with a bar behind it that shows its share of the largest. */
export function BarCell(props: { value: number; max: number; children: JSX.Element }): JSX.Element {
	const share = props.max > 0 ? Math.min(1, props.value / props.max) : 0;
	return (
		<span class="bar-cell num">
			<i style={{ width: `${(share * 100).toFixed(1)}%` }} />
			<span>{props.children}</span>
		</span>
	);
}

function copied(event: ClipboardEvent): void {
	const chosen = getSelection();
	if (!chosen || chosen.isCollapsed || !event.clipboardData) return;
	const part = chosen.getRangeAt(0).cloneContents();
	const numbers = part.querySelectorAll<HTMLElement>("[data-exact]");
	if (numbers.length === 0) return;
	numbers.forEach((n) => {
		n.textContent = n.dataset.exact!;
	});
	event.clipboardData.setData("text/plain", part.textContent ?? "");
	event.preventDefault();
}

/* From now on a copied selection has all digits. */
export function copyInit(): void {
	document.addEventListener("copy", copied);
}
