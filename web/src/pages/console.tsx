import { later } from "../ui/later";
import { IconConsole } from "../ui/icons";
import type { Page } from "./registry";

export const page: Page = {
	id: "console",
	title: "Console",
	icon: IconConsole,
	key: "q",
	group: "Compare & query",
	order: 2,
	component: later("ConsolePage"),
	inReport: false,
	keys: [
		["Ctrl+Enter", "run"],
		["Tab", "take a completion"],
	],
};
