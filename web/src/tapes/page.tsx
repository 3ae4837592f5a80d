/* Tapes: what there is in the folder that is served, open or not; one is opened by a click, several are laid over each other. */
import type { JSX } from "preact";
import { signal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { ApiError, post } from "../api/client";
import type { FolderTape, FolderTapes, Opened } from "../api/answers";
import * as format from "../format";
import { sortBy, sortNow } from "../lists/order";
import { infoLoad } from "../session";
import { option, setOption, update } from "../store";
import { Card } from "../ui/basics";
import { Bytes, Duration } from "../ui/cells";
import { Sparkline } from "../ui/sparkline";
import { Empty, ErrorCard, Loading } from "../ui/states";
import { toast } from "../ui/toast";
import { VirtualGrid } from "../ui/vgrid";
import type { Column, Rows, Sort } from "../ui/vgrid";
import { useState } from "preact/hooks";
import { useTapes } from "./list";
import { Overlay, PICKED_MAX } from "./overlay";
import "../lists/lists.css";
import "../reports/reports.css";
import "./tapes.css";

const opening = signal<string | null>(null); /* this id */

/* A file that has taken its place is another tape: the server knows it by path and id. */
async function open(t: FolderTape): Promise<void> {
	if (opening.value !== null || t.kind === "unreadable") return;
	opening.value = t.id;
	try {
		const opened = await post<Opened>("open", { path: t.path, id: t.id });
		await infoLoad();
		update({ page: "overview", tape: opened.id, range: null, at: null, path: [], frame: null, filter: "" });
	} catch (e) {
		toast(e instanceof ApiError ? e.body.message : "The server does not answer", true);
	}
	opening.value = null;
}

/* --- which are laid over each other ------------------------------------------------------------------------------- */

const pickedIds = (): readonly string[] =>
	option("pick")
		.split(".")
		.filter((id) => /^[0-9a-f]{32}$/.test(id));

function pickedSet(ids: readonly string[]): void {
	setOption("pick", ids.join(".") || null, "replace");
}

function pickToggle(t: FolderTape): void {
	const now = pickedIds();
	if (now.includes(t.id)) pickedSet(now.filter((id) => id !== t.id));
	else if (now.length === PICKED_MAX) toast(`No more than ${PICKED_MAX} at once`, true);
	else if (t.kind === "tape") pickedSet([...now, t.id]);
}

/* --- the list ----------------------------------------------------------------------------------------------------- */

function State(props: { of: FolderTape }): JSX.Element {
	const t = props.of;
	if (t.trouble)
		return (
			<span class="badge" title={t.trouble}>
				Unreadable
			</span>
		);
	return (
		<span class="tapes-state">
			{t.live && <span class="badge good">Live</span>}
			{t.kind === "session" && <span class="badge">{format.counted(t.tape_count ?? 0, "process tape")}</span>}
			{t.link && <span class="badge">Link</span>}
			{!t.live && t.end && <span class="ellipsis muted">{t.end}</span>}
		</span>
	);
}

function Name(props: { of: FolderTape }): JSX.Element {
	const t = props.of,
		name = t.program ?? t.file;
	return t.kind === "unreadable" ? (
		<span class="ellipsis muted" title={t.trouble ?? undefined}>
			{t.file}
		</span>
	) : (
		<button
			type="button"
			class="tapes-open ellipsis"
			tabIndex={-1}
			title={`Open ${t.file}\n${t.command ?? ""}`}
			disabled={opening.value !== null}
			onClick={(event) => {
				event.stopPropagation();
				void open(t);
			}}
		>
			{opening.value === t.id ? "Opening \u2026" : name}
		</button>
	);
}

const number = (value: number | null) => (value === null ? null : <Bytes value={value} />);

const text = (value: string | null, short?: string) => (
	<span class="ellipsis" title={value ?? undefined}>
		{short ?? value}
	</span>
);

function columns(ids: readonly string[]): readonly Column<FolderTape>[] {
	return [
		{
			id: "pick",
			title: "",
			track: "34px",
			cell: (t) => (
				<input
					type="checkbox"
					tabIndex={-1}
					aria-label={`Lay ${t.file} over the others`}
					checked={ids.includes(t.id)}
					disabled={t.kind !== "tape"}
					onClick={(event) => event.stopPropagation()}
					onChange={() => pickToggle(t)}
				/>
			),
		},
		{ id: "program", title: "Program", track: "minmax(110px, 1fr)", sort: true, cell: (t) => <Name of={t} /> },
		{
			id: "curve",
			title: "Live memory",
			track: "96px",
			cell: (t) => <Sparkline values={t.curve} colour="blue" width={80} height={22} />,
		},
		{
			id: "peak",
			title: "Peak",
			track: "84px",
			numeric: true,
			sort: true,
			value: (t) => t.peak_bytes,
			cell: (t) => number(t.peak_bytes),
		},
		{
			id: "live",
			title: "At the end",
			track: "92px",
			numeric: true,
			sort: true,
			value: (t) => t.live_bytes,
			cell: (t) => number(t.live_bytes),
		},
		{ id: "host", title: "Host", track: "minmax(60px, 0.5fr)", sort: true, cell: (t) => text(t.host) },
		{
			id: "release",
			title: "Release",
			help: "The program's build-id",
			track: "84px",
			cell: (t) => <code title={t.release ?? undefined}>{t.release?.slice(0, 8)}</code>,
		},
		{
			id: "age",
			title: "Age",
			help: "Since it was last written",
			track: "84px",
			numeric: true,
			sort: true,
			cell: (t) => <Duration value={t.age_ns} />,
		},
		{
			id: "duration",
			title: "Recorded",
			track: "88px",
			numeric: true,
			sort: true,
			cell: (t) => (t.duration_ns === null ? null : <Duration value={t.duration_ns} />),
		},
		{
			id: "size",
			title: "Size",
			track: "80px",
			numeric: true,
			sort: true,
			value: (t) => t.size_bytes,
			cell: (t) => <Bytes value={t.size_bytes} />,
		},
		{ id: "state", title: "State", track: "minmax(90px, 1fr)", cell: (t) => <State of={t} /> },
		{ id: "file", title: "File", track: "minmax(140px, 4fr)", cell: (t) => text(t.file) },
	];
}

const SORTS = ["program", "peak", "live", "host", "age", "duration", "size"];
const RISING = ["program", "host", "age"];
const USUAL: Sort = { id: "age", order: "asc" };

function List(props: {
	answer: FolderTapes;
	ids: readonly string[];
	sort: Sort;
	need: (last: number) => void;
}): JSX.Element {
	const { answer, sort } = props;
	const [at, setAt] = useState<number | null>(null);
	const shown = useMemo(() => columns(props.ids), [props.ids.join(), opening.value]);
	const rows = useMemo<Rows<FolderTape>>(
		() => ({ count: answer.match_count, get: (i) => answer.tapes[i], need: (_first, last) => props.need(last) }),
		[answer],
	);
	if (answer.match_count === 0)
		return (
			<Empty title={answer.count ? "No tape matches" : "There are no tapes in this folder"}>
				{answer.count > 0 && (
					<button type="button" class="button small" onClick={() => setOption("find", null)}>
						Show all {format.exact(answer.count)}
					</button>
				)}
			</Empty>
		);
	return (
		<VirtualGrid
			label="Tapes"
			rows={rows}
			columns={shown}
			rowHeight={34}
			minWidth={1080}
			sort={sort}
			onSort={(id) => sortBy(sort, id, USUAL, RISING)}
			selected={at}
			onSelect={(i) => setAt(i)}
			onActivate={(_i, t) => {
				if (t) void open(t);
			}}
			onKey={(event, _i, t) => {
				if (event.key !== " " || !t) return false;
				pickToggle(t);
				return true;
			}}
		/>
	);
}

export function TapesPage(): JSX.Element {
	const sort = sortNow(SORTS, USUAL),
		find = option("find").trim(),
		ids = pickedIds();
	const reverse = (sort.order === "asc") !== RISING.includes(sort.id);
	const tapes = useTapes({ sort: sort.id, ...(find && { find }), ...(reverse && { reverse: 1 }) }, ids);
	const { answer } = tapes;
	const remove = (id: string) => pickedSet(ids.filter((other) => other !== id));
	return (
		<div class="report-page">
			{tapes.picked.length > 0 && <Overlay tapes={tapes.picked} remove={remove} clear={() => pickedSet([])} />}
			<Card
				title="Tapes"
				note={
					answer
						? `${format.exact(answer.count)}, ${format.bytes(answer.size_bytes)} in ${answer.folder}`
						: undefined
				}
				class="report-grow"
				tools={
					<>
						{answer && answer.unread > 0 && (
							<span class="muted tapes-reading" role="status">
								reading {format.exact(answer.unread)} {"\u2026"}
							</span>
						)}
						<input
							class="field tapes-find"
							type="search"
							placeholder="Name, program, host, build-id"
							aria-label="Find a tape"
							value={option("find")}
							onInput={(e) => setOption("find", e.currentTarget.value, "replace")}
							spellcheck={false}
							autocomplete="off"
						/>
					</>
				}
			>
				{tapes.error ? (
					<ErrorCard error={tapes.error} retry={tapes.retry} />
				) : answer ? (
					<List answer={answer} ids={ids} sort={sort} need={tapes.need} />
				) : (
					<Loading rows={8} height={26} />
				)}
			</Card>
		</div>
	);
}
