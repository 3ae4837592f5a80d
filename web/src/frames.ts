/*
 * Whose functions are shown, and whose allocations count for whom: the user's own code's, those of
 * libraries too, or those of allocators and program start too. One choice for all pages, in the address and remembered
 * in the browser.
 */
import { computed, signal } from "@preact/signals";
import { option, setOption } from "./store";
import { prefGet, prefSet } from "./theme";

export type Frames = "my" | "exact" | "all";
const KEY = "memtape.frames.v1";

export const FRAMES: readonly { value: Frames; label: string; title: string }[] = [
	{ value: "my", label: "My code", title: "Functions of your own code: libraries count for who calls them" },
	{ value: "exact", label: "Exact", title: "Functions of libraries too" },
	{ value: "all", label: "All frames", title: "Allocators and program start too" },
];

const known = (word: string | null): Frames | null => FRAMES.find((f) => f.value === word)?.value ?? null;

const remembered = signal(known(prefGet(KEY)));

/* A report has the answers for "my". */
export const frames = computed<Frames>(() => (REPORT ? "my" : (known(option("frames")) ?? remembered.value ?? "my")));

export function framesSet(next: Frames): void {
	prefSet(KEY, next);
	remembered.value = next;
	setOption("frames", next);
}

/* Answers that depend on it. */
const TAKERS: ReadonlySet<string> = new Set([
	"children",
	"curves",
	"diff",
	"diff/flame",
	"export/flamegraph.svg",
	"findings",
	"flame",
	"fragmentation",
	"frame",
	"growth",
	"holders",
	"leak-classes",
	"lifetimes",
	"overview",
	"residency",
	"retained",
	"sites",
	"stale",
]);

/* What a request says of it; nothing of what is usual. A file for another tool has usually more than the screen: it is asked for. */
export function framesParams(path: string): { frames?: Frames } {
	return path === "export" || (frames.value !== "my" && TAKERS.has(path)) ? { frames: frames.value } : {};
}
