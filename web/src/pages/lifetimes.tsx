import { later } from "../ui/later";
import { IconClock } from "../ui/icons";
import type { Page } from "./registry";

export const page: Page = {
	id: "lifetimes",
	title: "Lifetimes",
	icon: IconClock,
	key: "i",
	group: "Diagnose",
	order: 2,
	component: later("LifetimesPage"),
	dependsOnFrames: true,
	keys: [
		["\u2191\u2193\u2190\u2192", "cell by cell; with Shift, a box"],
		["Enter", "select it"],
	],
};
