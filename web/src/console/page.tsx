/* Questions of one's own: SQL over the tape, read-only. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, post } from "../api/client";
import type { Sql, SqlResult } from "../api/types";
import { useApi } from "../api/use";
import { Chart } from "./chart";
import { completions, highlight, wordAt } from "./language";
import type { Schema } from "./language";
import { schemaParse } from "./language";
import { csvOf } from "./csv";
import * as format from "../format";
import { useKeys } from "../keys";
import { filter, option, setOption, tapeId } from "../store";
import { prefGet, prefSet } from "../theme";
import { Card, Popover, Segmented } from "../ui/basics";
import { Empty, Loading } from "../ui/states";
import { copyText } from "../ui/toast";
import { VirtualGrid } from "../ui/vgrid";
import type { Column, Rows } from "../ui/vgrid";
import "../flame/flame.css";
import "./console.css";

export type Cell = number | string | null;

const HISTORY_KEY = "memtape.sql.v1",
	KEPT = 50,
	LIMIT = 1000;

function historyGet(): string[] {
	try {
		const list: unknown = JSON.parse(prefGet(HISTORY_KEY) ?? "[]");
		return Array.isArray(list) ? list.filter((s): s is string => typeof s === "string") : [];
	} catch {
		return [];
	}
}
function historyAdd(text: string): void {
	prefSet(HISTORY_KEY, JSON.stringify([text, ...historyGet().filter((s) => s !== text)].slice(0, KEPT)));
}

function Editor(props: {
	text: string;
	schema: Schema;
	onChange: (text: string) => void;
	onRun: () => void;
}): JSX.Element {
	const field = useRef<HTMLTextAreaElement>(null),
		under = useRef<HTMLPreElement>(null);
	const [list, setList] = useState<string[]>([]),
		[chosen, setChosen] = useState(0);
	const look = () => {
		const el = field.current!;
		setList(el.selectionStart === el.selectionEnd ? completions(props.schema, el.value, el.selectionStart) : []);
		setChosen(0);
	};
	const take = (word: string) => {
		const el = field.current!,
			typed = wordAt(el.value, el.selectionStart);
		const text = el.value.slice(0, typed.pos) + word + el.value.slice(el.selectionStart);
		props.onChange(text);
		setList([]);
		requestAnimationFrame(() => {
			el.focus();
			el.setSelectionRange(typed.pos + word.length, typed.pos + word.length);
		});
	};
	const onKeyDown = (e: KeyboardEvent) => {
		if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) props.onRun();
		else if (list.length > 0 && (e.key === "ArrowDown" || e.key === "ArrowUp"))
			setChosen((c) => (c + (e.key === "ArrowDown" ? 1 : -1) + list.length) % list.length);
		else if (list.length > 0 && (e.key === "Tab" || (e.key === "Enter" && chosen >= 0 && !e.shiftKey)))
			take(list[Math.max(0, chosen)]!);
		else if (list.length > 0 && e.key === "Escape") setList([]);
		else return;
		e.preventDefault();
		e.stopPropagation();
	};
	return (
		<div class="sql-editor">
			<pre class="sql-under" ref={under} aria-hidden="true">
				{highlight(props.text).map((t, i) => (
					<span key={i} class={t.kind}>
						{t.text}
					</span>
				))}
				{"\n"}
			</pre>
			<textarea
				ref={field}
				id="sql"
				aria-label="SQL statement"
				spellcheck={false}
				autocomplete="off"
				value={props.text}
				aria-autocomplete="list"
				aria-controls={list.length > 0 ? "sql-words" : undefined}
				onInput={(e) => {
					props.onChange(e.currentTarget.value);
					look();
				}}
				onClick={() => setList([])}
				onBlur={() => setTimeout(() => setList([]), 150)}
				onKeyDown={onKeyDown}
				onScroll={() => {
					under.current!.scrollTop = field.current!.scrollTop;
				}}
			/>
			{list.length > 0 && (
				<ul class="sql-words" id="sql-words" role="listbox" aria-label="Completions">
					{list.map((word, i) => (
						<li
							key={word}
							role="option"
							aria-selected={i === chosen}
							onPointerDown={(e) => {
								e.preventDefault();
								take(word);
							}}
						>
							<code>{word}</code>
						</li>
					))}
				</ul>
			)}
		</div>
	);
}

function Grid(props: { result: SqlResult }): JSX.Element {
	const { result } = props,
		[at, setAt] = useState<number | null>(null);
	const rows = useMemo<Rows<Cell[]>>(
		() => ({ count: result.rows.length, get: (i) => result.rows[i], need: () => undefined }),
		[result],
	);
	const columns = result.columns.map<Column<Cell[]>>((c, i) => {
		const numeric = result.rows.every((r) => typeof r[i] !== "string");
		return {
			id: `${i}`,
			title: c.name,
			track: numeric ? "minmax(90px, 150px)" : "minmax(140px, 1fr)",
			numeric,
			cell: (r) => {
				const v = r[i];
				return v === null || v === undefined ? (
					<span class="muted">NULL</span>
				) : typeof v === "number" ? (
					<data value={v} data-exact={String(v)}>
						{format.exact(v)}
					</data>
				) : (
					<span class="code ellipsis" title={v}>
						{v}
					</span>
				);
			},
		};
	});
	return (
		<VirtualGrid
			label="Result"
			rows={rows}
			columns={columns}
			rowHeight={26}
			minWidth={columns.length * 120}
			selected={at}
			onSelect={(i) => setAt(i)}
		/>
	);
}

function Answer(props: { result: SqlResult | null; error: ApiError | null; running: boolean }): JSX.Element {
	const { result } = props,
		face = option("face") === "chart" ? "chart" : "table";
	const tools = result && (
		<>
			<Segmented
				label="Show as"
				value={face}
				choices={[
					{ value: "table", label: "Table" },
					{ value: "chart", label: "Chart" },
				]}
				onChange={(f) => setOption("face", f === "table" ? null : f, "replace")}
			/>
			<button
				type="button"
				class="button small"
				onClick={() =>
					void copyText(
						csvOf(
							result.columns.map((c) => c.name),
							result.rows,
						),
						"CSV",
					)
				}
			>
				Copy as CSV
			</button>
		</>
	);
	const note = result
		? `${format.exact(result.rows.length)} ${result.rows.length === 1 ? "row" : "rows"}${result.truncated ? `, more exist` : ""} in ${result.ms.toFixed(0)} ms`
		: undefined;
	return (
		<Card title="Result" class="sql-result" tools={tools} note={note} stale={props.running && result !== null}>
			{props.error ? (
				<div class="state" role="alert">
					<h3>{props.error.body.message}</h3>
					{props.error.body.hint && <p>{props.error.body.hint}</p>}
				</div>
			) : result === null ? (
				props.running ? (
					<Loading rows={6} />
				) : (
					<Empty title="No query yet">
						<p>Ctrl+Enter runs the statement above. The menus have examples and your last statements.</p>
					</Empty>
				)
			) : result.rows.length === 0 ? (
				<Empty title="No rows" />
			) : face === "chart" ? (
				<Chart columns={result.columns.map((c) => c.name)} rows={result.rows} />
			) : (
				<Grid result={result} />
			)}
		</Card>
	);
}

function filterAsSql(): string {
	return `SELECT site, count(*) AS blocks, sum(size) AS bytes\nFROM allocations${filter.value ? `('${filter.value.replace(/'/g, "''")}')` : ""}\nGROUP BY site ORDER BY bytes DESC LIMIT 20;`;
}

/* "300 s, 256 MiB and " */
const limitWords = (sql: Sql | null) =>
	sql
		? [
				sql.time_limit_ns !== null && `${format.duration(sql.time_limit_ns)}, `,
				sql.memory_limit_bytes > 0 && `${format.bytes(sql.memory_limit_bytes)} and `,
			]
				.filter(Boolean)
				.join("")
		: "";

