/* Threads: what each allocates, and who frees it. */
import type { JSX } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { Threads, ThreadRow } from "../api/answers";
import type { Sites } from "../api/types";
import { momentText } from "../clock";
import { addTerm } from "../filter";
import * as format from "../format";
import { rowClick, rowKeys, useJumpTarget } from "../keys";
import { commonParams, filter, range, tape } from "../store";
import { threadText } from "../thread";
import { Th } from "../table/th";
import { Card, Segmented } from "../ui/basics";
import { BarCell, Bytes, Count, leakClass } from "../ui/cells";
import { Sparkline } from "../ui/sparkline";
import { EmptyByFilter, Loading, misses, Missing, Shown } from "../ui/states";
import { measureTitle } from "../vocabulary";
import { pageHref } from "../pages/links";
import { cellKey, matrixOf, NOBODY, OTHERS } from "./matrix";
import type { Key } from "./matrix";
import "../reports/reports.css";

const SHOWN = 14,
	SIZES = [SHOWN, 40, 100],
	CURVES = 200;

const nameOf = (t: ThreadRow) => threadText(t.name, t.tid);

/* Blocks from before an attach have a thread that is none. */
const isReal = (t: ThreadRow) => t.tid !== 0 || !tape.value?.attached;

/* How far down its stack was used: by the pages it touched, or at least so far. */
function StackUse({ of: t }: { of: ThreadRow }): JSX.Element {
	const used = t.stack_used_bytes,
		all = t.stack_bytes,
		least = t.stack_known === "events";
	return used === null ? (
		<span class="muted" title="not recorded">
			–
		</span>
	) : (
		<BarCell value={used} max={all ?? 0}>
			<span title={least ? "at least, down to the deepest call recorded" : "by the pages that were touched"}>
				{least && "≥ "}
				<Bytes value={used} /> of {all === null ? "no limit" : <Bytes value={all} />}
			</span>
		</BarCell>
	);
}

