/*
 * Marks over any chart with time along it: a flag and a line for each, with its name where there is room. The chart's element is
 * their place: positioned, and as wide as the chart.
 */
import type { JSX } from "preact";
import { clock, momentText } from "../clock";
import type { Mark, Ns } from "../api/types";
import { update } from "../store";
import { flagsOf, flagText } from "./marks";
import type { Flag } from "./marks";

const TITLES_SHOWN = 8;

/* A report knows what was alive at the peak only. */
export function pointSet(ns: Ns): void {
	if (!REPORT) update({ at: ns, metric: "live" });
}

function titleOf(flag: Flag): string {
	const { marks } = flag,
		shown = marks.slice(0, TITLES_SHOWN).map((m) => `${m.text} \u00b7 ${momentText(m.ns)}`);
	return [...shown, ...(marks.length > TITLES_SHOWN ? [`and ${marks.length - TITLES_SHOWN} more`] : [])].join("\n");
}

export interface FlagsProps {
	marks: readonly Mark[];
	x: (ns: Ns) => number; /* pixels from the left */
	width: number; /* pixels */
	taken?: readonly (readonly [number, number])[]; /* where other labels stand */
	compact?: boolean; /* no names */
	class?: string;
	of?: string; /* " of before" */
	disabled?: boolean;
	onChoose?: (mark: Mark, event: MouseEvent) => void; /* else the time point goes there */
}

export function Flags(props: FlagsProps): JSX.Element {
	const choose = props.onChoose ?? ((mark: Mark) => pointSet(mark.ns));
	return (
		<>
			{flagsOf(props.marks, (m) => props.x(m.ns), props.width, props.taken).map((flag) => {
				const first = flag.marks[0]!;
				return (
					<button
						key={first.ns}
						type="button"
						class={`mark ${props.class ?? ""} ${flag.isLeft ? "leftwards" : ""}`}
						style={{ left: `${flag.x}px` }}
						title={titleOf(flag)}
						aria-label={`Mark ${flagText(flag)} at ${momentText(first.ns)}${props.of ?? ""}`}
						aria-disabled={props.disabled}
						onPointerDown={(e) => e.stopPropagation()}
						onClick={(e) => {
							e.stopPropagation();
							choose(first, e);
						}}
					>
						{!props.compact && flag.name > 0 && (
							<span class="mark-name" style={{ maxWidth: `${flag.name}px` }}>
								{flagText(flag)}
							</span>
						)}
					</button>
				);
			})}
		</>
	);
}

/* Those of the tape, over a chart of from..until. */
export function TapeFlags(props: { from: Ns; until: Ns; width: number }): JSX.Element {
	const scale = props.width / Math.max(1, props.until - props.from);
	return <Flags marks={clock.value.marks} x={(ns) => (ns - props.from) * scale} width={props.width} />;
}
