#include "rec/attach.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "rec/symbols.h"

#include "core/poison.h"

/* --- what is hooked --------------------------------------------------------------------------- */

/* Under other names: the hooks' types are in libc's headers, and do not matter here. */
#define HOOK_NAME(symbol) extern void attach_hook_##symbol(void) __asm__(#symbol);
#include "rec/hooks.def"

static struct attach_row {
	const char *name;
	void (*hook)(void);
	uint64_t real; /* who defines it; 0: nobody */
} rows[] = {
#define HOOK_NAME(symbol) { #symbol, attach_hook_##symbol, 0 },
#include "rec/hooks.def"
};

static void rows_find(void)
{
	for (size_t i = 0; i < array_size(rows); i++) {
		struct rec_symbol known;

		rows[i].real = rec_symbol_any(rows[i].name, &known) && !known.is_resolver
				       ? known.address
				       : 0;
	}
}

uint64_t rec_attach_real(const char *name)
{
	for (size_t i = 0; i < array_size(rows); i++)
		if (strcmp(rows[i].name, name) == 0)
			return rows[i].real;
	return 0;
}

static uint64_t other_places; /* that lead elsewhere */

/*
 * A place that leads to the function, or will when it is called for the first time. An object with a
 * malloc of its own may prefer that then (RTLD_DEEPBIND): it is left alone. Of an executable that
 * is not position-independent all addresses of the function are its own way to it, the place of
 * which is led.
 */
uint64_t rec_attach_hook(const struct allocator_slot *slot)
{
	if (!rec_is_attach)
		return 0;
	for (size_t i = 0; i < array_size(rows); i++) {
		if (strcmp(rows[i].name, slot->name) != 0)
			continue;
		if (!rows[i].real)
			return 0;
		if (slot->bound == rows[i].real ||
		    (slot->may_be_lazy && (!slot->has_malloc || slot->is_c_library)))
			return (uintptr_t)rows[i].hook;
		other_places += slot->bound != (uintptr_t)rows[i].hook;
		return 0;
	}
	return 0;
}

void *rec_attach_symbol(void *address)
{
	for (size_t i = 0; rec_is_attach && address && i < array_size(rows); i++)
		if (rows[i].real == (uintptr_t)address)
			return (void *)rows[i].hook;
	return address;
}

/* --- what was changed ------------------------------------------------------------------------- */

enum { PAGE = 4096, LOG_BYTES = 16 << 20, LOG_MAX = LOG_BYTES / 24 };

/* A place; under the lock of the scan. */
struct attach_change {
	arch_word *place;
	arch_word before, after;
};

static struct attach_change *changes; /* mapped once, and kept */
static size_t change_count;

bool rec_attach_log(arch_word *place, arch_word before, arch_word after)
{
	if (!rec_is_attach)
		return true;
	if (!changes || change_count == LOG_MAX || atomic_load(&rec.state) != REC_ON)
		return false;
	changes[change_count++] = (struct attach_change) { place, before, after };
	return true;
}

static bool protect(arch_word *place, int prot)
{
	return SYS_CALL3(SYS_mprotect, (uintptr_t)place & -(uint64_t)PAGE, PAGE, prot) == 0;
}

/* An object that has been unloaded took its places with it; another one may be there. */
static void put_back(const struct attach_change *change)
{
	const bool is_open = rec_is_writable((uintptr_t)change->place);

	if (!rec_is_readable_word(change->place) || *change->place != change->after ||
	    (!is_open && !protect(change->place, PROT_READ | PROT_WRITE)))
		return;
	__atomic_store_n(change->place, change->before, __ATOMIC_RELEASE);
	if (!is_open)
		protect(change->place, PROT_READ);
}

/* --- beginning and end ------------------------------------------------------------------------ */

static struct tape_attach wish; /* a copy: it is needed until the start is done */

const char *rec_attach_env(const char *name)
{
	if (strcmp(name, "MEMTAPE_SPOOL") == 0)
		return wish.spool;
	return strcmp(name, "MEMTAPE_OPTIONS") == 0 ? wish.options : NULL;
}

int rec_attach_spool(void)
{
	return rec_is_attach ? wish.spool_fd : -1;
}

uint32_t rec_attach_pid(void)
{
	return rec_is_attach && wish.pid ? wish.pid : rec.pid;
}

/* For who reads the spool of a collector that was killed: it cannot see that the process goes on. */
static void tell_of_end(void)
{
	uint32_t running = TAPE_RECORDER_RUNNING;

	if (rec.live)
		atomic_compare_exchange_strong((_Atomic uint32_t *)&rec.live->recorder_state,
					       &running, TAPE_RECORDER_STOPPED);
}

/* One that has stopped by itself has hooks as well, and is let go like one that records. */
static bool is_attached(void)
{
	const uint32_t state = atomic_load(&rec.state);

	return state == REC_ON || state == REC_STOPPED;
}

static enum tape_attach_result attach(const struct tape_attach *asked)
{
	if (asked->version != TAPE_ATTACH_VERSION)
		return TAPE_ATTACH_OTHER_VERSION;
	if (is_attached() || atomic_load(&rec.state) == REC_STARTING)
		return TAPE_ATTACH_ALREADY;
	memcpy(&wish, asked, sizeof(wish));
	wish.spool[sizeof(wish.spool) - 1] = wish.options[sizeof(wish.options) - 1] = '\0';
	if (!changes)
		changes = sys_map_private(LOG_BYTES);
	change_count = 0;
	other_places = 0;
	rows_find();
	rec_inline_begin();
	rec_attach_anew();
	if (!changes || !rec_start())
		return TAPE_ATTACH_REFUSED;
	rec_lane_give_back(); /* what it knows of the stack is soon unmapped */
	return TAPE_ATTACH_DONE;
}

void rec_attach(struct tape_attach *asked)
{
	const int saved_errno = errno;

	asked->result = attach(asked);
	rec_inline_tell(asked);
	errno = saved_errno;
}

void rec_lead(struct tape_attach *asked)
{
	const int saved_errno = errno;

	asked->result = TAPE_ATTACH_NOT_RECORDING;
	if (atomic_load(&rec.state) != REC_ON)
		return;
	rec_allocators_begin();
	rec_lane_give_back();
	asked->result = TAPE_ATTACH_DONE;
	asked->places = change_count;
	asked->other_places = other_places;
	errno = saved_errno;
}

void rec_detach(struct tape_attach *asked)
{
	const int saved_errno = errno;
	bool has_tape;

	if (!is_attached()) {
		asked->result = TAPE_ATTACH_NOT_RECORDING;
		return;
	}
	/* a forked child has none: what is mapped where its parent's is, is its own */
	has_tape = atomic_load(&rec.shared->has_tape) != 0;
	atomic_store(&rec.shared->epoch, 0);
	atomic_store(&rec.shared->has_tape, 0);
	atomic_store(&rec.state, REC_OFF);
	asked->places = change_count;
	while (change_count > 0)
		put_back(&changes[--change_count]);
	if (has_tape) {
		tell_of_end();
		rec_tape_cover();
	}
	asked->result = TAPE_ATTACH_DONE;
	errno = saved_errno;
}
