/* What the help sheet says (frame/help.tsx): every key, and what the figures mean. */
import type { JSX } from "preact";
import { lettersOn, lettersSet } from "../keys";
import { page } from "../store";
import { offered, pages } from "../pages/registry";
import { misses } from "../ui/states";
import { capital, measures } from "../vocabulary";

type Keys = readonly (readonly [key: string, meaning: string])[];

const EVERYWHERE: Keys = [
	["Ctrl+K", "command palette"],
	["?", "this sheet"],
	["y", "copy link"],
	["t", "charts as tables"],
	["Space", "hold the pages while a program is being recorded, or let them follow again"],
	["k", "mark this moment of the recording"],
	["+ -", "timeline: zoom in, out; also w s"],
	["a d", "timeline: earlier, later"],
	["u", "undo; also Ctrl+Z"],
	["Esc", "close, clear, leave"],
	...(REPORT
		? []
		: ([
				["/", "filter"],
				["p", "time point at the peak of live bytes"],
				["P", "time point at the peak of resident memory"],
				["[ ]", "time point a step earlier, later; ten steps with Shift"],
				["click", "timeline: set time point A"],
				["Shift+click", "timeline: set point B; Compare shows both"],
				["b", "on the time point: compare it with the peak"],
			] as const)),
];

function Chord(props: { text: string }): JSX.Element {
	return (
		<>
			{props.text.split(" ").map((key) => (
				<kbd key={key}>{key}</kbd>
			))}
		</>
	);
}

function KeyList(props: { title: string; keys: Keys }): JSX.Element {
	return (
		<section>
			<h3>{props.title}</h3>
			<dl class="help-keys">
				{props.keys.map(([key, meaning]) => (
					<div key={key}>
						<dt>
							<Chord text={key} />
						</dt>
						<dd>{meaning}</dd>
					</div>
				))}
			</dl>
		</section>
	);
}

const TERMS: readonly (readonly [string, string])[] = [
	["Peak heap", "The most requested bytes alive at once, and when."],
	[
		"Peak RSS",
		"The most resident memory of the process, as reported by the kernel. It includes code, stacks and the allocator\u2019s overhead.",
	],
	["Life p50", "Median lifetime of the group\u2019s blocks. \u201cNever\u201d: more than half were never freed."],
	[
		"My code",
		"Functions by whose line allocations are named. The menu of frames in the top bar shows what decides it, and changes it; so does the menu of a function in the flame graph and the call tree.",
	],
	[
		"Call site",
		"The innermost function outside of allocators: malloc, operator new and the growth of std::vector are folded away.",
	],
	["~", "An estimate: the exact number would take too long."],
];

export function HelpWords(): JSX.Element {
	const own = pages.find((p) => p.id === page.value);
	return (
		<>
			<div class="help-columns">
				<KeyList
					title="Everywhere"
					keys={
						misses("times")
							? EVERYWHERE.filter(([, meaning]) => !/time(line| point)/.test(meaning))
							: EVERYWHERE
					}
				/>
				<KeyList title="Pages" keys={offered().map((p) => [`g ${p.key}`, p.title] as const)} />
				{own?.keys && <KeyList title={own.title} keys={own.keys} />}
			</div>
			<label class="row help-switch">
				<input
					type="checkbox"
					checked={lettersOn.value}
					onChange={(e) => lettersSet(e.currentTarget.checked)}
				/>{" "}
				Keys without Ctrl
			</label>
			<section class="help-words">
				<h3>Metrics</h3>
				<dl>
					{measures().map((m) => (
						<div key={m.word}>
							<dt>{capital(m.title)}</dt>
							<dd>{m.doc}</dd>
						</div>
					))}
				</dl>
				<h3>Terms</h3>
				<dl>
					{TERMS.map(([term, meaning]) => (
						<div key={term}>
							<dt>{term}</dt>
							<dd>{meaning}</dd>
						</div>
					))}
				</dl>
				<h3>Filter</h3>
				<p>
					Conditions joined by <code>and</code>, <code>or</code>, <code>not</code>:{" "}
					<code>size &gt;= 4KiB and module != "libc.so.6"</code>, <code>lifetime &lt; 1ms</code>,
					<code>function ~ "^parse"</code>, <code>leaked</code>, <code>alive_at peak</code>,{" "}
					<code>size in 1KiB..64KiB</code>. The same language as in <code>memtape report --filter</code>; the
					manual page is memtape-filter(7).
				</p>
			</section>
		</>
	);
}
