/* Made by tools/generate.py from the tables of questions (src/ask/answer): not to be edited. */
export type Ns = number;
export type Bytes = number;
export type Hex = string;

export interface Head {
	gen: number; /* which reading of a tape that is being recorded this is; 0: it is finished */
	approx?: boolean; /* a number may be an estimate */
	ms: number; /* time the server took */
}

export interface Annotation {
	file: string; /* as the debug information has it */
	source: string | null; /* where it was found */
	source_is_newer: boolean; /* than the recording: lines may have moved */
	lines: AnnotatedLine[]; /* those with something */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface AnnotatedLine {
	line: number; /* from 1 */
	function: string; /* one that the line is in */
	allocated_bytes: Bytes; /* while the line was on the stack */
	allocated_count: number; /* allocations */
	peak_bytes: Bytes; /* of these, alive at the peak */
	peak_count: number; /* blocks alive at the peak */
	leaked_bytes: Bytes; /* never freed, and not suppressed */
	leaked_count: number; /* blocks never freed, and not suppressed */
	temporary_count: number; /* freed before their thread allocated again */
	freed_bytes: Bytes; /* while the line was on the stack */
	freed_count: number; /* blocks */
	self_bytes: Bytes; /* allocated by the line itself */
	self_count: number; /* allocations */
	text: string | null; /* of the source */
}

export interface Suppressed {
	bytes: Bytes;
	count: number; /* blocks */
	file: string | null; /* with rules that are not built in */
	rules: SuppressedRule[]; /* rules that matched */
}

export interface SuppressedRule {
	rule: string; /* as written */
	reason: string | null; /* of a built-in rule */
	bytes: Bytes;
	count: number; /* blocks */
}

export interface Quality {
	filter?: string | null;
	from?: string | null;
	until?: string | null;
	selected_allocations?: number; /* number of allocations in the answer */
	lost_events: number; /* events that were not recorded */
	lost: Losses; /* by reason */
	truncated_stacks: number; /* events with unknown outer frames */
	missing_chunks: number; /* missing pieces of the tape */
	damaged_places: number;
	fault: string | null; /* why recording ended early */
	import?: Import; /* of a tape made from another tool's file */
	edits?: string[]; /* what was stripped or anonymised later */
	unnamed_modules: UnnamedModule[];
}

export interface Losses {
	no_space: number; /* no chunk was free */
	nested: number; /* in nested signal handlers */
	no_thread: number; /* no memory for a thread's state */
	startup: number; /* before the recorder was ready */
	truncated: number; /* stacks that were cut short */
	stopped: number; /* after recording had stopped, at least */
}

export interface Import {
	format: string; /* of the file */
	tool: string | null; /* that wrote it */
	file: string;
	missing: string[]; /* what that format does not have */
	words: string; /* the same as readable text */
	notes: string[]; /* further remarks */
}

export interface UnnamedModule {
	module: string; /* its path */
	reason: string; /* why its functions have no names */
}

export interface At {
	at_ns: Ns; /* the moment */
	live_bytes: Bytes; /* alive then */
	live_count: number; /* blocks alive then */
	sites: AliveSite[]; /* functions that allocated it, the most bytes first */
	quality: Quality; /* losses and damage of the tape */
}

export interface AliveSite {
	function: string | null; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	live_bytes: Bytes; /* alive then */
	live_count: number; /* blocks alive then */
	allocated_bytes: Bytes; /* until then */
	allocated_count: number; /* allocations until then */
	stacks: number; /* number of different stacks */
	stack: Frame[]; /* the stack with most bytes alive */
}

export interface Frame {
	function: string; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex; /* identifies the function; the same on every tape and in every version */
	inlined: boolean; /* the compiler put the function into its caller */
	folded: boolean; /* part of an allocator or of program start */
}

export interface Between {
	from_ns: Ns; /* the first moment */
	until_ns: Ns; /* the second moment */
	total: SpanSums; /* of all functions */
	sites: SpanSite[]; /* functions that allocate */
	quality: Quality; /* losses and damage of the tape */
}

export interface SpanSums {
	allocated_bytes: Bytes; /* from the one moment to the other */
	allocated_count: number; /* allocations */
	survived_bytes: Bytes; /* of those, alive at the second moment */
	survived_count: number; /* blocks */
	temporary_bytes: Bytes; /* of those, freed before their thread allocated again */
	temporary_count: number; /* allocations */
	freed_bytes: Bytes; /* in that time, also of what was allocated before */
	freed_count: number; /* blocks */
	live_before_bytes: Bytes; /* alive just before the first moment */
	live_before_count: number; /* blocks */
	live_after_bytes: Bytes; /* alive at the second moment */
	live_after_count: number; /* blocks */
	net_bytes: number; /* alive after, less before; bytes */
	net_count: number; /* alive after, less before; blocks */
}

export interface SpanSite {
	function: string | null; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	allocated_bytes: Bytes; /* from the one moment to the other */
	allocated_count: number; /* allocations */
	survived_bytes: Bytes; /* of those, alive at the second moment */
	survived_count: number; /* blocks */
	temporary_bytes: Bytes; /* of those, freed before their thread allocated again */
	temporary_count: number; /* allocations */
	freed_bytes: Bytes; /* in that time, also of what was allocated before */
	freed_count: number; /* blocks */
	live_before_bytes: Bytes; /* alive just before the first moment */
	live_before_count: number; /* blocks */
	live_after_bytes: Bytes; /* alive at the second moment */
	live_after_count: number; /* blocks */
	net_bytes: number; /* alive after, less before; bytes */
	net_count: number; /* alive after, less before; blocks */
	stacks: number; /* number of different stacks */
	stack: Frame[]; /* the stack of which most survived */
}

export interface Curves {
	from_ns: Ns;
	until_ns: Ns; /* the end, exclusive */
	cols: number; /* equal spans of time; lists have a value for each */
	live_max: number[]; /* most bytes alive in it */
	live_min: number[]; /* fewest bytes alive in it; of all allocations: the smaller of its two ends */
	live_count: number[]; /* blocks alive at its end */
	allocated_bytes: number[];
	allocated_count: number[];
	freed_count: number[];
	bands: CurveBand[]; /* what lived, the largest first */
	rss: CurveSamples; /* samples of resident bytes */
	peak: CurvePeak; /* of the time shown */
	marks: Mark[]; /* set by the program */
	quality: Quality; /* losses and damage of the tape */
}

export interface CurveBand {
	title: string;
	q: string | null; /* a filter that selects it */
	rest: boolean; /* all that is in no other band */
	values: number[]; /* its bytes when the column's live bytes were highest; not stacked */
}

export interface CurveSamples {
	ns: number[]; /* when */
	bytes: number[]; /* the most of each column */
}

export interface CurvePeak {
	ns: Ns; /* when */
	bytes: Bytes;
}

export interface Mark {
	ns: Ns; /* when */
	text: string; /* its name */
}

export interface SourceFiles {
	sort: string; /* the metric by which they are sorted */
	total: number; /* of the metric, in all of the program */
	total_count: number; /* files */
	files: SourceFile[]; /* the most of the metric first */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface SourceFile {
	id: Hex; /* of its path; the same on every tape */
	file: string; /* its path */
	total: number; /* of the metric, in its functions and those they call */
	self: number; /* of the metric, allocated in its functions */
	allocations: number; /* in its functions and those they call */
}

export interface Findings {
	findings: Finding[]; /* the worst first */
	missing: string[]; /* what could not be looked for, and how to record it */
	quality: Quality; /* losses and damage of the tape */
}

export interface Finding {
	type: string; /* the kind of problem */
	title: string; /* what is wrong */
	bytes: Bytes; /* affected */
	count: number | null; /* what is counted is in the evidence */
	evidence: string; /* one sentence with figures */
	advice: string; /* what to do */
	function: string | null; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	page: string | null; /* page of the app with the details */
	report: string | null; /* report with the details */
	filter: string | null; /* of page and report */
	metric: string | null; /* of the page */
	at: string | null; /* a moment */
	from: string | null; /* a moment */
	until: string | null; /* a moment */
	sort: string | null; /* of page and report */
	command: string; /* the same figures: what follows `memtape report TAPE` */
	stack: Frame[] | null; /* of a bad free: where the block was freed; otherwise the stack with most */
	allocated_stack: Frame[] | null; /* of a bad free: where the block was allocated */
	freed_before_stack: Frame[] | null; /* of a double free: the first free */
	possible: boolean; /* the tape does not prove it */
}

export interface Fragmentation {
	at_ns: Ns; /* the moment */
	has_snapshot: boolean; /* false: pages with live blocks only, all taken to be resident */
	pages_known: boolean; /* of all of it is known which pages are resident */
	live_bytes: Bytes; /* requested */
	live_count: number; /* live blocks */
	slack_bytes: Bytes; /* what live blocks are larger than requested */
	resident_bytes: Bytes; /* of the heap */
	live_resident_bytes: Bytes; /* of live blocks */
	full_pages: number;
	free_pages: number; /* resident, without a live byte */
	tail_pages: number; /* of these, behind the last block of a region */
	partial_pages: number; /* resident, with blocks and unused bytes */
	partial_blocks: number; /* blocks in partial pages */
	unused_bytes: Bytes; /* of partial pages */
	pinned_pages: number; /* partial, kept by one block alone */
	pinned_bytes: Bytes; /* of unused_bytes, in pinned pages */
	pages_by_tenths_live: number[]; /* resident pages by what of them is live; the last: full */
	sizes: SlackClass[]; /* live blocks by requested size */
	sites: WasteSite[]; /* functions whose blocks leave pages unused */
	quality: Quality; /* losses and damage of the tape */
}

export interface SlackClass {
	size_min: Bytes; /* the smallest that was requested */
	size_max: Bytes; /* the largest */
	live_count: number; /* live blocks */
	live_bytes: Bytes; /* requested */
	slack_bytes: Bytes; /* what they are larger than requested */
}

export interface WasteSite {
	function: string | null; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	unused_bytes: Bytes; /* unused in pages with blocks; each block is charged its part of its page */
	partial_blocks: number; /* blocks in such pages */
	pinned_bytes: Bytes; /* unused in pages that one block keeps alone */
	pinned_pages: number; /* such pages */
	slack_bytes: Bytes; /* what blocks are larger than requested */
	live_bytes: Bytes;
	live_count: number; /* live blocks */
	stack: Frame[]; /* the stack with most unused */
}

export interface Groups {
	by: string; /* what they have in common */
	sort: string; /* what they are sorted by */
	ascending: boolean;
	filter: string | null;
	allocations: number; /* that the filter lets through */
	total_count: number; /* groups */
	groups: GroupRow[];
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface GroupRow {
	title: string; /* what it is called */
	function: string | null; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	stack_id: number | null; /* of the stack */
	stacks: number | null; /* number of different stacks */
	only_matched: GroupSums; /* what the filter lets through */
	all: GroupAll; /* the group on the whole tape */
	stack: Frame[] | null; /* the one with most matched bytes; null in groups that are not made of stacks */
}

export interface GroupSums {
	size: Bytes; /* allocated */
	allocated_count: number; /* allocations */
	leaked_size: Bytes; /* never freed, and not suppressed */
	leaked_count: number; /* blocks never freed, and not suppressed */
	temporary_size: Bytes; /* freed before their thread allocated again */
	temporary_count: number; /* allocations of these */
	peak_size: Bytes; /* alive at the peak */
	peak_count: number; /* blocks alive at the peak */
	usable_size: Bytes; /* what the allocator gave */
	min_size: Bytes | null; /* the smallest block */
	max_size: Bytes | null; /* the largest block */
	min_timestamp: Ns | null; /* the first allocation */
	max_timestamp: Ns | null; /* the last allocation */
	interval: Ns | null; /* from the first to the last */
	rate_per_s: number | null; /* allocations per second of the interval */
	lifetime_p50: Ns | null; /* half of those freed lived at most so long */
	lifetime_p90: Ns | null; /* 90 % */
	lifetime_p99: Ns | null; /* 99 % */
	lifetime_max: Ns | null; /* all */
}

export interface GroupAll {
	size: Bytes; /* allocated */
	allocated_count: number; /* allocations */
	leaked_size: Bytes; /* never freed, and not suppressed */
	leaked_count: number; /* blocks never freed, and not suppressed */
	temporary_size: Bytes; /* freed before their thread allocated again */
	temporary_count: number; /* allocations of these */
	peak_size: Bytes; /* alive at the peak */
	peak_count: number; /* blocks alive at the peak */
	usable_size: Bytes; /* what the allocator gave */
	min_size: Bytes | null; /* the smallest block */
	max_size: Bytes | null; /* the largest block */
	min_timestamp: Ns | null; /* the first allocation */
	max_timestamp: Ns | null; /* the last allocation */
	interval: Ns | null; /* from the first to the last */
	rate_per_s: number | null; /* allocations per second of the interval */
	lifetime_p50: Ns | null; /* half of those freed lived at most so long */
	lifetime_p90: Ns | null; /* 90 % */
	lifetime_p99: Ns | null; /* 99 % */
	lifetime_max: Ns | null; /* all */
	max_total_usage: Bytes | null; /* most bytes alive at once */
	max_total_usage_first_seen_at: Ns | null; /* when for the first time */
}

export interface Latency {
	calls: number;
	total_ns: Ns; /* all together */
	mean_ns: Ns;
	max_ns: Ns;
	p50_ns: Ns; /* half took at most so long */
	p90_ns: Ns; /* 90 % */
	p99_ns: Ns; /* 99 % */
	functions: TimedFunction[]; /* of the allocator */
	slowest: SlowestCall[]; /* calls, the slowest first */
	sort: string; /* what sites are sorted by */
	sites: TimedSite[]; /* functions that call the allocator */
	quality: Quality; /* losses and damage of the tape */
}

export interface TimedFunction {
	call: string; /* malloc, free, ... */
	calls: number;
	total_ns: Ns; /* all together */
	mean_ns: Ns;
	max_ns: Ns;
	p50_ns: Ns; /* half took at most so long */
	p90_ns: Ns; /* 90 % */
	p99_ns: Ns; /* 99 % */
	histogram: LatencyBucket[]; /* times that a call took */
}

export interface LatencyBucket {
	min_ns: Ns;
	max_ns: Ns;
	count: number; /* calls */
}

export interface SlowestCall {
	latency_ns: Ns; /* how long it took */
	time_ns: Ns; /* when a free was called, or when an allocation returned */
	call: string; /* malloc, free, ... */
	is_free: boolean;
	allocation: number; /* id of the allocation */
	size: Bytes;
	thread: number | null; /* id of the thread that called */
	stack: Frame[]; /* of the call */
}

export interface TimedSite {
	function: string | null; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	calls: number;
	total_ns: Ns; /* all together */
	mean_ns: Ns;
	max_ns: Ns;
	share: number; /* of the time of all calls */
	stack: Frame[]; /* the stack with most time */
}

export interface Ranking {
	sort: string; /* the metric by which they are sorted */
	sites: RankedSite[]; /* functions that allocate, by the metric */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface RankedSite {
	function: string | null; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	peak_bytes: Bytes; /* alive at the peak */
	peak_count: number; /* blocks alive at the peak */
	leaked_bytes: Bytes; /* never freed, and not suppressed */
	leaked_count: number; /* blocks never freed, and not suppressed */
	allocated_bytes: Bytes;
	allocated_count: number; /* allocations */
	temporary_bytes: Bytes; /* freed before their thread allocated again */
	temporary_count: number; /* allocations of these */
	stacks: number; /* number of different stacks */
	stack: Frame[]; /* the stack with most of the metric */
}

export interface Lifetimes {
	freed_count: number; /* blocks */
	freed_bytes: Bytes;
	never_freed_count: number; /* blocks */
	never_freed_bytes: Bytes;
	freed_unseen_count: number; /* blocks whose free was not seen: how long they lived is not known */
	freed_unseen_bytes: Bytes;
	p50_ns: Ns | null; /* half of those freed lived at most so long */
	p90_ns: Ns | null; /* 90 % */
	p99_ns: Ns | null; /* 99 % */
	p999_ns: Ns | null; /* 99.9 % */
	max_ns: Ns | null; /* all */
	lifetimes: LifetimeRow[]; /* by powers of ten, the shortest first */
	sites?: LifetimeSite[]; /* of each function, with `sites` */
	quality: Quality; /* losses and damage of the tape */
}

export interface LifetimeRow {
	min_ns: Ns | null;
	max_ns: Ns | null;
	count: number; /* blocks that lived so long and were freed */
	bytes: Bytes;
}

export interface LifetimeSite {
	function: string | null; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	freed_count: number; /* blocks */
	freed_bytes: Bytes;
	never_freed_count: number; /* blocks */
	never_freed_bytes: Bytes;
	freed_unseen_count: number; /* blocks whose free was not seen: how long they lived is not known */
	freed_unseen_bytes: Bytes;
	p50_ns: Ns | null; /* half of those freed lived at most so long */
	p90_ns: Ns | null; /* 90 % */
	p99_ns: Ns | null; /* 99 % */
	p999_ns: Ns | null; /* 99.9 % */
	max_ns: Ns | null; /* all */
}

export interface Mallopts {
	mallopts: Mallopt[];
	quality: Quality; /* losses and damage of the tape */
}

export interface Mallopt {
	ns: Ns; /* when */
	thread: number | null; /* id of the thread that called */
	function: string; /* mallopt or malloc_trim */
	parameter: string; /* its name, or its number if it has none */
	value: number;
	result: number; /* what the call returned */
	stack: string[]; /* functions, the innermost first */
}

export interface Mappings {
	mappings: MappingRow[];
	quality: Quality; /* losses and damage of the tape */
}

export interface MappingRow {
	address: Hex;
	bytes: Bytes; /* as it was mapped first */
	mapped_bytes: Bytes; /* what is left of it at the end, or was at `at` */
	mapped_bytes_max: Bytes; /* most at once */
	at_peak_bytes: Bytes; /* mapped when live blocks were at their peak */
	resident_bytes: Bytes; /* when it was looked at last */
	kind: string;
	prot: string; /* r, w, x, and p for private or s for shared */
	flags: string | null; /* of mmap; null: no call was seen */
	shared: boolean;
	fd: number; /* file descriptor; -1: none */
	offset: Bytes; /* in the file */
	name: string; /* path of the file, or what the kernel calls it */
	from_ns: Ns;
	to_ns: Ns | null; /* null: until the end */
	thread: number | null; /* id of the thread that mapped it */
	seen: boolean; /* no call was recorded for it, it was only seen */
	cuts: number; /* times a part of it was unmapped */
	protects: number; /* calls of mprotect */
	moves: number; /* calls of mremap that moved it */
	resident_bytes_max: Bytes; /* most that was seen */
	usage: MappingUse[]; /* where it changed */
	stack: string[]; /* functions that mapped it, the innermost first */
}

export interface MappingUse {
	ns: Ns; /* when it was looked at */
	mapped_bytes: Bytes;
	resident_bytes: Bytes;
}

export interface Marks {
	marks: ReportMark[];
	quality: Quality; /* losses and damage of the tape */
}

export interface ReportMark {
	ns: Ns; /* when */
	thread: number | null; /* id of the thread that set it */
	name: string;
	kind: number; /* 0: a moment; others are reserved */
	live_bytes: Bytes; /* alive then */
	live_count: number; /* blocks alive then */
	rss_bytes: Bytes | null; /* resident, by the newest sample before it */
	stack: string[]; /* functions, the innermost first */
}

export interface Modules {
	modules: ModuleRow[]; /* the most of the metric first */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface ModuleRow {
	module: string | null; /* its path */
	peak_bytes: Bytes; /* alive at the peak */
	peak_count: number; /* blocks alive at the peak */
	leaked_bytes: Bytes; /* never freed, and not suppressed */
	leaked_count: number; /* blocks never freed, and not suppressed */
	allocated_bytes: Bytes;
	allocated_count: number; /* allocations */
	temporary_count: number; /* freed before their thread allocated again */
	temporary_bytes: Bytes; /* of these */
	load_ns: Ns | null; /* when it was loaded */
	unload_ns: Ns | null; /* when it was unloaded */
	symbols: string | null; /* what its functions are named by: lines, functions, exported, none, gone, changed, kernel, or unread if nobody asked */
	build_id: string | null; /* hexadecimal */
	what: string; /* object, outside of every object, or no stack */
}

export interface Overview {
	rss_peak: RssPeak | null; /* most resident bytes that were seen */
	leaking_functions: number; /* functions that leak */
	wasted_bytes: Bytes; /* what the allocator gave beyond what was asked */
	realloc_count: number; /* allocations that continue an older block */
	size_p50: Bytes | null; /* half of the allocations are not larger */
	size_is_exact: boolean; /* false: size_p50 is an estimate */
	rate_mean: number; /* allocations per second */
	rate_max: number; /* the most of a 240th of the time */
	spans: OverviewSpan[]; /* equal spans of the time */
	quality: Quality; /* losses and damage of the tape */
}

export interface RssPeak {
	bytes: Bytes;
	ns: Ns; /* when */
}

export interface OverviewSpan {
	begin_ns: Ns;
	live_bytes_max: Bytes; /* most bytes alive in it */
	rss_bytes: Bytes | null; /* most resident bytes, or the last known */
	rate: number; /* allocations per second */
	allocated_bytes: Bytes; /* until its end */
	leaked_bytes: Bytes; /* allocated until its end, never freed and not suppressed */
	temporary_count: number; /* allocations in it that were freed before their thread allocated again */
}

export interface Reallocs {
	blocks: number; /* that were reallocated */
	reallocs: number; /* calls */
	grown: number; /* calls that made a block larger */
	moved: number; /* calls that gave it another address */
	copied_bytes: Bytes; /* at most, by those that moved it */
	longest: number; /* most calls for one block */
	final_bytes_max: Bytes; /* the largest that a block was at last */
	constant_blocks: number; /* blocks that grew by constant steps and moved again and again */
	sort: string; /* what both lists are sorted by */
	sites: GrownSite[]; /* functions that reallocate */
	chains: GrownBlock[]; /* single blocks */
	quality: Quality; /* losses and damage of the tape */
}

export interface GrownSite {
	function: string | null; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	blocks: number; /* that were reallocated */
	reallocs: number; /* calls */
	grown: number; /* calls that made a block larger */
	moved: number; /* calls that gave it another address */
	copied_bytes: Bytes; /* at most, by those that moved it */
	longest: number; /* most calls for one block */
	final_bytes_max: Bytes; /* the largest that a block was at last */
	constant_blocks: number; /* blocks that grew by constant steps and moved again and again */
	growth_factor: number | null; /* a call, on average */
	increment_bytes: Bytes | null; /* a call; null unless it is about the same each time */
	stack: Frame[]; /* of the block that was copied most */
}

export interface GrownBlock {
	first_allocation: number; /* id of the allocation that began it */
	last_allocation: number; /* id of what the last call made of it */
	reallocs: number; /* calls */
	grown: number; /* calls that made it larger */
	moved: number; /* calls that gave it another address */
	copied_bytes: Bytes; /* at most, by those that moved it */
	first_bytes: Bytes; /* how large it was at first */
	final_bytes: Bytes; /* how large it was at last */
	max_bytes: Bytes;
	growth_factor: number | null; /* a call, on average */
	increment_bytes: Bytes | null; /* a call; null unless it is about the same each time */
	stack: Frame[]; /* of the last call */
}

export interface Rss {
	explanation: string; /* what stands between resident memory and the live blocks */
	snapshots: number; /* pictures of the address space on the tape */
	pages_known: boolean; /* each says which pages of the heap were resident */
	peak_sample: number | null; /* index of the sample with most resident */
	most_free_sample: number | null; /* index of the one with most free */
	samples: RssSample[]; /* in the order of time */
	quality: Quality; /* losses and damage of the tape */
}

export interface RssSample {
	ns: Ns; /* when */
	rss_bytes: Bytes; /* resident; the sum of the bands */
	live: number; /* requested bytes of live blocks */
	slack: number; /* what blocks are larger than requested */
	untouched: number; /* of both, not resident; never positive */
	free: number; /* resident in the heap, and in no live block */
	program: number; /* anonymous memory that the program mapped */
	unseen: number; /* anonymous memory that was mapped unseen */
	file: number; /* mapped files */
	shared: number; /* shared memory */
	module: number; /* code and data of modules */
	stack: number; /* stacks */
	memtape: number; /* memtape itself */
	kernel: number; /* kernel pages */
	remainder: number; /* what could not be told; may be negative */
	heap_resident: Bytes; /* resident in heaps and mapped blocks */
	live_count: number; /* live blocks */
	measured: boolean; /* mapping by mapping; false: an estimate between two that were */
}

export interface Sizes {
	sizes: SizeBucket[]; /* those that have allocations, the smallest first */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface SizeBucket {
	size_min: Bytes; /* the smallest that belong to it */
	size_max: Bytes; /* the largest */
	allocated_count: number;
	share: number; /* of all allocations */
	allocated_bytes: Bytes;
	peak_count: number; /* blocks alive at the peak */
	peak_bytes: Bytes; /* alive at the peak */
	leaked_count: number; /* blocks never freed, and not suppressed */
	leaked_bytes: Bytes; /* never freed, and not suppressed */
	temporary_count: number; /* freed before their thread allocated again */
}

export interface Space {
	at_ns: Ns; /* the moment */
	has_snapshot: boolean; /* false: there is no picture of the address space on the tape */
	regions: HeapRegion[]; /* of the heap */
	extents: Extent[]; /* everything that is mapped */
	quality: Quality; /* losses and damage of the tape */
}

export interface HeapRegion {
	begin: Hex;
	end: Hex;
	kind: string; /* of mapping */
	name: string;
	resident_bytes: Bytes;
	live_bytes: Bytes; /* of live blocks */
	free_pages: number; /* resident, without a live byte */
	longest_free_bytes: Bytes; /* the longest run of pages without a live byte */
	tail_free_bytes: Bytes; /* resident behind the last live block */
	cell_bytes: Bytes; /* how much a cell stands for */
	live: number[]; /* bytes of live blocks, by cell */
	resident: number[]; /* resident bytes, by cell */
}

export interface Extent {
	begin: Hex;
	end: Hex;
	kind: string; /* of mapping */
	name: string;
	resident_bytes: Bytes;
	live_bytes: Bytes; /* of live blocks */
	live_resident_bytes: Bytes; /* of these, resident */
	pages_known: boolean; /* which pages are resident is known */
}

export interface Summary {
	duration_ns: Ns; /* of the recording */
	allocations: Sum;
	frees: Sum;
	peak: SummaryPeak; /* when most bytes were alive */
	leaked: Sum; /* never freed, and not suppressed */
	suppressed?: Suppressed; /* never freed, but suppressed */
	temporary: Sum; /* freed before their thread allocated again */
	lost_events: number; /* events that were not recorded */
	functions: Record<string, FunctionCalls> | null; /* calls by function */
	reallocs: number | null; /* calls that grew or shrank a block */
	failed: number | null; /* calls that returned NULL */
	unknown_frees: number | null; /* of blocks that were not recorded */
	null_frees: number | null; /* free(NULL) */
	usable_bytes: Bytes | null; /* of all allocations, with what the allocator added */
	latency?: LatencySum; /* of a tape with durations of calls */
	rss_max_bytes: Bytes; /* most resident bytes; 0: not known */
	threads: number;
	process: ProcessEnd;
	quality: Quality; /* losses and damage of the tape */
}

export interface Sum {
	count: number; /* blocks */
	bytes: Bytes;
}

export interface SummaryPeak {
	bytes: Bytes;
	count: number; /* blocks */
	time_ns: Ns; /* when */
}

export interface FunctionCalls {
	calls: number;
	bytes: Bytes; /* requested */
	failed: number; /* calls that returned NULL */
}

export interface LatencySum {
	calls: number;
	total_ns: Ns;
	mean_ns: Ns;
	p50_ns: Ns; /* the median */
	p99_ns: Ns; /* 99 % took no longer */
	max_ns: Ns;
}

export interface ProcessEnd {
	pid: number;
	exe: string; /* path of the program */
	argv: string[]; /* its arguments */
	exit_code: number | null;
	signal: number | null; /* number of the signal that ended it */
}

export interface Threads {
	threads: ThreadRow[];
	handovers: Handover[]; /* who freed what who had allocated */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface ThreadRow {
	tid: number; /* the kernel's id */
	name: string; /* the last it had */
	allocated_count: number;
	allocated_bytes: Bytes;
	peak_count: number; /* of its blocks, alive at the peak */
	peak_bytes: Bytes; /* of its blocks, alive at the peak */
	leaked_count: number; /* blocks never freed, and not suppressed */
	leaked_bytes: Bytes; /* never freed, and not suppressed */
	temporary_count: number; /* freed before it allocated again */
	free_count: number; /* blocks it freed, of any thread */
	foreign_free_count: number; /* of those, allocated by another thread */
	begin_ns: Ns;
	end_ns: Ns | null;
	stack_bytes: Bytes | null; /* reserved for its stack */
	stack_used_bytes: Bytes | null; /* how far down its stack was used */
	stack_known: string | null; /* how it is known: by pages touched, or at least so far by events */
	creator: number | null; /* id of the thread that created it */
	create_stack: Frame[] | null; /* where it was created */
}

export interface Handover {
	allocated_by: number; /* id of the thread */
	freed_by: number | null; /* id of the thread; null: never freed, or nobody saw by whom */
	count: number; /* blocks */
	bytes: Bytes;
}

export interface Timeline {
	timeline: TimelineStep[]; /* equal spans of the time */
	quality: Quality; /* losses and damage of the tape */
}

export interface TimelineStep {
	begin_ns: Ns;
	live_bytes_max: Bytes; /* most bytes alive in it */
	live_bytes_end: Bytes; /* alive at its end */
	live_count_end: number; /* blocks alive at its end */
	allocated_count: number; /* allocations in it */
	allocated_bytes: Bytes; /* of these allocations */
	free_count: number;
	rss_bytes: Bytes | null; /* resident, by the newest sample until its end */
}

export interface Tree {
	metric: string; /* the metric by which they are sorted */
	bottom_up: boolean; /* begins with the functions that allocate */
	function?: string; /* the one it is about */
	bytes: Bytes; /* of the metric */
	count: number; /* blocks or allocations */
	pruned: number; /* branches that are left out: too small */
	nodes?: TreeNode[]; /* parents before their children */
	callers?: TreeNode[]; /* who called the function */
	callees?: TreeNode[]; /* what the function called */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface TreeNode {
	id: number;
	parent: number | null; /* its id; parents come before their children */
	depth: number; /* 0: no parent */
	function: string; /* name of the function */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	bytes: Bytes; /* of the metric, and all below */
	count: number; /* blocks or allocations */
	self_bytes: Bytes; /* allocated by itself */
	self_count: number;
}
