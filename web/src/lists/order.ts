/* The order of a list, kept in the address: sort=ID and order=asc. */
import { option, selection, update } from "../store";
import type { Sort } from "../ui/vgrid";

export function sortNow(ids: readonly string[], usual: Sort): Sort {
	const id = option("sort");
	if (!ids.includes(id)) return usual;
	return { id, order: option("order") === "asc" ? "asc" : "dsc" };
}

/* The same column again turns it round. `rising`: what one wants to see the least of first, as times and addresses. */
export function sortBy(now: Sort, id: string, usual: Sort, rising: readonly string[] = []): void {
	const order = now.id === id ? (now.order === "asc" ? "dsc" : "asc") : rising.includes(id) ? "asc" : "dsc";
	const { sort: _s, order: _o, open: _, ...rest } = selection.value.options;
	const isUsual = id === usual.id && order === usual.order;
	update({ options: isUsual ? rest : { ...rest, sort: id, ...(order === "asc" ? { order } : {}) } });
}
