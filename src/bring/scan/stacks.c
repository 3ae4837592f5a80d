#include "scan/stacks.h"

enum {
	PAGE = 4096,
	STACK_BYTES_MIN = 16 << 10,
	TID_BYTES = 2048, /* of a control block, that are searched for the thread's number */
	CONTROL_WORDS = 4 * PAGE / 8 /* of a thread's control block, and more */
};

/*
 * The thread's control block at the end of a mapping, which has its own address in two places. What
 * gcore writes lacks guards, or says that they can be read. *words_ret: how many there are up to the
 * end, at most CONTROL_WORDS. 0: there is none.
 */
static uint64_t control_block(const struct stacks *stacks, const struct maps_entry *entry,
			      uint64_t words[CONTROL_WORDS], size_t *count_ret)
{
	enum { END_BYTES = CONTROL_WORDS * 8 };
	const uint64_t begin = entry->end - u64_min(END_BYTES, entry->end - entry->begin);
	uint8_t bytes[END_BYTES];
	const size_t count = entry->end - begin;

	if (!memory_read(stacks->memory, begin, bytes, count))
		return 0;
	for (size_t at = 0; at + ARCH_CONTROL_SELF + 8 <= count; at += ARCH_CONTROL_ALIGNMENT) {
		if (load_u64(bytes + at) != begin + at ||
		    load_u64(bytes + at + ARCH_CONTROL_SELF) != begin + at)
			continue;
		memcpy(words, bytes + at, count - at);
		*count_ret = (count - at) / 8;
		return begin + at;
	}
	return 0;
}

static bool has_control_block(const struct stacks *stacks, const struct maps_entry *entry)
{
	uint64_t words[CONTROL_WORDS];
	size_t count;

	return control_block(stacks, entry, words, &count) != 0;
}

/* Below a stack is a guard. */
bool stacks_is_left(const struct stacks *stacks, const struct maps_entry *entry)
{
	const struct maps *maps = stacks->maps;
	const struct maps_entry *below = entry - 1;

	if (entry->end - entry->begin < STACK_BYTES_MIN)
		return false;
	if (entry == maps->entries.items || below->end != entry->begin)
		return has_control_block(stacks, entry);
	if (below->is_file || below->is_writable || below->is_executable)
		return false;
	return !below->is_readable || has_control_block(stacks, entry);
}

/*
 * Where in a control block libc has the thread's number, which the kernel gave it: it is there in
 * those of all threads that run. 0: not known.
 */
static size_t tid_place(const struct stacks *stacks)
{
	const struct stop_threads *threads = &stacks->stop->threads;
	uint32_t numbers[TID_BYTES / 4];
	size_t place = 0;

	for (size_t i = 0; i < threads->count; i++) {
		const struct stop_thread *thread = &threads->items[i];
		size_t at = u64_max(place, 1);

		if (!thread->is_stopped ||
		    !memory_read(stacks->memory, thread->registers[ARCH_REGSET_THREAD], numbers,
				 TID_BYTES))
			continue;
		while (at < TID_BYTES / 4 && numbers[at] != (uint32_t)thread->tid)
			at++;
		if (at == TID_BYTES / 4 || (place && at != place))
			return 0;
		place = at;
	}
	return place;
}

/*
 * A thread that has ended and can still be joined: glibc has its result in the control block. The
 * kernel has set its number to 0; glibc sets that of a joined one to -1, and one that is detached
 * has the address of its control block once more, where others have that of who joins them.
 */
bool stacks_unjoined(const struct stacks *stacks, const struct maps_entry *entry,
		     uint64_t *begin_ret, uint64_t *end_ret)
{
	uint64_t words[CONTROL_WORDS];
	size_t count, own_count = 0;
	const uint64_t control = control_block(stacks, entry, words, &count);
	const size_t place = control ? tid_place(stacks) : 0;

	if (!place || place / 2 >= count || load_u32((const uint8_t *)words + place * 4) != 0)
		return false;
	for (size_t i = 0; i < count; i++)
		own_count += words[i] == control;
	*begin_ret = control;
	*end_ret = control + count * 8;
	return own_count == 2;
}
