#include "rec/attach.h"

#include "core/poison.h"

/* The three libraries consist of the same objects except for this one. */
#ifdef REC_MEMUSAGE
const bool rec_is_memusage = true;
#else
const bool rec_is_memusage = false;
#endif

#ifdef REC_ATTACH
const bool rec_is_attach = true;

REC_EXPORT void memtape_attach(struct tape_attach *asked)
{
	rec_attach(asked);
}

REC_EXPORT void memtape_lead(struct tape_attach *asked)
{
	rec_lead(asked);
}

REC_EXPORT void memtape_inline(struct tape_attach *asked)
{
	rec_inline(asked);
}

REC_EXPORT void memtape_detach(struct tape_attach *asked)
{
	rec_detach(asked);
}
#else
const bool rec_is_attach = false;
#endif
