/* The moments of both sides chosen from lists: usual pairs, pairs of marks, and each side's own marks. */
import type { JSX } from "preact";
import { useApi } from "../api/use";
import type { Mark, TapeDetail } from "../api/types";
import { detail } from "../store";
import { markMoment } from "../timeline/marks";
import { Popover } from "../ui/basics";
import { IconCheck, IconChevron, IconFlag } from "../ui/icons";
import { sidesSet } from "./sides";
import type { Sides } from "./sides";

const PRESETS: readonly (readonly [string, string])[] = [
	["start", "peak"],
	["peak", "end"],
	["25%", "75%"],
	["50%", "end"],
];
const PAIRS_SHOWN = 12,
	MARKS_SHOWN = 300; /* of a side; others are typed */

/* The marks of both tapes, in the order of time. */
export function useMarks(sides: Sides): readonly [readonly Mark[], readonly Mark[]] {
	const a = useApi<TapeDetail>("tape", { c: sides.a.id }),
		b = useApi<TapeDetail>("tape", { c: sides.b.id });
	return [a.data?.marks ?? [], b.data?.marks ?? []];
}

/* Of one tape: the server's own choice, the last mark and now, neighbours from the last back. */
export function markPairs(marks: readonly Mark[], usual: readonly [string, string] | null): [string, string][] {
	const texts = marks.map((_, i) => markMoment(marks, i)),
		pairs: [string, string][] = usual ? [[...usual]] : [];
	if (texts.length > 0) pairs.push([texts[texts.length - 1]!, "end"]);
	for (let i = texts.length - 1; i > 0 && pairs.length < PAIRS_SHOWN; i--) pairs.push([texts[i - 1]!, texts[i]!]);
	const all = [...pairs, ...PRESETS.map(([a, b]): [string, string] => [a, b])];
	return all.filter(([a, b], i) => all.findIndex((other) => other[0] === a && other[1] === b) === i);
}

function Item(props: { isOn: boolean; text: string; onClick: () => void }): JSX.Element {
	return (
		<button type="button" class="menu-item" aria-pressed={props.isOn} onClick={props.onClick}>
			{props.isOn ? <IconCheck /> : <span class="icon" />}
			<span class="ellipsis">{props.text}</span>
		</button>
	);
}

function SideList(props: { title: string; name: "ta" | "tb"; at: string; marks: readonly Mark[] }): JSX.Element {
	const { marks } = props,
		texts = marks.slice(-MARKS_SHOWN).map((_, i) => markMoment(marks, Math.max(0, marks.length - MARKS_SHOWN) + i));
	return (
		<div class="compare-moments-side" role="group" aria-label={props.title}>
			<p class="menu-title">{props.title}</p>
			{["start", "peak", "end", ...texts].map((text) => (
				<Item
					key={text}
					isOn={text === props.at}
					text={text}
					onClick={() => sidesSet({ [props.name]: text })}
				/>
			))}
		</div>
	);
}

export function Moments(props: { sides: Sides }): JSX.Element {
	const { at, isOne } = props.sides,
		[a, b] = useMarks(props.sides),
		pair = detail.value?.pair;
	return (
		<Popover
			label="Choose moments"
			class="button small"
			panelClass="compare-moments"
			button={
				<>
					<IconFlag /> <IconChevron />
				</>
			}
		>
			{(close) => (
				<>
					{isOne && (
						<div class="compare-moments-side" role="group" aria-label="Pairs">
							<p class="menu-title">Pairs</p>
							{markPairs(a, pair ? [pair.a, pair.b] : null).map(([ta, tb]) => (
								<Item
									key={ta + tb}
									isOn={at[0] === ta && at[1] === tb}
									text={`${ta} → ${tb}`}
									onClick={() => {
										close();
										sidesSet({ ta, tb });
									}}
								/>
							))}
						</div>
					)}
					<SideList title="Before" name="ta" at={at[0]} marks={a} />
					<SideList title="After" name="tb" at={at[1]} marks={b} />
				</>
			)}
		</Popover>
	);
}
