/* The allocator's memory from the first address to the last: what is in use, what is free and yet resident, who pins it, and whose it is. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Fragmentation } from "../api/answers";
import type { Allocs, Heap, HeapCells } from "../api/types";
import { useApi } from "../api/use";
import { clock, momentText } from "../clock";
import * as format from "../format";
import { useKeys } from "../keys";
import { named } from "../names";
import { pageHref } from "../pages/links";
import { at, nsText, option, setOption, tapeId, update } from "../store";
import { theme } from "../theme";
import { FunctionLine } from "../lists/name";
import { Th } from "../table/th";
import { Card, Segmented } from "../ui/basics";
import { BarCell, Bytes, Count } from "../ui/cells";
import { Empty, Loading, misses, Missing, Shown } from "../ui/states";
import { capital } from "../vocabulary";
import { cellAddress, inOrder, ORDERS, unusedOf } from "./layout";
import type { Order } from "./layout";
import { RegionMap } from "./map";
import { freeColour, PAINTS, shadesOf } from "./paint";
import type { Paint, Shade } from "./paint";
import "../flame/flame.css";
import "../reports/reports.css";
import "./space.css";

interface Chosen {
	region: string;
	cell: number;
}

const STEPS = 100,
	PLAY_MS = 400,
	BLOCKS = 8;

const hex = (address: number) => `0x${address.toString(16)}`;

/* The moment, and playing: a step forwards as soon as the last one is on the screen. */
function Time(props: { ns: number; waiting: boolean }): JSX.Element {
	const [playing, setPlaying] = useState(false),
		of = Math.max(1, clock.value.duration),
		step = Math.round((props.ns / of) * STEPS);
	const go = (to: number) => update({ at: Math.round((Math.max(0, Math.min(STEPS, to)) / STEPS) * of) }, "replace");
	const toggle = () => {
		if (!playing && step >= STEPS) go(0);
		setPlaying(!playing);
	};
	useEffect(() => {
		if (!playing || props.waiting) return;
		if (step >= STEPS) return setPlaying(false);
		const timer = setTimeout(() => go(step + 1), PLAY_MS);
		return () => clearTimeout(timer);
	}, [playing, props.waiting, step]);
	useKeys({
		Space: (e) =>
			e.target instanceof HTMLButtonElement || e.target instanceof HTMLAnchorElement ? false : toggle(),
	});
	return (
		<div class="space-time">
			<button type="button" class="button small" aria-pressed={playing} title="Space" onClick={toggle}>
				{playing ? "Pause" : "Play"}
			</button>
			<label>
				<span class="sr">Moment</span>
				<input
					type="range"
					min={0}
					max={STEPS}
					value={step}
					aria-valuetext={momentText(props.ns)}
					onInput={(e) => go(Number(e.currentTarget.value))}
				/>
			</label>
			<b class="num">{momentText(props.ns)}</b>
			{at.value !== null && (
				<button
					type="button"
					class="button small"
					onClick={() => {
						setPlaying(false);
						update({ at: null });
					}}
				>
					Peak
				</button>
			)}
		</div>
	);
}

function Key(props: { shades: readonly Shade[]; by: string }): JSX.Element {
	return (
		<ul class="space-key" aria-label="Legend">
			{props.shades.length === 0 && (
				<li>
					<i class="used" />
					in use
				</li>
			)}
			{props.shades.map(
				(s) =>
					s.count > 0 && (
						<li
							key={s.title}
							title={`${s.title}\n${format.exactBytes(s.bytes)} in ${format.exact(s.count)} blocks`}
						>
							<i style={{ background: s.colour }} />
							<span class="ellipsis">{s.title}</span> <span class="muted">{format.bytes(s.bytes)}</span>
						</li>
					),
			)}
			<li>
				<i class="pinned" />
				has a page held by one block
			</li>
			<li>
				<i style={{ background: freeColour(props.by, theme.value) }} />
				free but resident
			</li>
			<li>
				<i class="empty" />
				not resident
			</li>
		</ul>
	);
}

