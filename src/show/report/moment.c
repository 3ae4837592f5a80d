#include "report/moment.h"

#include "space/rss.h"

struct err *report_moment(const struct report_context *context, uint64_t *ns_ret)
{
	struct moment moment;
	struct err *err;

	if (!context->settings->with.at)
		return NULL;
	err = moment_parse(context->settings->with.at, &moment);
	if (!err)
		err = moment_ns(&moment, context->model, ns_ret);
	return err_wrap(err, "--at %s", context->settings->with.at);
}

struct err *report_window(const struct report_context *context, uint64_t *from_ret,
			  uint64_t *until_ret)
{
	const struct report_settings *settings = context->settings;
	struct moment_span window = { .until = { .kind = MOMENT_END } };
	struct err *err = NULL;

	if (settings->with.from)
		err = moment_parse(settings->with.from, &window.from);
	if (!err && settings->with.until)
		err = moment_parse(settings->with.until, &window.until);
	return err ? err : moment_span_ns(&window, context->model, from_ret, until_ret);
}

struct err *report_window_rows(const struct report_context *context, uint64_t *from_ret,
			       uint64_t *until_ret)
{
	struct err *err = report_window(context, from_ret, until_ret);

	if (!err && !context->settings->with.until)
		*until_ret = UINT64_MAX;
	return err;
}

struct err *report_moment_most_free(const struct report_context *context, uint64_t *ns_ret)
{
	CLEAN(rss_deinit) struct rss rss = { 0 };
	struct err *err = NULL;

	*ns_ret = model_process(context->model)->duration_ns;
	if (context->settings->with.at)
		return report_moment(context, ns_ret);
	err = rss_explain(context->model, &rss);
	if (!err && rss.snapshot_count > 0 && rss.samples.count > 0) {
		const struct rss_sample *most = &rss.samples.items[rss.most_free];

		*ns_ret = most->bands[RSS_FREE] > 0 ? most->ns : rss.samples.items[rss.peak].ns;
	}
	return err;
}
