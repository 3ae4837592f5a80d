/* Blocks of a leak scan by class and stack, as Memcheck's loss records. */
import type { JSX } from "preact";
import { useApi } from "../api/use";
import type { LeakReport, LossRecord } from "../api/types";
import * as format from "../format";
import { Stack } from "../lists/stack";
import { commonParams, filter, option, setOption } from "../store";
import { Card } from "../ui/basics";
import { BarCell, Bytes, Count } from "../ui/cells";
import { Empty, Loading, Shown } from "../ui/states";
import type { Column } from "../ui/vgrid";
import { CLASSES, ClassWord, counted, KindTile, OpenList, PlaceName, Suppression } from "./parts";

const RECORDS_MAX = 200,
	DETAIL_PX = 250;

function columnsOf(max: number): Column<LossRecord>[] {
	const number = { numeric: true };
	return [
		{
			id: "site",
			title: "Call site",
			track: "minmax(180px, 1fr)",
			cell: (r) => <PlaceName of={r} />,
		},
		{
			id: "class",
			title: "Class",
			track: "minmax(104px, 120px)",
			cell: (r) => <ClassWord of={r.class} />,
		},
		{
			id: "bytes",
			title: "Bytes",
			track: "minmax(100px, 150px)",
			...number,
			value: (r) => r.bytes,
			cell: (r) => (
				<BarCell value={r.bytes} max={max}>
					<Bytes value={r.bytes} />
				</BarCell>
			),
		},
		{
			id: "blocks",
			title: "Blocks",
			track: "minmax(58px, 84px)",
			...number,
			value: (r) => r.blocks,
			cell: (r) => <Count value={r.blocks} />,
		},
		{
			id: "indirect",
			title: "Lost with them",
			track: "minmax(100px, 120px)",
			...number,
			help: "lost because only these blocks lead to it",
			value: (r) => r.indirect_bytes,
			cell: (r) =>
				r.indirect_bytes > 0 ? <Bytes value={r.indirect_bytes} /> : <span class="muted">{"\u2014"}</span>,
		},
	];
}

function Detail(props: { record: LossRecord }): JSX.Element {
	const { record } = props;
	return (
		<div class="detail">
			<Stack title="Allocated by" stack={record.stack} />
			<div class="detail-side">
				<p>
					{CLASSES.find((c) => c.key === record.class)?.meaning}
					{record.indirect_blocks > 0 &&
						`; ${format.bytes(record.indirect_bytes)} in ${counted(record.indirect_blocks, "block")} hang on it`}
					.
				</p>
				{record.function && <Suppression title={record.function} />}
			</div>
		</div>
	);
}

function List(props: { records: readonly LossRecord[] }): JSX.Element {
	const { records } = props;
	return (
		<OpenList
			label="Loss records"
			items={records}
			columns={columnsOf(Math.max(...records.map((r) => r.bytes), 0))}
			minWidth={760}
			detailPx={DETAIL_PX}
			detail={(record) => <Detail record={record} />}
		/>
	);
}

export function Classes(): JSX.Element {
	const answer = useApi<LeakReport>("leak-classes", { ...commonParams(), top: RECORDS_MAX }),
		wanted = option("class"),
		shown = (answer.data?.records ?? []).filter((r) => !wanted || r.class === wanted);
	return (
		<>
			<div class="leak-kinds" role="group" aria-label="Classes">
				{CLASSES.map((c) => (
					<KindTile
						key={c.key}
						title={c.title}
						meaning={c.meaning}
						bytes={answer.data?.[c.key].bytes ?? 0}
						note={counted(answer.data?.[c.key].blocks ?? 0, "block")}
						tone={c.key === "definitely_lost" || c.key === "indirectly_lost" ? "growing" : ""}
						pressed={wanted === c.key}
						onClick={() => setOption("class", wanted === c.key ? null : c.key)}
					/>
				))}
			</div>
			<Card
				title="Loss records"
				class="report-grow"
				stale={answer.stale}
				note={`${shown.length < RECORDS_MAX ? format.exact(shown.length) : `the largest ${RECORDS_MAX}`}${
					answer.data && answer.data.suppressed.blocks > 0
						? `; ${format.bytes(answer.data.suppressed.bytes)} suppressed`
						: ""
				}`}
			>
				<Shown answer={answer} loading={<Loading rows={8} />}>
					{() =>
						shown.length > 0 ? (
							<List records={shown} />
						) : (
							<Empty title="No such blocks">
								{filter.value && <p>Nothing that matches the filter.</p>}
							</Empty>
						)
					}
				</Shown>
			</Card>
		</>
	);
}
