import { later } from "../ui/later";
import { IconSource } from "../ui/icons";
import type { Page } from "./registry";

export const page: Page = {
	id: "source",
	title: "Source",
	icon: IconSource,
	key: "c",
	group: "Explore",
	order: 6,
	component: later("SourcePage"),
	hasFunctions: true,
	hasMetric: true,
	keys: [
		["n N", "next, previous line that allocates"],
		["1 \u2026 9", "measure"],
	],
};
