#include "collect/asked.h"

#include "collect/leaks.h"

static void snapshot(struct collector *collector, struct tape_live *live)
{
	const uint32_t wanted = __atomic_load_n(&live->snapshots_wanted, __ATOMIC_ACQUIRE);

	if (wanted == __atomic_load_n(&live->snapshots_done, __ATOMIC_RELAXED))
		return;
	collector_snapshot(collector);
	spool_asked_done(&live->snapshots_done, wanted);
}

/* Where one is going on, the next round finds this request again. */
static void scan(struct collector *collector, struct tape_live *live)
{
	const uint32_t wanted = __atomic_load_n(&live->asked_scans, __ATOMIC_ACQUIRE);
	uint32_t id;
	bool has_begun;

	if (wanted == __atomic_load_n(&live->asked_done, __ATOMIC_RELAXED) || collector->leaks.job)
		return;
	has_begun = leaks_request(collector, CTL_USUAL, &id) && collector->leaks.job;
	__atomic_store_n(&live->asked_failed, !has_begun, __ATOMIC_RELAXED);
	spool_asked_done(&live->asked_done, wanted);
}

void asked_look(struct collector *collector)
{
	struct tape_live *live = spool_live(&collector->spool);

	if (!collector_is_recording(collector))
		return;
	snapshot(collector, live);
	scan(collector, live);
}
