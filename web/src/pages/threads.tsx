import { later } from "../ui/later";
import { IconThreads } from "../ui/icons";
import type { Page } from "./registry";

export const page: Page = {
	id: "threads",
	title: "Threads",
	icon: IconThreads,
	key: "h",
	group: "Diagnose",
	order: 4,
	component: later("ThreadsPage"),
	count: (t) => (t.import?.missing.includes("threads") ? null : t.thread_count),
};
