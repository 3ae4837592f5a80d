/* The allocator's memory from the first address to the last: what is in use, what is free and yet resident, and who pins it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { clock, momentText } from "../clock";
import * as format from "../format";
import { useReport } from "../reports/report";
import { at, nsText, update } from "../store";
import { cellAddress, cellKind, RegionMap } from "./map";
import type { Region } from "./map";
import { Card } from "../ui/basics";
import { BarCell, Bytes, Count } from "../ui/cells";
import { Empty, Loading, Shown } from "../ui/states";
import { pageHref } from "../pages/links";
import "../flame/flame.css";
import "../reports/reports.css";
import "./space.css";

interface Space { at_ns: number; has_snapshot: boolean; regions: Region[] }
interface Pinner { function: string; file: string | null; line: number | null; module: string | null; pinned_bytes: number; pinned_pages: number; unused_bytes: number; live_bytes: number; live_count: number }
interface Fragmentation { at_ns: number; pages_known: boolean; live_bytes: number; resident_bytes: number; unused_bytes: number; slack_bytes: number; free_pages: number; pinned_pages: number; pinned_bytes: number; sites: Pinner[] }

const STEPS = 200;

function Time(props: { ns: number }): JSX.Element {
	const of = Math.max(1, clock.value.duration);
	return (
		<label class="space-time"><span>Moment</span>
			<input type="range" min={0} max={STEPS} value={Math.round((props.ns / of) * STEPS)} aria-valuetext={momentText(props.ns)} onInput={(e) => update({ at: Math.round((Number(e.currentTarget.value) / STEPS) * of) }, "replace")} />
			<b class="num">{momentText(props.ns)}</b>
			{at.value !== null && <button type="button" class="button small" onClick={() => update({ at: null })}>Peak</button>}
		</label>
	);
}

function RegionCard(props: { region: Region; ns: number }): JSX.Element {
	const { region } = props, [cell, setCell] = useState<number | null>(null);
	const whole = parseInt(region.end, 16) - parseInt(region.begin, 16), place = cell !== null && cell < region.live.length ? cellAddress(region, cell) : null;
	const pinned = region.live.reduce((n, live, i) => n + (cellKind(live, region.resident[i] ?? 0, region.cell_bytes) === "pinned" ? 1 : 0), 0);
	const inside = place && `address in 0x${place.begin.toString(16)}..0x${(place.end - 1).toString(16)} and alive_at ${nsText(props.ns)}`;
	return (
		<Card title={region.name || (region.kind === "blocks" ? "Arena" : region.kind)} note={<span class="code">{region.begin} – {region.end}</span>}>
			<p class="space-facts"><span><b>{format.bytes(whole)}</b> in all</span><span><b>{format.percent(region.live_bytes / whole)}</b> in use</span><span><b>{format.bytes(region.resident_bytes)}</b> resident</span>
				<span>largest hole <b>{format.bytes(region.longest_free_bytes)}</b></span><span><b>{format.exact(pinned)}</b> cells pinned by little</span><span class="muted">a cell is {format.bytes(region.cell_bytes)}</span></p>
			<RegionMap region={region} selected={cell} onSelect={setCell} />
			{place && inside && cell !== null && (
				<p class="space-cell" role="status"><span class="code">0x{place.begin.toString(16)}</span><span><b>{format.bytes(region.live[cell]!)}</b> in use, {format.bytes(region.resident[cell] ?? 0)} resident</span>
					{region.live[cell]! > 0 && <><a class="button small" href={pageHref(["allocations"], { filter: inside })}>The blocks there</a><a class="button small" href={pageHref(["sites"], { filter: inside })}>Whose they are</a></>}</p>
			)}
		</Card>
	);
}

function Pinners(props: { ns: number }): JSX.Element {
	const answer = useReport<Fragmentation>("fragmentation", { at: nsText(props.ns), top: 12 });
	return (
		<Card title="Who keeps pages" note="resident memory of the heap that is in use only in part" stale={answer.stale}>
			<Shown answer={answer} loading={<Loading rows={5} />}>
				{(f) => {
					const most = Math.max(...f.sites.map((s) => s.unused_bytes), 0);
					return (
						<>
							<dl class="figures"><div><dt>In use</dt><dd>{format.bytes(f.live_bytes)}</dd></div><div><dt>Resident</dt><dd>{format.bytes(f.resident_bytes)}</dd></div><div><dt>Free inside of used pages</dt><dd>{format.bytes(f.unused_bytes)}</dd></div>
								<div><dt>Wholly free pages</dt><dd>{format.exact(f.free_pages)}</dd></div><div><dt>Pages held by little</dt><dd>{format.exact(f.pinned_pages)}</dd></div></dl>
							{f.sites.length > 0 && <div class="table-scroll" tabIndex={0} role="region" aria-label="Functions whose blocks keep pages"><table class="table"><thead><tr><th scope="col">Function</th><th scope="col" class="num">Free beside its blocks</th><th scope="col" class="num">Pages it pins alone</th><th scope="col" class="num">Its blocks</th><th scope="col" class="num">Bytes</th></tr></thead>
								<tbody>{f.sites.map((s, i) => <tr key={i}><th scope="row"><span class="code" title={[s.file && `${s.file}:${s.line ?? "?"}`, s.module].filter(Boolean).join("\n")}>{s.function}</span> <span class="muted">{format.place(s.file, s.line)}</span></th>
									<td class="num"><BarCell value={s.unused_bytes} max={most}><Bytes value={s.unused_bytes} /></BarCell></td><td class="num"><Count value={s.pinned_pages} /></td><td class="num"><Count value={s.live_count} /></td><td class="num"><Bytes value={s.live_bytes} /></td></tr>)}</tbody></table></div>}
						</>
					);
				}}
			</Shown>
		</Card>
	);
}

export function SpacePage(): JSX.Element {
	const ns = at.value ?? clock.value.peak ?? 0;
	const answer = useReport<Space>("space", { at: nsText(ns) });
	return (
		<div class="report-page">
			<h1 class="sr">Address space</h1>
			<div class="flame-tools"><Time ns={ns} /><p class="space-key"><span><i class="used" />in use</span><span><i class="pinned" />held by little</span><span><i class="free" />free, yet resident</span><span><i class="empty" />not resident</span></p></div>
			<div class={`space-regions ${answer.stale ? "stale" : ""}`}>
				<Shown answer={answer} loading={<Loading rows={8} height={24} />}>
					{(s) => (s.regions.length === 0 ? <Empty title="No look at the address space on this tape"><p>`memtape record` takes them; the bare library does not.</p></Empty> : <>{s.regions.map((r) => <RegionCard key={r.begin} region={r} ns={s.at_ns} />)}</>)}
				</Shown>
				<Pinners ns={ns} />
			</div>
		</div>
	);
}
