/* The timeline as a strip, for the head of any page: the same range, the same time point. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { Curves } from "../api/types";
import { clock } from "../clock";
import { frames } from "../frames";
import { SERIES } from "../palette";
import { filter, nsText, tapeId } from "../store";
import { Chart } from "./chart";
import { bandsParams, modeOf } from "./series";
import { view } from "./view";
import "./timeline.css";

const COLUMN_STEP = 64; /* so that a window's edge being dragged does not ask for every pixel */

/* Columns for a plot of so many pixels. */
export function columnsOf(px: number): number {
	return Math.max(COLUMN_STEP, Math.min(3840, Math.round(px / COLUMN_STEP) * COLUMN_STEP));
}

/* What is asked for the part of the time that is shown; the range does not narrow it, it lies over it. */
export function timelineParams(bands: Record<string, string>, px: number): Record<string, string | number> | null {
	if (px <= 0 || clock.value.duration === 0) return null;
	const { from, until } = REPORT
		? { from: 0, until: clock.value.duration }
		: view.value; /* a report has one answer, of which a part is shown */
	return {
		c: tapeId.value,
		q: filter.value,
		...bands,
		top: SERIES.length,
		points: columnsOf(px),
		from: nsText(from),
		until: nsText(until),
	};
}

export function Minimap(): JSX.Element {
	const [px, setPx] = useState(0);
	const answer = useApi<Curves>("curves", timelineParams(bandsParams(null), px));
	return (
		<section class={`card minimap ${answer.stale ? "stale" : ""}`} aria-label="Timeline">
			<Chart data={answer.data} mode={modeOf(answer.data, null, frames.value)} rss compact onWidth={setPx} />
		</section>
	);
}
