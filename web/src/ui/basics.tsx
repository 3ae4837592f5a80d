/* Small pieces that every page is made of. */
import type { ComponentChildren, JSX, TargetedKeyboardEvent } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { cssColour } from "../palette";
import type { Colour } from "../palette";
import { useKeys } from "../keys";

/* A panel with a heading. `tools` stand at its right. */
export function Card(props: {
	title: string;
	note?: ComponentChildren;
	tools?: ComponentChildren;
	class?: string;
	stale?: boolean;
	children: ComponentChildren;
}): JSX.Element {
	const id = useId();
	return (
		<section class={`card ${props.class ?? ""}`} aria-labelledby={id}>
			<header class="card-head">
				<h2 id={id}>{props.title}</h2>
				{props.note && <span class="note">{props.note}</span>}
				<span class="grow" />
				{props.tools}
			</header>
			<div class={`card-body ${props.stale ? "stale" : ""}`}>{props.children}</div>
		</section>
	);
}

export interface Choice<T extends string> {
	value: T;
	label: string;
	title?: string;
	disabled?: boolean;
}

/* One of a few. Arrow keys move and choose, as in a group of radio buttons. */
export function Segmented<T extends string>(props: {
	label: string;
	value: T;
	choices: readonly Choice<T>[];
	onChange: (value: T) => void;
}): JSX.Element {
	const ref = useRef<HTMLDivElement>(null);
	const onKey = (event: KeyboardEvent) => {
		const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
		if (!step) return;
		event.preventDefault();
		const usable = props.choices.filter((c) => !c.disabled);
		const now = usable.findIndex((c) => c.value === props.value);
		const next = usable[(now + step + usable.length) % usable.length]!;
		props.onChange(next.value);
		ref.current?.querySelector<HTMLElement>(`[data-value="${next.value}"]`)?.focus();
	};
	return (
		<div class="segmented" role="radiogroup" aria-label={props.label} ref={ref} onKeyDown={onKey}>
			{props.choices.map((c) => (
				<button
					key={c.value}
					type="button"
					role="radio"
					data-value={c.value}
					aria-checked={c.value === props.value}
					title={c.title}
					disabled={c.disabled}
					tabIndex={c.value === props.value ? 0 : -1}
					onClick={() => props.onChange(c.value)}
				>
					{c.label}
				</button>
			))}
		</div>
	);
}

const EDGE_PX = 8 /* between a panel and the window's edge */,
	PANEL_LEAST_PX = 200; /* this high it stays, if need be beyond the window's end */

/* What would be cut off at a side moves away from it; what is too high for the window is scrolled. */
function keepInWindow(panel: HTMLElement): void {
	const { clientWidth, clientHeight } = document.documentElement,
		{ left, right, top } = panel.getBoundingClientRect();
	panel.style.translate = `${Math.max(EDGE_PX - left, Math.min(0, clientWidth - EDGE_PX - right))}px`;
	panel.style.maxHeight = `${Math.max(PANEL_LEAST_PX, clientHeight - top - EDGE_PX)}px`;
}

/* A button and what it opens. Escape and a click elsewhere close it; the focus goes back to the button. */
export function Popover(props: {
	label: string;
	button: ComponentChildren;
	class?: string;
	end?: boolean;
	title?: string;
	panelClass?: string;
	children: (close: () => void) => ComponentChildren;
}): JSX.Element {
	const [open, setOpen] = useState(false);
	const root = useRef<HTMLDivElement>(null),
		trigger = useRef<HTMLButtonElement>(null);
	const id = useId();
	const close = () => {
		setOpen(false);
		trigger.current?.focus();
	};
	useKeys({ Escape: () => (open ? close() : false) });
	useLayoutEffect(() => {
		if (!open) return;
		const panel = root.current?.querySelector<HTMLElement>(".popover-panel");
		if (panel) keepInWindow(panel);
		const find = (css: string) => panel?.querySelector<HTMLElement>(css);
		(find("[aria-current]") ?? find("button, a, input"))?.focus();
		const away = (event: Event) => {
			if (!root.current?.contains(event.target as Node)) setOpen(false);
		};
		addEventListener("pointerdown", away);
		addEventListener("focusin", away);
		return () => {
			removeEventListener("pointerdown", away);
			removeEventListener("focusin", away);
		};
	}, [open]);
	return (
		<div class="popover" ref={root}>
			<button
				type="button"
				ref={trigger}
				class={props.class ?? "button"}
				aria-label={props.label}
				aria-expanded={open}
				title={props.title}
				aria-haspopup="true"
				aria-controls={open ? id : undefined}
				onClick={() => setOpen(!open)}
			>
				{props.button}
			</button>
			{open && (
				<div
					class={`popover-panel ${props.end ? "end" : ""} ${props.panelClass ?? ""}`}
					id={id}
					onKeyDown={menuKeys}
				>
					{props.children(close)}
				</div>
			)}
		</div>
	);
}

/* Up and down between the items of a menu. */
export function menuKeys(event: TargetedKeyboardEvent<HTMLElement>): void {
	const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
	if (!step || (event.target as HTMLElement).tagName === "INPUT") return;
	event.preventDefault();
	const items = [...event.currentTarget.querySelectorAll<HTMLElement>(".menu-item")];
	const now = items.indexOf(document.activeElement as HTMLElement);
	items[(now + step + items.length) % items.length]?.focus();
}

/* A box beside the pointer (x, y: client coordinates); it keeps within the window. Whoever shows it hides it. */
export function Tooltip(props: { x: number; y: number; children: ComponentChildren }): JSX.Element {
	const ref = useRef<HTMLDivElement>(null);
	useLayoutEffect(() => {
		const box = ref.current!;
		const { width, height } = box.getBoundingClientRect();
		const right = props.x + 14 + width > innerWidth - 8;
		box.style.left = `${Math.max(8, right ? props.x - 14 - width : props.x + 14)}px`;
		box.style.top = `${Math.max(8, Math.min(props.y + 12, innerHeight - height - 8))}px`;
	});
	return (
		<div class="tooltip" ref={ref} role="presentation">
			{props.children}
		</div>
	);
}

export function Dot(props: { colour: Colour; line?: boolean }): JSX.Element {
	return (
		<i class={`dot ${props.line ? "line" : ""}`} style={{ "--dot": cssColour(props.colour) }} aria-hidden="true" />
	);
}

export function Legend(props: {
	items: readonly { title: string; colour: Colour; line?: boolean; faint?: boolean }[];
}): JSX.Element {
	return (
		<ul class="legend" aria-label="Legend">
			{props.items.map((item) => (
				<li key={item.title} title={item.title} class={item.faint ? "faint" : ""}>
					<Dot colour={item.colour} line={item.line ?? false} />
					<span class="ellipsis">{item.title}</span>
				</li>
			))}
		</ul>
	);
}
