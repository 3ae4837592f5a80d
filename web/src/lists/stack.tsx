/* One call stack: frames from the innermost outwards; the machinery of allocators is folded away until it is asked for. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Frame } from "../api/types";
import * as format from "../format";
import { named, UNNAMED } from "../names";
import { moduleColour } from "../palette";
import { pageHref, sourceHref } from "../pages/links";
import { Dot } from "../ui/basics";
import { copyText } from "../ui/toast";

export function stackText(stack: readonly Frame[]): string {
	return stack
		.map(
			(f) =>
				`${f.function}${f.file ? ` (${f.file}${f.line ? `:${f.line}` : ""})` : ""}${f.module ? ` in ${f.module}` : ""}`,
		)
		.join("\n");
}

function Place(props: { frame: Frame }): JSX.Element {
	const { frame: f } = props,
		text = format.place(f.file, f.line),
		link = sourceHref(f.file, f.line, f.hash);
	return text && link ? (
		<a class="muted ellipsis" href={link}>
			{text}
		</a>
	) : (
		<span class="muted ellipsis">
			{text || (f.module && !UNNAMED.test(f.brief) /* else it is in its name */ ? format.baseName(f.module) : "")}
		</span>
	);
}

export function Stack(props: { title: string; stack: readonly Frame[]; note?: string }): JSX.Element {
	const [all, setAll] = useState(false);
	const folded = props.stack.filter((f) => f.folded).length;
	const shown = all || folded === props.stack.length ? props.stack : props.stack.filter((f) => !f.folded);
	return (
		<section class="stack" aria-label={props.title}>
			<header>
				<h3>{props.title}</h3>
				{props.note && <span class="muted">{props.note}</span>}
				<span class="grow" />
				{folded > 0 && folded < props.stack.length && (
					<button type="button" class="link" aria-pressed={all} onClick={() => setAll(!all)}>
						{all ? "Hide allocator frames" : `+ ${folded} allocator ${folded === 1 ? "frame" : "frames"}`}
					</button>
				)}
				<button type="button" class="link" onClick={() => void copyText(stackText(props.stack), "Stack")}>
					Copy
				</button>
			</header>
			{props.stack.length === 0 && <p class="muted">No stack was recorded.</p>}
			<ol>
				{shown.map((f, i) => (
					<li
						key={i}
						class={f.inlined ? "inlined" : ""}
						title={[
							f.function,
							f.file && `${f.file}:${f.line ?? "?"}`,
							f.module,
							f.inlined ? "inlined into the next" : "",
						]
							.filter(Boolean)
							.join("\n")}
					>
						<Dot colour={moduleColour(f.module)} />
						<a class="code ellipsis" href={pageHref(["flame"], { frame: f.hash, path: [] })}>
							{named(f.brief)}
						</a>
						<Place frame={f} />
					</li>
				))}
			</ol>
		</section>
	);
}
