/* Process tree: the processes of a session, when each lived and what it did, and whose the live heap was. */
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { useApi } from "../api/use";
import type { Curves, ProcessOfTree, ProcessTree } from "../api/answers";
import { momentText } from "../clock";
import { addTerm, terms } from "../filter";
import * as format from "../format";
import { rowClick, rowKeys, useJumpTarget } from "../keys";
import { commonParams, filter, tape, tapeId } from "../store";
import { SERIES } from "../palette";
import { Th } from "../table/th";
import { Card } from "../ui/basics";
import { Bytes, Count } from "../ui/cells";
import { Empty, EmptyByFilter, Loading, Shown } from "../ui/states";
import { pageHref } from "../pages/links";
import { Bands } from "../reports/bands";
import type { Band } from "../reports/bands";
import { endOf, filterOf, isBad, treeOf } from "./kin";
import type { Relative } from "./kin";
import "../reports/reports.css";
import "./family.css";

const COLUMNS = 240,
	DEEPEST = 16; /* indented so far */

const narrowed = (p: ProcessOfTree) => terms(filterOf(p)).reduce(addTerm, filter.value);

function Life(props: { of: ProcessOfTree; whole: number }): JSX.Element {
	const { begin_ns, end_ns } = props.of,
		part = (ns: number) => (100 * ns) / Math.max(1, props.whole);
	const text = `${momentText(begin_ns)} – ${momentText(end_ns)}`;
	return (
		<div class="life" role="img" aria-label={text} title={text}>
			<i
				class={isBad(props.of) ? "bad" : ""}
				style={{
					left: `${part(begin_ns).toFixed(3)}%`,
					width: `${part(Math.max(0, end_ns - begin_ns)).toFixed(3)}%`,
				}}
			/>
		</div>
	);
}

/* null: nobody measured it. */
function Known(props: { value: number | null }): JSX.Element {
	return props.value === null ? (
		<span class="muted" title="not measured">
			–
		</span>
	) : (
		<Bytes value={props.value} />
	);
}

function Row(props: { of: Relative; whole: number }): JSX.Element {
	const { process: p, depth } = props.of,
		command = p.argv.slice(1).join(" ");
	return (
		<tr class="opens" onClick={rowClick}>
			<th scope="row" style={{ paddingInlineStart: `${0.75 + 1.1 * Math.min(depth, DEEPEST)}rem` }}>
				<a
					href={pageHref(["overview"], { filter: narrowed(p) })}
					title={`Show ${p.name} ${p.pid} alone`}
					aria-label={`${p.name} ${p.pid}, level ${depth + 1}`}
				>
					{p.name}
				</a>{" "}
				<span class="code muted family-argv" title={p.argv.join(" ")}>
					{command}
				</span>
			</th>
			<td class="num">{p.pid}</td>
			<td>
				<Life of={p} whole={props.whole} />
			</td>
			<td class={isBad(p) ? "bad" : p.ended === "exit" ? "" : "muted"}>{endOf(p)}</td>
			<td class="num">
				<Count value={p.allocations.count} />
			</td>
			<td class="num">
				<Bytes value={p.peak.bytes} />
			</td>
			<td class="num">
				<Bytes value={p.leaked.bytes} class={p.leaked.bytes > 0 ? "bad" : ""} />
			</td>
			<td class="num">
				<Known value={p.pss} />
			</td>
			<td class="num">
				<Known value={p.private} />
			</td>
		</tr>
	);
}

function Tree(props: { processes: readonly ProcessOfTree[] }): JSX.Element {
	const rows = useMemo(() => treeOf(props.processes), [props.processes]),
		whole = Math.max(...props.processes.map((p) => p.end_ns), 1);
	const body = useRef<HTMLTableSectionElement>(null);
	useJumpTarget(body);
	return (
		<div class="table-scroll family" tabIndex={0} role="region" aria-label="Process tree">
			<table class="table">
				<thead>
					<tr>
						<Th table="Processes of a tape" title="Process" first />
						<Th table="Processes of a tape" title="PID" num />
						<th scope="col" class="family-axis">
							0 – {format.duration(whole)}
						</th>
						<Th table="Processes of a tape" title="Ended" />
						<Th table="Processes of a tape" title="Allocations" num />
						<Th table="Processes of a tape" title="Peak" num />
						<Th table="Processes of a tape" title="Leaked" num />
						<Th
							table="Processes of a tape"
							title="PSS"
							num
							help="resident, with what is shared divided among its users"
						/>
						<Th table="Processes of a tape" title="Private" num help="resident, and nobody else's" />
					</tr>
				</thead>
				<tbody ref={body} onKeyDown={rowKeys}>
					{rows.map((r) => (
						<Row key={r.index} of={r} whole={whole} />
					))}
				</tbody>
			</table>
		</div>
	);
}

const bandsOf = (curves: Curves): Band[] =>
	curves.bands.map((b, i) => ({
		title: b.title,
		colour: b.rest ? "grey" : SERIES[i % SERIES.length]!,
		faint: b.rest,
		values: b.values,
	}));

function Heap(props: { curves: Curves }): JSX.Element {
	const { curves } = props,
		span = (curves.until_ns - curves.from_ns) / Math.max(1, curves.cols),
		ns = curves.live_max.map((_, i) => Math.round(curves.from_ns + span * i));
	return curves.bands.length === 0 || ns.length < 2 ? (
		filter.value ? (
			<EmptyByFilter />
		) : (
			<Empty title="Nothing was alive" />
		)
	) : (
		<Bands ns={ns} bands={bandsOf(curves)} line={curves.live_max} lineTitle="Live heap" />
	);
}

export function FamilyPage(): JSX.Element {
	const tree = useApi<ProcessTree>("processes", { c: tapeId.value }),
		curves = useApi<Curves>("curves", { ...commonParams(), bands: "process", points: COLUMNS, top: SERIES.length });
	return (
		<div class="report-page">
			<h1 class="sr">Process tree</h1>
			<Card
				title="Processes"
				note={tree.data ? format.exact(tree.data.processes.length) : undefined}
				class="report-fit"
				stale={tree.stale}
			>
				<Shown answer={tree} loading={<Loading rows={8} height={26} />}>
					{(d) => <Tree processes={d.processes} />}
				</Shown>
			</Card>
			<Card title="Live heap by process" note={tape.value?.name} stale={curves.stale}>
				<Shown answer={curves} loading={<Loading rows={8} height={26} />}>
					{(c) => <Heap curves={c} />}
				</Shown>
			</Card>
		</div>
	);
}
