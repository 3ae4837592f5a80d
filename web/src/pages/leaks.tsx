import { later } from "../ui/later";
import { IconLeaks } from "../ui/icons";
import type { Page } from "./registry";

export const page: Page = {
	id: "leaks",
	title: "Leaks",
	icon: IconLeaks,
	key: "l",
	group: "Diagnose",
	order: 1,
	component: later("LeaksPage"),
	dependsOnFrames: true,
	keys: [["Enter", "stack of a row, and what holds it"]],
};
