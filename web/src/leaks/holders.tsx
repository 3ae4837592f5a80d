/* What keeps memory alive: variables, threads and mappings with what they alone hold, and call sites with the chain that leads to their blocks. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { useApi } from "../api/use";
import type { HeldNode, HeldSite, Holders as HoldersAnswer, Keeper, Retained } from "../api/types";
import * as format from "../format";
import { Stack } from "../lists/stack";
import { named } from "../names";
import { commonParams } from "../store";
import { threadText } from "../thread";
import { Card } from "../ui/basics";
import { BarCell, Bytes, Count } from "../ui/cells";
import { Empty, Loading, Shown } from "../ui/states";
import { VirtualGrid } from "../ui/vgrid";
import type { Column, Rows } from "../ui/vgrid";
import { ClassWord, counted, OpenList, PlaceName } from "./parts";

const ROWS_MAX = 200,
	KEPT_PX = 26,
	CALLERS_MAX = 4,
	CHAIN_PX = 300;

type Holding = Pick<Keeper, "kind" | "name" | "type" | "tid" | "thread" | "module"> & Partial<Pick<HeldNode, "brief">>;

/* "g_sessions", "stack of worker (123), in serve" */
function holderWords(h: Holding): string {
	const name = h.name ?? h.kind,
		owner = h.tid === null ? name : `${name} of ${threadText(h.thread ?? "thread", h.tid)}`;
	return h.brief ? `${owner}, in ${named(h.brief)}` : owner;
}

function HolderName(props: { of: Holding }): JSX.Element {
	const h = props.of,
		module = h.module ? format.baseName(h.module) : "";
	return (
		<div class="list-name" title={[holderWords(h), h.type, h.module].filter(Boolean).join("\n")}>
			<span class="held-kind">{h.kind}</span>
			<span class="code ellipsis">{holderWords(h)}</span>
			<span class="muted ellipsis">{h.type ?? (h.name === module ? "" : module)}</span>
		</div>
	);
}

/* --- holders --- */

const KEEPER_COLUMNS = (max: number): Column<Keeper>[] => [
	{ id: "holder", title: "Holder", track: "minmax(200px, 1fr)", cell: (k) => <HolderName of={k} /> },
	{
		id: "keeps",
		title: "Keeps alive",
		track: "minmax(110px, 160px)",
		numeric: true,
		help: "that it alone holds",
		value: (k) => k.retained_bytes,
		cell: (k) => (
			<BarCell value={k.retained_bytes} max={max}>
				<Bytes value={k.retained_bytes} />
			</BarCell>
		),
	},
	{
		id: "blocks",
		title: "Blocks",
		track: "minmax(58px, 84px)",
		numeric: true,
		value: (k) => k.blocks,
		cell: (k) => <Count value={k.blocks} />,
	},
	{
		id: "most",
		title: "Most of it from",
		track: "minmax(140px, 1fr)",
		cell: (k) => (k.sites[0] ? <PlaceName of={k.sites[0]} /> : <span />),
	},
];

function Kept(props: { keeper: Keeper }): JSX.Element {
	return (
		<ul class="kept" aria-label={`What ${holderWords(props.keeper)} keeps`}>
			{props.keeper.sites.map((s, i) => (
				<li key={i}>
					<span class="num">{format.bytes(s.bytes)}</span>
					<span class="muted">{counted(s.blocks, "block")}</span>
					<PlaceName of={s} />
				</li>
			))}
		</ul>
	);
}

function Keepers(props: { keepers: readonly Keeper[] }): JSX.Element {
	const { keepers } = props,
		[at, setAt] = useState<number | null>(null),
		[open, setOpen] = useState<number | null>(null);
	const rows = useMemo<Rows<Keeper>>(
		() => ({ count: keepers.length, get: (i) => keepers[i], need: () => undefined }),
		[keepers],
	);
	const toggle = (i: number) => {
		setAt(i);
		setOpen(open === i ? null : i);
	};
	return (
		<VirtualGrid
			label="Holders"
			rows={rows}
			columns={KEEPER_COLUMNS(Math.max(...keepers.map((k) => k.retained_bytes), 0))}
			rowHeight={30}
			minWidth={720}
			selected={at}
			onSelect={setAt}
			onActivate={toggle}
			detail={
				open !== null && keepers[open]
					? {
							index: open,
							height: keepers[open]!.sites.length * KEPT_PX + 20,
							content: <Kept keeper={keepers[open]!} />,
						}
					: null
			}
		/>
	);
}

/* --- call sites --- */

