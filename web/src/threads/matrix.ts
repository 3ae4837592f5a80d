/* Which thread frees what another allocated, with the threads that matter by themselves and the rest as one. */

import type { Handover } from "../api/answers";

export type Key = number; /* a thread's tid, or one of: */
export const NOBODY = -1,
	OTHERS = -2;

export interface Matrix {
	order: Key[];
	others: number;
	cells: ReadonlyMap<string, { count: number; bytes: number }>;
	highest: number;
}

export const cellKey = (row: Key, column: Key) => `${row} ${column}`;

/* The `most` threads with most bytes that they allocate, or free for another. */
export function matrixOf(
	data: { threads: readonly { tid: number; allocated_bytes: number }[]; handovers: readonly Handover[] },
	most: number,
): Matrix {
	const weight = new Map(data.threads.map((t) => [t.tid, t.allocated_bytes]));
	for (const h of data.handovers)
		if (h.freed_by !== null && h.freed_by !== h.allocated_by)
			weight.set(h.freed_by, (weight.get(h.freed_by) ?? 0) + h.bytes);
	const order = [...weight.entries()].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([tid]) => tid),
		shown = new Set(order.slice(0, most));
	const cells = new Map<string, { count: number; bytes: number }>();
	for (const h of data.handovers) {
		const key = cellKey(
			shown.has(h.allocated_by) ? h.allocated_by : OTHERS,
			h.freed_by === null ? NOBODY : shown.has(h.freed_by) ? h.freed_by : OTHERS,
		);
		const cell = cells.get(key) ?? { count: 0, bytes: 0 };
		cells.set(key, { count: cell.count + h.count, bytes: cell.bytes + h.bytes });
	}
	return {
		order: order.slice(0, most),
		others: Math.max(0, order.length - most),
		cells,
		highest: Math.max(1, ...[...cells.values()].map((c) => c.bytes)),
	};
}
