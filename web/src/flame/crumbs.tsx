/* The way into the graph, each step a way back. */
import type { JSX } from "preact";
import type { Flame } from "../api/types";
import * as format from "../format";
import { fitted, named } from "../names";
import { path, setOption, update } from "../store";
import { IconClose } from "../ui/icons";
import { hiddenFunctions, hiddenModules } from "./view";

const SHOWN = 4,
	LETTERS = 14; /* of a step that is not the last */

/* What was taken out of the picture, each kind a way to have it back. */
export function Hidden(): JSX.Element | null {
	const chip = (name: string, count: number, text: string) =>
		count > 0 && (
			<span class="chip">
				{text} hidden
				<button type="button" aria-label={`Show ${text} again`} onClick={() => setOption(name, null)}>
					<IconClose />
				</button>
			</span>
		);
	const functions = hiddenFunctions().length,
		modules = hiddenModules();
	return (
		<>
			{chip("hide", functions, functions === 1 ? "1 function" : `${functions} functions`)}
			{chip("hidem", modules.length, modules.length === 1 ? modules[0]! : `${modules.length} modules`)}
		</>
	);
}

export function Crumbs(props: { flame: Flame; figures?: string }): JSX.Element {
	const { flame } = props,
		names = flame.root_names ?? [];
	const steps = [
		{ name: "all", brief: "all", depth: 0 },
		...names.map((name, i) => ({ name, brief: flame.root_briefs[i]!, depth: i + 1 })),
	];
	const last = steps[steps.length - 1]!,
		hidden = Math.max(0, steps.length - 1 - SHOWN);
	const inSight = hidden > 0 ? [steps[0]!, ...steps.slice(1 + hidden, -1)] : steps.slice(0, -1);
	return (
		<nav class="crumbs" aria-label="Zoomed into">
			<ol>
				{inSight.map((s, i) => (
					<li key={s.depth}>
						<button
							type="button"
							class="link plain code ellipsis"
							title={s.name}
							onClick={() => update({ path: path.value.slice(0, s.depth) })}
						>
							{fitted(s.brief, LETTERS)}
						</button>
						<span class="muted" aria-hidden="true">
							{i === 0 && hidden > 0 ? " › … ›" : " ›"}
						</span>
					</li>
				))}
				<li aria-current="true">
					<b class="code ellipsis" title={last.name}>
						{named(last.brief)}
					</b>
					<span class="muted num">
						{props.figures ?? (
							<>
								{format.value(flame.value[0] ?? 0, flame.unit)}
								{path.value.length > 0 &&
									` · ${format.percent((flame.value[0] ?? 0) / (flame.total || 1))}`}
							</>
						)}
					</span>
				</li>
			</ol>
			{path.value.length > 0 && (
				<button
					type="button"
					class="button small"
					title="One step (Esc)"
					onClick={() => update({ path: path.value.slice(0, -1) })}
				>
					Zoom out
				</button>
			)}
		</nav>
	);
}