const SITE_COLUMNS = (max: number): Column<HeldSite>[] => [
	{ id: "site", title: "Call site", track: "minmax(180px, 1fr)", cell: (s) => <PlaceName of={s} /> },
	{
		id: "keeps",
		title: "Keeps alive",
		track: "minmax(110px, 160px)",
		numeric: true,
		help: "its blocks, and what would be unreachable without them",
		value: (s) => s.retained_bytes,
		cell: (s) => (
			<BarCell value={s.retained_bytes} max={max}>
				<Bytes value={s.retained_bytes} />
			</BarCell>
		),
	},
	{
		id: "own",
		title: "Own bytes",
		track: "minmax(84px, 110px)",
		numeric: true,
		value: (s) => s.bytes,
		cell: (s) => <Bytes value={s.bytes} />,
	},
	{
		id: "blocks",
		title: "Blocks",
		track: "minmax(58px, 84px)",
		numeric: true,
		value: (s) => s.blocks,
		cell: (s) => <Count value={s.blocks} />,
	},
	{
		id: "held",
		title: "Held by",
		track: "minmax(140px, 1fr)",
		cell: (s) => {
			const first = s.chain[0];
			return first && first.kind !== "block" ? <HolderName of={first} /> : <ClassWord of={s.class} />;
		},
	},
];

function Step(props: { node: HeldNode }): JSX.Element {
	const n = props.node;
	return (
		<li>
			{n.kind === "block" ? (
				<>
					<span class="held-kind">{format.bytes(n.bytes)}</span>
					<PlaceName of={n} otherwise="a block that is not on the tape" />
				</>
			) : (
				<HolderName of={n} />
			)}
			{n.callers.length > 0 && (
				<span class="muted code ellipsis" title={n.callers.map((f) => f.function).join("\n")}>
					{n.callers
						.filter((f) => !f.folded)
						.slice(0, CALLERS_MAX)
						.map((f) => `\u2190 ${named(f.brief)}`)
						.join(" ")}
				</span>
			)}
			<span class="muted code" title={n.interior ? "points into the middle of the next one" : undefined}>
				{n.offset === null ? "" : `at +0x${n.offset.toString(16)}${n.interior ? " \u21af" : ""}`}
			</span>
		</li>
	);
}

function Chain(props: { site: HeldSite }): JSX.Element {
	const { chain, omitted_steps } = props.site,
		title = chain[0]?.kind === "block" ? "What points to it: lost blocks" : "Shortest chain of pointers to it";
	return (
		<section aria-label={title}>
			<h3>{title}</h3>
			{chain.length === 0 && <p class="muted">Nothing points to it.</p>}
			<ol class="held-chain">
				{chain.flatMap((n, i) => [
					...(i === 1 && omitted_steps > 0
						? [
								<li key="omitted" class="muted">
									{"\u2026"} {counted(omitted_steps, "step")} more
								</li>,
							]
						: []),
					<Step key={i} node={n} />,
				])}
			</ol>
		</section>
	);
}

function Sites(props: { sites: readonly HeldSite[] }): JSX.Element {
	const { sites } = props;
	return (
		<OpenList
			label="Call sites by what they keep alive"
			items={sites}
			columns={SITE_COLUMNS(Math.max(...sites.map((s) => s.retained_bytes), 0))}
			minWidth={860}
			detailPx={CHAIN_PX}
			detail={(site) => (
				<div class="detail">
					<Chain site={site} />
					<Stack title="Allocated by" stack={site.stack} />
				</div>
			)}
		/>
	);
}

export function Holders(): JSX.Element {
	const params = { ...commonParams(), top: ROWS_MAX },
		retained = useApi<Retained>("retained", params),
		held = useApi<HoldersAnswer>("holders", params);
	const rest = retained.data && [
		retained.data.shared.blocks > 0 && `${format.bytes(retained.data.shared.bytes)} held by several`,
		retained.data.lost.blocks > 0 && `${format.bytes(retained.data.lost.bytes)} lost, so held by nothing`,
	];
	return (
		<>
			<Card
				title="What keeps memory alive"
				class="report-half"
				stale={retained.stale}
				note={rest ? rest.filter(Boolean).join("; ") : undefined}
			>
				<Shown answer={retained} loading={<Loading rows={5} />}>
					{(d) =>
						d.holders.length > 0 ? <Keepers keepers={d.holders} /> : <Empty title="Nothing is held" />
					}
				</Shown>
			</Card>
			<Card
				title="By call site"
				class="report-grow"
				stale={held.stale}
				note="with what would be unreachable without its blocks"
			>
				<Shown answer={held} loading={<Loading rows={8} />}>
					{(d) => (d.sites.length > 0 ? <Sites sites={d.sites} /> : <Empty title="No blocks" />)}
				</Shown>
			</Card>
		</>
	);
}