/* What begins in a cell; and the block that reaches into it, if nothing does. */
function Blocks(props: { region: HeapCells; cell: number; ns: number }): JSX.Element {
	const { region, cell } = props,
		place = cellAddress(region, cell),
		alive = `alive_at ${nsText(props.ns)}`;
	const inside = `address in ${hex(place.begin)}..${hex(place.end - 1)} and ${alive}`;
	const answer = useApi<Allocs>("allocs", { c: tapeId.value, q: inside, sort: "size", order: "dsc", n: BLOCKS });
	const none = cell > 0 && answer.data?.count === 0 && region.live[cell]! > 0;
	const before = useApi<Allocs>(
		"allocs",
		none
			? {
					c: tapeId.value,
					q: `address in ${region.begin}..${hex(place.begin - 1)} and ${alive}`,
					sort: "address",
					order: "dsc",
					n: 1,
				}
			: null,
	);
	const rows = none ? (before.data?.rows ?? []) : (answer.data?.rows ?? []);
	return (
		<section class="space-cell" aria-label="The chosen cell">
			<header>
				<b class="code">
					{hex(place.begin)} – {hex(place.end)}
				</b>
				<span>
					<b>{format.bytes(region.live[cell]!)}</b> in use, {format.bytes(region.resident[cell]!)} resident
				</span>
				{region.pinned[cell]! > 0 && (
					<span>
						<b>{format.exact(region.pinned[cell]!)}</b> {region.pinned[cell] === 1 ? "page" : "pages"} held
						by one block each
					</span>
				)}
				<span class="grow" />
				{(answer.data?.count ?? 0) > 0 && (
					<>
						<a class="button small" href={pageHref(["allocations"], { filter: inside })}>
							All {format.exact(answer.data!.count)} allocations
						</a>
						<a class="button small" href={pageHref(["sites"], { filter: inside })}>
							Call sites
						</a>
					</>
				)}
			</header>
			{rows.length > 0 && (
				<table class="table">
					<thead>
						<tr>
							<Th table="Blocks there" title={none ? "Extends into it" : "Address"} first />
							<Th table="Blocks there" title="Size" num />
							<Th table="Blocks there" title="Allocated by" />
							<Th table="Blocks there" title="At" num />
						</tr>
					</thead>
					<tbody>
						{rows.map((r) => (
							<tr key={r.row}>
								<th scope="row" class="code">
									{r.address}
								</th>
								<td class="num">
									<Bytes value={r.size} />
								</td>
								<td>
									<span class="code" title={[r.function, r.module].filter(Boolean).join("\n")}>
										{named(r.brief)}
									</span>{" "}
									<span class="muted">{format.place(r.file, null)}</span>
								</td>
								<td class="num">{momentText(r.ns)}</td>
							</tr>
						))}
					</tbody>
				</table>
			)}
		</section>
	);
}

const orderNow = (): Order => ORDERS.find((o) => o.value === option("order"))?.value ?? "unused";

/* "Thread arena"; "Single block" or "Single blocks" */
const useText = (r: HeapCells) => `${capital(r.use)}${r.use === "single block" && r.live_count > 1 ? "s" : ""}`;

/* Arenas and mappings that hold blocks, in step with the maps below. */
function Regions(props: {
	space: Heap;
	rows: readonly HeapCells[];
	chosen: Chosen | null;
	onChoose: (region: HeapCells) => void;
}): JSX.Element {
	const { space, rows } = props,
		size = (r: HeapCells) => parseInt(r.end, 16) - parseInt(r.begin, 16),
		most = Math.max(...rows.map(unusedOf), 0);
	return (
		<Card
			title="Arenas and mappings"
			note={
				space.region_count > space.regions.length
					? `the ${space.regions.length} largest of ${format.exact(space.region_count)}`
					: undefined
			}
			tools={
				<Segmented
					label="Order"
					value={orderNow()}
					choices={ORDERS}
					onChange={(v) => setOption("order", v === "unused" ? null : v, "replace")}
				/>
			}
		>
			<div class="table-scroll space-list" tabIndex={0} role="region" aria-label="Arenas and mappings">
				<table class="table">
					<thead>
						<tr>
							<Th table="Arenas" title="Address" first />
							<Th table="Arenas" title="What" />
							<Th table="Arenas" title="Unused" num help="resident, and not in live blocks" />
							<Th table="Arenas" title="Size" num />
							<Th table="Arenas" title="In use" num />
							<Th table="Arenas" title="Resident" num />
							<Th table="Arenas" title="Blocks" num help="live blocks" />
							<Th table="Arenas" title="Largest hole" num />
							<Th table="Arenas" title="Pinned" num help="pages held by one block" />
						</tr>
					</thead>
					<tbody>
						{rows.map((r) => (
							<tr
								key={r.begin}
								class={props.chosen?.region === r.begin ? "now" : ""}
								aria-current={props.chosen?.region === r.begin ? "true" : undefined}
							>
								<th scope="row">
									<button type="button" class="link code" onClick={() => props.onChoose(r)}>
										{r.begin}
									</button>
								</th>
								<td class="nowrap" title={r.name || undefined}>
									{useText(r)}
								</td>
								<td class="num">
									<BarCell value={unusedOf(r)} max={most}>
										<Bytes value={unusedOf(r)} />
									</BarCell>
								</td>
								<td class="num">
									<Bytes value={size(r)} />
								</td>
								<td class="num">{format.percent(r.live_bytes / size(r))}</td>
								<td class="num">
									<Bytes value={r.resident_bytes} />
								</td>
								<td class="num">
									<Count value={r.live_count} />
								</td>
								<td class="num">
									<Bytes value={r.longest_free_bytes} />
								</td>
								<td class="num">
									<Count value={r.pinned.reduce((a, b) => a + b, 0)} />
								</td>
							</tr>
						))}
					</tbody>
				</table>
			</div>
		</Card>
	);
}