function Table(props: { threads: readonly ThreadRow[] }): JSX.Element {
	const most = Math.max(...props.threads.map((t) => t.allocated_bytes), 0);
	const sorted = [...props.threads].sort((a, b) => b.allocated_bytes - a.allocated_bytes);
	const curves = useApi<Sites>("sites", { ...commonParams(), by: "thread", sort: "size", n: CURVES, spark: 24 });
	const spark = new Map((curves.data?.rows ?? []).map((r) => [Number(/\d+/.exec(r.q ?? "")?.[0]), r.spark]));
	const hasStacks = props.threads.some((t) => t.stack_known);
	const body = useRef<HTMLTableSectionElement>(null);
	useJumpTarget(body);
	return (
		<div class="table-scroll" tabIndex={0} role="region" aria-label="Threads">
			<table class="table">
				<thead>
					<tr>
						<Th table="Threads" title="Thread" first />
						<Th table="Threads" title="Allocated" num />
						<Th table="Threads" title="Blocks" num />
						<Th table="Threads" title="Live over time" />
						<Th table="Threads" title="Live at peak" num />
						<Th table="Threads" title={measureTitle("leaked")} num />
						<Th table="Threads" title="Temporary" num />
						<Th table="Threads" title="Frees" num />
						<Th
							table="Threads"
							title="of others' blocks"
							num
							help="of blocks that another thread had allocated"
						/>
						{hasStacks && <Th table="Threads" title="Stack" num help="used, of what is reserved" />}
						<Th table="Threads" title="Ran" num />
					</tr>
				</thead>
				<tbody ref={body} onKeyDown={rowKeys}>
					{sorted.map((t) => (
						<tr key={t.tid} class="opens" title={`Call sites of ${nameOf(t)}`} onClick={rowClick}>
							<th scope="row">
								<a href={pageHref(["sites"], { filter: addTerm(filter.value, `thread = ${t.tid}`) })}>
									{nameOf(t)}
								</a>
							</th>
							<td class="num">
								<BarCell value={t.allocated_bytes} max={most}>
									<Bytes value={t.allocated_bytes} />
								</BarCell>
							</td>
							<td class="num">
								<Count value={t.allocated_count} />
							</td>
							<td>
								<Sparkline values={spark.get(t.tid) ?? []} colour="blue" width={72} />
							</td>
							<td class="num">
								<Bytes value={t.peak_bytes} />
							</td>
							<td class="num">
								<Bytes value={t.leaked_bytes} class={leakClass(t.leaked_bytes)} />
							</td>
							<td class="num">{format.percent(t.temporary_count / Math.max(1, t.allocated_count))}</td>
							<td class="num">
								<Count value={t.free_count} />
							</td>
							<td class="num">{format.percent(t.foreign_free_count / Math.max(1, t.free_count))}</td>
							{hasStacks && (
								<td class="num">
									<StackUse of={t} />
								</td>
							)}
							<td class="num">
								{momentText(t.begin_ns)} – {t.end_ns === null ? "the end" : momentText(t.end_ns)}
							</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

/* Rows allocate, columns free. The diagonal is a thread's own. */
function Matrix(props: { data: Threads }): JSX.Element {
	const [most, setMost] = useState(SHOWN),
		made = useMemo(() => matrixOf(props.data, most), [props.data, most]),
		{ order, cells, highest } = made;
	const name = useMemo(() => new Map(props.data.threads.map((t) => [t.tid, nameOf(t)])), [props.data]);
	const title = (k: Key) =>
		k === NOBODY ? "nobody" : k === OTHERS ? `${format.exact(made.others)} others` : (name.get(k) ?? String(k));
	const rows: Key[] = made.others > 0 ? [...order, OTHERS] : order,
		columns: Key[] = [...rows, NOBODY];
	return (
		<>
			<div
				class="matrix-scroll"
				tabIndex={0}
				role="region"
				aria-label="Which thread frees what another allocated"
			>
				<table class="matrix">
					<thead>
						<tr>
							<th scope="col">allocated ↓ freed →</th>
							{columns.map((c) => (
								<th key={c} scope="col" title={title(c)}>
									{title(c).replace(" (", "\n(")}
								</th>
							))}
						</tr>
					</thead>
					<tbody>
						{rows.map((row) => (
							<tr key={row}>
								<th scope="row">{title(row)}</th>
								{columns.map((c) => {
									const h = cells.get(cellKey(row, c)),
										strength = h ? 0.1 + 0.34 * (Math.log1p(h.bytes) / Math.log1p(highest)) : 0;
									return (
										<td
											key={c}
											title={
												h
													? `${title(row)} → ${title(c)}: ${format.exact(h.count)} blocks, ${format.exactBytes(h.bytes)}`
													: "none"
											}
										>
											{h && (
												<i
													class={c === row && c >= 0 ? "" : "foreign"}
													style={{ opacity: strength.toFixed(2) }}
												/>
											)}
											<span>{h ? format.bytes(h.bytes) : ""}</span>
										</td>
									);
								})}
							</tr>
						))}
					</tbody>
				</table>
			</div>
			{props.data.threads.length > SHOWN && (
				<p class="report-words">
					Threads ranked by what they allocate and free for others; the rest is summed up. Show{" "}
					<Segmented
						label="Threads in the matrix"
						value={String(most)}
						choices={SIZES.map((n) => ({ value: String(n), label: String(n) }))}
						onChange={(n) => setMost(Number(n))}
					/>
				</p>
			)}
		</>
	);
}

export function ThreadsPage(): JSX.Element {
	const answer = useApi<Threads>("threads", { ...commonParams(), top: 100000 });
	const body = (draw: (d: Threads) => JSX.Element) => (
		<Shown answer={answer} loading={<Loading rows={6} />}>
			{(d) => (d.threads.length === 0 && (filter.value || range.value) ? <EmptyByFilter /> : draw(d))}
		</Shown>
	);
	if (misses("threads"))
		return (
			<>
				<h1 class="sr">Threads</h1>
				<Missing fact="threads">Which thread allocated a block, and which freed it, is not known.</Missing>
			</>
		);
	return (
		<div class="report-page">
			<h1 class="sr">Threads</h1>
			<Card
				title="Threads"
				note={answer.data ? format.exact(answer.data.threads.filter(isReal).length) : undefined}
				class="report-fit"
				stale={answer.stale}
			>
				{body((d) => (
					<Table threads={d.threads} />
				))}
			</Card>
			<Card title="Who frees what" note="bytes allocated by one thread and freed by another" stale={answer.stale}>
				{body((d) => (
					<Matrix data={d} />
				))}
			</Card>
		</div>
	);
}
