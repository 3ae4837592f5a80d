import { tape } from "../store";
import { later } from "../ui/later";
import { IconFamily } from "../ui/icons";
import type { Page } from "./registry";

/* Of the recording of a process tree alone. */
export const page: Page = {
	id: "family",
	title: "Process tree",
	icon: IconFamily,
	key: "e",
	group: "Explore",
	order: 8,
	component: later("FamilyPage"),
	inReport: false,
	isOffered: () => tape.value?.import?.format === "session",
};
