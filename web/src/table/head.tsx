/* The head of a table: titles that sort, and between them handles that make a column wider or narrower. */
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Column, Sort } from "../ui/vgrid";
import { fitWidth, leastOf, WIDTH_MAX, WIDTH_MIN, widthOf, widthSet } from "./columns";
import type { Sized } from "./columns";

const STEP_PX = 8,
	STRIDE_PX = 40;

interface HandleProps {
	table: string;
	column: Sized;
	isStop: boolean; /* the one that Tab reaches */
	go: (handle: HTMLElement, step: number) => void; /* to the handle that is so many further */
	fit: (handle: HTMLElement) => number; /* the width at which nothing of the column is cut */
}

const fitInGrid = (handle: HTMLElement) =>
	fitWidth(
		handle.closest<HTMLElement>(".vgrid")!,
		[...handle.closest("[role=row]")!.children].indexOf(handle.parentElement!),
	);
const shownWidth = (handle: HTMLElement) => handle.parentElement!.getBoundingClientRect().width;

export function Handle(props: HandleProps): JSX.Element {
	const { table, column } = props,
		from = useRef<{ x: number; width: number } | null>(null);
	const set = (px: number | null) => widthSet(table, column, px);
	const onKeyDown = (e: KeyboardEvent) => {
		if (e.ctrlKey || e.altKey || e.metaKey) return;
		const el = e.currentTarget as HTMLElement,
			step = e.shiftKey ? STRIDE_PX : STEP_PX;
		if (e.key === "ArrowLeft") set(shownWidth(el) - step);
		else if (e.key === "ArrowRight") set(shownWidth(el) + step);
		else if (e.key === "Enter") set(props.fit(el));
		else if (e.key === "Delete" || e.key === "Backspace") set(null);
		else if (e.key === "ArrowDown") props.go(el, 1);
		else if (e.key === "ArrowUp") props.go(el, -1);
		else return;
		e.preventDefault();
		e.stopPropagation();
	};
	return (
		<span
			class="column-handle"
			role="separator"
			aria-orientation="vertical"
			aria-label={`Width of ${column.title}`}
			aria-valuenow={Math.max(WIDTH_MIN, widthOf(table, column) ?? leastOf(column.track))}
			aria-valuemin={WIDTH_MIN}
			aria-valuemax={WIDTH_MAX}
			title={
				"Drag: width; double-click: fit\nKeys: \u2190 \u2192 width, \u2191 \u2193 other columns, Enter fits, Delete resets"
			}
			tabIndex={props.isStop ? 0 : -1}
			onKeyDown={onKeyDown}
			onFocus={(e) => props.go(e.currentTarget, 0)}
			onClick={(e) => e.stopPropagation()}
			onPointerDown={(e) => {
				if (e.button !== 0) return;
				e.preventDefault();
				e.currentTarget.setPointerCapture(e.pointerId);
				from.current = { x: e.clientX, width: shownWidth(e.currentTarget) };
			}}
			onPointerMove={(e) => {
				if (from.current && e.clientX !== from.current.x) set(from.current.width + e.clientX - from.current.x);
			}}
			onLostPointerCapture={() => {
				from.current = null;
			}}
			onDblClick={(e) => set(props.fit(e.currentTarget))}
		/>
	);
}

export function GridHead<R>(props: {
	label: string;
	columns: readonly Column<R>[];
	tracks: string;
	sort?: Sort | undefined;
	onSort?: ((id: string) => void) | undefined;
}): JSX.Element {
	const head = useRef<HTMLDivElement>(null),
		[stop, setStop] = useState(0);
	const first = props.columns.findIndex((c) => c.title !== ""),
		isThere = !!props.columns[stop]?.title;
	const go = (handle: HTMLElement, step: number) => {
		const handles = [...head.current!.querySelectorAll<HTMLElement>(".column-handle")],
			to = handles[handles.indexOf(handle) + step];
		if (!to) return;
		setStop([...to.closest("[role=row]")!.children].indexOf(to.parentElement!));
		if (document.activeElement !== to) to.focus();
	};
	return (
		<div role="rowgroup" class="vgrid-head" ref={head} style={{ gridTemplateColumns: props.tracks }}>
			<div role="row" style={{ display: "contents" }}>
				{props.columns.map((c, i) => {
					const sorted =
						props.sort?.id === c.id ? (props.sort.order === "asc" ? "ascending" : "descending") : undefined;
					const arrow = sorted ? (sorted === "ascending" ? " \u2191" : " \u2193") : "";
					return (
						<div
							key={c.id}
							role="columnheader"
							class={c.numeric ? "num" : ""}
							title={c.help}
							aria-sort={c.sort ? (sorted ?? "none") : undefined}
						>
							{c.sort ? (
								<button type="button" class="sort ellipsis" onClick={() => props.onSort?.(c.id)}>
									{c.title}
									{arrow}
								</button>
							) : (
								<span class="column-title ellipsis">{c.title}</span>
							)}
							{c.title && (
								<Handle
									table={props.label}
									column={c}
									isStop={i === (isThere ? stop : first)}
									go={go}
									fit={fitInGrid}
								/>
							)}
						</div>
					);
				})}
			</div>
		</div>
	);
}
