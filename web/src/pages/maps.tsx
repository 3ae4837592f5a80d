import { later } from "../ui/later";
import { IconMaps } from "../ui/icons";
import type { Page } from "./registry";

export const page: Page = {
	id: "maps",
	title: "Maps & RSS",
	icon: IconMaps,
	key: "m",
	group: "Diagnose",
	order: 5,
	component: later("MapsPage"),
	keys: [
		["t", "as a table"],
		["Enter", "open a mapping"],
	],
};
