/* A menu where the pointer is, or by Shift+F10 and the menu key beside what has the focus. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { useKeys } from "../keys";
import { menuKeys } from "./basics";

export interface MenuItem {
	label: string;
	hint?: string; /* the key that does the same */
	href?: string; /* it leads there; else `run` */
	run?: () => void;
}

interface MenuAt {
	title: string;
	x: number; /* client coordinates */
	y: number;
	items: readonly MenuItem[];
	back: () => HTMLElement | null | undefined; /* has the focus again when it is closed */
}

const shown = signal<MenuAt | null>(null);

export function menuShow(at: MenuAt): void {
	shown.value = at;
}

function close(): void {
	const back = shown.value?.back();
	shown.value = null;
	back?.focus({ preventScroll: true });
}

export function isMenuKey(event: KeyboardEvent): boolean {
	return event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
}

function Panel(props: { at: MenuAt }): JSX.Element {
	const { at } = props,
		box = useRef<HTMLDivElement>(null);
	useKeys({ Escape: close });
	useLayoutEffect(() => {
		const panel = box.current!,
			{ width, height } = panel.getBoundingClientRect();
		panel.style.left = `${Math.max(8, Math.min(at.x, innerWidth - width - 8))}px`;
		panel.style.top = `${Math.max(8, Math.min(at.y, innerHeight - height - 8))}px`;
		panel.querySelector<HTMLElement>(".menu-item")?.focus();
	}, [at]);
	useEffect(() => {
		const away = (event: Event) => {
			if (!box.current?.contains(event.target as Node)) close();
		};
		addEventListener("pointerdown", away);
		addEventListener("resize", close);
		addEventListener("popstate", close);
		return () => {
			removeEventListener("pointerdown", away);
			removeEventListener("resize", close);
			removeEventListener("popstate", close);
		};
	}, [at]);
	return (
		<div
			class="popover-panel context-menu"
			ref={box}
			role="menu"
			aria-label={at.title}
			onContextMenu={(e) => e.preventDefault()}
			onKeyDown={(e) => {
				menuKeys(e);
				if (e.key === "Tab" || isMenuKey(e)) {
					e.preventDefault();
					close();
				}
			}}
		>
			<p class="menu-title code ellipsis" role="presentation">
				{at.title}
			</p>
			{at.items.map((item) => {
				const inside = (
					<>
						{item.label}
						{item.hint && <kbd class="hint">{item.hint}</kbd>}
					</>
				);
				return item.href !== undefined ? (
					<a
						key={item.label}
						class="menu-item"
						role="menuitem"
						tabIndex={-1}
						href={item.href}
						onClick={close}
					>
						{inside}
					</a>
				) : (
					<button
						key={item.label}
						type="button"
						class="menu-item"
						role="menuitem"
						tabIndex={-1}
						onClick={() => {
							close();
							item.run?.();
						}}
					>
						{inside}
					</button>
				);
			})}
		</div>
	);
}

/* Once, over everything. */
export function Menu(): JSX.Element | null {
	return shown.value && <Panel at={shown.value} />;
}
