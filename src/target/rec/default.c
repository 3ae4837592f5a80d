#include "rec/rec.h"

#include "core/poison.h"

/* The two libraries consist of the same objects except for this one. */
#ifdef REC_MEMUSAGE
const bool rec_is_memusage = true;
#else
const bool rec_is_memusage = false;
#endif
