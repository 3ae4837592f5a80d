/*
 * A dialog over the page. Escape and a click beside it close it, and the focus goes back to where it was.
 * It is open before the next key comes: what is typed at once is typed into it.
 */
import type { ComponentChildren, JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

export function Sheet(props: {
	label: string;
	class?: string;
	onClose: () => void;
	children: ComponentChildren;
}): JSX.Element {
	const ref = useRef<HTMLDialogElement>(null);
	useLayoutEffect(() => {
		const dialog = ref.current!;
		const before = document.activeElement as HTMLElement | null;
		dialog.showModal();
		return () => {
			dialog.close();
			before?.focus?.();
		};
	}, []);
	return (
		<dialog
			ref={ref}
			class={`sheet ${props.class ?? ""}`}
			aria-label={props.label}
			onCancel={(e) => {
				e.preventDefault();
				props.onClose();
			}}
			onPointerDown={(e) => {
				if (e.target === ref.current) props.onClose();
			}}
		>
			{props.children}
		</dialog>
	);
}
