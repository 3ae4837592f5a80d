import { later } from "../ui/later";
import { IconSpace } from "../ui/icons";
import type { Page } from "./registry";

export const page: Page = {
	id: "space",
	title: "Address space",
	icon: IconSpace,
	key: "p",
	group: "Diagnose",
	order: 3,
	component: later("SpacePage"),
	dependsOnFrames: true,
	inReport: false,
	keys: [
		["\u2191\u2193\u2190\u2192", "cell by cell"],
		["Enter", "the allocations there"],
		["Space", "play, pause"],
	],
};
