/* Which line: source files, and what each of their lines allocated. */
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { SourceFiles } from "../api/answers";
import type { Hex, Ns, Sites, Source, SourceLine } from "../api/types";
import { Inspector } from "../flame/inspector";
import * as format from "../format";
import { useJumpTarget, useKeys } from "../keys";
import { measureKeys, Measures } from "../measures";
import { named } from "../names";
import { commonParams, frame, metric, metricParams, option, setOption, update } from "../store";
import { addTerm, quote } from "../filter";
import { filter } from "../store";
import type { Piece } from "./prism";
import { Card } from "../ui/basics";
import { Empty, EmptyByFilter, Loading, misses, Shown } from "../ui/states";
import { copyText } from "../ui/toast";
import { Never } from "../ui/cells";
import { measureOf, measureTitle } from "../vocabulary";
import { pageHref } from "../pages/links";
import "../flame/flame.css";
import "../reports/reports.css";
import "./source.css";

const LINE_PX = 20,
	SPARE = 20,
	LIVES_MAX = 200;

/* Half of what a line allocated itself lived no longer; null: it was never freed. Of the lines with most. */
type Lives = ReadonlyMap<number, Ns | null>;

function useLives(file: string | undefined): Lives {
	const q = addTerm(filter.value, `site_source = ${quote(file ?? "")}`);
	const answer = useApi<Sites>(
		"sites",
		file && !REPORT && !misses("times") ? { ...commonParams(), q, by: "source", n: LIVES_MAX } : null,
	);
	return useMemo(
		() =>
			new Map(
				(answer.data?.rows ?? [])
					.filter((r) => r.line !== null && r.file === file)
					.map((r) => [r.line!, r.only_matched.lifetime_p50]),
			),
		[answer.data, file],
	);
}

function FileList(props: { files: SourceFiles; now: Hex | null }): JSX.Element {
	const [text, setText] = useState("");
	const { unit } = measureOf(metric.value),
		wanted = text.toLowerCase();
	const rows = props.files.files.filter((r) => r.file.toLowerCase().includes(wanted)).slice(0, 500);
	return (
		<>
			<div style={{ padding: "0 12px 8px" }}>
				<input
					class="field"
					style={{ width: "100%" }}
					type="search"
					aria-label="Find a file"
					placeholder="Find a file"
					value={text}
					onInput={(e) => setText(e.currentTarget.value)}
				/>
			</div>
			<ul>
				{rows.map((r) => (
					<li key={r.id}>
						<a
							class="source-file"
							href={pageHref(["source"], {}, { file: r.id, line: "" })}
							aria-current={r.id === props.now ? "true" : undefined}
							title={`${r.file}\nown: ${format.exactValue(r.self, unit)}`}
						>
							<span class="code ellipsis">{format.baseName(r.file)}</span>
							<b class="num">{format.value(r.total, unit)}</b>
							<span class="muted ellipsis">{r.file.slice(0, Math.max(0, r.file.lastIndexOf("/")))}</span>
						</a>
					</li>
				))}
			</ul>
		</>
	);
}

/* The text at once, its colours when Prism has come. */
function usePieces(source: Source): Piece[][] {
	const [found, setFound] = useState<{ source: Source; pieces: Piece[][] } | null>(null);
	const plain = useMemo(() => source.text.map((text) => [{ kind: "", text }]), [source]);
	useEffect(() => {
		let left = false;
		import("./prism").then(
			({ linesOf }) => {
				if (!left) setFound({ source, pieces: linesOf(source.text, source.file) });
			},
			() => undefined,
		);
		return () => {
			left = true;
		};
	}, [source]);
	return found?.source === source ? found.pieces : plain;
}

