/* Whose functions are: the patterns in force, where each is from, and what can be changed. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, get, post } from "../api/client";
import type { ErrorBody, MyCode, MyCodePattern } from "../api/types";
import { whoseAsked } from "../frame/whose";
import type { Whose } from "../frame/whose";
import { holdSet } from "../live";
import { infoChanged } from "../session";
import { tapeId } from "../store";
import { Segmented } from "../ui/basics";
import { IconClose } from "../ui/icons";
import { Loading } from "../ui/states";
import { toast } from "../ui/toast";
import "./mycode.css";

const ROLES: readonly { value: Whose; label: string; title: string }[] = [
	{ value: "mine", label: "My code", title: "What you wrote: the headline of every page" },
	{ value: "library", label: "Library", title: "Counts for the function of yours that calls it" },
	{ value: "allocator", label: "Wrapper", title: "Allocates for its callers only, like malloc" },
];
const WORDS: Readonly<Record<MyCodePattern["role"], string>> = {
	mine: "my code",
	library: "library",
	allocator: "wrapper",
	start: "program start",
};

/* Errors count bytes. */
function parts(text: string, error: ErrorBody): [string, string, string] {
	const bytes = new TextEncoder().encode(text),
		cut = (from: number, to?: number) => new TextDecoder().decode(bytes.subarray(from, to));
	const at = error.pos!,
		end = at + Math.max(1, error.len ?? 1);
	return [cut(0, at), cut(at, end), cut(end)];
}

function Fault(props: { text: string; error: ErrorBody }): JSX.Element {
	const { text, error } = props;
	const place = error.pos === null ? null : parts(text, error);
	return (
		<p class="my-code-fault" id="my-code-fault" role="alert">
			{error.message}
			{place && (
				<>
					{" at character "}
					{[...place[0]].length + 1}:{" "}
					<code>
						{place[0]}
						<mark>{place[1] || "\u2423"}</mark>
						{place[2]}
					</code>
				</>
			)}
		</p>
	);
}

function place(row: MyCodePattern, config: string): JSX.Element {
	if (row.from === "option") return <span title="--my, --library or --wrapper of memtape serve">command line</span>;
	return <span title={`${config}:${row.line}`}>config, line {row.line}</span>;
}

function Row(props: { row: MyCodePattern; code: MyCode; onRemove: (row: MyCodePattern) => void }): JSX.Element {
	const { row, code } = props;
	return (
		<tr>
			<td>
				<code>{row.pattern}</code>
			</td>
			<td>{WORDS[row.role]}</td>
			<td class="muted">{place(row, code.config)}</td>
			<td class="my-code-act">
				{row.from === "config" && code.refusal === null && (
					<button
						type="button"
						class="icon-button"
						aria-label={`Remove ${row.pattern}`}
						title="Remove from the file"
						onClick={() => props.onRemove(row)}
					>
						<IconClose />
					</button>
				)}
			</td>
		</tr>
	);
}

function InForce(props: { code: MyCode; onRemove: (row: MyCodePattern) => void }): JSX.Element {
	const rows = props.code.patterns.filter((row) => row.from !== "built-in");
	if (rows.length === 0)
		return <p class="muted my-code-none">No patterns of your own: only what is built in decides.</p>;
	return (
		<table class="my-code-table">
			<thead>
				<tr>
					<th scope="col">Pattern</th>
					<th scope="col">Whose</th>
					<th scope="col">From</th>
					<th>
						<span class="sr">Remove</span>
					</th>
				</tr>
			</thead>
			<tbody>
				{rows.map((row) => (
					<Row key={`${row.from} ${row.line} ${row.role} ${row.pattern}`} row={row} {...props} />
				))}
			</tbody>
		</table>
	);
}

function BuiltIn(props: { code: MyCode }): JSX.Element {
	const rows = props.code.patterns.filter((row) => row.from === "built-in");
	const groups = new Map<string, string[]>();
	for (const row of rows) {
		const title = `${WORDS[row.role]}, by ${row.of}`;
		groups.set(title, [...(groups.get(title) ?? []), row.pattern]);
	}
	return (
		<details class="my-code-built-in">
			<summary>Built in: {rows.length} patterns</summary>
			<dl>
				{[...groups].map(([title, patterns]) => (
					<div key={title}>
						<dt>{title}</dt>
						<dd>
							{patterns.map((pattern) => (
								<code key={pattern}>{pattern}</code>
							))}
						</dd>
					</div>
				))}
			</dl>
			<p class="muted">Everything else is your code.</p>
		</details>
	);
}