export function ConsolePage(): JSX.Element {
	const sql = useApi<Sql>("sql", {});
	const [text, setText] = useState(() => option("sql") || historyGet()[0] || filterAsSql());
	const [result, setResult] = useState<SqlResult | null>(null),
		[error, setError] = useState<ApiError | null>(null),
		[running, setRunning] = useState(false);
	const asked = useRef<AbortController | null>(null);
	const schema = useMemo(() => schemaParse(sql.data?.schema ?? ""), [sql.data]);
	const run = (statement = text) => {
		asked.current?.abort();
		const abort = (asked.current = new AbortController());
		setRunning(true);
		setError(null);
		historyAdd(statement);
		setOption("sql", statement, "replace");
		post<SqlResult>(`query?c=${tapeId.value}`, { sql: statement, limit: LIMIT }, abort.signal).then(
			(r) => {
				setResult(r);
				setRunning(false);
			},
			(e) => {
				if (abort.signal.aborted) return;
				setRunning(false);
				setResult(null);
				if (e instanceof ApiError) setError(e);
			},
		);
	};
	const stop = () => {
		asked.current?.abort();
		setRunning(false);
	};
	useEffect(() => {
		if (option("sql")) run(option("sql"));
		return () => asked.current?.abort();
	}, []);
	useKeys({ "Ctrl+Enter": () => run() });
	const menu = (label: string, items: readonly { about: string; text: string }[]) => (
		<Popover label={label} button={label} class="button small" panelClass="sql-menu">
			{(close) =>
				items.length === 0 ? (
					<p class="menu-item">None yet</p>
				) : (
					items.map((e, i) => (
						<button
							key={i}
							type="button"
							class="menu-item"
							title={e.text}
							onClick={() => {
								setText(e.text);
								close();
								run(e.text);
							}}
						>
							{e.about}
						</button>
					))
				)
			}
		</Popover>
	);
	return (
		<div class="console-page">
			<h1 class="sr">Console</h1>
			<Card
				title="SQL"
				note={`read-only; ${limitWords(sql.data)}${format.exact(LIMIT)} rows at most`}
				tools={
					<>
						{menu("Examples", sql.data?.examples ?? [])}
						{menu(
							"History",
							historyGet().map((t) => ({ about: t.replace(/\s+/g, " ").slice(0, 90), text: t })),
						)}
						<Popover label="Tables" button="Tables" class="button small" end panelClass="sql-schema">
							{() => <pre tabIndex={0}>{sql.data?.schema ?? ""}</pre>}
						</Popover>
						<button
							type="button"
							class="button small"
							title="The filter as a SQL statement"
							onClick={() => setText(filterAsSql())}
						>
							Filter as SQL
						</button>
						{running ? (
							<button type="button" class="button small" onClick={stop}>
								Cancel
							</button>
						) : (
							<button type="button" class="button small primary" title="Ctrl+Enter" onClick={() => run()}>
								Run
							</button>
						)}
					</>
				}
			>
				<Editor text={text} schema={schema} onChange={setText} onRun={() => run()} />
			</Card>
			<Answer result={result} error={error} running={running} />
		</div>
	);
}
