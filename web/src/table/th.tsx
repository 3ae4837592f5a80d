/* A column's title in a plain table, with the handle that makes it wider or narrower: the same widths, keys and memory as in grids. */
import type { ComponentChildren, JSX } from "preact";
import { widthOf } from "./columns";
import { unfit } from "../ui/fit";
import { Handle } from "./head";
import "./table.css";

/* How wide a column's cells would be if nothing in them were cut. */
function fit(handle: HTMLElement): number {
	const head = handle.closest("th")!,
		at = head.cellIndex;
	let most = 0;
	for (const row of head.closest("table")!.rows) {
		const cell = row.cells[at];
		if (!cell || cell.colSpan > 1) continue;
		const copy = document.createElement("div"),
			{ paddingLeft, paddingRight } = getComputedStyle(cell);
		copy.className = "cell-measured";
		copy.append(...[...cell.childNodes].map((node) => node.cloneNode(true)));
		unfit(copy);
		cell.append(copy);
		most = Math.max(most, copy.getBoundingClientRect().width + parseFloat(paddingLeft) + parseFloat(paddingRight));
		copy.remove();
	}
	return Math.ceil(most) + 1;
}

function go(handle: HTMLElement, step: number): void {
	const all = [...handle.closest("tr")!.querySelectorAll<HTMLElement>(".column-handle")];
	all[all.indexOf(handle) + step]?.focus();
}

interface ThProps {
	table: string; /* widths are remembered by it and by the title */
	title: string;
	num?: boolean;
	first?: boolean; /* Tab comes to its handle, arrows go on from there */
	help?: string;
	class?: string;
	sorted?: "ascending" | "descending";
	children?: ComponentChildren; /* else the title */
}

export function Th(props: ThProps): JSX.Element {
	const column = { title: props.title, track: "" },
		px = REPORT ? null : widthOf(props.table, column);
	const width = px === null ? {} : { width: `${px}px`, minWidth: `${px}px`, maxWidth: `${px}px` };
	return (
		<th
			scope="col"
			class={`sizable ${props.num ? "num" : ""} ${px === null ? "" : "sized"} ${props.class ?? ""}`}
			title={props.help}
			aria-sort={props.sorted}
			style={width}
		>
			<span class="column-title">{props.children ?? props.title}</span>
			{!REPORT && <Handle table={props.table} column={column} isStop={props.first ?? false} go={go} fit={fit} />}
		</th>
	);
}
