/* One function: all its measures, its life over time, the sizes it asks for, who calls it and what it calls. */
import type { JSX } from "preact";
import { useApi } from "../api/use";
import type { FrameDetail, FrameShare, Hex } from "../api/types";
import { addTerm, quote } from "../filter";
import * as format from "../format";
import { named } from "../names";
import { moduleColour } from "../palette";
import { filter, metric, metricParams, page, setOption, update } from "../store";
import { pageHref, sourceHref } from "../pages/links";
import { pageFind } from "../pages/registry";
import { Dot } from "../ui/basics";
import { Sparkline } from "../ui/sparkline";
import { IconClose } from "../ui/icons";
import { Loading, misses, Shown } from "../ui/states";
import { copyText } from "../ui/toast";
import { capital, measureOf } from "../vocabulary";
import { hide } from "./view";

const ROWS = 8;

function Metrics(props: { data: FrameDetail }): JSX.Element {
	return (
		<section>
			<h3>
				This function <span class="muted">total · share</span>
			</h3>
			<dl class="inspector-metrics">
				{props.data.metrics.map((m) => (
					<div key={m.m} class={m.m === metric.value ? "now" : ""}>
						<dt>
							<button
								type="button"
								class="link plain"
								title={measureOf(m.m).doc}
								onClick={() => update({ metric: m.m })}
							>
								{capital(m.title)}
							</button>
						</dt>
						<dd title={format.exactValue(m.total, m.unit)}>{format.value(m.total, m.unit)}</dd>
						<dd class="muted">{m.total > 0 ? format.percent(m.share) : "\u2014"}</dd>
					</div>
				))}
				{props.data.life && !misses("times") && (
					<div>
						<dt>Lifetime p50 / p99</dt>
						<dd>{format.duration(props.data.life.p50)}</dd>
						<dd class="muted">{format.duration(props.data.life.p99)}</dd>
					</div>
				)}
			</dl>
		</section>
	);
}

function Sizes(props: { data: FrameDetail }): JSX.Element | null {
	const { sizes } = props.data,
		most = Math.max(...sizes.map((s) => s.count), 0);
	if (sizes.length === 0) return null;
	const first = sizes[0]!,
		last = sizes[sizes.length - 1]!;
	return (
		<section>
			<h3>Allocation sizes</h3>
			<ol class="inspector-sizes" aria-label="Allocations by size">
				{sizes.map((s) => (
					<li
						key={s.min}
						style={{
							height: `${most > 0 ? Math.max(s.count > 0 ? 6 : 0, (Math.log1p(s.count) / Math.log1p(most)) * 100) : 0}%`,
						}}
						title={`${format.bytes(s.min)} \u2013 ${format.bytes(s.max)}: ${format.exact(s.count)} blocks, ${format.bytes(s.bytes)}`}
					>
						<span class="sr">
							{format.bytes(s.min)}: {s.count}
						</span>
					</li>
				))}
			</ol>
			<p class="inspector-axis muted">
				<span>{format.bytes(first.min)}</span>
				<span>{format.bytes(last.max)}</span>
			</p>
		</section>
	);
}

function Shares(props: { title: string; list: readonly FrameShare[]; unit: "bytes" | "count" }): JSX.Element | null {
	if (props.list.length === 0) return null;
	const most = Math.max(...props.list.map((s) => s.value), 1);
	return (
		<section>
			<h3>{props.title}</h3>
			<ul class="inspector-shares">
				{props.list.slice(0, ROWS).map((s) => (
					<li key={s.hash}>
						<i style={{ width: `${((s.value / most) * 100).toFixed(1)}%` }} aria-hidden="true" />
						<Dot colour={moduleColour(s.module)} />
						<button
							type="button"
							class="link plain code ellipsis"
							title={s.function}
							onClick={() => update({ frame: s.hash })}
						>
							{named(s.brief)}
						</button>
						<span class="num">{format.value(s.value, props.unit)}</span>
					</li>
				))}
			</ul>
		</section>
	);
}

function Lines(props: { data: FrameDetail; unit: "bytes" | "count" }): JSX.Element | null {
	const { lines } = props.data;
	if (lines.length === 0) return null;
	return (
		<section>
			<h3>Lines</h3>
			<ul class="inspector-shares">
				{lines.slice(0, ROWS).map((l) => (
					<li key={`${l.file}:${l.line}`} title={`${l.file}:${l.line}`}>
						<a
							class="link plain code ellipsis"
							href={sourceHref(l.file, l.line, props.data.hash) ?? undefined}
						>
							{format.place(l.file, l.line)}
						</a>
						<span class="num">{format.value(l.value, props.unit)}</span>
					</li>
				))}
			</ul>
		</section>
	);
}

