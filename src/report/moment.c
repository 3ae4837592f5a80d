#include "report/moment.h"

#include "query/rss.h"

struct err *report_moment(const struct report_context *context, uint64_t *ns_ret)
{
	struct moment moment;
	struct err *err;

	if (!context->settings->at)
		return NULL;
	err = moment_parse(context->settings->at, &moment);
	if (!err)
		err = moment_ns(&moment, context->model, ns_ret);
	return err_wrap(err, "--at %s", context->settings->at);
}

struct err *report_moment_most_free(const struct report_context *context, uint64_t *ns_ret)
{
	CLEAN(rss_deinit) struct rss rss = { 0 };
	struct err *err = NULL;

	*ns_ret = model_process(context->model)->duration_ns;
	if (context->settings->at)
		return report_moment(context, ns_ret);
	err = rss_explain(context->model, &rss);
	if (!err && rss.snapshot_count > 0 && rss.samples.count > 0) {
		const struct rss_sample *most = &rss.samples.items[rss.most_free];

		*ns_ret = most->bands[RSS_FREE] > 0 ? most->ns : rss.samples.items[rss.peak].ns;
	}
	return err;
}
