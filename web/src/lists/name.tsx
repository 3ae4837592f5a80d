/* A function and where it is, in one line: as much of both as there is room for, the whole in its title. */
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import { shorter } from "../names";
import { useFit } from "../ui/fit";
import "./lists.css";

export function FunctionLine(props: {
	name: string;
	place: string | null;
	title: string;
	href?: string;
	children?: ComponentChildren; /* before the name */
}): JSX.Element {
	const line = useRef<HTMLDivElement>(null),
		[whole, short = whole, ...shortest] = shorter(props.name) as [string, ...string[]];
	const ways: (readonly [string, (string | null)?])[] = [
		[whole, props.place],
		...(short === whole ? [] : [[short, props.place] as const]),
		[short],
		...shortest.map((s) => [s] as const),
	];
	const way = useFit(line, ways.length - 1, `${props.name} ${props.place}`),
		[name, place] = ways[Math.min(way, ways.length - 1)]!;
	return (
		<div
			class={`site ${way < ways.length - 1 ? "whole" : ""}`}
			ref={line}
			data-whole={whole}
			data-place={props.place ?? undefined}
		>
			{props.children}
			{props.href === undefined ? (
				<span class="code ellipsis" title={props.title}>
					{name}
				</span>
			) : (
				<a class="code ellipsis" href={props.href} title={props.title}>
					{name}
				</a>
			)}
			{place && <span class="muted site-where">{place}</span>}
		</div>
	);
}

/* A name alone, in a place of a fixed width: its last words where there is no room for all. */
export function FunctionName(props: { name: string }): JSX.Element {
	const line = useRef<HTMLSpanElement>(null),
		ways = shorter(props.name),
		way = useFit(line, ways.length - 1, props.name);
	return (
		<span class="code ellipsis" ref={line}>
			{ways[Math.min(way, ways.length - 1)]}
		</span>
	);
}