function Code(props: { source: Source; lives: Lives; line: number | null }): JSX.Element {
	const { source } = props,
		box = useRef<HTMLDivElement>(null),
		[view, setView] = useState({ top: 0, height: 600 });
	useJumpTarget(box);
	const byLine = useMemo(() => new Map(source.lines.filter((l) => l.total > 0).map((l) => [l.line, l])), [source]);
	const pieces = usePieces(source);
	const most = Math.max(...source.lines.map((l) => l.total), 1);
	const numbers = source.missing
		? source.lines.filter((l) => l.total > 0).map((l) => l.line)
		: Array.from({ length: source.text.length }, (_, i) => source.first + i);
	const at = props.line === null ? -1 : numbers.indexOf(props.line);
	const scrolled = () => {
		if (box.current) setView({ top: box.current.scrollTop, height: box.current.clientHeight });
	}; /* a last notice may come after it has gone */
	useEffect(() => {
		const watch = new ResizeObserver(scrolled);
		watch.observe(box.current!);
		return () => watch.disconnect();
	}, []);
	useEffect(() => {
		const hottest = source.lines.reduce<SourceLine | null>(
			(a, b) => (!a || b.self > a.self || (b.self === a.self && b.total > a.total) ? b : a),
			null,
		);
		const to = at >= 0 ? at : numbers.indexOf(hottest?.line ?? -1);
		if (to >= 0 && box.current) box.current.scrollTop = Math.max(0, to * LINE_PX - box.current.clientHeight / 3);
	}, [source, props.line]);
	const first = Math.max(0, Math.floor(view.top / LINE_PX) - SPARE),
		last = Math.min(numbers.length - 1, Math.ceil((view.top + view.height) / LINE_PX) + SPARE);
	const rows: JSX.Element[] = [];
	for (let i = first; i <= last; i++) {
		const n = numbers[i]!,
			l = byLine.get(n),
			life = props.lives.get(n);
		rows.push(
			<div
				key={n}
				class={`source-line ${l ? "hot" : ""} ${n === props.line ? "now" : ""}`}
				role="row"
				onClick={() => l && (setOption("line", String(n), "replace"), update({ frame: l.hash }, "replace"))}
			>
				<span role="cell" class="num total" title={l ? format.exactValue(l.total, source.unit) : undefined}>
					{l && (
						<>
							<i style={{ width: `${(l.total / most) * 76}px` }} />
							<b>{format.value(l.total, source.unit)}</b>
						</>
					)}
				</span>
				<span role="cell" class="num" title={l ? format.exactValue(l.self, source.unit) : undefined}>
					{l && l.self > 0 ? format.value(l.self, source.unit) : ""}
				</span>
				<span role="cell" class="num">
					{l ? format.count(l.allocations) : ""}
				</span>
				<span role="cell" class="num">
					{l && life !== undefined && (life === null ? <Never /> : format.duration(life))}
				</span>
				<span role="rowheader" class="no">
					{n}
				</span>
				<span role="cell" class="text">
					{source.missing ? (
						<span class="muted">{named(l?.brief)}</span>
					) : (
						pieces[i]?.map((p, j) =>
							p.kind ? (
								<span key={j} class={`tok-${p.kind}`}>
									{p.text}
								</span>
							) : (
								p.text
							),
						)
					)}
				</span>
			</div>,
		);
	}
	return (
		<>
			<div
				class="source-scroll"
				ref={box}
				tabIndex={0}
				role="table"
				aria-label={`${source.file} by line`}
				aria-rowcount={numbers.length}
				onScroll={scrolled}
			>
				<div
					role="rowgroup"
					style={{ height: `${numbers.length * LINE_PX}px`, paddingTop: `${first * LINE_PX}px` }}
				>
					{rows}
				</div>
			</div>
			<div
				class="source-map"
				aria-hidden="true"
				title="lines that allocate"
				onClick={(e) => {
					const r = e.currentTarget.getBoundingClientRect();
					box.current!.scrollTop =
						((e.clientY - r.top) / r.height) * numbers.length * LINE_PX - view.height / 2;
				}}
			>
				{source.lines
					.filter((l) => l.total > 0)
					.map((l) => {
						const i = numbers.indexOf(l.line);
						return (
							i >= 0 && (
								<i
									key={l.line}
									style={{
										top: `${(i / Math.max(1, numbers.length)) * 100}%`,
										opacity: (0.25 + 0.75 * (l.total / most)).toFixed(2),
									}}
								/>
							)
						);
					})}
			</div>
		</>
	);
}

/* Compilers put functions into their callers: the line's code stands in those. */
function Inlined(props: { line: SourceLine | undefined }): JSX.Element | null {
	const { line } = props;
	if (!line || line.inlined_into.length === 0) return null;
	return (
		<p class="source-inlined">
			Line {line.line}: <code title={line.function}>{line.brief}</code>, inlined into{" "}
			{line.inlined_into.map((name, i) => (
				<span key={i}>
					{i > 0 && " \u2190 "}
					<code>{name}</code>
				</span>
			))}
		</p>
	);
}