function Pinners(props: { ns: number }): JSX.Element {
	const answer = useApi<Fragmentation>("fragmentation", { c: tapeId.value, at: nsText(props.ns), top: 12 });
	return (
		<Card title="Who keeps pages" note="resident heap memory that is only partly in use" stale={answer.stale}>
			<Shown answer={answer} loading={<Loading rows={5} />}>
				{(f) => {
					const most = Math.max(...f.sites.map((s) => s.unused_bytes), 0);
					return (
						<>
							<dl class="figures">
								<div>
									<dt>In use</dt>
									<dd>{format.bytes(f.live_bytes)}</dd>
								</div>
								<div>
									<dt>Resident</dt>
									<dd>{format.bytes(f.resident_bytes)}</dd>
								</div>
								<div>
									<dt>Free inside of used pages</dt>
									<dd>{format.bytes(f.unused_bytes)}</dd>
								</div>
								<div>
									<dt>Wholly free pages</dt>
									<dd>{format.exact(f.free_pages)}</dd>
								</div>
								<div>
									<dt>Pages held by little</dt>
									<dd>{format.exact(f.pinned_pages)}</dd>
								</div>
							</dl>
							{f.sites.length > 0 && (
								<div
									class="table-scroll"
									tabIndex={0}
									role="region"
									aria-label="Functions whose blocks hold pages"
								>
									<table class="table">
										<thead>
											<tr>
												<Th table="Pages" title="Function" first />
												<Th table="Pages" title="Free beside its blocks" num />
												<Th table="Pages" title="Pages it pins alone" num />
												<Th table="Pages" title="Its blocks" num />
												<Th table="Pages" title="Bytes" num />
											</tr>
										</thead>
										<tbody>
											{f.sites.map((s, i) => (
												<tr key={i}>
													<th scope="row" class="wide">
														<FunctionLine
															name={s.brief ?? s.function ?? ""}
															place={format.place(s.file, s.line)}
															title={[
																s.function,
																s.file && `${s.file}:${s.line ?? "?"}`,
																s.module,
															]
																.filter(Boolean)
																.join("\n")}
														/>
													</th>
													<td class="num">
														<BarCell value={s.unused_bytes} max={most}>
															<Bytes value={s.unused_bytes} />
														</BarCell>
													</td>
													<td class="num">
														<Count value={s.pinned_pages} />
													</td>
													<td class="num">
														<Count value={s.live_count} />
													</td>
													<td class="num">
														<Bytes value={s.live_bytes} />
													</td>
												</tr>
											))}
										</tbody>
									</table>
								</div>
							)}
						</>
					);
				}}
			</Shown>
		</Card>
	);
}

