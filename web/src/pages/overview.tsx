/* Overview: what the tape says at a glance. */
import type { JSX } from "preact";
import { useKeys } from "../keys";
import { FindingsCard } from "../overview/findings";
import { HeatCard } from "../overview/heat";
import { Tiles } from "../overview/tiles";
import { TopSitesCard } from "../overview/topsites";
import { option, setOption } from "../store";
import { TimelineCard } from "../timeline/card";
import { IconOverview } from "../ui/icons";
import { misses, Missing } from "../ui/states";
import type { Page } from "./registry";
import "../overview/overview.css";

function Overview(): JSX.Element {
	const table = option("table") === "1",
		timeless = misses("times");
	useKeys({ t: () => setOption("table", table ? null : "1", "replace") });
	return (
		<>
			<Tiles />
			{timeless ? (
				<section class="card timeless" aria-label="Timeline">
					<Missing fact="times">What was alive when is not known; the figures are those of its end.</Missing>
				</section>
			) : (
				<TimelineCard table={table} />
			)}
			<div class={`overview-rest ${timeless ? "two" : ""}`}>
				<FindingsCard />
				<TopSitesCard />
				{!timeless && <HeatCard table={table} />}
			</div>
		</>
	);
}

export const page: Page = {
	id: "overview",
	title: "Overview",
	icon: IconOverview,
	key: "o",
	group: "Explore",
	order: 1,
	component: Overview,
	dependsOnFrames: true,
	keys: [
		["click", "time point in the timeline"],
		["drag", "time range"],
		["wheel", "zoom; with Shift, move"],
		["double-click", "everything again"],
		["\u2190 \u2192", "move a handle or the time point that has the focus"],
	],
};
