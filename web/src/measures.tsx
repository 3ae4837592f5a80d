/*
 * One of the measures: the first few in sight, the others in a menu; with none in sight the menu's button says which is chosen.
 * Digits choose them on pages that take measureKeys().
 */
import type { JSX } from "preact";
import { atText } from "./clock";
import { at, metric, tape, update } from "./store";
import type { Metric } from "./url";
import { Popover, Segmented } from "./ui/basics";
import { IconChevron } from "./ui/icons";
import { capital, measures } from "./vocabulary";
import type { Measure } from "./vocabulary";

/* Those that the tape has: measures of leak scans, of looks at touched pages and of events of the kernel are of tapes with them. */
export function measuresHere(): readonly Measure[] {
	const has = tape.value?.has;
	return measures().filter(
		(m) =>
			(!m.scan || has?.leak_scan) && (!m.touches || has?.touches) && (!m.kernel || has?.kernel.includes(m.word)),
	);
}

/* Those that commands have, too, are asked for most. */
export function measuresInOrder(): readonly Measure[] {
	return [...measuresHere()].sort((a, b) => Number(b.in_reports) - Number(a.in_reports));
}

const inSightTitle = (m: Measure) => (m.at ? `Live ${atText()}` : capital(m.title));
const inMenuTitle = (m: Measure) => `${capital(m.title)}${m.at && at.value === null ? " (the peak)" : ""}`;

export function Measures(props: {
	list?: readonly Measure[];
	inSight?: number;
	value?: Metric;
	title?: (m: Measure) => string;
	onChange?: (word: Metric) => void;
}): JSX.Element {
	const {
		list = measuresInOrder(),
		inSight = 4,
		value = metric.value,
		onChange = (word) => update({ metric: word }),
	} = props;
	const rest = list.slice(inSight),
		chosen = rest.filter((m) => m.word === value),
		shown = inSight > 0 ? [...list.slice(0, inSight), ...chosen] : [],
		titleOf = props.title ?? inSightTitle,
		named = inSight === 0 && chosen[0] ? titleOf(chosen[0]) : null;
	return (
		<div class="row measures">
			{shown.length > 0 && (
				<Segmented
					label="Measure"
					value={value}
					onChange={onChange}
					choices={shown.map((m) => ({ value: m.word, label: titleOf(m), title: m.doc }))}
				/>
			)}
			{rest.length > 0 && (
				<Popover
					label={named ? `Measure: ${named}` : "More measures"}
					button={
						<>
							{named ?? "More"} <IconChevron />
						</>
					}
					class="button small"
				>
					{(close) =>
						rest.map((m) => (
							<button
								key={m.word}
								type="button"
								class="menu-item"
								title={m.doc}
								onClick={() => {
									onChange(m.word);
									close();
								}}
							>
								{(props.title ?? inMenuTitle)(m)}
							</button>
						))
					}
				</Popover>
			)}
		</div>
	);
}

export function measureKeys(): Record<string, () => void> {
	return Object.fromEntries(
		measuresInOrder()
			.slice(0, 9)
			.map((m, i) => [String(i + 1), () => update({ metric: m.word })]),
	);
}
