/*
 * A page is a file src/pages/NAME.tsx that exports `page`. That is all: the build collects them (build.mjs), and the
 * rail, the keys, the palette and the help sheet follow. Parts of a page lie in src/NAME/.
 */
import type { ComponentType } from "preact";
import { pages as found } from "virtual:pages";
import type { Tape } from "../api/types";
import { searchesSet } from "../store";
import type { Icon } from "../ui/icons";

export interface Page {
	id: string; /* in the address: #/ID */
	title: string;
	icon: Icon;
	key: string; /* after g */
	group: "Explore" | "Diagnose" | "Compare & query" | "Record";
	order: number; /* within its group */
	component: ComponentType;
	isOffered?: () => boolean; /* whether the server can do what it is for */
	needsNoTape?: true; /* it is not about the selected tape */
	inReport?: false; /* a report has nothing for it */
	count?: (tape: Tape) => number | null; /* beside its name in the rail */
	hasFunctions?: boolean; /* it is of functions: says when their names are not known */
	dependsOnFrames?: true; /* what it shows depends on whose functions count (frames.ts) */
	hasMetric?: boolean; /* it shows the selected metric: document.title says which */
	searches?: string; /* what its `find` is a search of; pages that search the same keep it from one to the other */
	canHide?: boolean; /* functions can be left without a box of their own */
	keys?: readonly (readonly [key: string, meaning: string])[]; /* its own keys, for the help sheet */
}

const GROUPS = ["Explore", "Diagnose", "Compare & query", "Record"];

export const pages: readonly Page[] = found
	.filter((p) => !REPORT || p.inReport !== false)
	.sort((a, b) => GROUPS.indexOf(a.group) - GROUPS.indexOf(b.group) || a.order - b.order);

for (const { id, searches } of pages) if (searches) searchesSet(id, searches);

/* Those that this server has. */
export const offered = (): readonly Page[] => pages.filter((p) => p.isOffered?.() ?? true);

export function pageFind(id: string): Page | undefined {
	return pages.find((p) => p.id === id);
}