function RegionCard(props: {
	space: Heap;
	region: HeapCells;
	shades: readonly Shade[];
	hilbert: boolean;
	cell: number | null;
	onCell: (cell: number) => void;
}): JSX.Element {
	const { region, space, cell } = props,
		whole = parseInt(region.end, 16) - parseInt(region.begin, 16);
	const open = (at: number) => {
		const place = cellAddress(region, at);
		location.hash = pageHref(["allocations"], {
			filter: `address in ${hex(place.begin)}..${hex(place.end - 1)} and alive_at ${nsText(space.at_ns)}`,
		});
	};
	return (
		<Card
			title={useText(region)}
			note={
				<span class="code" id={`region-${region.begin}`}>
					{region.begin} – {region.end}
				</span>
			}
			tools={<span class="muted">a cell is {format.bytes(region.cell_bytes)}</span>}
		>
			<p class="space-facts">
				<span>
					<b>{format.bytes(whole)}</b> in all
				</span>
				<span>
					<b>{format.percent(region.live_bytes / whole)}</b> in use
				</span>
				<span>
					<b>{format.bytes(region.resident_bytes)}</b> resident, <b>{format.bytes(unusedOf(region))}</b> of it
					unused
				</span>
				<span>
					largest hole <b>{format.bytes(region.longest_free_bytes)}</b>
				</span>
			</p>
			<RegionMap
				space={space}
				region={region}
				shades={props.shades}
				hilbert={props.hilbert}
				selected={cell}
				onSelect={props.onCell}
				onOpen={open}
			/>
			{cell !== null && cell < region.live.length && <Blocks region={region} cell={cell} ns={space.at_ns} />}
		</Card>
	);
}

export function SpacePage(): JSX.Element {
	return misses("addresses") ? (
		<>
			<h1 class="sr">Address space</h1>
			<Missing fact="addresses">Where blocks lay in memory is not known.</Missing>
		</>
	) : (
		<SpaceShown />
	);
}

function Choices(props: { by: Paint; hilbert: boolean }): JSX.Element {
	return (
		<>
			<Segmented
				label="Colour by"
				value={props.by}
				choices={PAINTS}
				onChange={(v) => setOption("by", v === "use" ? null : v, "replace")}
			/>
			<Segmented
				label="Layout"
				value={props.hilbert ? "hilbert" : "lines"}
				choices={[
					{ value: "lines", label: "Lines", title: "from the first address to the last, line by line" },
					{
						value: "hilbert",
						label: "Hilbert",
						title: "along a Hilbert curve, which keeps neighbours together",
					},
				]}
				onChange={(v) => setOption("curve", v === "hilbert" ? v : null, "replace")}
			/>
		</>
	);
}

function SpaceShown(): JSX.Element {
	const ns = at.value ?? clock.value.peak ?? 0,
		by = (PAINTS.find((p) => p.value === option("by"))?.value ?? "use") as Paint,
		hilbert = option("curve") === "hilbert";
	const answer = useApi<Heap>("heap", { c: tapeId.value, at: nsText(ns), by, cells: 8192 }),
		[chosen, setChosen] = useState<Chosen | null>(null);
	const shades = answer.data ? shadesOf(answer.data, theme.value) : [],
		hasMap = answer.data?.regions.length !== 0;
	return (
		<div class="report-page">
			<h1 class="sr">Address space</h1>
			<div class="flame-tools">
				{hasMap && <Choices by={by} hilbert={hilbert} />}
				<Time ns={ns} waiting={answer.stale} />
			</div>
			<div class={`space-regions ${answer.stale ? "stale" : ""}`}>
				<Shown answer={answer} loading={<Loading rows={8} height={24} />}>
					{(s) => {
						const rows = inOrder(s.regions, orderNow());
						return s.regions.length === 0 ? (
							<Empty title="No snapshot of the address space on this tape">
								<p>
									<code>memtape record</code> takes them of the program that it starts; there are none
									of what that starts, nor where the library records alone.
								</p>
							</Empty>
						) : (
							<>
								<Key shades={shades} by={s.by} />
								<Regions
									space={s}
									rows={rows}
									chosen={chosen}
									onChoose={(r) => {
										setChosen({ region: r.begin, cell: 0 });
										document
											.getElementById(`region-${r.begin}`)
											?.scrollIntoView({ block: "center" });
									}}
								/>
								{rows.map((r) => (
									<RegionCard
										key={r.begin}
										space={s}
										region={r}
										shades={shades}
										hilbert={hilbert}
										cell={chosen?.region === r.begin ? chosen.cell : null}
										onCell={(cell) => setChosen({ region: r.begin, cell })}
									/>
								))}
							</>
						);
					}}
				</Shown>
				<Pinners ns={ns} />
			</div>
		</div>
	);
}
