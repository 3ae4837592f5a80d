/* Threads: what each allocates, and who frees it. */
import type { JSX } from "preact";
import { momentText } from "../clock";
import { addTerm } from "../filter";
import * as format from "../format";
import { useSelected } from "../reports/report";
import { filter, range } from "../store";
import { Card } from "../ui/basics";
import { BarCell, Bytes, Count } from "../ui/cells";
import { EmptyByFilter, Loading, Shown } from "../ui/states";
import { pageHref } from "../pages/links";
import "../reports/reports.css";

interface Thread {
	tid: number; name: string; allocated_count: number; allocated_bytes: number; peak_bytes: number; leaked_bytes: number; temporary_count: number;
	free_count: number; foreign_free_count: number; begin_ns: number; end_ns: number | null; creator: number | null;
}
interface Handover { allocated_by: number; freed_by: number | null; count: number; bytes: number }
interface Threads { threads: Thread[]; handovers: Handover[] }

const SHOWN = 14;

const nameOf = (t: Thread) => (t.name ? `${t.name} ${t.tid}` : String(t.tid));

function Table(props: { threads: readonly Thread[] }): JSX.Element {
	const most = Math.max(...props.threads.map((t) => t.allocated_bytes), 0);
	const sorted = [...props.threads].sort((a, b) => b.allocated_bytes - a.allocated_bytes);
	return (
		<div class="table-scroll" tabIndex={0} role="region" aria-label="Threads">
			<table class="table">
				<thead><tr><th scope="col">Thread</th><th scope="col" class="num">Allocated</th><th scope="col" class="num">Blocks</th><th scope="col" class="num">Live at peak</th><th scope="col" class="num">Leaked</th>
					<th scope="col" class="num">Temporary</th><th scope="col" class="num">Frees</th><th scope="col" class="num" title="of blocks that another thread had allocated">of others' blocks</th><th scope="col" class="num">Ran</th></tr></thead>
				<tbody>{sorted.map((t) => (
					<tr key={t.tid}>
						<th scope="row"><a href={pageHref(["sites"], { filter: addTerm(filter.value, `thread = ${t.tid}`) })}>{nameOf(t)}</a></th>
						<td class="num"><BarCell value={t.allocated_bytes} max={most}><Bytes value={t.allocated_bytes} /></BarCell></td><td class="num"><Count value={t.allocated_count} /></td>
						<td class="num"><Bytes value={t.peak_bytes} /></td><td class="num"><Bytes value={t.leaked_bytes} class={t.leaked_bytes > 0 ? "bad" : ""} /></td>
						<td class="num">{format.percent(t.temporary_count / Math.max(1, t.allocated_count))}</td><td class="num"><Count value={t.free_count} /></td>
						<td class="num">{format.percent(t.foreign_free_count / Math.max(1, t.free_count))}</td><td class="num">{momentText(t.begin_ns)} – {t.end_ns === null ? "the end" : momentText(t.end_ns)}</td>
					</tr>
				))}</tbody>
			</table>
		</div>
	);
}

/* Rows allocate, columns free. The diagonal is a thread's own. */
function Matrix(props: { data: Threads }): JSX.Element {
	const { threads, handovers } = props.data;
	const shown = [...threads].sort((a, b) => b.allocated_bytes - a.allocated_bytes).slice(0, SHOWN).map((t) => t.tid);
	const name = new Map(threads.map((t) => [t.tid, nameOf(t)])), most = Math.max(...handovers.map((h) => h.bytes), 1);
	const cell = (from: number, to: number | null) => handovers.find((h) => h.allocated_by === from && h.freed_by === to);
	const columns: (number | null)[] = [...shown, null];
	return (
		<div class="matrix-scroll" tabIndex={0} role="region" aria-label="Who frees what whom allocated">
			<table class="matrix">
				<thead><tr><th scope="col">allocated ↓ freed →</th>{columns.map((c) => <th key={String(c)} scope="col" title={c === null ? "" : name.get(c)}>{c === null ? "nobody" : c}</th>)}</tr></thead>
				<tbody>{shown.map((row) => (
					<tr key={row}><th scope="row">{name.get(row)}</th>{columns.map((c) => {
						const h = cell(row, c), strength = h ? .1 + .34 * (Math.log1p(h.bytes) / Math.log1p(most)) : 0;
						return <td key={String(c)} title={h ? `${format.exact(h.count)} blocks, ${format.exactBytes(h.bytes)}` : "none"}>{h && <i class={c === row ? "" : "foreign"} style={{ opacity: strength.toFixed(2) }} />}<span>{h ? format.bytes(h.bytes) : ""}</span></td>;
					})}</tr>
				))}</tbody>
			</table>
			{threads.length > SHOWN && <p class="report-words">The {SHOWN} threads that allocate most, of {format.exact(threads.length)}.</p>}
		</div>
	);
}

export function ThreadsPage(): JSX.Element {
	const answer = useSelected<Threads>("threads", { top: 100000 });
	const body = (draw: (d: Threads) => JSX.Element) => (
		<Shown answer={answer} loading={<Loading rows={6} />}>{(d) => (d.threads.length === 0 && (filter.value || range.value) ? <EmptyByFilter /> : draw(d))}</Shown>
	);
	return (
		<div class="report-page">
			<h1 class="sr">Threads</h1>
			<Card title="Threads" note={answer.data ? format.exact(answer.data.threads.length) : undefined} class="report-fit" stale={answer.stale}>{body((d) => <Table threads={d.threads} />)}</Card>
			<Card title="Who frees what" note="bytes allocated by one thread and freed by another" stale={answer.stale}>{body((d) => <Matrix data={d} />)}</Card>
		</div>
	);
}
