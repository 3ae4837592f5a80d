/* The metrics: what each is called and what it means. The help sheet shows these sentences. */
import type { Metric } from "./url";

export interface MetricInfo { title: string; unit: "bytes" | "count"; meaning: string }

export const METRIC: Record<Metric, MetricInfo> = {
	peak: { title: "Live at peak", unit: "bytes",
		meaning: "Requested bytes alive when the program's live bytes were highest in the whole recording: what decides how much memory it needs. With a range, those of them that were allocated in it." },
	live: { title: "Live at time point", unit: "bytes",
		meaning: "Requested bytes alive at the time point: click the timeline to set it." },
	allocated: { title: "Allocated", unit: "bytes",
		meaning: "All bytes ever requested in the range, freed or not. What the allocator was asked for." },
	count: { title: "Allocations", unit: "count",
		meaning: "Number of blocks allocated in the range; a realloc counts as one." },
	leaked: { title: "Leaked", unit: "bytes",
		meaning: "Bytes of blocks allocated in the range that were never freed before the recording ended." },
	leaked_count: { title: "Leaked blocks", unit: "count",
		meaning: "Number of blocks allocated in the range that were never freed." },
	temporary: { title: "Temporary", unit: "count",
		meaning: "Blocks freed before their thread allocated another one: often better on the stack, or reused." },
	temporary_bytes: { title: "Temporary bytes", unit: "bytes",
		meaning: "Bytes of temporary blocks." },
	wasted: { title: "Wasted", unit: "bytes",
		meaning: "Usable minus requested bytes of all blocks: what rounding up to the allocator's sizes costs." },
};
