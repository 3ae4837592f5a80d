/* Names of threads: several often have one name, so the kernel's id always stands beside it, as in the reports on a terminal. */
import { detail } from "./store";

export const threadText = (name: string | null | undefined, tid: number): string =>
	name ? `${name} (${tid})` : String(tid);

/* Of the selected tape. */
export const threadOf = (tid: number): string =>
	threadText(detail.value?.threads.find((t) => t.tid === tid)?.name, tid);
