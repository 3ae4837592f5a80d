#include "questions/most_free.h"

#include "space/rss.h"

struct err *most_free_or_at(const struct asked *asked, uint64_t *ns_ret)
{
	CLEAN(rss_deinit) struct rss rss = { 0 };
	struct err *err = NULL;

	*ns_ret = model_process(asked->model)->duration_ns;
	if (asked->with->at)
		return asked_moment(asked, asked->with->at, *ns_ret, ns_ret);
	err = rss_explain(asked->model, &rss);
	if (!err && rss.snapshot_count > 0 && rss.samples.count > 0) {
		const struct rss_sample *most = &rss.samples.items[rss.most_free];

		*ns_ret = most->bands[RSS_FREE] > 0 ? most->ns : rss.samples.items[rss.peak].ns;
	}
	return err;
}
