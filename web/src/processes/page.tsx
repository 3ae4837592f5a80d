/*
 * Processes: those that run already, to be recorded. The list stays as it is until somebody refreshes it or comes back to the
 * window: a row that moves away under the pointer would be another process.
 */
import type { JSX } from "preact";
import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { ApiError, post, request, requestUrl } from "../api/client";
import type { AttachMade, Process, ProcessList } from "../api/answers";
import * as format from "../format";
import { useOpenRow } from "../lists/open";
import { sortBy, sortNow } from "../lists/order";
import { asking, recorded } from "../live";
import { infoLoad } from "../session";
import { info, option, setOption, update } from "../store";
import { Card } from "../ui/basics";
import { Bytes } from "../ui/cells";
import { Empty, ErrorCard, Loading } from "../ui/states";
import { toast } from "../ui/toast";
import { VirtualGrid } from "../ui/vgrid";
import type { Column, Rows, Sort } from "../ui/vgrid";
import "../lists/lists.css";
import "../reports/reports.css";
import "./processes.css";

const DETAIL_PX = 150;

const list = signal<readonly Process[] | null>(null);
const error = signal<ApiError | null>(null);
const attaching = signal<number | null>(null); /* this pid */

async function load(): Promise<void> {
	try {
		list.value = ((await (await request(requestUrl("attachable"))).json()) as ProcessList).processes;
		error.value = null;
	} catch (e) {
		if (e instanceof ApiError) error.value = e; /* else the banner says that the server is gone */
	}
}

async function attach(p: Process): Promise<void> {
	if (attaching.value !== null) return;
	attaching.value = p.pid;
	try {
		const made = await post<AttachMade>("attach", { pid: p.pid });
		toast(`Recording ${p.name}; it stood still for ${format.duration(made.pause_ns)}`);
		await infoLoad();
		update({ page: "overview", tape: made.id, range: null, at: null, path: [], frame: null, filter: "" });
	} catch (e) {
		toast(e instanceof ApiError ? e.body.message : "The server does not answer", true);
		void load();
	}
	attaching.value = null;
}

/* The tape of what this server records; undefined: nothing. */
const recordedTape = () => info.value?.tapes.find((t) => t.id === recorded.value);

/* What can be done with a process, or why nothing can. */
function Action(props: { of: Process }): JSX.Element {
	const p = props.of,
		now = recordedTape();
	if (now?.pid === p.pid)
		return (
			<span class="process-actions">
				<a class="button small" href={`#/overview?c=${now.id}`}>
					Show
				</a>
				<button
					type="button"
					class="button small"
					onClick={() => {
						update({ tape: now.id }, "replace");
						asking.value = "stop";
					}}
				>
					Detach
				</button>
			</span>
		);
	if (p.obstacle !== null)
		return (
			<span class="badge" title={p.refusal ?? undefined}>
				{p.obstacle}
			</span>
		);
	return (
		<button
			type="button"
			class="button small"
			disabled={attaching.value !== null || now !== undefined}
			title={now ? `${now.name} is being recorded: detach from it first` : `Record ${p.name} from now on`}
			aria-label={`Attach to ${p.name}, process ${p.pid}`}
			onClick={(event) => {
				event.stopPropagation();
				void attach(p);
			}}
			onDblClick={(event) => event.stopPropagation()}
		>
			{attaching.value === p.pid ? "Attaching \u2026" : "Attach"}
		</button>
	);
}

const COLUMNS: readonly Column<Process>[] = [
	{
		id: "rss_bytes",
		title: "Resident",
		track: "minmax(76px, 96px)",
		numeric: true,
		sort: true,
		value: (p) => p.rss_bytes,
		cell: (p) => <Bytes value={p.rss_bytes} />,
	},
	{ id: "pid", title: "PID", track: "minmax(58px, 76px)", numeric: true, sort: true, cell: (p) => p.pid },
	{
		id: "name",
		title: "Program",
		track: "minmax(90px, 1fr)",
		sort: true,
		cell: (p) => (
			<b class="ellipsis" title={p.name}>
				{p.name}
			</b>
		),
	},
	{
		id: "command",
		title: "Command line",
		track: "minmax(120px, 4fr)",
		cell: (p) => (
			<span class="code ellipsis" title={p.command}>
				{p.command}
			</span>
		),
	},
	{
		id: "user",
		title: "User",
		track: "minmax(60px, 110px)",
		sort: true,
		cell: (p) => (
			<span class="ellipsis" title={p.user}>
				{p.user}
			</span>
		),
	},
	{
		id: "age_ns",
		title: "Running for",
		track: "minmax(92px, 116px)",
		numeric: true,
		sort: true,
		cell: (p) => <span title={`since ${startText(p)}`}>{format.duration(p.age_ns)}</span>,
	},
	{ id: "action", title: "Recording", track: "152px", cell: (p) => <Action of={p} /> },
];
const SORTS = COLUMNS.filter((c) => c.sort).map((c) => c.id);
const USUAL: Sort = { id: "rss_bytes", order: "dsc" };

