/* A region of the address space, cell by cell in rows: how much of each is in use, and what is resident for nothing. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import * as format from "../format";
import { HEX, INK } from "../palette";
import { theme } from "../theme";
import { Tooltip } from "../ui/basics";
import { mix } from "../flame/colours";

export interface Region {
	begin: string; end: string; kind: string; name: string; resident_bytes: number; live_bytes: number; free_pages: number; longest_free_bytes: number; cell_bytes: number;
	live: number[]; resident: number[];
}

export const PINNED_SHARE = .125; /* a resident cell with less in use is held by little */
const CELL = 9, LEVELS = 12;

export function cellKind(live: number, resident: number, bytes: number): "empty" | "free" | "pinned" | "used" {
	if (live === 0)
		return resident > 0 ? "free" : "empty";
	return resident > 0 && live < bytes * PINNED_SHARE ? "pinned" : "used";
}

export function cellAddress(region: Region, cell: number): { begin: number; end: number } {
	const begin = parseInt(region.begin, 16) + cell * region.cell_bytes;
	return { begin, end: Math.min(begin + region.cell_bytes, parseInt(region.end, 16)) };
}

export function RegionMap(props: { region: Region; selected: number | null; onSelect: (cell: number) => void }): JSX.Element {
	const { region } = props, holder = useRef<HTMLDivElement>(null), canvas = useRef<HTMLCanvasElement>(null);
	const [width, setWidth] = useState(0), [hover, setHover] = useState<{ cell: number; x: number; y: number } | null>(null);
	const columns = Math.max(1, Math.floor(width / CELL)), rows = Math.ceil(region.live.length / columns), look = theme.value;
	useLayoutEffect(() => {
		const watch = new ResizeObserver(() => setWidth(holder.current!.clientWidth));
		watch.observe(holder.current!);
		setWidth(holder.current!.clientWidth);
		return () => watch.disconnect();
	}, []);
	useEffect(() => {
		const ctx = canvas.current!.getContext("2d")!, ratio = devicePixelRatio || 1, ink = INK[look], hex = HEX[look];
		canvas.current!.width = columns * CELL * ratio;
		canvas.current!.height = Math.max(1, rows) * CELL * ratio;
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		const shades = Array.from({ length: LEVELS + 1 }, (_, i) => mix(hex.blue, ink.surface, .16 + .74 * (i / LEVELS)));
		const free = mix(hex.orange, ink.surface, .55), empty = ink.sunken;
		region.live.forEach((live, i) => {
			const x = (i % columns) * CELL, y = Math.floor(i / columns) * CELL, kind = cellKind(live, region.resident[i] ?? 0, region.cell_bytes);
			ctx.fillStyle = kind === "empty" ? empty : kind === "free" ? free : shades[Math.round((live / region.cell_bytes) * LEVELS)] ?? shades[LEVELS]!;
			ctx.fillRect(x, y, CELL - 1, CELL - 1);
			if (kind === "pinned") {
				ctx.strokeStyle = hex.orange;
				ctx.lineWidth = 1.5;
				ctx.strokeRect(x + .75, y + .75, CELL - 2.5, CELL - 2.5);
			}
			if (i === props.selected) {
				ctx.strokeStyle = ink.text;
				ctx.lineWidth = 2;
				ctx.strokeRect(x, y, CELL - 1, CELL - 1);
			}
		});
	}, [region, columns, rows, props.selected, look]);
	const cellOf = (e: PointerEvent | MouseEvent) => {
		const r = canvas.current!.getBoundingClientRect(), cell = Math.floor((e.clientY - r.top) / CELL) * columns + Math.floor((e.clientX - r.left) / CELL);
		return cell >= 0 && cell < region.live.length ? cell : -1;
	};
	const onKeyDown = (e: KeyboardEvent) => {
		const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns }[e.key];
		if (by === undefined)
			return;
		e.preventDefault();
		props.onSelect(Math.max(0, Math.min(region.live.length - 1, (props.selected ?? -by) + by)));
	};
	const h = hover && hover.cell >= 0 && hover.cell < region.live.length ? hover : null, place = h && cellAddress(region, h.cell);
	return (
		<div class="space-holder" ref={holder}>
			<canvas ref={canvas} tabIndex={0} role="application" aria-label={`${region.name || region.kind} from ${region.begin}: arrow keys choose a cell`} style={{ width: `${columns * CELL}px`, height: `${Math.max(1, rows) * CELL}px` }}
				onPointerMove={(e) => setHover({ cell: cellOf(e), x: e.clientX, y: e.clientY })} onPointerLeave={() => setHover(null)} onClick={(e) => { const c = cellOf(e); if (c >= 0) props.onSelect(c); }} onKeyDown={onKeyDown} />
			{h && place && <Tooltip x={h.x} y={h.y}><b class="code">0x{place.begin.toString(16)}</b><dl class="pairs"><dt>In use</dt><dd>{format.bytes(region.live[h.cell]!)} of {format.bytes(place.end - place.begin)}</dd><dt>Resident</dt><dd>{format.bytes(region.resident[h.cell] ?? 0)}</dd></dl></Tooltip>}
		</div>
	);
}
