/* Made by tools/generate.py from the tables of routes and questions: not to be edited. */
export type Ns = number;
export type Bytes = number;
export type Hex = string;

export interface AliveSite {
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
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

export interface Alloc {
	row: number; /* its number */
	address: Hex;
	size: Bytes; /* requested */
	usable: Bytes; /* what the allocator gave */
	ns: Ns; /* when it was allocated */
	thread: number; /* id of the thread */
	thread_name: string;
	call: string; /* what was called: malloc, realloc ... */
	pool: string | null; /* of an object of the program's own pools: which */
	free_ns: Ns | null; /* null: never freed */
	free_thread: number | null; /* id of the thread that freed it */
	free_call: string | null;
	hash: Hex; /* identifies the function; the same on every tape and in every version */
	function: string; /* its name */
	brief: string; /* the same, shortened for people: without return type and a library's template arguments */
	module: string | null; /* short name of the program or library */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	temporary: boolean; /* freed before its thread allocated again */
	at_peak: boolean; /* alive then */
	lost_free: boolean; /* freed unseen */
	chain_length: number; /* allocations of its realloc chain */
	latency_ns: Ns | null; /* how long the call took */
}

export interface AllocDetail extends Head {
	alloc: Alloc;
	stack: Frame[]; /* innermost first */
	free_stack: Frame[] | null; /* of its free; null: not known */
	chain: Alloc[]; /* its realloc chain, at most 64 around it */
	neighbours: Neighbours; /* alive at the same time, next in memory */
}

export interface Allocs extends Head {
	count: number; /* allocations that are selected */
	rows: Alloc[]; /* a page of them */
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

export interface Annotation extends Head {
	file: string; /* as the debug information has it */
	source: string | null; /* where it was found */
	source_is_newer: boolean; /* than the recording: lines may have moved */
	lines: AnnotatedLine[]; /* those with something */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface At extends Head {
	at_ns: Ns; /* the moment */
	live_bytes: Bytes; /* alive then */
	live_count: number; /* blocks alive then */
	sites: AliveSite[]; /* functions that allocated it, the most bytes first */
	quality: Quality; /* losses and damage of the tape */
}

export interface AttachMade extends Head {
	pid: number; /* of the process */
	pause_ns: Ns; /* how long it stood still */
	path: string; /* of the new tape */
	file: string; /* its name without folders */
	id: string; /* under which it is served */
}

export interface Axis {
	kind: "time" | "size" | "lifetime" | "latency";
	unit: "ns" | "bytes";
	log: boolean; /* whether the scale is logarithmic */
	edges: number[]; /* of cells: one more than there are */
}

export interface Between extends Head {
	from_ns: Ns; /* the first moment */
	until_ns: Ns; /* the second moment */
	total: SpanSums; /* of all functions */
	sites: SpanSite[]; /* functions that allocate */
	quality: Quality; /* losses and damage of the tape */
}

export interface CurveBand {
	title: string;
	q: string | null; /* a filter that selects it */
	rest: boolean; /* all that is in no other band */
	values: number[]; /* its bytes when the column's live bytes were highest; not stacked */
}

export interface CurvePeak {
	ns: Ns; /* when */
	bytes: Bytes;
}

export interface CurveSamples {
	ns: number[]; /* when */
	bytes: number[]; /* the most of each column */
}

export interface Curves extends Head {
	by: "stack" | "function" | "source" | "module" | "thread" | "size" | "mark" | "tag" | "pool" | "call" | "lifetime" | "process" | null; /* what the blocks of a band have in common; null: no bands */
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

export interface Damage {
	offset: number; /* byte of the file */
	text: string; /* what is wrong there */
}

export interface Diff extends Head {
	by: "function" | "stack" | "module"; /* what rows are of */
	metric: "peak" | "leaked" | "allocated" | "count" | "temporary" | "live" | "leaked_count" | "temporary_bytes" | "wasted" | "retained" | "stale" | "brk" | "mmap" | "munmap" | "faults" | "major_faults" | "owned_faults"; /* what is compared */
	unit: "bytes" | "count"; /* of the metric */
	pair: string | null; /* the moments, if none were given; null: they were */
	verdict: string; /* what changed, in a sentence */
	totals: Record<string, DiffTotal>; /* by metric */
	main: DiffRow | null; /* the row that changed most, in the direction of all */
	below: DiffBelow | null; /* the innermost function that nearly all of the change is below; null: only main */
	counts: DiffCounts; /* rows there are */
	rows: DiffRow[]; /* those that changed most first */
	conditions: DiffCondition[]; /* of --fail-if */
	a: DiffSide;
	b: DiffSide;
}

export interface DiffBelow {
	function: string; /* its name */
	brief: string; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* where it calls; null: not known, or several places */
	line: number | null; /* in that file */
	module: string; /* path of the program or library */
	hash: Hex; /* identifies the function */
	difference: number; /* of B, less that of A */
}

export interface DiffCondition {
	condition: string; /* as it was written */
	failed: boolean;
	measured: string; /* what was measured, and what is allowed */
}

export interface DiffCounts {
	new: number; /* only on B's side */
	gone: number; /* only on A's side */
	grown: number;
	shrunk: number;
	same: number; /* or nothing of the metric */
}

export interface DiffFlame extends Head {
	m: string; /* the metric */
	unit: "bytes" | "count";
	a: DiffSide;
	b: DiffSide;
	total: number; /* how wide all is */
	boxes: number; /* how many there are in the columns below */
	of: number; /* nodes of the whole tree */
	root: Hex[]; /* the way to box 0, functions */
	root_names: string[]; /* their names */
	root_briefs: string[]; /* the same, shortened for people */
	names: string[]; /* of functions, each once */
	briefs: string[]; /* the same, shortened for people: without return types and libraries' template arguments */
	hashes: Hex[]; /* of these functions */
	name_module: number[]; /* by name: which of modules; -1: in none */
	role: number[]; /* by name: 0 program, 1 allocator, 2 start */
	modules: string[]; /* short names, each once */
	name: number[]; /* by box: which of names; -1: what is too small to draw, together */
	parent: number[]; /* by box; of box 0: -1 */
	depth: number[]; /* by box, below box 0 */
	count: number[]; /* by box: allocations; where name is -1, subtrees */
	file: (string | null)[]; /* by box: where its function was called or allocates */
	line: number[]; /* by box: in that file; 0: not known */
	value: number[]; /* by box: how wide it is */
	self: number[]; /* by box: what is not its children's */
	begin: number[]; /* by box: left edge; box 0: 0 */
	before: number[]; /* by box: of the metric, of A */
	after: number[]; /* by box: of the metric, of B */
}

export interface DiffPair {
	a: string; /* the earlier moment */
	b: string; /* the later one */
	words: string; /* both, in words */
}

export interface DiffRow {
	function: string | null; /* innermost function; null: a row of a module */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	module: string | null; /* short name of the program or library */
	hash: Hex | null; /* identifies the function */
	file: string | null; /* where it allocates */
	line: number | null; /* in that file */
	caller: string | null; /* function that called it */
	caller_brief: string | null; /* the same, shortened for people */
	status: "new" | "gone" | "grown" | "shrunk" | "same";
	a: number; /* the metric of A, for one unit of work */
	b: number; /* the metric of B */
	difference: number; /* of B, less that of A */
	a_count: number; /* allocations behind it */
	b_count: number; /* allocations behind it */
	peak_bytes_a: Bytes;
	peak_count_a: number;
	leaked_bytes_a: Bytes;
	leaked_count_a: number;
	allocated_bytes_a: Bytes;
	allocated_count_a: number;
	temporary_bytes_a: Bytes | null; /* null: other sums were made for the metric */
	temporary_count_a: number | null;
	peak_bytes_b: Bytes;
	peak_count_b: number;
	leaked_bytes_b: Bytes;
	leaked_count_b: number;
	allocated_bytes_b: Bytes;
	allocated_count_b: number;
	temporary_bytes_b: Bytes | null; /* null: other sums were made for the metric */
	temporary_count_b: number | null;
	stack?: Frame[]; /* one with much of it, innermost first */
}

export interface DiffSide {
	id?: string; /* of the tape, where it is served */
	tape: string; /* its path as given, or its name */
	name: string; /* of the program */
	exe: string; /* its path */
	from_ns: Ns; /* where what is compared begins */
	until_ns: Ns | null; /* where it ends, or the moment; null: the end */
	units: number; /* of work, by which values are divided */
	total: number; /* the metric */
	count: number; /* allocations behind it */
	peak_bytes: Bytes;
	peak_count: number;
	leaked_bytes: Bytes;
	leaked_count: number;
	allocated_bytes: Bytes;
	allocated_count: number;
	temporary_bytes: Bytes | null; /* null: other sums were made for the metric */
	temporary_count: number | null;
	suppressed_bytes: Bytes; /* leaks, not in the sums */
	suppressed_count: number; /* blocks of these */
	quality: Quality; /* losses and damage of the tape */
}

export interface DiffTotal {
	a: number; /* of A, for one unit of work */
	b: number; /* of B */
	difference: number; /* of B, less that of A */
}

export interface ExportFormat {
	name: string;
	summary: string;
	suffix: string; /* of the file's name */
	kind: string;
	has_metric: boolean; /* takes a measure */
	path: string | null; /* of its own route; null: /api/v1/export */
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

export interface Field {
	name: string;
	aliases: string[]; /* other names */
	type: string;
	scope: string; /* of what it is: an allocation, its chain ... */
	doc: string;
	none: string | null; /* when it has no value */
	percent: string | null; /* of what a number with % is a part */
	operators: string[]; /* that it can be compared by */
}

export interface Fields extends Head {
	fields: Field[]; /* of filters */
	units: string[]; /* of numbers in filters */
	operators: string[]; /* of filters */
	moments: string[]; /* ways to say one */
	sorts: Sorts;
	measures: Measure[];
	groups: GroupBy[];
	exports: ExportFormat[];
}

export interface FilterCheck extends Head {
	ok: boolean; /* true; what is wrong with a filter is an error */
	count: number; /* allocations it lets through */
	total: number; /* allocations there are */
	bytes: Bytes; /* of those it lets through */
}

export interface Finding {
	type: string; /* the kind of problem */
	title: string; /* what is wrong */
	bytes: Bytes; /* affected */
	count: number | null; /* what is counted is in the evidence */
	evidence: string; /* one sentence with figures */
	advice: string; /* what to do */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
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
	serious: boolean; /* an error, or memory that stays; false: it costs time only */
	stake_bytes: Bytes; /* at stake in all: the most of it and of `also`, whose blocks are the same ones */
	also: FindingEvidence[]; /* other kinds of problem at the same line, the strongest first: the same cause */
}

export interface FindingEvidence {
	type: string; /* the kind of problem */
	title: string; /* what is wrong */
	bytes: Bytes; /* affected */
	count: number | null; /* what is counted is in the evidence */
	evidence: string; /* one sentence with figures */
	advice: string; /* what to do */
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
	serious: boolean; /* an error, or memory that stays; false: it costs time only */
}

export interface Findings extends Head {
	findings: Finding[]; /* one a cause, the worst first */
	missing: string[]; /* what could not be looked for, and how to record it */
	leaked: Sum; /* never freed and not suppressed, whatever was found */
	quality: Quality; /* losses and damage of the tape */
}

export interface Flame extends Head {
	m: string; /* the metric */
	total: number; /* of the metric, of the whole tree */
	unit: "bytes" | "count";
	boxes: number; /* how many there are in the columns below */
	of: number; /* nodes of the whole tree */
	root: Hex[]; /* the way to box 0, functions */
	root_names: string[]; /* their names */
	root_briefs: string[]; /* the same, shortened for people */
	names: string[]; /* of functions, each once */
	briefs: string[]; /* the same, shortened for people: without return types and libraries' template arguments */
	hashes: Hex[]; /* of these functions */
	name_module: number[]; /* by name: which of modules; -1: in none */
	role: number[]; /* by name: 0 program, 1 allocator, 2 start */
	modules: string[]; /* short names, each once */
	name: number[]; /* by box: which of names; -1: what is too small to draw, together */
	parent: number[]; /* by box; of box 0: -1 */
	depth: number[]; /* by box, below box 0 */
	count: number[]; /* by box: allocations; where name is -1, subtrees */
	file: (string | null)[]; /* by box: where its function was called or allocates */
	line: number[]; /* by box: in that file; 0: not known */
	value: number[]; /* by box: of the metric */
	self: number[]; /* by box: what is not its children's */
	begin: number[]; /* by box: left edge, in units of value; box 0: 0 */
}

export interface FolderTape {
	id: string; /* of the recording; of a session, of its folder */
	path: string;
	kind: "tape" | "session" | "unreadable";
	live: boolean; /* whether it is being written, or received */
	link: boolean; /* whether its name is a symbolic link */
	program: string | null;
	host: string | null; /* if its name or its manifest says so */
	pid: number | null;
	age_ns: Ns; /* since it was last written */
	duration_ns: Ns | null; /* how long was recorded */
	size_bytes: Bytes; /* on the disk, with its index and spool */
	peak_bytes: Bytes | null; /* most that was live */
	live_bytes: Bytes | null; /* at the end, or so far */
	end: string | null; /* exited 0, killed by SIGKILL ... */
	tape_count: number | null; /* of a session: its tapes */
	begin_realtime_ns: string | null; /* when it began, since 1970; a text, for it is more than 2^53 */
	release: string | null; /* the program's build-id */
	command: string | null; /* its arguments; the first 1,024 bytes of them */
	curve: number[]; /* most that was live in each of equal parts of the duration; empty: not read yet */
	trouble: string | null; /* why it could not be read */
	file: string; /* its name without folders */
}

export interface FolderTapes extends Head {
	folder: string; /* its path */
	count: number; /* tapes and sessions in it, without links */
	size_bytes: Bytes; /* of these, on the disk */
	match_count: number; /* that were asked for, also beyond `limit` */
	unread: number; /* of which more will be known in a moment */
	tapes: FolderTape[];
}

export interface Fragmentation extends Head {
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

export interface Frame {
	function: string; /* name of the function */
	brief: string; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex; /* identifies the function; the same on every tape and in every version */
	inlined: boolean; /* the compiler put the function into its caller */
	folded: boolean; /* part of an allocator or of program start */
	role: "mine" | "library" | "allocator" | "start"; /* whose code it is */
}

export interface FrameCurve {
	from_ns: Ns;
	until_ns: Ns;
	values: number[]; /* most bytes alive in each equal span of the time */
}

export interface FrameDetail extends Head {
	hash: Hex; /* identifies the function; the same on every tape and in every version */
	function: string; /* its name */
	brief: string; /* the same, shortened for people: without return type and a library's template arguments */
	module: string | null; /* short name of the program or library */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	metrics: FrameMetric[]; /* every one; retained and stale of tapes that have them */
	life: FrameLife | null; /* null: nothing was freed */
	sizes: FrameSize[]; /* those there are */
	curve: FrameCurve;
	callers: FrameShare[];
	callees: FrameShare[];
	lines: FrameLine[]; /* what each called or allocated */
}

export interface FrameLife {
	p50: Ns; /* half of those that were freed lived no longer */
	p99: Ns;
}

export interface FrameLine {
	file: string;
	line: number;
	value: number; /* of the metric */
}

export interface FrameMetric {
	m: string; /* the metric */
	title: string;
	unit: "bytes" | "count";
	total: number; /* in it and what it calls */
	self: number; /* allocated by itself */
	share: number; /* total, of all that is selected */
}

export interface FrameShare {
	hash: Hex;
	function: string;
	brief: string; /* the same, shortened for people: without return type and a library's template arguments */
	module: string | null;
	value: number; /* of the metric */
}

export interface FrameSize {
	min: Bytes;
	max: Bytes; /* included */
	count: number;
	bytes: Bytes;
}

export interface FunctionCalls {
	calls: number;
	bytes: Bytes; /* requested */
	failed: number; /* calls that returned NULL */
}

export interface Grid extends Head {
	x: Axis; /* from left to right */
	y: Axis; /* upwards */
	count: number[]; /* allocations; row by row, the lowest first */
	bytes: number[]; /* of them */
	never: GridCells | null; /* y=lifetime: what was never freed, by column */
}

export interface GridCells {
	count: number[]; /* allocations; row by row, the lowest first */
	bytes: number[]; /* of them */
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

export interface GroupBy {
	word: string; /* of `by` */
	doc: string;
}

export interface GroupRow {
	title: string; /* what it is called */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	stack_id: number | null; /* of the stack */
	stacks: number | null; /* number of different stacks */
	only_matched: GroupSums; /* what the filter lets through */
	all: GroupAll; /* the group on the whole tape */
	saves_bytes: Bytes | null; /* by how much the peak is lower without the matched ones; null if not sorted by it */
	peak_without_bytes: Bytes | null; /* the peak that is left */
	peak_without_ns: Ns | null; /* when that is */
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

export interface Groups extends Head {
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

export interface GrownSite {
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
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

export interface GrowthReport extends Head {
	begin_ns: Ns; /* of the courses */
	end_ns: Ns; /* of the courses */
	goes_on: boolean; /* the tape ends before its program: what was never freed is not freed yet */
	growing: GrowthSum;
	unsteady: GrowthSum;
	levelled_off: GrowthSum;
	burst: GrowthSum;
	one_off: GrowthSum;
	unknown: GrowthSum;
	sites: GrowthSite[]; /* functions that leak or grow: by pattern in the order above, then the largest first */
	scans?: ScansCompared; /* two leak scans compared; absent if there are no two */
	quality: Quality; /* losses and damage of the tape */
}

export interface GrowthSite {
	pattern: "growing" | "unsteady" | "levelled_off" | "burst" | "one_off" | "unknown"; /* what its live bytes did over the time */
	leaked_bytes: Bytes; /* never freed, and not suppressed */
	leaked_blocks: number; /* never freed, and not suppressed */
	live_bytes: Bytes; /* alive at the end of the course */
	allocated_blocks: number; /* that it allocated */
	never_freed_share: number; /* leaked_blocks of allocated_blocks */
	bytes_per_s: number | null; /* by linear fit; null unless it changes over time, a second at least */
	r2: number | null; /* how good that fit is, 0 to 1 */
	first_ns: Ns; /* its first allocation */
	last_ns: Ns; /* its last one */
	age_ns: Ns; /* from the first one to the end */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	evidence: string; /* one sentence */
	filter: string | null; /* selects just its allocations */
	course: number[]; /* live bytes, at equal distances in time */
	stack: Frame[]; /* the one with most of it */
}

export interface GrowthSum {
	sites: number; /* functions */
	leaked_bytes: Bytes; /* never freed, and not suppressed */
	leaked_blocks: number; /* never freed, and not suppressed */
}

export interface Handover {
	allocated_by: number; /* id of the thread */
	freed_by: number | null; /* id of the thread; null: never freed, or by an unknown thread */
	count: number; /* blocks */
	bytes: Bytes;
}

export interface Head {
	gen: number; /* which reading of a tape that is being recorded this is; 0: it is finished */
	approx?: boolean; /* a number may be an estimate */
	ms: number; /* time the server took */
}

export interface Heap extends Head {
	at_ns: Ns; /* the moment that is shown */
	has_snapshot: boolean; /* whether the address space was looked at then */
	pages_known: boolean; /* whether each page is known to be resident or not */
	by: "use" | "age" | "size" | "thread" | "site"; /* what a class is of */
	region_count: number;
	classes: HeapClass[];
	regions: HeapCells[];
}

export interface HeapCells {
	begin: Hex;
	end: Hex;
	kind: string;
	use: "main heap" | "thread arena" | "mapped arena" | "single block"; /* what the allocator uses it for */
	name: string; /* as the kernel has it */
	resident_bytes: Bytes;
	live_bytes: Bytes;
	live_count: number; /* live blocks that begin in it */
	free_pages: number; /* resident, and nothing alive in them */
	longest_free_bytes: Bytes; /* between two blocks */
	cell_bytes: Bytes; /* of one cell */
	live: number[]; /* by cell: bytes */
	resident: number[]; /* by cell: bytes */
	pinned: number[]; /* by cell: pages that one block keeps */
	class?: number[]; /* by cell: which of classes; their number: nothing is alive there */
}

export interface HeapClass {
	bytes: Bytes;
	count: number; /* blocks */
	from?: number; /* by=age, size: the least of it */
	tid?: number; /* by=thread */
	name?: string; /* by=thread: its name */
	hash?: Hex; /* identifies the function; the same on every tape and in every version */
	function?: string; /* its name */
	brief?: string; /* the same, shortened for people: without return type and a library's template arguments */
	module?: string | null; /* short name of the program or library */
	file?: string | null; /* its source file */
	line?: number | null; /* line in the source file */
}

export interface HeapRegion {
	begin: Hex;
	end: Hex;
	kind: string; /* of mapping */
	use: "main heap" | "thread arena" | "mapped arena" | "single block"; /* what the allocator uses it for */
	name: string;
	resident_bytes: Bytes;
	live_bytes: Bytes; /* of live blocks */
	live_count: number; /* live blocks that begin in it */
	free_pages: number; /* resident, without a live byte */
	longest_free_bytes: Bytes; /* the longest run of pages without a live byte */
	tail_free_bytes: Bytes; /* resident behind the last live block */
	cell_bytes: Bytes; /* how much a cell stands for */
	live: number[]; /* bytes of live blocks, by cell */
	resident: number[]; /* resident bytes, by cell */
}

export interface HeldNode {
	kind: "block" | "global" | "stack" | "tls" | "registers" | "mapping"; /* what it is */
	name: string | null; /* of a variable or mapping; of a library's data without symbols, the library */
	type: string | null; /* of a variable */
	tid: number | null; /* the thread whose stack, registers or memory it is */
	thread: string | null; /* name of that thread */
	address: Hex; /* where it begins */
	bytes: Bytes;
	class: "definitely_lost" | "indirectly_lost" | "possibly_lost" | "still_reachable" | "suppressed" | "not_scanned" | null; /* of a block */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	depth: number | null; /* of that call: how many are further in, without inlined ones */
	callers: Frame[]; /* the nearest calls further out; functions that are inlined there come first */
	offset: number | null; /* where in it the pointer to the next one is; of registers: 8 times the number */
	interior: boolean; /* the pointer is to the middle of the next one */
}

export interface HeldSite {
	class: "definitely_lost" | "indirectly_lost" | "possibly_lost" | "still_reachable" | "suppressed" | "not_scanned"; /* of the block that the chain leads to */
	retained_bytes: Bytes; /* of its blocks and of what would be unreachable without them */
	bytes: Bytes; /* of its blocks */
	blocks: number;
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	chain: HeldNode[]; /* the shortest chain of pointers to the block that retains most, from its holder */
	omitted_steps: number; /* of the chain, after the first step */
	stack: Frame[]; /* that allocated the blocks */
}

export interface Holders extends Head {
	sites: HeldSite[]; /* stacks of blocks, what retains most first */
	scan: LeakScan; /* the scan */
	quality: Quality; /* losses and damage of the tape */
}

export interface Idle extends Head {
	since_ns: Ns; /* when watching began */
	period_ns: Ns; /* wanted between two looks */
	noticed: "writes" | "reads_and_writes"; /* what counts as a touch */
	done: string; /* what it is called: "written to", as in "not written to for 10s" */
	precision: string; /* what that leaves out */
	blind?: string; /* why what is only read is not noticed */
	bounds_ns: number[]; /* ascending; the first is 0 */
	looks: IdleLook[]; /* in order of time */
	trouble?: string; /* why there are no more looks */
	quality: Quality; /* losses and damage of the tape */
}

export interface IdleLook {
	time_ns: Ns; /* of the look */
	bytes: number[]; /* bytes of live blocks, by the bounds: not touched for at least so long, and not for so long as the next */
	untouched: Bytes; /* with no memory behind them */
	unknown: Bytes; /* that were not watched */
}

export interface Import {
	format: string; /* of the file */
	tool: string | null; /* that wrote it */
	file: string;
	missing: string[]; /* what that format does not have */
	words: string; /* the same as readable text */
	notes: string[]; /* further remarks */
}

export interface Info extends Head {
	version: string; /* of memtape */
	can_attach: boolean; /* whether /api/v1/attach can */
	can_list: boolean; /* whether /api/v1/tapes can: a folder is served */
	can_leak_scan: boolean; /* whether /api/v1/leak-scan can */
	can_mark: boolean; /* whether /api/v1/mark can */
	can_pause: boolean; /* whether /api/v1/pause can */
	can_snapshot: boolean; /* whether /api/v1/snapshot can */
	can_stop: boolean; /* whether /api/v1/stop can */
	recorded: string | null; /* the tape that these are about; null: there is none */
	tapes: Tape[]; /* the last one is `last` */
}

export interface Keeper {
	kind: "block" | "global" | "stack" | "tls" | "registers" | "mapping"; /* what it is */
	name: string | null; /* of a variable or mapping; of a library's data without symbols, the library */
	type: string | null; /* of a variable */
	tid: number | null; /* the thread whose memory it is */
	thread: string | null; /* name of that thread */
	file: string | null; /* that declares the variable */
	line: number | null;
	module: string | null; /* path of the program or library whose variable it is */
	begin: Hex;
	end: Hex; /* behind its last byte */
	retained_bytes: Bytes; /* of blocks that it alone holds */
	blocks: number; /* that it alone holds */
	sites: KeptSite[]; /* where most of them were allocated */
}

export interface KeptBlock {
	address: Hex;
	class: "definitely_lost" | "indirectly_lost" | "possibly_lost" | "still_reachable" | "suppressed" | "not_scanned";
	bytes: Bytes; /* of the block */
	retained_bytes: Bytes; /* of the block and of what would be unreachable without it */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	stack: Frame[]; /* that allocated it */
}

export interface KeptSite {
	bytes: Bytes;
	blocks: number;
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
}

export interface Latency extends Head {
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

export interface LatencyBucket {
	min_ns: Ns;
	max_ns: Ns;
	count: number; /* calls */
}

export interface LatencySum {
	calls: number;
	total_ns: Ns;
	mean_ns: Ns;
	p50_ns: Ns; /* the median */
	p99_ns: Ns; /* 99 % took no longer */
	max_ns: Ns;
}

export interface LeakClasses {
	definitely_lost: LossSum; /* no pointer leads to them */
	indirectly_lost: LossSum; /* only lost blocks point to them */
	possibly_lost: LossSum; /* only pointers into the middle of a block lead to them */
	still_reachable: LossSum; /* pointers to their beginnings lead to them */
	suppressed: LossSum; /* of any class; a suppression matches their stack */
	not_scanned: LossSum; /* on the tape, but the scan did not know of them */
}

export interface LeakReport extends Head {
	definitely_lost: LossSum; /* no pointer leads to them */
	indirectly_lost: LossSum; /* only lost blocks point to them */
	possibly_lost: LossSum; /* only pointers into the middle of a block lead to them */
	still_reachable: LossSum; /* pointers to their beginnings lead to them */
	suppressed: LossSum; /* of any class; a suppression matches their stack */
	not_scanned: LossSum; /* on the tape, but the scan did not know of them */
	records: LossRecord[]; /* blocks of one class and stack, without suppressed ones, largest first */
	scan: LeakScan; /* the scan */
	quality: Quality; /* losses and damage of the tape */
}

export interface LeakScan {
	id: number; /* counts the scans of a tape from 1 */
	time_ns: Ns; /* when the program stood still */
	reason: "unknown" | "exit" | "killed" | "request" | "period" | "core"; /* what it was made for */
	trouble?: string; /* why there is no result */
	pause_ns: Ns; /* how long the program stood still */
	scan_ns: Ns; /* CPU time of the scan */
	threads: number; /* that were stopped and examined */
	missed_threads: number; /* that could not be stopped: what they hold may look lost */
	heuristics: string[]; /* pointers into the middle of a block that count as if to its beginning */
	root_bytes: Bytes; /* searched outside of blocks */
	block_bytes: Bytes; /* searched in blocks */
	unread_bytes: Bytes; /* that could not be read: what they point to may look lost */
	off_tape_bytes: Bytes; /* in blocks that are not on the tape */
	off_tape_blocks: number; /* that are not on the tape */
}

export interface LeakScanMade extends Head {
	scan: number; /* its number on the tape */
	pause_ns: Ns; /* how long the program stood still */
}

export interface LeakSite {
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
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
	pattern: "growing" | "unsteady" | "levelled_off" | "burst" | "one_off" | "unknown" | null; /* what its live bytes did over the time; null where all was freed */
	bytes_per_s: number | null; /* by linear fit; null unless it changes over time, a second at least */
}

export interface Leaks extends Head {
	sort: string; /* the metric by which they are sorted */
	sites: LeakSite[]; /* functions that allocate, by the metric */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
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
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
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

export interface Lifetimes extends Head {
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

export interface LossRecord {
	class: "definitely_lost" | "indirectly_lost" | "possibly_lost" | "still_reachable" | "suppressed" | "not_scanned"; /* definitely_lost, indirectly_lost, possibly_lost or still_reachable */
	bytes: Bytes;
	blocks: number;
	indirect_bytes: Bytes; /* of blocks that only these definitely lost ones lead to */
	indirect_blocks: number; /* blocks of these */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	stack: Frame[]; /* that allocated them */
}

export interface LossSum {
	bytes: Bytes;
	blocks: number;
}

export interface Losses {
	no_space: number; /* no chunk was free */
	nested: number; /* in nested signal handlers */
	no_thread: number; /* no memory for a thread's state */
	startup: number; /* before the recorder was ready */
	truncated: number; /* stacks that were cut short */
	stopped: number; /* after recording had stopped, at least */
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

export interface Mallopts extends Head {
	mallopts: Mallopt[];
	quality: Quality; /* losses and damage of the tape */
}

export interface MappingNode {
	node: number; /* number of the NUMA node */
	bytes: Bytes;
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
	nodes: MappingNode[]; /* how much of it was on which NUMA node at the last look; empty where there is one, and of mappings of less than 1 MiB */
	stack: string[]; /* functions that mapped it, the innermost first */
}

export interface MappingUse {
	ns: Ns; /* when it was looked at */
	mapped_bytes: Bytes;
	resident_bytes: Bytes;
}

export interface Mappings extends Head {
	mappings: MappingRow[];
	quality: Quality; /* losses and damage of the tape */
}

export interface Mark {
	ns: Ns; /* when */
	text: string; /* its name */
}

export interface MarkMade extends Head {
	text: string; /* the mark's name */
}

export interface Marks extends Head {
	marks: ReportMark[];
	quality: Quality; /* losses and damage of the tape */
}

export interface Measure {
	word: string; /* of `m` */
	title: string;
	title_so_far: string; /* on a tape whose program `goes_on` */
	unit: "bytes" | "count";
	doc: string;
	sort: string | null; /* the sort key of groups */
	at: boolean; /* of a moment: takes `at` */
	scan: boolean; /* of a leak scan: takes `scan`; tapes without one lack it */
	touches: boolean; /* of looks at touched pages: tapes without them lack it */
	kernel: boolean; /* of events of the kernel: tapes without them lack it */
	spans: boolean; /* adds up over spans of time */
	in_reports: boolean; /* reports can be sorted by it */
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

export interface Modules extends Head {
	modules: ModuleRow[]; /* the most of the metric first */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface MyCode extends Head {
	config: string; /* the file, or where it would be made */
	exists: boolean; /* whether it is there */
	refusal: string | null; /* why this server does not change it */
	patterns: MyCodePattern[]; /* those of options, then of the file: the first that matches decides; then what is built in */
}

export interface MyCodePattern {
	role: "mine" | "library" | "allocator" | "start"; /* whose it is: allocator: it allocates for its callers; start: it starts programs and threads */
	pattern: string; /* as in --my */
	from: "option" | "config" | "built-in"; /* where it is said */
	of: string | null; /* what is compared, of what is built in: function, source or module */
	line: number; /* of the file, from 1; 0: not from there */
}

export interface NameCount {
	text: string;
	count: number; /* allocations that have it */
}

export interface Names extends Head {
	values: NameCount[]; /* those that most allocations have first */
}

export interface Neighbours {
	before: Alloc | null;
	after: Alloc | null;
}

export interface Now extends Head {
	program: string; /* its name; empty: not known yet */
	pid: number;
	end: string | null; /* exited 0, killed by SIGKILL ...; null: none is known */
	duration_ns: Ns; /* how long was recorded; the end of the window */
	from_ns: Ns; /* the beginning of the window */
	rss_bytes: Bytes | null; /* resident, by the last sample */
	total: NowRates; /* of all functions */
	peak_bytes: Bytes; /* alive at the peak */
	peak_ns: Ns; /* when that was */
	timeline: TimelineStep[]; /* equal spans of the window */
	sort: string; /* what sites are sorted by */
	sites: NowSite[]; /* functions with live blocks, or that did something in the window */
	quality: Quality; /* losses and damage of the tape */
}

export interface NowRates {
	live_bytes: Bytes; /* alive at the end */
	live_count: number; /* blocks alive at the end */
	growth_bytes: number; /* live_bytes, less those before the window */
	growth_bytes_per_s: number; /* the same in a second */
	allocated_bytes: Bytes; /* in the window */
	allocated_count: number; /* allocations in the window */
	freed_count: number; /* blocks freed in the window, whenever they were allocated */
	allocated_bytes_per_s: number; /* allocated in a second */
	allocations_per_s: number;
	frees_per_s: number;
	temporary_count: number; /* allocations in the window that were freed before their thread allocated again */
}

export interface NowSite {
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	live_bytes: Bytes; /* alive at the end */
	live_count: number; /* blocks alive at the end */
	growth_bytes: number; /* live_bytes, less those before the window */
	growth_bytes_per_s: number; /* the same in a second */
	allocated_bytes: Bytes; /* in the window */
	allocated_count: number; /* allocations in the window */
	freed_count: number; /* blocks freed in the window, whenever they were allocated */
	allocated_bytes_per_s: number; /* allocated in a second */
	allocations_per_s: number;
	frees_per_s: number;
	temporary_count: number; /* allocations in the window that were freed before their thread allocated again */
	stacks: number; /* number of different stacks */
	stack: Frame[]; /* the stack with most live bytes */
}

export interface Opened extends Head {
	id: string; /* under which it is served */
	file: string; /* its name without folders */
}

export interface Overview extends Head {
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

export interface OverviewSpan {
	begin_ns: Ns;
	live_bytes_max: Bytes; /* most bytes alive in it */
	rss_bytes: Bytes | null; /* most resident bytes, or the last known */
	rate: number; /* allocations per second */
	allocated_bytes: Bytes; /* until its end */
	leaked_bytes: Bytes; /* allocated until its end, never freed and not suppressed */
	temporary_count: number; /* allocations in it that were freed before their thread allocated again */
}

export interface Pool {
	name: string; /* what the program calls it; pools of the same name are one */
	created_count: number; /* how many of that name were created */
	destroyed_count: number; /* and destroyed */
	cleared_count: number; /* how often one was emptied */
	allocated_count: number; /* objects, reallocs among them */
	allocated_bytes: Bytes; /* of these */
	freed_count: number; /* objects freed one by one, reallocs among them */
	freed_bytes: Bytes; /* of these */
	emptied_count: number; /* objects freed with their pool, when it was emptied or destroyed */
	emptied_bytes: Bytes; /* of these */
	live_count: number; /* objects never freed */
	live_bytes: Bytes; /* of these */
	peak_bytes: Bytes; /* alive at once at most */
	peak_count: number; /* objects alive then */
	peak_ns: Ns; /* when */
	unknown_free_count: number; /* frees of objects that were not seen allocated */
}

export interface Pools extends Head {
	pools: Pool[]; /* the highest peak first */
	quality: Quality; /* losses and damage of the tape */
}

export interface Process {
	pid: number;
	user: string;
	rss_bytes: Bytes; /* resident memory */
	age_ns: Ns; /* how long it has run */
	start_realtime_ns: string; /* when it began, since 1970; a text, for it is more than 2^53 */
	obstacle: string | null; /* why it cannot be attached to, in a word; null: it can be */
	name: string; /* of its program's file */
	command: string; /* its arguments */
	refusal: string | null; /* the same in a sentence, of `memtape attach` */
	tape: string | null; /* where memtape records it; null: it does not */
}

export interface ProcessEnd {
	pid: number;
	exe: string; /* path of the program */
	argv: string[]; /* its arguments */
	exit_code: number | null;
	signal: number | null; /* number of the signal that ended it */
}

export interface ProcessList extends Head {
	processes: Process[]; /* those that use the most memory first */
}

export interface ProcessOfTree {
	pid: number;
	ppid: number; /* its parent's, when its program began */
	name: string; /* of its program */
	argv: string[]; /* its command line, as far as it is kept */
	begin_ns: Ns; /* since the first one began */
	end_ns: Ns; /* the same, of the last that is known of it */
	exit: number | null; /* exit code; null: it has not ended by itself, or that is not known */
	signal: string | null; /* name of the signal that has killed it; null: none has, or that is not known */
	ended: "unknown" | "exit" | "signal" | "running" | "exec"; /* how; exec: the process went on with another program, which has a row of its own */
	started: "start" | "fork" | "exec"; /* how: fork (of the parent's program), exec (by the same process) or start (all else) */
	parent: number | null; /* the row of its parent, or of what it was before the exec, from 0; null: not recorded */
	allocations: ProcessSum;
	peak: ProcessPeak; /* alive at once at most */
	leaked: ProcessSum; /* never freed by it; on a tape of one process without what is suppressed */
	inherited_bytes: Bytes | null; /* alive in its parent when it was forked, which are the parent's and counted there alone */
	rss: Bytes | null; /* resident at most, of the moments measured */
	pss: Bytes | null; /* the same, with what it shares divided among those that share it: in sums it is counted once */
	private: Bytes | null; /* the same, that nobody else has */
	tape: string | null; /* the file in the session's folder */
}

export interface ProcessPeak {
	bytes: Bytes;
}

export interface ProcessSum {
	count: number;
	bytes: Bytes;
}

export interface ProcessTree extends Head {
	processes: ProcessOfTree[]; /* programs in processes, in order of their beginning */
	quality: Quality; /* losses and damage of the tape */
}

export interface ProgramBefore {
	allocations: number;
	peak_bytes: Bytes;
	program: string; /* its path */
}

export interface Progress {
	done: number;
	total: number;
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
	paused_ns: Ns; /* for how long no allocations were recorded */
	fault: string | null; /* why recording ended early */
	import?: Import; /* of a tape made from another tool's file */
	edits?: string[]; /* what was stripped or anonymised later */
	unnamed_modules: UnnamedModule[];
}

export interface RankedSite {
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
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

export interface Ranking extends Head {
	sort: string; /* the metric by which they are sorted */
	sites: RankedSite[]; /* functions that allocate, by the metric */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface Reallocs extends Head {
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

export interface Recording extends Head {
	tape: RecordingTape; /* the file */
	process: RecordingProcess;
	before?: ProgramBefore[]; /* what the process was before it executed this */
	edits?: RecordingEdit[]; /* what was done to it later */
	allocators?: RecordingAllocator[]; /* with names of their own */
	pauses?: RecordingPause[]; /* when no allocations were recorded */
	looks?: RecordingLooks[]; /* at which pages were touched: one row */
	import?: Import; /* of a tape made of another tool's file */
	attached?: RecordingAttached; /* of a process that ran already */
	losses: RecordingLosses;
	recorder: RecordingCosts; /* what recording cost */
	threads: RecordingThread[];
	modules: RecordingModule[];
}

export interface RecordingAllocator {
	name: string;
	prefix: string; /* of its functions */
	functions: number; /* that are recorded */
	objects: number; /* that call them */
	places: number; /* in these */
	asked: boolean; /* by --allocator */
	path: string | null; /* of the object that has them */
	warning: string | null; /* what is not recorded of it, and what to do */
}

export interface RecordingAttached {
	at_ns: Ns; /* when */
	pause_ns: Ns; /* how long the process stood still */
	places: number; /* through which the allocator is called, recorded */
	other_places: number; /* that lead to another allocator, not recorded */
	functions: number; /* of the allocator that lead to the recorder themselves (--hook=inline) */
	before: RecordingBefore; /* what was live then */
}

export interface RecordingBefore {
	count: number; /* blocks, of which stacks are not known */
	bytes: Bytes; /* usable */
	is_complete: boolean; /* these are all that there were */
	trouble: string | null; /* why they are not */
}

export interface RecordingCosts {
	selfchecks: number; /* stacks that were walked twice */
	selfcheck_differences: number; /* of these, not the same */
	private_bytes: Bytes; /* of the recorder in the process */
	chunk_bytes: Bytes | null; /* mapped for events */
	slow_ns: Ns | null; /* away from the hot path */
	collector_cpu_ns: Ns | null; /* of the process beside it */
}

export interface RecordingEdit {
	words: string; /* a sentence */
	stripped_allocations: number; /* left out */
	stripped_bytes: Bytes; /* of these */
	hidden_bytes: Bytes; /* of names replaced */
	anonymised: boolean;
}

export interface RecordingLooks {
	noticed: "writes" | "reads_and_writes"; /* what counts as a touch */
	looks: number;
	period_ns: Ns; /* wanted between two looks */
	precision: string; /* what that leaves out */
	blind: string | null; /* why what is only read is not noticed */
	trouble: string | null; /* why there are no more looks */
}

export interface RecordingLosses {
	lost_events: number; /* events that were not recorded */
	no_space: number; /* no chunk was free */
	nested: number; /* in nested signal handlers */
	no_thread: number; /* no memory for a thread's state */
	startup: number; /* before the recorder was ready */
	truncated_stacks: number; /* stacks that were cut short */
	stopped: number; /* after recording had stopped, at least */
	missing_chunks: number; /* missing pieces of the tape */
	damaged_places: number;
	fault: string | null; /* why recording ended early */
}

export interface RecordingModule {
	begin: Hex;
	end: Hex; /* exclusive */
	bias: Hex; /* address in memory, less that in the file */
	bytes: Bytes;
	build_id: string | null; /* hexadecimal digits */
	path: string;
	load_ns: Ns; /* when */
	unload_ns: Ns | null; /* when */
}

export interface RecordingPause {
	begin_ns: Ns;
	end_ns: Ns | null; /* null: it was not resumed */
	by: "start" | "program" | "signal" | "control" | "time"; /* who or what paused it */
}

export interface RecordingPaused extends Head {
	paused: boolean; /* from now on */
	changed: boolean; /* false: it was so already */
}

export interface RecordingProcess {
	pid: number;
	parent_pid: number;
	machine: string; /* processor, as uname -m prints it, or unknown */
	exe: string; /* path of the program */
	cwd: string; /* its folder when recording began */
	argv: string[];
	started: string | null; /* ISO 8601, in UTC */
	duration_ns: Ns; /* how long was recorded */
	end: "unknown" | "exit" | "signal" | "running" | "exec";
	end_status: number | null; /* exit code, or number of the signal */
	page_bytes: Bytes;
	pointer_bytes: number;
}

export interface RecordingStopped extends Head {
	tape_bytes: Bytes; /* what the tape has now */
}

export interface RecordingTape {
	version: number; /* of the format */
	kind: "raw" | "packed";
	file_bytes: Bytes;
	chunks: number;
	streams: number; /* of threads and the collector, with a chunk */
	events: number;
	record_bytes: Bytes; /* of events, unpacked */
	stack_nodes: number; /* frames on the tape */
	stacks: number; /* the same, equal ones once */
	clock: "monotonic" | "tsc" | "cntvct" | "counter";
	alloc_stacks: boolean; /* allocations have stacks */
	free_stacks: boolean; /* frees have stacks */
	forked: boolean; /* the process is a forked child */
	attached: boolean; /* recording began while it ran */
	uuid: string | null; /* hexadecimal digits */
}

export interface RecordingThread {
	tid: number;
	name: string;
	begin_ns: Ns;
	end_ns: Ns | null;
}

export interface Report {
	name: string;
	summary: string; /* one line */
	depth: "sums" | "rows"; /* whether it needs every allocation */
	selects: boolean; /* whether it takes filter, from and until */
	operands: string | null; /* what stands behind its name */
	sorts: string[] | null; /* words of `sort` */
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

export interface Reports extends Head {
	reports: Report[];
}

export interface Residency extends Head {
	time_ns: Ns | null; /* of the snapshot; null if there is none: then all is unknown */
	wanted_ns: Ns; /* --at, to which the snapshot is the nearest, or the peak, a quarter of a second after which it is the first; where there is none so late, the nearest */
	blocks: number; /* alive then */
	bytes: Bytes; /* requested */
	resident_bytes: Bytes; /* of them in pages with memory behind them */
	swapped_bytes: Bytes; /* in pages that were swapped out */
	untouched_bytes: Bytes; /* in pages that were never written to, or given back */
	tail_bytes: Bytes; /* of these, at the ends of blocks: more was requested than used */
	zero_bytes: Bytes; /* of the untouched, in pages that were read: all share one page of zeros */
	unknown_bytes: Bytes; /* of which it is not known: not mapped then, or pages were not listed */
	sites: ResidentSite[]; /* functions, most untouched first */
	quality: Quality; /* losses and damage of the tape */
}

export interface ResidentSite {
	blocks: number; /* alive then */
	bytes: Bytes; /* requested */
	resident_bytes: Bytes; /* of them in pages with memory behind them */
	swapped_bytes: Bytes; /* in pages that were swapped out */
	untouched_bytes: Bytes; /* in pages that were never written to, or given back */
	tail_bytes: Bytes; /* of these, at the ends of blocks: more was requested than used */
	zero_bytes: Bytes; /* of the untouched, in pages that were read: all share one page of zeros */
	unknown_bytes: Bytes; /* of which it is not known: not mapped then, or pages were not listed */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	stack: Frame[]; /* the one with most of it */
}

export interface Retained extends Head {
	holders: Keeper[]; /* what retains most first */
	blocks: KeptBlock[]; /* that retain most, without those that another block of the same stack retains */
	shared: LossSum; /* blocks that several holders hold */
	lost: LossSum; /* definitely and indirectly lost blocks, that nothing holds */
	not_scanned: LossSum; /* on the tape, but the scan did not know of them */
	scan: LeakScan; /* the scan */
	quality: Quality; /* losses and damage of the tape */
}

export interface Rss extends Head {
	explanation: string; /* what stands between resident memory and the live blocks */
	snapshots: number; /* pictures of the address space on the tape */
	pages_known: boolean; /* each says which pages of the heap were resident */
	peak_sample: number | null; /* index of the sample with most resident */
	most_free_sample: number | null; /* index of the one with most free before blocks are freed at the end */
	samples: RssSample[]; /* in the order of time */
	quality: Quality; /* losses and damage of the tape */
}

export interface RssPeak {
	bytes: Bytes;
	ns: Ns; /* when */
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

export interface Saving {
	saves_bytes: Bytes; /* by how much the peak is lower without it */
	peak_without_bytes: Bytes; /* the peak that is left */
	peak_without_ns: Ns | null; /* when that is; null: nothing else was allocated */
}

export interface SavingRow {
	title: string; /* what it is called */
	saves_bytes: Bytes; /* by how much the peak is lower without it */
	peak_without_bytes: Bytes; /* the peak that is left */
	peak_without_ns: Ns | null; /* when that is; null: nothing else was allocated */
	share: number; /* of the peak that it saves */
	peak_bytes: Bytes; /* its own bytes at the peak; it saves less where another peak is nearly as high */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	filter: string | null; /* selects just its allocations */
	stack: Frame[] | null; /* the one with most bytes; null in groups that are not made of stacks */
}

export interface Savings extends Head {
	peak_bytes: Bytes; /* most bytes alive at once */
	peak_ns: Ns | null; /* when for the first time */
	selected?: Saving; /* without all that the filter lets through; absent if everything is */
	by: string; /* what the allocations of a group have in common */
	total_count: number; /* groups that save something */
	savings: SavingRow[]; /* these groups, the largest saving first */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface ScanChange {
	class: "definitely_lost" | "indirectly_lost" | "possibly_lost" | "still_reachable" | "suppressed" | "not_scanned"; /* definitely_lost, indirectly_lost, possibly_lost or still_reachable */
	bytes_more: number; /* bytes in the later scan than before */
	bytes: Bytes; /* in the later scan */
	blocks: number; /* in the later scan */
	bytes_before: Bytes; /* in the earlier scan */
	blocks_before: number; /* in the earlier scan */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	stack: Frame[]; /* that allocated them */
}

export interface ScansCompared {
	before: number; /* number of the earlier scan */
	after: number; /* number of the later scan */
	before_ns: Ns; /* when the earlier one was */
	after_ns: Ns; /* when the later one was */
	classes_before: LeakClasses; /* of the earlier scan */
	classes: LeakClasses; /* of the later scan */
	records: ScanChange[]; /* blocks of one class and stack that are more or fewer, what grew most first */
}

export interface Site {
	key: string; /* identifies the group among those of `by` */
	title: string; /* what it is called; a function's name is shortened for people */
	function: string | null; /* its whole name, of groups that are of one */
	q: string | null; /* a filter that lets just this group through */
	hash: Hex | null; /* of the function, of groups that are of one */
	module: string | null; /* short name of the program or library */
	file: string | null;
	line: number | null;
	stack: Frame[] | null; /* the stack with most of it, innermost first */
	stack_count: number; /* number of different stacks */
	only_matched: GroupSums; /* of what is selected */
	all: GroupSums; /* of the whole tape */
	saves_bytes: Bytes | null; /* by how much the peak is lower without what is selected of it; null: not asked for */
	peak_without_bytes: Bytes | null; /* the peak that is left */
	peak_without_ns: Ns | null; /* when that is */
	spark: number[] | null; /* live bytes over the time */
}

export interface Sites extends Head {
	by: "stack" | "function" | "source" | "module" | "thread" | "size" | "mark" | "tag" | "pool" | "call" | "lifetime" | "process"; /* what allocations of a group have in common */
	count: number; /* groups there are */
	rows: Site[]; /* a page of them */
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

export interface Sizes extends Head {
	sizes: SizeBucket[]; /* those that have allocations, the smallest first */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface SlackClass {
	size_min: Bytes; /* the smallest that was requested */
	size_max: Bytes; /* the largest */
	live_count: number; /* live blocks */
	live_bytes: Bytes; /* requested */
	slack_bytes: Bytes; /* what they are larger than requested */
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

export interface SnapshotMade extends Head {
	path: string; /* of the new tape */
	file: string; /* its name without folders */
	id: string | null; /* under which it is served; null: it is not */
	tape_bytes: Bytes;
	event_count: number;
}

export interface Sorts {
	groups: string[]; /* sort keys of /api/v1/sites */
	by: string[]; /* its words of `by` */
}

export interface Source extends Head {
	m: string; /* the metric */
	unit: "bytes" | "count";
	file: string; /* as the debug information has it */
	total: number; /* of the metric, of the whole selection */
	lines: SourceLine[]; /* those with something */
	missing: string | null; /* why there is no source text */
	is_newer: boolean; /* than the recording: lines may have moved */
	first: number; /* line of the text */
	line_count: number; /* lines of the whole file */
	text: string[]; /* its lines */
}

export interface SourceFile {
	id: Hex; /* of its path; the same on every tape */
	file: string; /* its path */
	total: number; /* of the metric, in its functions and those they call */
	self: number; /* of the metric, allocated in its functions */
	allocations: number; /* in its functions and those they call */
}

export interface SourceFiles extends Head {
	sort: string; /* the metric by which they are sorted */
	total: number; /* of the metric, in all of the program */
	total_count: number; /* files */
	files: SourceFile[]; /* the most of the metric first */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
	quality: Quality; /* losses and damage of the tape */
}

export interface SourceLine {
	line: number;
	total: number; /* of the metric, while the line was on the stack */
	self: number; /* of the metric, allocated by the line itself */
	allocations: number;
	leaked: Bytes;
	temporary: number; /* allocations */
	function: string; /* one that the line is in */
	brief: string; /* the same, shortened for people */
	hash: Hex; /* of that function */
	inlined_into: string[]; /* functions, innermost first, shortened for people */
}

export interface Space extends Head {
	at_ns: Ns; /* the moment */
	has_snapshot: boolean; /* false: the tape has no snapshot of the address space */
	regions: HeapRegion[]; /* of the heap */
	extents: Extent[]; /* everything that is mapped */
	quality: Quality; /* losses and damage of the tape */
}

export interface SpanSite {
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
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

export interface Sql extends Head {
	schema: string; /* tables and functions, as SQL says them */
	examples: SqlExample[];
	time_limit_ns: Ns | null; /* of a statement */
	memory_limit_bytes: Bytes; /* of a statement */
}

export interface SqlColumn {
	name: string;
}

export interface SqlExample {
	about: string; /* what it finds */
	text: string; /* the statement */
}

export interface SqlResult extends Head {
	columns: SqlColumn[];
	rows: ((string | number | null)[])[]; /* a list a row; a BLOB is hexadecimal digits */
	truncated: boolean; /* whether there are more rows */
}

export interface Stale extends Head {
	time_ns: Ns; /* of the look */
	idle_ns: Ns; /* what was not touched for so long is stale */
	watched_since_ns: Ns; /* nothing is known of touches before */
	period_ns: Ns; /* wanted between two looks */
	noticed: "writes" | "reads_and_writes"; /* what counts as a touch */
	done: string; /* what it is called: "written to", as in "not written to for 10s" */
	precision: string; /* what that leaves out */
	blind?: string; /* why what is only read is not noticed */
	trouble?: string; /* why there are no more looks */
	stale_bytes: Bytes; /* of live blocks, in pages not touched for idle_ns; at least so many are stale */
	stale_blocks: number; /* blocks of which all bytes are stale */
	recent_bytes: Bytes; /* in pages that were touched since */
	untouched_bytes: Bytes; /* in pages with no memory behind them: never touched, or given back */
	unknown_bytes: Bytes; /* in memory that was not watched, or not for so long */
	bytes: Bytes; /* of all blocks alive then: the sum of these */
	blocks: number; /* alive then */
	ages: StaleAge[]; /* how long live bytes were not touched */
	sites: StaleSite[]; /* functions, most stale bytes first */
	quality: Quality; /* losses and damage of the tape */
}

export interface StaleAge {
	from_ns: Ns; /* not touched for at least so long */
	until_ns: Ns | null; /* and for less than this; null: no bound */
	bytes: Bytes; /* of live blocks */
}

export interface StaleSite {
	stale_bytes: Bytes; /* of live blocks, in pages not touched for idle_ns; at least so many are stale */
	stale_blocks: number; /* blocks of which all bytes are stale */
	recent_bytes: Bytes; /* in pages that were touched since */
	untouched_bytes: Bytes; /* in pages with no memory behind them: never touched, or given back */
	unknown_bytes: Bytes; /* in memory that was not watched, or not for so long */
	bytes: Bytes; /* of all blocks alive then: the sum of these */
	blocks: number; /* alive then */
	oldest_ns: Ns | null; /* how long the page longest untouched was not; null: no page is stale */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	stack: Frame[]; /* the one with most at its peak */
}

export interface Sum {
	count: number; /* blocks */
	bytes: Bytes;
}

export interface Summary extends Head {
	duration_ns: Ns; /* of the recording */
	allocations: Sum;
	rate_mean: number; /* allocations per second; 0: not known */
	frees: Sum;
	peak: SummaryPeak; /* when most bytes were alive */
	leaked: Sum; /* never freed, and not suppressed */
	goes_on: boolean; /* the tape ends before its program: what was never freed is not freed yet */
	suppressed?: Suppressed; /* never freed, but suppressed */
	leak_classes?: LeakClasses; /* blocks alive at the last leak scan of the tape */
	leak_scan?: LeakScan; /* that scan */
	temporary: Sum; /* freed before their thread allocated again */
	lost_events: number; /* events that were not recorded */
	functions: Record<string, FunctionCalls> | null; /* calls by function */
	reallocs: number | null; /* calls that grew or shrank a block */
	failed: number | null; /* calls that returned NULL */
	unknown_frees: number | null; /* of blocks that were not recorded */
	null_frees: number | null; /* free(NULL) */
	usable_bytes: Bytes | null; /* of all allocations, with what the allocator added */
	latency?: LatencySum; /* of a tape with durations of calls */
	rotated?: SummaryRotated; /* of a tape recorded with --rotate: what it has no detail of */
	rss_max_bytes: Bytes; /* most resident bytes seen; 0: not known */
	shortage?: SummaryShortage; /* how the system was short of memory: the worst of it (see usage) */
	unnamed?: SummaryUnnamed; /* functions that appear as addresses, where they have more than 5 % of the peak */
	threads: number;
	process: ProcessEnd;
	quality: Quality; /* losses and damage of the tape */
}

export interface SummaryPeak {
	bytes: Bytes;
	count: number; /* blocks */
	time_ns: Ns; /* when */
}

export interface SummaryRotated {
	from_ns: Ns; /* no event is missing of what came after it */
	rotations: number;
	allocations: Sum; /* freed before it, and left out */
	frees: Sum; /* of these */
	reallocs: number; /* of these, that grew or shrank a block */
	failed: number; /* calls that returned NULL */
	unknown_frees: number; /* of blocks that were not recorded */
	lost_frees: number; /* blocks freed unseen */
	records: number; /* marks, samples and other records */
	peak: SummaryPeak; /* when most bytes were alive before it */
}

export interface SummaryShortage {
	name: string; /* the name that memtape triage has for it */
	level: "ok" | "unknown" | "warning" | "critical";
	answer: string; /* the figures then */
	time_ns: Ns; /* when it was first so bad */
}

export interface SummaryUnnamed {
	bytes: Bytes; /* alive at the peak */
	share: number; /* of the peak */
	modules: SummaryUnnamedModule[]; /* the most bytes first */
}

export interface SummaryUnnamedModule {
	module: string; /* its path */
	reason: string; /* why its functions have no names */
	build_id: string | null; /* hexadecimal digits */
	bytes: Bytes; /* of those */
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

export interface Tape {
	id: string;
	file: string; /* its name, without folders */
	state: "loading" | "complete" | "truncated" | "live" | "failed";
	gen: number; /* one more whenever a tape that is being recorded was read again */
	readings: number; /* how often it was read; answers of a former reading may be other ones */
	error: string | null; /* why it could not be read */
	progress: Progress | null; /* while it is read */
	refresh_ms: number; /* of one that is being recorded: it is read again so often at most */
	tape_bytes: Bytes; /* of the file */
	name?: string; /* of the program */
	exe?: string; /* its path */
	argv?: string[];
	pid?: number;
	start_realtime_ns?: string; /* since 1970; a text, for it is more than 2^53 */
	duration_ns?: Ns; /* how long was recorded */
	end?: string; /* exited 0, killed by SIGKILL ... */
	live_bytes?: Bytes; /* at the end */
	event_count?: number;
	allocation_count?: number;
	stack_count?: number;
	thread_count?: number;
	module_count?: number;
	lost_events?: number; /* events that were not recorded */
	damage_count?: number; /* damaged places */
	truncated_stacks?: number; /* events with unknown outer frames */
	has?: TapeHas; /* what is on the tape */
	goes_on?: boolean; /* the tape ends before its program: what was never freed is not freed yet */
	paused?: boolean; /* at its end no allocations were recorded */
	paused_ns?: Ns; /* for how long, in all */
	pause_count?: number;
	pauses?: RecordingPause[]; /* the last 256, in order of time */
	attached?: RecordingAttached | null; /* of a process that ran already */
	import?: Import | null; /* of a tape made of another tool's file */
	edits?: string[]; /* what was done to it later */
}

export interface TapeDetail extends Head {
	tape: Tape;
	threads: TapeThread[];
	modules: TapeModule[];
	marks: TapeMark[];
	pair: DiffPair; /* the moments compared if none are given */
	peak_ns: Ns; /* when most was alive */
	rss_peak_ns: Ns | null; /* when most was resident; null: not known */
}

export interface TapeHas {
	rows: boolean; /* allocations one by one */
	free_stacks: boolean; /* stacks of frees */
	usage: boolean; /* samples of resident memory */
	system: boolean; /* samples of the machine's memory */
	space: boolean; /* looks at the address space */
	latency: boolean; /* how long calls took */
	marks: boolean;
	leak_scan: boolean; /* a leak scan with a result */
	touches: boolean; /* looks at which pages were touched */
	kernel: string[]; /* measures of events of the kernel */
}

export interface TapeHeld extends Head {
	tape: Tape; /* as it is held */
}

export interface TapeMark {
	ns: Ns; /* when */
	text: string; /* its name */
}

export interface TapeModule {
	path: string;
	name: string; /* its last part */
	build_id: string | null; /* hexadecimal digits */
	symbols: "unread" | "lines" | "functions" | "exported" | "none" | "gone" | "changed" | "kernel"; /* what is known of its functions */
	stacks: number; /* stacks whose innermost frame is in it */
}

export interface TapeThread {
	tid: number;
	name: string;
	index: number; /* among the threads */
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

export interface Threads extends Head {
	threads: ThreadRow[];
	handovers: Handover[]; /* who freed what who had allocated */
	suppressed?: Suppressed; /* never freed, but matched by a suppression: not in leaks */
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

export interface TimedSite {
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
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

export interface Timeline extends Head {
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

export interface Trace extends Head {
	brk: TraceKind | null; /* the heap's end was moved; null, as for the others: not traced */
	mmap: TraceKind | null; /* memory was mapped */
	munmap: TraceKind | null; /* memory was unmapped */
	faults: TraceKind | null; /* page faults */
	major_faults: TraceKind | null; /* page faults that waited for a disk */
	oom: TraceKind | null; /* processes that the kernel killed, for want of memory */
	thp_splits: TraceKind | null; /* huge pages were split into small ones */
	stacks: TraceStack[]; /* events of one kind and stack; of each kind those with most bytes or, of faults, events */
	owners: TraceOwners | null; /* the blocks in which pages were touched; null: no page faults were traced, or the tape has no allocations */
	split_owners: TraceOwners | null; /* the blocks whose huge pages were split, as owners; null: splits were not traced, or the tape has no allocations */
	split_estimates: TraceEstimate[]; /* splits as estimated, by mapping: huge pages that were gone between two looks, though their memory was not; those with most */
	quality: Quality; /* losses and damage of the tape */
}

export interface TraceEstimate {
	address: Hex; /* of the mapping, or of several */
	mapped_bytes: Bytes; /* its length */
	count: number; /* huge pages that were split, at least */
	bytes: Bytes; /* of these */
	huge_bytes: Bytes; /* of it in huge pages before, at most */
	time_ns: Ns; /* when most of them were gone */
	kind: string | null; /* what the mapping is for */
	name: string | null; /* path, or a name in brackets */
	blocks: number; /* of the stack, in it */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	stack: Frame[]; /* of the blocks that have most of it, or of the call that mapped it */
}

export interface TraceKind {
	count: number; /* events in the whole run, by the kernel's count */
	recorded: number; /* of these, on the tape in the range of time */
	lost: number; /* not recorded: the kernel had no room for them */
	own: number; /* not recorded: the kernel did it for memtape's recorder in the program */
	period: number; /* of so many events one was recorded */
	bytes: Bytes; /* of those recorded: by which the heap grew, mapped, unmapped, or pages */
	user_only: boolean; /* what happened within system calls could not be seen */
}

export interface TraceOwner {
	count: number; /* page faults, or splits, in blocks of this stack */
	bytes: Bytes; /* of their pages */
	blocks: number; /* how many blocks these are */
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	stack: Frame[]; /* of the allocations */
}

export interface TraceOwners {
	count: number; /* page faults, or splits, in the range of time */
	in_blocks: number; /* in a block that lived, or was allocated */
	allocating: number; /* of these, while it was allocated: by calloc, realloc or the allocator */
	in_heap: number; /* in memory of the allocator, but in no block: its own words, and what is free */
	in_stacks: number; /* in stacks of threads */
	in_files: number; /* in mapped files: the program and its libraries, data */
	elsewhere: number; /* in other memory, or it is not known what */
	sites: TraceOwner[]; /* by stack of the allocations; most faults first */
}

export interface TraceStack {
	kind: "brk" | "mmap" | "munmap" | "faults" | "major_faults" | "oom" | "thp_splits";
	count: number; /* events */
	bytes: Bytes;
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	module: string | null; /* path of the program or library */
	hash: Hex | null; /* identifies the function; the same on every tape and in every version */
	stack: Frame[]; /* of the program */
}

export interface Tree extends Head {
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

export interface TreeRow {
	hash: Hex; /* identifies the function; the same on every tape and in every version */
	function: string; /* its name */
	brief: string; /* the same, shortened for people: without return type and a library's template arguments */
	module: string | null; /* short name of the program or library */
	file: string | null; /* its source file */
	line: number | null; /* line in the source file */
	total: number; /* of the metric, in it and what it calls */
	self: number; /* of the metric, allocated by itself */
	allocations: number;
	peak: Bytes;
	leaked: Bytes;
	children: number; /* how many it has */
}

export interface TreeRows extends Head {
	m: string; /* the metric */
	total: number; /* of the metric, of their parent */
	count: number; /* children there are */
	rows: TreeRow[]; /* a page of them */
}

export interface UnnamedModule {
	module: string; /* its path */
	reason: string; /* why its functions have no names */
}

export interface Usage extends Head {
	level: "ok" | "unknown" | "warning" | "critical" | null; /* the worst verdict that matters; null: the tape has no samples of the system */
	cgroup: string | null; /* the cgroup of the process */
	verdicts: UsageVerdict[]; /* of the whole recording */
	usage: UsageStep[]; /* spans of the time that have a sample */
	nodes: UsageNode[]; /* NUMA nodes, where there are several; else, or if they were not looked at, none */
	processes: UsageOfProcess[]; /* of a session: the same spans by process, where one was measured */
	quality: Quality; /* losses and damage of the tape */
}

export interface UsageNode {
	node: number; /* its number */
	bytes: Bytes; /* of the process's memory on it, without files, at the last look */
	bytes_max: Bytes; /* at most */
	cpu_ns: Ns; /* processor time that the process's threads spent on it: an estimate */
}

export interface UsageOfProcess {
	ns: Ns; /* begin of the span, as in `usage` */
	process: number; /* its row in /processes, from 0 */
	pid: number;
	name: string; /* of its program */
	rss: Bytes; /* resident, at most */
	pss: Bytes; /* the same, with what it shares divided among those that share it */
	private: Bytes; /* the same, that nobody else has */
}

export interface UsageStep {
	ns: Ns; /* begin of the span */
	rss: Bytes | null; /* resident, at most */
	pss: Bytes | null; /* the same, with what is shared divided by its users */
	swapped: Bytes | null; /* of the process, swapped out */
	address_space: Bytes | null; /* mapped */
	shared: Bytes | null; /* resident, and shared or of files */
	minor_faults: number | null; /* page faults of the process from memory, since the row before */
	major_faults: number | null; /* from disk, since the row before */
	memory: Bytes | null; /* all memory of the machine */
	available: Bytes | null; /* of it, to be had without swapping, at the least */
	used: Bytes | null; /* of it, the rest */
	swap: Bytes | null; /* all swap of the machine */
	swap_used: Bytes | null; /* of it, used, at most */
	swapped_in: Bytes | null; /* by the machine, since the row before */
	swapped_out: Bytes | null; /* by the machine, since the row before */
	system_major_faults: number | null; /* page faults of the machine from disk, since the row before */
	oom_kills: number | null; /* processes of the machine killed for want of memory, since the row before */
	some_avg10: number | null; /* percent of the last 10 s in which something waited for memory, at most */
	full_avg10: number | null; /* in which everything did */
	some_ns: Ns | null; /* time in which something waited for memory, since the row before */
	full_ns: Ns | null; /* in which everything did */
	cgroup: Bytes | null; /* used by the cgroup of the process, at most */
	cgroup_working_set: Bytes | null; /* the same without cache that is freed first */
	cgroup_limit: Bytes | null; /* what it may use */
	cgroup_high: Bytes | null; /* above it, it is slowed down */
	cgroup_limit_hits: number | null; /* times that it was at its limit, since the row before */
	cgroup_high_hits: number | null; /* times that it was slowed down, since the row before */
	cgroup_ooms: number | null; /* times that nothing could be freed, since the row before */
	cgroup_oom_kills: number | null; /* processes of it that were killed, since the row before */
	cgroup_some_avg10: number | null; /* as some_avg10, of the cgroup */
	cgroup_full_avg10: number | null; /* as full_avg10, of the cgroup */
	cgroup_some_ns: Ns | null; /* as some_ns, of the cgroup */
	cgroup_full_ns: Ns | null; /* as full_ns, of the cgroup */
}

export interface UsageVerdict {
	name: string; /* the name that memtape triage has for it */
	level: "ok" | "unknown" | "warning" | "critical"; /* the worst of the recording */
	answer: string; /* the figures then */
	time_ns: Ns | null; /* when it was first so bad */
	short_ns: Ns; /* time in which it was a warning or critical */
	matters: boolean; /* critical, or a warning for long enough */
}

export interface Verification extends Head {
	sound: boolean; /* whether nothing is wrong */
	file_bytes: Bytes;
	chunks: number; /* that are there */
	open_chunks: number; /* never closed: killed, or still being recorded */
	missing_chunks: number; /* gaps in their numbers */
	events: number; /* that can be read */
	killed: string | null; /* what it means that memtape was killed */
	damage: Damage[]; /* in the order it was found */
}

export interface WasteSite {
	function: string | null; /* name of the function */
	brief: string | null; /* the same, shortened for people: without return type and a library's template arguments */
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
