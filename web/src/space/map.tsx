/* A region of the address space, cell by cell: how much of each is in use or whose it is, what is resident for nothing, and what is pinned. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Heap, HeapCells } from "../api/types";
import * as format from "../format";
import { useJumpTarget } from "../keys";
import { theme } from "../theme";
import { Tooltip } from "../ui/basics";
import { cellAddress, cellKind, curved, linear } from "./layout";
import type { Layout } from "./layout";
import { coloursOf } from "./paint";
import type { Colours, Shade } from "./paint";

const CELL = 9;

function draw(
	canvas: HTMLCanvasElement,
	region: HeapCells,
	layout: Layout,
	colours: Colours,
	selected: number | null,
): void {
	const ctx = canvas.getContext("2d")!,
		ratio = devicePixelRatio || 1;
	canvas.width = layout.width * CELL * ratio;
	canvas.height = layout.height * CELL * ratio;
	ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
	region.live.forEach((live, i) => {
		const { x, y } = layout.places[i]!,
			kind = cellKind(live, region.resident[i]!, region.pinned[i]!);
		ctx.fillStyle =
			kind === "empty"
				? colours.empty
				: kind === "free"
					? colours.free
					: colours.cell(live / region.cell_bytes, region.class?.[i] ?? 0);
		ctx.fillRect(x * CELL, y * CELL, CELL - 1, CELL - 1);
		if (kind === "pinned" || i === selected) {
			ctx.strokeStyle = i === selected ? colours.chosen : colours.pin;
			ctx.lineWidth = i === selected ? 3 : 1;
			ctx.strokeRect(x * CELL + 0.5, y * CELL + 0.5, CELL - 2, CELL - 2);
		}
	});
}

export interface MapProps {
	space: Heap;
	region: HeapCells;
	shades: readonly Shade[];
	hilbert: boolean;
	selected: number | null;
	onSelect: (cell: number) => void;
	onOpen: (cell: number) => void;
}

export function RegionMap(props: MapProps): JSX.Element {
	const { space, region, shades } = props,
		holder = useRef<HTMLDivElement>(null),
		canvas = useRef<HTMLCanvasElement>(null);
	useJumpTarget(canvas);
	const [width, setWidth] = useState(0),
		[hover, setHover] = useState<{ cell: number; x: number; y: number } | null>(null);
	const columns = Math.max(1, Math.floor(width / CELL)),
		count = region.live.length,
		look = theme.value;
	useLayoutEffect(() => {
		const measure = () => {
			if (holder.current) setWidth(holder.current.clientWidth);
		};
		const watch = new ResizeObserver(measure);
		watch.observe(holder.current!);
		measure();
		return () => watch.disconnect();
	}, []);
	const layout = useMemo(() => (props.hilbert ? curved : linear)(count, columns), [props.hilbert, count, columns]);
	useEffect(
		() => draw(canvas.current!, region, layout, coloursOf(space, shades, look), props.selected),
		[space, region, shades, layout, props.selected, look],
	);
	const cellOf = (e: MouseEvent) => {
		const r = canvas.current!.getBoundingClientRect();
		return layout.at(Math.floor((e.clientX - r.left) / CELL), Math.floor((e.clientY - r.top) / CELL));
	};
	const onKeyDown = (e: KeyboardEvent) => {
		const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key],
			now = props.selected === null ? null : layout.places[props.selected];
		if (e.key === "Enter" && now) props.onOpen(props.selected!);
		else if (by && !now) props.onSelect(0);
		else if (by && now) {
			let next = layout.at(now.x + by[0]!, now.y + by[1]!);
			if (next < 0)
				/* over the gap between squares, or to the next line */
				next = layout.at(now.x + 2 * by[0]!, now.y + 2 * by[1]!);
			props.onSelect(next >= 0 ? next : Math.max(0, Math.min(count - 1, props.selected! + by[0]!)));
		} else return;
		e.preventDefault();
	};
	const h = hover && hover.cell >= 0 && hover.cell < count ? hover : null,
		place = h && cellAddress(region, h.cell),
		shade =
			h && region.class && region.live[h.cell]! > 0
				? shades[Math.min(region.class[h.cell]!, shades.length - 1)]
				: null;
	return (
		<div class="space-holder" ref={holder}>
			<canvas
				ref={canvas}
				tabIndex={0}
				role="application"
				aria-label={`${region.name || region.kind} from ${region.begin}: arrow keys choose a cell, Enter lists its allocations`}
				style={{ width: `${layout.width * CELL}px`, height: `${layout.height * CELL}px` }}
				onPointerMove={(e) => setHover({ cell: cellOf(e), x: e.clientX, y: e.clientY })}
				onPointerLeave={() => setHover(null)}
				onClick={(e) => {
					const c = cellOf(e);
					if (c >= 0) props.onSelect(c);
				}}
				onDblClick={(e) => {
					const c = cellOf(e);
					if (c >= 0) props.onOpen(c);
				}}
				onKeyDown={onKeyDown}
			/>
			{h && place && (
				<Tooltip x={h.x} y={h.y}>
					<b class="code">0x{place.begin.toString(16)}</b>
					<dl class="pairs">
						<dt>In use</dt>
						<dd>
							{format.bytes(region.live[h.cell]!)} of {format.bytes(place.end - place.begin)}
						</dd>
						<dt>Resident</dt>
						<dd>{format.bytes(region.resident[h.cell]!)}</dd>
						{region.pinned[h.cell]! > 0 && (
							<>
								<dt>Pages held by one block</dt>
								<dd>{region.pinned[h.cell]}</dd>
							</>
						)}
						{shade && (
							<>
								<dt>Mostly</dt>
								<dd>{shade.title}</dd>
							</>
						)}
					</dl>
				</Tooltip>
			)}
		</div>
	);
}
