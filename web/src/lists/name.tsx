/* A function and where it is, in one line: as much of both as there is room for, the whole in its title. */
import type { ComponentChildren, JSX } from "preact";
import { useRef } from "preact/hooks";
import { lastWord, shorter, UNNAMED } from "../names";
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
		names = shorter(props.name),
		whole = names[0]!,
		wholePlace = UNNAMED.test(props.name) ? null : props.place /* the module is in its name */,
		hasLine = /:\d+$/.test(wholePlace ?? "");
	/* a line says more than what the function is in, and a module less */
	const withLine = [...new Set([...names, lastWord(names[names.length - 1]!)])],
		beside = wholePlace === null ? [] : hasLine ? withLine : names.slice(0, 2);
	const ways: (readonly [string, (string | null)?])[] = [
		...beside.map((name) => [name, wholePlace] as const),
		...names.slice(names.length > 1 && beside.length > 0 ? 1 : 0).map((name) => [name] as const),
	];
	const way = useFit(line, ways.length - 1, `${props.name} ${props.place}`),
		[name, place] = ways[Math.min(way, ways.length - 1)]!;
	return (
		<div
			class={`site ${way < ways.length - 1 ? "whole" : ""}`}
			ref={line}
			data-whole={whole}
			data-place={wholePlace ?? undefined}
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