interface AddProps {
	error: ErrorBody | null;
	busy: boolean;
	onAdd: (role: Whose, pattern: string) => Promise<boolean>;
	onEdit: () => void;
}

function Add(props: AddProps): JSX.Element {
	const asked = whoseAsked.value!;
	const [role, setRole] = useState(asked.role),
		[pattern, setPattern] = useState(asked.pattern),
		input = useRef<HTMLInputElement>(null);
	useEffect(() => input.current?.focus(), []);
	const take = (text: string) => {
		setPattern(text);
		props.onEdit();
	};
	const submit = async (event: Event) => {
		event.preventDefault();
		if (await props.onAdd(role, pattern)) setPattern("");
		input.current?.focus();
	};
	const chips = [asked.pattern, ...asked.also].filter((text, i, all) => text !== "" && all.indexOf(text) === i);
	return (
		<form class="my-code-add" onSubmit={(event) => void submit(event)}>
			<input
				ref={input}
				class="field"
				aria-label="Pattern"
				placeholder="src/  zmalloc*  libnet.so*"
				value={pattern}
				spellcheck={false}
				autocomplete="off"
				aria-invalid={props.error !== null}
				aria-describedby={props.error ? "my-code-fault" : undefined}
				onInput={(event) => take(event.currentTarget.value)}
			/>
			<Segmented label="Whose" value={role} choices={ROLES} onChange={setRole} />
			<button type="submit" class="button primary" disabled={props.busy || pattern.trim() === ""}>
				{props.busy ? "Saving \u2026" : "Add"}
			</button>
			{chips.length > 1 && (
				<p class="my-code-chips">
					{chips.map((text) => (
						<button
							key={text}
							type="button"
							class="button small"
							aria-pressed={text === pattern}
							onClick={() => take(text)}
						>
							{text}
						</button>
					))}
				</p>
			)}
			{props.error && <Fault text={pattern} error={props.error} />}
		</form>
	);
}

const bodyOf = (error: unknown): ErrorBody =>
	error instanceof ApiError
		? error.body
		: { message: "The server does not answer", hint: null, parameter: null, pos: null, len: null, suggest: null };

interface Change {
	role: Whose;
	add?: string;
	remove?: string;
}

export function MyCodeForm(): JSX.Element {
	const [code, setCode] = useState<MyCode | null>(null),
		[error, setError] = useState<ErrorBody | null>(null),
		[busy, setBusy] = useState(false);
	useEffect(() => {
		get<MyCode>("my-code", { c: tapeId.value }).then(setCode, (e) => setError(bodyOf(e)));
	}, []);
	/* The pages show what the tape's next reading says. */
	const change = async (body: Change, said: string): Promise<boolean> => {
		setBusy(true);
		try {
			setCode(await post<MyCode>("my-code/change", { c: tapeId.value, ...body }));
			setError(null);
			holdSet(false);
			toast(said);
			await infoChanged();
			return true;
		} catch (e) {
			setError(bodyOf(e));
			return false;
		} finally {
			setBusy(false);
		}
	};
	if (!code) return error ? <Fault text="" error={error} /> : <Loading rows={4} height={24} />;
	return (
		<div class="my-code" aria-busy={busy}>
			<p>
				Pattern of a function (<code>zmalloc*</code>), a source file or folder (<code>src/</code>), or a module
				(<code>libnet.so*</code>); several with commas. The first line below that matches decides.
			</p>
			{code.refusal === null ? (
				<Add
					error={error}
					busy={busy}
					onEdit={() => setError(null)}
					onAdd={(role, add) => change({ role, add }, `Saved: ${add}`)}
				/>
			) : (
				<p class="my-code-refusal">{code.refusal}</p>
			)}
			<InForce
				code={code}
				onRemove={({ role, pattern }) =>
					void change({ role: role as Whose, remove: pattern }, `Removed: ${pattern}`)
				}
			/>
			<BuiltIn code={code} />
			<p class="muted my-code-file">
				{code.exists ? "Kept in" : "Will be kept in"} <code>{code.config}</code>, which commands read, too.
			</p>
		</div>
	);
}