function SourceView(props: { file: Hex; line: number | null }): JSX.Element {
	const [l0, setL0] = useState(1);
	const answer = useApi<Source>("source", { ...metricParams(), file: props.file, l0 });
	useEffect(() => setL0(1), [props.file]);
	const step = (by: number) => {
		const lines = (answer.data?.lines ?? []).filter((l) => l.total > 0),
			hot = lines.map((l) => l.line),
			now = props.line ?? 0;
		const next =
			by > 0
				? (hot.find((n) => n > now) ?? hot[0])
				: ([...hot].reverse().find((n) => n < now) ?? hot[hot.length - 1]);
		const row = lines.find((l) => l.line === next);
		if (row) {
			setOption("line", String(row.line), "replace");
			if (frame.value) update({ frame: row.hash }, "replace");
		}
	};
	useKeys({ n: () => step(1), N: () => step(-1) });
	const lives = useLives(answer.data?.file);
	const s = answer.data,
		end = s ? s.first + s.text.length - 1 : 0;
	return (
		<Card
			title={s ? format.baseName(s.file) : "Source"}
			class="source-code"
			stale={answer.stale}
			note={s ? <span title={s.file}>{s.file}</span> : undefined}
			tools={
				<>
					{s && !s.missing && s.line_count > s.text.length && (
						<span class="row">
							lines {s.first}–{end} of {format.exact(s.line_count)}
							{s.first > 1 && (
								<button
									type="button"
									class="button small"
									onClick={() => setL0(Math.max(1, s.first - 2000))}
								>
									Before
								</button>
							)}
							{end < s.line_count && (
								<button type="button" class="button small" onClick={() => setL0(end + 1)}>
									After
								</button>
							)}
						</span>
					)}
					<button type="button" class="button small" title="n" onClick={() => step(1)}>
						Next hot line
					</button>
					{s && (
						<button
							type="button"
							class="button small"
							onClick={() => update({ filter: addTerm(filter.value, `source = ${quote(s.file)}`) })}
						>
							Only this file
						</button>
					)}
				</>
			}
		>
			<Shown answer={answer} loading={<Loading rows={14} height={14} />}>
				{(source) => (
					<div
						style={{
							display: "flex",
							flexDirection: "column",
							flex: "1 1 auto",
							minWidth: 0,
							minHeight: 0,
						}}
					>
						{source.missing && (
							<p class="banner warn">
								The source text is not shown: {source.missing}. Start the server with --path-map{" "}
								{format.baseName(source.file.slice(0, source.file.lastIndexOf("/")) || "FROM")}=… to say
								where the sources are; the figures per line are below.
								<button type="button" class="link" onClick={() => void copyText(source.file, "Path")}>
									Copy path
								</button>
							</p>
						)}
						{source.is_newer && (
							<p class="banner warn">
								The file was changed after the recording began: lines may have moved.
							</p>
						)}
						<div class="source-head">
							<span class="num">{measureTitle(metric.value)}</span>
							<span class="num">Self</span>
							<span class="num">Blocks</span>
							<span
								class="num"
								title="median lifetime of the freed blocks that the line itself allocated"
							>
								Life p50
							</span>
							<span class="num">Line</span>
							<span>{source.missing ? "Function" : "Code"}</span>
						</div>
						<div style={{ display: "flex", flex: "1 1 auto", minHeight: 0 }}>
							<Code source={source} lives={lives} line={props.line} />
						</div>
						<Inlined line={source.lines.find((l) => l.line === props.line)} />
					</div>
				)}
			</Shown>
		</Card>
	);
}

export function SourcePage(): JSX.Element {
	const { m, ...part } = metricParams(),
		files = useApi<SourceFiles>("files", { ...part, sort: m! });
	const asked = option("file"),
		line = Number(option("line")) || null;
	const rows = files.data?.files ?? [],
		now = /^[0-9a-f]{16}$/.test(asked)
			? asked
			: rows.find((f) => f.file === asked)?.id; /* links of other pages have its name */
	const shown = now ?? rows[0]?.id ?? null,
		path = rows.find((f) => f.id === shown)?.file;
	useKeys(measureKeys());
	return (
		<div class="report-page">
			<h1 class="sr">Source</h1>
			<div class="flame-tools" role="group" aria-label="View">
				<Measures />
			</div>
			<div class="source-page">
				<Card
					title="Files"
					class="source-files"
					note={files.data ? format.exact(files.data.total_count) : undefined}
					stale={files.stale}
				>
					<Shown answer={files} loading={<Loading rows={10} />}>
						{(f) =>
							f.files.length === 0 ? (
								filter.value ? (
									<EmptyByFilter />
								) : (
									<Empty title="No source files known">
										<p>Build the program with -g, or install its debug files.</p>
									</Empty>
								)
							) : (
								<FileList files={f} now={shown} />
							)
						}
					</Shown>
				</Card>
				<div class="source-main">
					{shown && (
						<div class="flame-main">
							<SourceView file={shown} line={line} />
							{frame.value && (
								<Inspector
									hash={frame.value}
									place={line && path ? `${path}:${line}` : null}
									onSandwich={() => {
										location.hash = pageHref(["flame"], {}, { lay: "sandwich" });
									}}
								/>
							)}
						</div>
					)}
				</div>
			</div>
		</div>
	);
}
