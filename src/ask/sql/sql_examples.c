/*
 * Useful statements. A test runs each of them. They must do on tapes of any length: what is sorted or grouped does not grow with
 * the allocations, or SQLite merges them first (sql_rewrite.h).
 */
#include "sql/sql.h"

const struct sql_example sql_examples[] = {
	{ "Which functions allocate most",
	  "SELECT function, self_allocated_count, human_bytes(self_allocated_bytes)\n"
	  "FROM functions ORDER BY self_allocated_bytes DESC LIMIT 10;" },
	{ "What leaked, by whole stack",
	  "SELECT leaked_count, leaked_bytes, stack_text(stack)\n"
	  "FROM groups WHERE leaked_bytes > 0 ORDER BY leaked_bytes DESC LIMIT 10;" },
	{ "What was alive in the middle of the run",
	  "SELECT live_count, live_bytes, site(stack)\n"
	  "FROM live_at((SELECT duration_ns / 2 FROM summary)) WHERE live_count > 0\n"
	  "ORDER BY live_bytes DESC LIMIT 10;" },
	{ "What one function and all that it calls had alive at the peak, by size of the blocks",
	  "SELECT size, count(*), sum(size) FROM allocations\n"
	  "WHERE at_peak = 1 AND stack IN (SELECT stack FROM frames WHERE function = 'main')\n"
	  "GROUP BY size ORDER BY 3 DESC LIMIT 10;" },
	{ "The most frequently requested sizes",
	  "SELECT size, count(*) AS blocks, sum(temporary) AS freed_at_once FROM allocations\n"
	  "GROUP BY size ORDER BY blocks DESC LIMIT 10;" },
	{ "Big blocks that lived shortly",
	  "SELECT id, size, human_time(lifetime_ns) AS lifetime, site\n"
	  "FROM allocations WHERE size >= bytes('4KiB') AND lifetime_ns < ns('100ms')\n"
	  "ORDER BY id LIMIT 10;" },
	{ "Big blocks by the thread that allocated them, by its id in threads",
	  "SELECT thread, count(*), sum(size) FROM allocations\n"
	  "WHERE size >= bytes('1KiB') GROUP BY thread ORDER BY 3 DESC LIMIT 10;" },
	{ "Blocks that one thread allocated and another freed, by their ids in threads",
	  "SELECT thread, free_thread, count(*), sum(size) FROM allocations\n"
	  "WHERE thread <> free_thread GROUP BY thread, free_thread\n"
	  "ORDER BY 3 DESC LIMIT 10;" },
	{ "Blocks that realloc grew most often",
	  "SELECT chain, count(*) AS steps, min(size), max(size), min(site) AS site\n"
	  "FROM allocations WHERE chain IS NOT NULL GROUP BY chain ORDER BY steps DESC LIMIT 10;" },
	{ "How long blocks live",
	  "SELECT sum(lifetime_ns < ns('1us')) AS below_1us,\n"
	  "sum(lifetime_ns < ns('1ms')) AS below_1ms, sum(lifetime_ns < ns('1s')) AS below_1s,\n"
	  "count(lifetime_ns) AS freed, count(*) AS allocated FROM allocations;" },
	{ "Resident memory beside live bytes",
	  "SELECT usage.ns, rss_bytes, max(live_bytes_end) AS live_bytes\n"
	  "FROM usage LEFT JOIN timeline ON begin_ns <= usage.ns\n"
	  "GROUP BY usage.id ORDER BY usage.ns LIMIT 20;" },
	{ "Libraries whose code is on the stacks of leaks",
	  "SELECT path, count(DISTINCT groups.stack) AS stacks, sum(leaked_bytes) AS bytes\n"
	  "FROM groups JOIN stacks ON stacks.id = groups.stack\n"
	  "LEFT JOIN modules ON modules.id = stacks.module\n"
	  "WHERE leaked_bytes > 0 GROUP BY path ORDER BY bytes DESC;" },
	{ "Mappings the program made itself",
	  "SELECT human_time(ns), kind, human_address(address), human_bytes(bytes)\n"
	  "FROM notes WHERE kind IN ('mmap', 'munmap', 'mremap', 'brk') ORDER BY id LIMIT 20;" },
	{ 0 },
};
