/* What can be done with a function, for the menus of flame graphs and of the call tree. */
import type { Hex } from "../api/types";
import { whoseOf } from "../frame/whose";
import { addTerm, quote } from "../filter";
import { pageHref, sourceHref } from "../pages/links";
import { pageFind } from "../pages/registry";
import { filter, page, update } from "../store";
import type { MenuItem } from "../ui/menu";
import { copyText } from "../ui/toast";
import { hide } from "./view";

export interface Named {
	name: string;
	hash: Hex | null;
	file: string | null;
	line: number | null;
	module?: string | null; /* path or name */
}

export function frameItems(of: Named): MenuItem[] {
	const is = addTerm(filter.value, `function = ${quote(of.name)}`),
		not = addTerm(filter.value, `function != ${quote(of.name)}`),
		source = sourceHref(of.file, of.line, of.hash);
	const items: (MenuItem | false | null)[] = [
		{ label: "Only stacks with it", hint: "f", run: () => update({ filter: is }) },
		{ label: "Only stacks without it", hint: "x", run: () => update({ filter: not }) },
		!REPORT &&
			pageFind(page.value)?.canHide === true && {
				label: "Hide it, keep what it calls",
				hint: "h",
				run: () => hide(of.hash, null),
			},
		{
			label: "Its callers and callees",
			hint: "v",
			href: pageHref(["flame"], { frame: of.hash, path: [] }, { lay: "sandwich" }),
		},
		{ label: "Its call sites", href: pageHref(["sites"], { filter: is, frame: of.hash }) },
		source !== null && { label: "Its source", href: source },
		!REPORT && { label: "This is my code \u2026", run: () => whoseOf("mine", of) },
		!REPORT && { label: "This is a library\u2019s \u2026", run: () => whoseOf("library", of) },
		!REPORT && { label: "This is a wrapper \u2026", run: () => whoseOf("allocator", of) },
		{ label: "Copy its name", hint: "c", run: () => void copyText(of.name, "Name") },
	];
	return items.filter((item): item is MenuItem => item !== false && item !== null);
}
