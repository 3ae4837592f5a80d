/*
 * How wide the columns of a table are: what its columns ask for, and what somebody has dragged them to, kept in the
 * browser by the table's and the column's title.
 */
import { unfit } from "../ui/fit";
import { signal } from "@preact/signals";
import { prefGet, prefSet } from "../theme";

export const WIDTH_MIN = 40,
	WIDTH_MAX = 1600;

const PREF = "memtape.columns.v1";
const GAP_PX = 12,
	SIDES_PX = 28; /* as .vgrid-row has them */
const SHARE = 6; /* per cent of the table that a column of numbers takes at most, where its names need the room */

export interface Sized {
	title: string;
	track: string; /* "84px", "minmax(84px, 120px)" or "minmax(180px, 1fr)" */
}

type Widths = Readonly<Record<string, number>>;

function read(): Widths {
	try {
		const all: unknown = JSON.parse(prefGet(PREF) ?? "{}");
		return Object.fromEntries(
			Object.entries(all as Record<string, unknown>).filter(
				(e): e is [string, number] => typeof e[1] === "number",
			),
		);
	} catch {
		return {};
	}
}

const widths = signal<Widths>(read());

const keyOf = (table: string, column: Sized) => `${table}/${column.title}`;

/* In pixels; null: as the column asks for. */
export function widthOf(table: string, column: Sized): number | null {
	return widths.value[keyOf(table, column)] ?? null;
}

export function widthSet(table: string, column: Sized, px: number | null): void {
	const { [keyOf(table, column)]: _, ...rest } = widths.value;
	widths.value =
		px === null
			? rest
			: { ...rest, [keyOf(table, column)]: Math.round(Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, px))) };
	prefSet(PREF, JSON.stringify(widths.value));
}

/* The least of a track, in pixels. */
export function leastOf(track: string): number {
	return Number(/\d+/.exec(track)?.[0] ?? 0);
}

/* A column of numbers grows where there is room for all; what is left is for the names. */
function spared(track: string): string {
	return track.replace(/, (\d+px)\)$/, `, min($1, ${SHARE}%))`);
}

/* For grid-template-columns. */
export function tracksOf(table: string, columns: readonly Sized[]): string {
	return columns
		.map((c) => {
			const px = widthOf(table, c);
			return px === null ? spared(c.track) : `${px}px`;
		})
		.join(" ");
}

/* Below this width the table is scrolled sideways; `usual` is for columns that nobody has dragged. */
export function leastWidth(table: string, columns: readonly Sized[], usual: number): number {
	if (columns.every((c) => widthOf(table, c) === null)) return usual;
	return columns.reduce((sum, c) => sum + GAP_PX + (widthOf(table, c) ?? leastOf(c.track)), SIDES_PX - GAP_PX);
}

const FIT_SPARE_PX = 8; /* what stands between the parts of a cell, which its largest width does not count */

/* How wide the cells of a column would be if nothing were cut: of the rows in the document, and of its title. */
export function fitWidth(grid: HTMLElement, at: number): number {
	let most = WIDTH_MIN - FIT_SPARE_PX;
	for (const row of grid.querySelectorAll<HTMLElement>(".vgrid-head, .vgrid-row")) {
		const copy = row.cloneNode(true) as HTMLElement;
		copy.classList.add("vgrid-measured");
		unfit(copy);
		copy.style.gridTemplateColumns = `repeat(${at}, 0px) max-content`;
		row.parentElement!.append(copy);
		const cells = copy.classList.contains("vgrid-head") ? copy.firstElementChild!.children : copy.children;
		most = Math.max(most, Math.ceil(cells[at]?.getBoundingClientRect().width ?? 0));
		copy.remove();
	}
	return most + FIT_SPARE_PX;
}
