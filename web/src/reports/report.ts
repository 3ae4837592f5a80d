/* Answers of `memtape report NAME --json`, as the pages of Diagnose read them. */
import { useApi } from "../api/use";
import type { Answer } from "../api/use";
import { commonParams, tapeId } from "../store";
import type { Params } from "../api/client";

export interface Quality {
	lost_events: number;
	missing_chunks: number;
	damaged_places: number;
}
export interface ReportFrame {
	function: string;
	file: string | null;
	line: number | null;
	module: string | null;
	inlined: boolean;
}

/* Of the whole tape, whatever is selected. */
export function useReport<T>(name: string, params: Params = {}): Answer<T> {
	return useApi<T>("report", { c: tapeId.value, name, ...params });
}

/* Of what the filter and the range let through. */
export function useSelected<T>(name: string, params: Params = {}): Answer<T> {
	const { c, q, from, until } = commonParams();
	return useApi<T>("report", {
		c: c!,
		name,
		...(q ? { filter: q } : {}),
		...(from ? { from } : {}),
		...(until ? { until } : {}),
		...params,
	});
}
