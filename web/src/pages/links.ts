/* Links from page to page. A figure leads to the first of the pages that this build has. */
import type { Hex } from "../api/types";
import { href, selection } from "../store";
import type { Selection } from "../store";
import { pageFind } from "./registry";

export function pageHref(
	ids: readonly string[],
	change: Partial<Selection>,
	options: Readonly<Record<string, string>> = {},
): string {
	const page = ids.find((id) => pageFind(id)) ?? selection.value.page;
	return href({ page, ...change, options: { ...selection.value.options, ...options } });
}

/* Where a function or a call of it is written; null: it is not known, or this build does not show it. */
export function sourceHref(file: string | null, line: number | null, frame: Hex | null): string | null {
	return file && pageFind("source") ? pageHref(["source"], { frame }, { file, line: String(line ?? "") }) : null;
}
