/* Links from page to page. A figure leads to the first of the pages that this build has. */
import { href, selection } from "../store";
import type { Selection } from "../store";
import { pageFind } from "./registry";

export function pageHref(ids: readonly string[], change: Partial<Selection>, options: Readonly<Record<string, string>> = {}): string {
	const page = ids.find((id) => pageFind(id)) ?? selection.value.page;
	return href({ page, ...change, options: { ...selection.value.options, ...options } });
}
