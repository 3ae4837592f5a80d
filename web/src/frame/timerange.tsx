/* The time range and the time point as text: what the timeline's brush is for the mouse. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { clock, momentText, rangeText } from "../clock";
import { momentParse } from "../moment";
import { at, range, update } from "../store";
import { isZoomed, view, viewSet } from "../timeline/view";
import { Popover } from "../ui/basics";
import { IconClock } from "../ui/icons";
import { misses } from "../ui/states";

function MomentField(props: {
	label: string;
	value: string;
	onText: (text: string) => void;
	wrong: boolean;
}): JSX.Element {
	return (
		<label class="moment-field">
			<span>{props.label}</span>
			<input
				class="field"
				value={props.value}
				spellcheck={false}
				autocomplete="off"
				aria-invalid={props.wrong}
				onInput={(e) => props.onText(e.currentTarget.value)}
			/>
		</label>
	);
}

/* In a report, what the timeline shows: nothing else is known of a part of the time. */
const shown = () => (REPORT ? (isZoomed.value ? view.value : null) : range.value);

function Form(props: { close: () => void }): JSX.Element {
	const c = clock.value;
	const [from, setFrom] = useState(shown() ? momentText(shown()!.from) : "start");
	const [until, setUntil] = useState(shown() ? momentText(shown()!.until) : "end");
	const [point, setPoint] = useState(at.value === null ? "peak" : momentText(at.value));
	const a = momentParse(from, c),
		b = momentParse(until, c),
		p = momentParse(point, c);
	const reversed = a !== null && b !== null && a >= b;
	const apply = (event: Event) => {
		event.preventDefault();
		if (a === null || b === null || reversed || (point !== "peak" && p === null)) return;
		const whole = a === 0 && b === c.duration;
		if (REPORT) viewSet({ from: a, until: b });
		else update({ range: whole ? null : { from: a, until: b }, at: point.trim() === "peak" ? null : p });
		props.close();
	};
	return (
		<form class="moment-form" onSubmit={apply}>
			<MomentField label="From" value={from} onText={setFrom} wrong={a === null || reversed} />
			<MomentField label="Until" value={until} onText={setUntil} wrong={b === null || reversed} />
			{!REPORT && (
				<MomentField
					label="Time point"
					value={point}
					onText={setPoint}
					wrong={p === null && point.trim() !== "peak"}
				/>
			)}
			<p class="muted">
				{reversed ? (
					<span class="bad">From must be before until.</span>
				) : (
					<>
						Seconds, <code>1:02.5</code>, <code>250ms</code>, <code>75%</code>, <code>start</code>,{" "}
						<code>end</code>, <code>peak</code>, <code>peakrss</code>, <code>mark(NAME)</code>,{" "}
						<code>peak-2s</code>.
					</>
				)}
			</p>
			<div class="row">
				<button type="submit" class="button primary small">
					Apply
				</button>
				<button
					type="button"
					class="button small"
					onClick={() => {
						REPORT ? viewSet(null) : update({ range: null });
						props.close();
					}}
				>
					Whole recording
				</button>
				{at.value !== null && (
					<button
						type="button"
						class="button small"
						onClick={() => {
							update({ at: null, metric: "peak" });
							props.close();
						}}
					>
						No time point
					</button>
				)}
			</div>
		</form>
	);
}

/* Nothing can be chosen where only the order is known; a range that the address has can be taken away. */
export function TimeRange(): JSX.Element | null {
	const part = shown(),
		text = part ? rangeText(part) : "Whole recording";
	if (misses("times") && !part) return null;
	return (
		<Popover
			label={`Time range: ${text}`}
			class={`button time-button ${part ? "set" : ""}`}
			end
			button={
				<>
					<IconClock />
					<span>{text}</span>
				</>
			}
		>
			{(close) => <Form close={close} />}
		</Popover>
	);
}
