#include "answer/about.h"

static const struct member about_members[] = {
	MEMBER(struct about, suppressed, OBJECT,
	       "never freed, but matched by a suppression: not in leaks",
	       .shape = &shape_suppressed, .optional = true),
	MEMBER(struct about, quality, OBJECT, "losses and damage of the tape",
	       .shape = &shape_quality),
};
const struct shape shape_about = SHAPE("About", struct about, about_members);

struct err *about_find(const struct asked *asked, struct about *about)
{
	struct err *err = suppressed_find(asked, &about->suppressed);

	return err ? err : quality_find(asked, &about->quality);
}
