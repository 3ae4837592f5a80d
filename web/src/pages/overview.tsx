/* Overview: what the tape says at a glance. */
import type { JSX } from "preact";
import { useApi } from "../api/use";
import type { Summary } from "../api/types";
import * as format from "../format";
import { commonParams, href } from "../store";
import { IconOverview } from "../ui/icons";
import { Shown } from "../ui/states";
import { Tile } from "../ui/tile";
import type { Page } from "./registry";

function Overview(): JSX.Element {
	const summary = useApi<Summary>("summary", commonParams());
	return (
		<Shown answer={summary}>
			{(s) => <Tile title="Peak heap" parts={format.bytesParts(s.peak.bytes)} exact={format.exactBytes(s.peak.bytes)} href={href({ page: "flame", metric: "peak" })}
				note={`at ${format.moment(s.peak.ns, s.duration_ns)}`} values={s.sparks.live} colour="blue" />}
		</Shown>
	);
}

export const page: Page = {
	id: "overview", title: "Overview", icon: IconOverview, key: "o", group: "Explore", order: 1, component: Overview,
};
