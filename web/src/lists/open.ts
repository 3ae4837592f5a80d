/*
 * The current row of a list, and the one that is open. That one is in the address (`open`), so Back and links find it
 * again; going to another page leaves it behind.
 */
import { useState } from "preact/hooks";
import { useKeys } from "../keys";
import { option, setOption } from "../store";

export interface OpenRow {
	at: number | null;
	open: number | null;
	close: () => void;
	toggle: (row: number) => void;
	select: (row: number) => void; /* makes it the current one and opens nothing */
}

export function useOpenRow(): OpenRow {
	const text = option("open"),
		open = /^\d{1,9}$/.test(text) ? Number(text) : null;
	const [at, setAt] = useState(open);
	const close = () => {
		if (open !== null) setOption("open", null);
	};
	const toggle = (row: number) => {
		setAt(row);
		setOption("open", row === open ? null : String(row));
	};
	useKeys({ Escape: () => (open !== null ? close() : false) });
	return { at: at ?? open, open, close, toggle, select: setAt };
}
