import { canAttach } from "../live";
import { later } from "../ui/later";
import { IconProcesses } from "../ui/icons";
import type { Page } from "./registry";

export const page: Page = {
	id: "processes",
	title: "Processes",
	icon: IconProcesses,
	key: "r",
	group: "Record",
	order: 1,
	component: later("ProcessesPage"),
	inReport: false,
	isOffered: () => canAttach.value,
	needsNoTape: true,
	searches: "processes",
};
