/* Marks over a chart: where their flags stand, which have their name beside it, and how a mark is written as a moment. */
import type { Mark } from "../api/types";

export const FLAG_PX = 24; /* as wide as a finger needs; closer marks share one */
const NAME_PX = 150,
	NAME_LEAST_PX = 60 /* a longer one may be cut to this */,
	LETTER_PX = 6.6,
	GAP_PX = 10,
	DENSE = 4; /* fewer flags may lack names */

export interface Flag {
	marks: readonly Mark[]; /* one, or those too close to tell apart */
	x: number; /* of the first */
	name: number; /* pixels for its name; 0: there is no room */
	isLeft: boolean; /* the name is left of it: at the right end */
}

const nameOf = (marks: readonly Mark[]) => marks[0]!.text + (marks.length > 1 ? ` +${marks.length - 1}` : "");

/* "loaded", "step 3 +4" */
export const flagText = (flag: Flag): string => nameOf(flag.marks);

/* Whether pixels from a to b are free of all that is there. */
function isFree(taken: readonly Part[], a: number, b: number): boolean {
	return taken.every(([from, until]) => b < from || a > until);
}

interface Group {
	marks: Mark[];
	x: number;
}

function groupsOf(marks: readonly Mark[], x: (mark: Mark) => number, width: number, apart: number): Group[] {
	const groups: Group[] = [];
	for (const mark of marks) {
		const at = x(mark),
			last = groups[groups.length - 1];
		if (at < 0 || at > width) continue;
		if (last && at - last.x < apart) last.marks.push(mark);
		else groups.push({ marks: [mark], x: at });
	}
	return groups;
}

type Part = readonly [number, number];

function named(groups: readonly Group[], width: number, taken: readonly Part[]): Flag[] {
	const used = [...taken];
	return groups.map((group, i): Flag => {
		const whole = Math.min(NAME_PX, nameOf(group.marks).length * LETTER_PX + 8);
		const begin = Math.max(0, (groups[i - 1]?.x ?? -Infinity) + GAP_PX),
			end = Math.min(width, (groups[i + 1]?.x ?? Infinity) - GAP_PX / 2);
		for (const isLeft of [false, true]) {
			const room = isLeft ? group.x - GAP_PX - begin : end - group.x - GAP_PX,
				name = Math.min(whole, room),
				from = isLeft ? group.x - GAP_PX - name : group.x + GAP_PX;
			if (name < Math.min(whole, NAME_LEAST_PX) || !isFree(used, from, from + name)) continue;
			used.push([from, from + name]);
			return { ...group, name, isLeft };
		}
		return { ...group, name: 0, isLeft: false };
	});
}

/*
 * x: pixels from the left; only marks within 0..width have a flag. taken: where other labels stand. Names never overlap; of
 * marks too dense for names, each flag is that of more, with their number.
 */
export function flagsOf(
	marks: readonly Mark[],
	x: (mark: Mark) => number,
	width: number,
	taken: readonly Part[] = [],
): Flag[] {
	const flags = named(groupsOf(marks, x, width, FLAG_PX), width, taken);
	if (flags.length <= DENSE || flags.filter((f) => f.name > 0).length * 3 >= flags.length) return flags;
	return named(groupsOf(marks, x, width, NAME_PX), width, taken);
}

/* "mark(loaded)"; "mark(step#2)" of the second "step"; "mark(#3)" if that would be another's. */
export function markMoment(marks: readonly Mark[], index: number): string {
	const { text, ns } = marks[index]!;
	let number = 0;
	for (let i = 0; i <= index; i++) if (marks[i]!.text === text) number++;
	const name = number === 1 ? text : `${text}#${number}`;
	return name && markFind(marks, name)?.ns === ns ? `mark(${name})` : `mark(#${index + 1})`;
}

/* As the server reads it: a whole name first, then NAME#N, from the end with NAME#-N, of any name with #N. */
export function markFind(marks: readonly Mark[], text: string): Mark | null {
	const whole = marks.find((m) => m.text === text);
	if (whole) return whole;
	const match = /^(.*)#(-?)([1-9]\d{0,14})$/.exec(text);
	if (!match) return null;
	const same = match[1] ? marks.filter((m) => m.text === match[1]) : marks,
		number = Number(match[3]);
	return same[match[2] ? same.length - number : number - 1] ?? null;
}
