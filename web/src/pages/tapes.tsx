import { canList } from "../live";
import { later } from "../ui/later";
import { IconTapes } from "../ui/icons";
import type { Page } from "./registry";

export const page: Page = {
	id: "tapes",
	title: "Tapes",
	icon: IconTapes,
	key: "b",
	group: "Record",
	order: 2,
	component: later("TapesPage"),
	inReport: false,
	isOffered: () => canList.value,
	needsNoTape: true,
	searches: "tapes",
	keys: [["Space", "lay the tape over the others, or take it away"]],
};