function Actions(props: { data: FrameDetail; onSandwich: () => void }): JSX.Element {
	const { data } = props,
		is = `function = ${quote(data.function)}`,
		not = `function != ${quote(data.function)}`,
		source = sourceHref(data.file, data.line, data.hash);
	return (
		<div class="inspector-actions">
			<button
				type="button"
				class="button small"
				title="Callers above, callees below (v)"
				onClick={props.onSandwich}
			>
				Sandwich
			</button>
			<button
				type="button"
				class="button small"
				title="Only stacks with it (f)"
				onClick={() => update({ filter: addTerm(filter.value, is) })}
			>
				Only
			</button>
			<button
				type="button"
				class="button small"
				title="Only stacks without it (x)"
				onClick={() => update({ filter: addTerm(filter.value, not) })}
			>
				Without
			</button>
			{!REPORT && pageFind(page.value)?.canHide && (
				<button
					type="button"
					class="button small"
					title="Hide this function (h); H: its whole module"
					onClick={() => hide(data.hash, null)}
				>
					Hide
				</button>
			)}
			<button
				type="button"
				class="button small"
				title="Copy its name (c)"
				onClick={() => void copyText(data.function, "Name")}
			>
				Copy
			</button>
			{source && (
				<a class="button small" title="Source lines and what they allocate" href={source}>
					Source
				</a>
			)}
			{pageFind("allocations") && (
				<a class="button small" href={pageHref(["allocations"], { filter: addTerm(filter.value, is) })}>
					List
				</a>
			)}
		</div>
	);
}

function Body(props: { data: FrameDetail; onSandwich: () => void }): JSX.Element {
	const { data } = props,
		{ unit } = measureOf(metric.value);
	return (
		<>
			<p class="inspector-place muted" title={[data.file, data.module].filter(Boolean).join("\n")}>
				{[format.place(data.file, data.line), data.module && format.baseName(data.module)]
					.filter(Boolean)
					.join(" \u00b7 ") || "no source information"}
			</p>
			<Actions data={data} onSandwich={props.onSandwich} />
			<Metrics data={data} />
			{!misses("times") && (
				<section>
					<h3>Live bytes over time</h3>
					<Sparkline values={data.curve.values} colour="blue" width={300} height={48} />
				</section>
			)}
			<Sizes data={data} />
			<Shares title="Called by" list={data.callers} unit={unit} />
			<Shares title="Calls" list={data.callees} unit={unit} />
			<Lines data={data} unit={unit} />
		</>
	);
}

/* place: "FILE:LINE", of what went through that line alone; null: of all. */
export function Inspector(props: { hash: Hex; place?: string | null; onSandwich: () => void }): JSX.Element {
	const q = props.place ? { q: addTerm(filter.value, `location = ${quote(props.place)}`) } : {};
	const answer = useApi<FrameDetail>("frame", { ...metricParams(), ...q, h: props.hash });
	return (
		<aside class="card inspector" aria-label="Selected function">
			<header>
				<h2 class="code" title={answer.data?.function}>
					{answer.data?.hash === props.hash ? (
						<>
							<Dot colour={moduleColour(answer.data.module)} />
							<span>{named(answer.data.brief)}</span>
						</>
					) : (
						"\u2026"
					)}
				</h2>
				<button
					type="button"
					class="icon-button"
					aria-label="Close"
					title="Close (Esc)"
					onClick={() => update({ frame: null })}
				>
					<IconClose />
				</button>
			</header>
			<div
				class={`inspector-body ${answer.stale ? "stale" : ""}`}
				tabIndex={0}
				role="region"
				aria-label="Details"
			>
				{props.place && (
					<p class="inspector-line">
						Only allocations through <b class="code">{format.baseName(props.place)}</b>.{" "}
						<button type="button" class="link" onClick={() => setOption("line", null)}>
							Whole function
						</button>
					</p>
				)}
				<Shown answer={answer} loading={<Loading rows={8} height={18} />}>
					{(data) => <Body data={data} onSandwich={props.onSandwich} />}
				</Shown>
			</div>
		</aside>
	);
}