function startText(p: Process): string {
	return new Date(Number(BigInt(p.start_realtime_ns) / 1_000_000n)).toLocaleString();
}

function Detail(props: { of: Process }): JSX.Element {
	const p = props.of;
	return (
		<div class="process-detail">
			<p>
				<code>{p.command || p.name}</code>
			</p>
			<p class="muted">
				Running since {startText(p)}, {format.exactBytes(p.rss_bytes)} resident.
			</p>
			{p.tape && (
				<p>
					Recorded to <code>{p.tape}</code>
				</p>
			)}
			{p.refusal && <p>{p.refusal}</p>}
		</div>
	);
}

function sorted(all: readonly Process[], sort: Sort): readonly Process[] {
	const key = sort.id as "rss_bytes" | "pid" | "name" | "user" | "age_ns",
		sign = sort.order === "asc" ? 1 : -1;
	return [...all].sort((a, b) => {
		const [x, y] = [a[key], b[key]];
		return sign * (typeof x === "string" ? x.localeCompare(y as string) : x - (y as number)) || a.pid - b.pid;
	});
}

export function matches(p: Process, words: string): boolean {
	const text = `${p.pid} ${p.name} ${p.user} ${p.command}`.toLowerCase();
	return words
		.toLowerCase()
		.split(/\s+/)
		.every((word) => text.includes(word));
}

function List(props: { found: readonly Process[]; of: number }): JSX.Element {
	const sort = sortNow(SORTS, USUAL),
		{ at, open, toggle, select } = useOpenRow();
	const shown = useMemo(() => sorted(props.found, sort), [props.found, sort.id, sort.order]);
	const rows = useMemo<Rows<Process>>(
		() => ({ count: shown.length, get: (i) => shown[i], need: () => undefined }),
		[shown],
	);
	if (shown.length === 0)
		return (
			<Empty title="No process matches">
				<button type="button" class="button small" onClick={() => setOption("find", null)}>
					Show all {format.exact(props.of)}
				</button>
			</Empty>
		);
	return (
		<VirtualGrid
			label="Processes"
			rows={rows}
			columns={COLUMNS}
			rowHeight={34}
			minWidth={820}
			sort={sort}
			onSort={(id) => sortBy(sort, id, USUAL, ["pid", "name", "user"])}
			selected={at}
			onSelect={select}
			onActivate={toggle}
			detail={
				open !== null && shown[open]
					? { index: open, height: DETAIL_PX, content: <Detail of={shown[open]!} /> }
					: null
			}
		/>
	);
}

export function ProcessesPage(): JSX.Element {
	useEffect(() => {
		const look = () => {
			if (!document.hidden) void load();
		};
		look();
		document.addEventListener("visibilitychange", look);
		return () => document.removeEventListener("visibilitychange", look);
	}, [recorded.value]); /* and when a recording has begun or ended */
	const all = list.value,
		find = option("find"),
		found = useMemo(() => all?.filter((p) => matches(p, find)) ?? [], [all, find]),
		now = recordedTape();
	return (
		<div class="report-page">
			<Card
				title="Processes"
				note={all ? `${find ? `${format.exact(found.length)} of ` : ""}${format.exact(all.length)}` : undefined}
				class="report-grow"
				tools={
					<>
						<input
							class="field process-find"
							type="search"
							placeholder="Name, PID, user, command line"
							aria-label="Find a process"
							value={find}
							onInput={(e) => setOption("find", e.currentTarget.value, "replace")}
							spellcheck={false}
							autocomplete="off"
						/>
						<button type="button" class="button" onClick={() => void load()}>
							Refresh
						</button>
					</>
				}
			>
				<p class="report-words">
					Attaching records a program that runs already, from now on: it stands still for a few milliseconds,
					and goes on as before when it is let go. Blocks from before are shown without the stacks that
					allocated them.
					{now && (
						<>
							{" "}
							<b>
								{now.name}, process {now.pid}, is being recorded
							</b>
							; detach from it to attach to another.
						</>
					)}
				</p>
				{error.value ? (
					<ErrorCard error={error.value} retry={() => void load()} />
				) : all ? (
					<List found={found} of={all.length} />
				) : (
					<Loading rows={8} height={26} />
				)}
			</Card>
		</div>
	);
}
