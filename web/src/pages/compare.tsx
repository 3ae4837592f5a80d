import { later } from "../ui/later";
import { IconCompare } from "../ui/icons";
import type { Page } from "./registry";

export const page: Page = {
	id: "compare",
	title: "Compare",
	icon: IconCompare,
	key: "d",
	group: "Compare & query",
	order: 1,
	component: later("ComparePage"),
	dependsOnFrames: true,
	inReport: false,
	hasMetric: true,
	keys: [
		["\u2191\u2193\u2190\u2192", "to the caller, the widest callee, the neighbours"],
		["Enter", "zoom in"],
		["Esc", "zoom out"],
		["0", "everything"],
		["s", "swap before and after"],
		["Ctrl+F", "search"],
		["n N", "next, previous match"],
		["t", "as a table, and back"],
		["1 2 3", "the table and the lists by function, stack, module"],
	],
};
