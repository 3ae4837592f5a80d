/* A figure with its curve; the whole of it is a link to where the figure comes from. */
import type { ComponentChildren, JSX } from "preact";
import type { Colour } from "../palette";
import { Sparkline } from "./sparkline";
import { misses } from "./states";

export function Tile(props: {
	title: string;
	parts: readonly [string, string];
	exact: string;
	href: string;
	note: ComponentChildren;
	bad?: boolean;
	approx?: boolean | undefined;
	atLeast?: boolean;
	values: readonly number[] | null;
	colour: Colour;
	help?: string;
	stale?: boolean;
}): JSX.Element {
	return (
		<a class={`tile ${props.stale ? "stale" : ""}`} href={props.href} title={props.help}>
			<span class="tile-title">{props.title}</span>
			<span class="tile-main">
				<span class={`tile-value ${props.bad ? "bad" : ""}`} title={props.exact}>
					{props.atLeast ? "\u2265\u2009" : props.approx ? "~" : ""}
					{props.parts[0]}
					<small> {props.parts[1]}</small>
				</span>
				{props.values && !misses("times") && (
					<Sparkline values={props.values} colour={props.colour} width={66} height={24} />
				)}
			</span>
			<span class="tile-note">{props.note}</span>
		</a>
	);
}
