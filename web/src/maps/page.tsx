/* Why the process is as large as the kernel says: resident memory in parts that add up to it, and every mapping. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Mallopts, MappingRow, Mappings, Rss, RssSample } from "../api/answers";
import { useApi } from "../api/use";
import { momentText } from "../clock";
import * as format from "../format";
import { useKeys } from "../keys";
import { useOpenRow } from "../lists/open";
import { sortBy, sortNow } from "../lists/order";
import { Bands, BandsTable } from "../reports/bands";
import type { Band } from "../reports/bands";
import { option, setOption, tapeId, update } from "../store";
import { threadOf } from "../thread";
import { Card, Segmented } from "../ui/basics";
import { Bytes } from "../ui/cells";
import { Sparkline } from "../ui/sparkline";
import { Empty, Loading, Shown } from "../ui/states";
import { VirtualGrid } from "../ui/vgrid";
import type { Column, Rows, Sort } from "../ui/vgrid";
import { SystemCard } from "./system";
import "../flame/flame.css";
import "../lists/lists.css";
import "../reports/reports.css";

const USUAL: Sort = { id: "resident_bytes", order: "dsc" };
const DETAIL_PX = 250;

function bandsOf(samples: readonly RssSample[]): Band[] {
	const band = (title: string, colour: Band["colour"], pick: (s: RssSample) => number, faint = false): Band => ({
		title,
		colour,
		faint,
		values: samples.map(pick),
	});
	return [
		band("Live blocks", "blue", (s) => s.live + s.slack + s.untouched),
		band("Free in the heap", "orange", (s) => s.free),
		band("Program's own mappings", "teal", (s) => s.program),
		band("Other anonymous", "purple", (s) => s.unseen),
		band("Files", "sky", (s) => s.file),
		band("Code and data of modules", "grey", (s) => s.module, true),
		band("Stacks", "red", (s) => s.stack, true),
		band("memtape, kernel, rest", "grey", (s) => s.memtape + s.kernel + s.shared + s.remainder),
	];
}

function RssCard(props: { table: boolean }): JSX.Element {
	const answer = useApi<Rss>("rss", { c: tapeId.value });
	return (
		<Card
			title="Resident memory explained"
			stale={answer.stale}
			note={
				answer.data
					? `${format.counted(answer.data.samples.length, "sample")}, ${format.counted(answer.data.snapshots, "snapshot")} of the address space`
					: undefined
			}
		>
			<Shown answer={answer} loading={<Loading rows={8} height={24} />}>
				{(rss) => {
					if (rss.samples.length < 2)
						return (
							<Empty
								title={
									rss.samples.length === 0
										? "No samples of resident memory on this tape"
										: "One sample of resident memory makes no curve"
								}
							>
								<p>
									{rss.samples.length === 0 ? (
										<>
											<code>memtape record</code> takes them regularly, the library alone only
											sometimes.
										</>
									) : (
										rss.explanation
									)}
								</p>
							</Empty>
						);
					const bands = bandsOf(rss.samples),
						ns = rss.samples.map((s) => s.ns),
						line = rss.samples.map((s) => s.rss_bytes);
					return (
						<>
							<p class="report-words">{rss.explanation}</p>
							{props.table ? (
								<BandsTable ns={ns} bands={bands} line={line} lineTitle="RSS" />
							) : (
								<Bands ns={ns} bands={bands} line={line} lineTitle="RSS" />
							)}
						</>
					);
				}}
			</Shown>
		</Card>
	);
}

const COLUMNS: Column<MappingRow>[] = [
	{
		id: "address",
		title: "Address",
		track: "minmax(116px, 150px)",
		sort: true,
		cell: (m) => <span class="code">{m.address}</span>,
	},
	{ id: "kind", title: "Kind", track: "minmax(60px, 86px)", cell: (m) => m.kind },
	{ id: "prot", title: "Access", track: "64px", cell: (m) => <span class="code">{m.prot}</span> },
	{
		id: "name",
		title: "Name, or who mapped it",
		track: "minmax(126px, 1fr)",
		cell: (m) =>
			m.name ? (
				<span class="code ellipsis" title={m.name}>
					{m.name}
				</span>
			) : (
				<span class="code ellipsis" title={m.stack.join("\n")}>
					{m.stack[0] ?? <span class="muted">unknown</span>}
				</span>
			),
	},
	{
		id: "mapped_bytes_max",
		title: "Size",
		track: "minmax(76px, 92px)",
		numeric: true,
		sort: true,
		help: "at most",
		value: (m) => m.mapped_bytes_max,
		cell: (m) => <Bytes value={m.mapped_bytes_max} />,
	},
	{
		id: "resident_bytes_max",
		title: "Resident",
		track: "minmax(76px, 92px)",
		numeric: true,
		sort: true,
		help: "largest sample",
		value: (m) => m.resident_bytes_max,
		cell: (m) => <Bytes value={m.resident_bytes_max} />,
	},
	{
		id: "resident_bytes",
		title: "At the end",
		track: "minmax(76px, 92px)",
		numeric: true,
		sort: true,
		help: "resident at the last sample",
		value: (m) => m.resident_bytes,
		cell: (m) => <Bytes value={m.resident_bytes} />,
	},
	{
		id: "from_ns",
		title: "From",
		track: "minmax(64px, 92px)",
		numeric: true,
		sort: true,
		cell: (m) => momentText(m.from_ns),
	},
	{
		id: "to_ns",
		title: "To",
		track: "minmax(64px, 92px)",
		numeric: true,
		cell: (m) => (m.to_ns === null ? <span class="muted">the end</span> : momentText(m.to_ns)),
	},
	{
		id: "usage",
		title: "Resident",
		track: "70px",
		cell: (m) => <Sparkline values={m.usage.map((u) => u.resident_bytes)} colour="teal" />,
	},
];
const SORTS = COLUMNS.filter((c) => c.sort).map((c) => c.id);

function MappingDetail(props: { mapping: MappingRow }): JSX.Element {
	const m = props.mapping;
	return (
		<div class="detail">
			<section class="stack">
				<header>
					<h3>Mapped by</h3>
				</header>
				{m.stack.length === 0 ? (
					<p class="muted">No call recorded: mapped by libc, the loader or the kernel.</p>
				) : (
					<ol>
						{m.stack.map((f, i) => (
							<li key={i}>
								<span class="code ellipsis">{f}</span>
							</li>
						))}
					</ol>
				)}
			</section>
			<div class="detail-side">
				<div class="detail-actions">
					<button
						type="button"
						class="button small"
						onClick={() =>
							update({
								filter: `address in ${m.address}..0x${(parseInt(m.address, 16) + m.bytes - 1).toString(16)}`,
							})
						}
					>
						Filter: blocks inside
					</button>
				</div>
				<dl class="pairs">
					<dt>Now mapped</dt>
					<dd>
						{format.bytes(m.mapped_bytes)} of {format.bytes(m.bytes)}
					</dd>
					{m.flags && (
						<>
							<dt>Flags</dt>
							<dd class="code">{m.flags}</dd>
						</>
					)}
					{m.nodes.length > 0 && (
						<>
							<dt>On NUMA nodes</dt>
							<dd>{m.nodes.map((node) => `${format.bytes(node.bytes)} on ${node.node}`).join(", ")}</dd>
						</>
					)}
					{m.thread !== null && (
						<>
							<dt>Thread</dt>
							<dd>{threadOf(m.thread)}</dd>
						</>
					)}
				</dl>
				{m.usage.length > 1 && (
					<div>
						<h3>Resident over time</h3>
						<Sparkline
							values={m.usage.map((u) => u.resident_bytes)}
							colour="teal"
							width={420}
							height={60}
						/>
					</div>
				)}
			</div>
		</div>
	);
}

function MappingList(props: { list: readonly MappingRow[] }): JSX.Element {
	const sort = sortNow(SORTS, USUAL),
		{ at, open, toggle, select } = useOpenRow();
	const sorted = useMemo(() => {
		const key = sort.id as keyof MappingRow,
			sign = sort.order === "asc" ? 1 : -1;
		const value = (m: MappingRow) =>
			key === "address" ? parseInt(m.address, 16) : ((m[key] as number | null) ?? Infinity);
		return [...props.list].sort((a, b) => sign * (value(a) - value(b)));
	}, [props.list, sort.id, sort.order]);
	const rows = useMemo<Rows<MappingRow>>(
		() => ({ count: sorted.length, get: (i) => sorted[i], need: () => undefined }),
		[sorted],
	);
	if (sorted.length === 0) return <Empty title="No mappings on this tape" />;
	return (
		<VirtualGrid
			label="Mappings"
			rows={rows}
			columns={COLUMNS}
			rowHeight={28}
			minWidth={930}
			sort={sort}
			onSort={(id) => sortBy(sort, id, USUAL, ["address", "from_ns"])}
			selected={at}
			onSelect={select}
			onActivate={toggle}
			detail={
				open !== null && sorted[open]
					? { index: open, height: DETAIL_PX, content: <MappingDetail mapping={sorted[open]!} /> }
					: null
			}
		/>
	);
}

function Settings(): JSX.Element {
	const answer = useApi<Mallopts>("mallopts", { c: tapeId.value });
	return (
		<Shown answer={answer}>
			{(d) =>
				d.mallopts.length === 0 ? (
					<Empty title="The program called neither mallopt nor malloc_trim" />
				) : (
					<div class="table-scroll" tabIndex={0} role="region" aria-label="Allocator settings">
						<table class="table">
							<thead>
								<tr>
									<th scope="col">Time</th>
									<th scope="col">Call</th>
									<th scope="col">Parameter</th>
									<th scope="col" class="num">
										Value
									</th>
									<th scope="col" class="num">
										Result
									</th>
									<th scope="col">Called from</th>
								</tr>
							</thead>
							<tbody>
								{d.mallopts.map((s, i) => (
									<tr key={i}>
										<th scope="row">{momentText(s.ns)}</th>
										<td class="code">{s.function}</td>
										<td class="code">{s.parameter}</td>
										<td class="num">{format.exact(s.value)}</td>
										<td class="num">{s.result}</td>
										<td class="code ellipsis" title={s.stack.join("\n")}>
											{s.stack[0] ?? ""}
										</td>
									</tr>
								))}
							</tbody>
						</table>
					</div>
				)
			}
		</Shown>
	);
}

export function MapsPage(): JSX.Element {
	const table = option("table") === "1",
		what = option("list") === "mallopts" ? "mallopts" : "mappings";
	const answer = useApi<Mappings>("mappings", { c: tapeId.value, top: 100000 });
	useKeys({ t: () => setOption("table", table ? null : "1", "replace") });
	return (
		<div class="report-page">
			<h1 class="sr">Maps and resident memory</h1>
			<RssCard table={table} />
			<SystemCard table={table} />
			<Card
				title={what === "mappings" ? "Mappings" : "Allocator settings"}
				class="report-grow"
				stale={answer.stale}
				note={what === "mappings" && answer.data ? format.exact(answer.data.mappings.length) : undefined}
				tools={
					<Segmented
						label="List"
						value={what}
						choices={[
							{ value: "mappings", label: "Mappings" },
							{ value: "mallopts", label: "mallopt" },
						]}
						onChange={(w) => setOption("list", w === "mappings" ? null : w, "replace")}
					/>
				}
			>
				{what === "mallopts" ? (
					<Settings />
				) : (
					<Shown answer={answer}>{(d) => <MappingList list={d.mappings} />}</Shown>
				)}
			</Card>
		</div>
	);
}
