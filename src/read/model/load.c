/*
 * Opening a model: from an existing index, or by playing the tape, which first makes an index if
 * rows are requested.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "core/hash.h"
#include "model/index.h"

/* From here on an index pays for the next time; below, playing takes some tens of ms. */
enum { KEEP_EVENTS_MIN = 1 << 20, SMALL_EVENTS = 1 << 18 };

/* What is announced before it is written: bytes for an event, and for a frame of its stacks. */
enum { EVENT_BYTES_MAX = 25, NODE_BYTES_MAX = 256, LARGE_PART = 10 };
static const uint64_t LARGE_BYTES = UINT64_C(1) << 30;

struct err *index_identify(const char *tape_path, struct index_identity *identity_ret)
{
	CLEAN(close) int fd = open(tape_path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct index_identity identity = { 0 };
	uint8_t page[TAPE_HEADER_BYTES] = { 0 };
	struct tape_header header;
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0 || pread(fd, page, sizeof(page), 0) < 0)
		return err_errno("%s", tape_path);
	memcpy(&header, page, sizeof(header));
	identity.tape_bytes = (uint64_t)status.st_size;
	identity.tape_mtime_ns =
		(uint64_t)status.st_mtim.tv_sec * 1000000000 + (uint64_t)status.st_mtim.tv_nsec;
	identity.head_hash = hash_bytes(page, sizeof(page), 0);
	memcpy(identity.uuid, header.uuid, sizeof(identity.uuid));
	memset(page, 0, sizeof(page));
	if (status.st_size > (off_t)sizeof(page) &&
	    pread(fd, page, sizeof(page), status.st_size - (off_t)sizeof(page)) < 0)
		return err_errno("%s", tape_path);
	identity.tail_hash = hash_bytes(page, sizeof(page), 0);
	*identity_ret = identity;
	return NULL;
}

char *index_path_beside(const char *tape_path)
{
	struct str path = { 0 };

	str_printf(&path, "%s.index", tape_path);
	return path.failed ? NULL : path.ptr;
}

/* The folder for reproducible data, according to the XDG base directory specification. */
static bool cache_folder(struct str *path, bool makes_folder)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && cache[0] == '/')
		str_add(path, cache);
	else if (home && home[0] == '/')
		str_printf(path, "%s/.cache", home);
	else
		return false;
	if (makes_folder && !path->failed)
		mkdir(path->ptr, 0700); /* it exists, or what follows fails */
	str_add(path, "/memtape");
	if (makes_folder && !path->failed)
		mkdir(path->ptr, 0700);
	return !path->failed;
}

char *index_path_cached(const struct index_identity *identity, bool makes_folder)
{
	struct str path = { 0 };

	if (!cache_folder(&path, makes_folder)) {
		str_deinit(&path);
		return NULL;
	}
	str_add(&path, "/");
	for (size_t i = 0; i < sizeof(identity->uuid); i++)
		str_printf(&path, "%02x", identity->uuid[i]);
	str_add(&path, ".index");
	return path.failed ? NULL : path.ptr;
}

/*
 * NULL: no usable one. Takes ownership of path. A file that another user put beside the tape is not
 * trusted, unless that user owns the tape.
 */
static struct model *use(char *path, const char *tape_path, const struct index_identity *identity)
{
	struct file_trust trust = { .owner = geteuid(), .bytes_max = INT64_MAX };
	struct model *model = NULL;
	struct stat tape;
	uint64_t bytes;
	struct err *err;
	int fd = -1;

	if (!path)
		return NULL;
	if (stat(tape_path, &tape) == 0)
		trust.owner = tape.st_uid;
	err = file_open_trusted(path, &trust, &fd, &bytes);
	if (!err)
		err = index_read(fd, identity, &model);
	if (!err && model_is_of_pools(model)) {
		model_destroy(model);
		model = NULL;
	}
	if (fd >= 0)
		close(fd);
	if (err || !model) {
		err_destroy(err); /* it is rebuilt */
		free(path);
		return NULL;
	}
	model->index_path = path;
	return model;
}

static struct model *use_any(const char *tape_path, const struct index_identity *identity)
{
	struct model *model = use(index_path_beside(tape_path), tape_path, identity);

	return model ? model : use(index_path_cached(identity, false), tape_path, identity);
}

struct making {
	const struct capture *capture;
	const char *tape_path; /* NULL: an index cannot be kept */
	const struct model_settings *settings;
	struct index_identity identity;
	bool keeps;
};

/* Names the image beside the tape, or in the cache; NULL: neither is possible. */
static struct err *keep(const struct making *making, const struct image *image, char **path_ret)
{
	CLEAN(free) char *beside = index_path_beside(making->tape_path);
	CLEAN(free) char *cached = NULL;
	struct stat tape = { .st_mode = 0600 };
	struct err *err, *second;

	if (!beside)
		return err_nomem();
	(void)!stat(making->tape_path, &tape); /* whoever may read the tape may read its index */
	err = image_commit(image, beside, tape.st_mode & 0644);
	if (!err) {
		*path_ret = steal(beside);
		return NULL;
	}
	cached = index_path_cached(&making->identity, true);
	if (!cached)
		return err;
	second = image_commit(image, cached, 0600);
	if (second) {
		err_destroy(second);
		return err;
	}
	err_destroy(err);
	*path_ret = steal(cached);
	return NULL;
}

/* The tape may have changed while it was read; then its index would be wrong. */
static bool is_same_still(const struct making *making)
{
	struct index_identity now;
	struct err *err = index_identify(making->tape_path, &now);
	bool same = !err && memcmp(&now, &making->identity, sizeof(now)) == 0;

	err_destroy(err);
	return same;
}

static bool is_about_pools(const struct model_settings *settings)
{
	return settings && settings->subject == MODEL_OF_POOLS;
}

/* Before it is written: there is still time to stop and to do it otherwise. */
static void announce(const struct making *making)
{
	const struct model_settings *settings = making->settings;
	CLEAN(free) char *path = index_path_beside(making->tape_path);
	const struct capture_facts *facts = capture_facts(making->capture);
	struct model_index_plan plan = { .path = path };
	struct statvfs disk;

	if (!settings || !settings->announce || settings->index != MODEL_INDEX_AUTO || !path)
		return;
	plan.bytes =
		facts->sealed_event_count * EVENT_BYTES_MAX + facts->node_count * NODE_BYTES_MAX;
	if (statvfs(making->tape_path, &disk) != 0)
		return;
	plan.free_bytes = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (plan.bytes > LARGE_BYTES || plan.bytes > plan.free_bytes / LARGE_PART)
		settings->announce(settings->announce_context, &plan);
}

static struct err *make(const struct making *making, struct model **model_ret)
{
	CLEAN(model_destroy) struct model *model = NULL;
	CLEAN(image_deinit) struct image image;
	bool is_small = capture_facts(making->capture)->sealed_event_count < SMALL_EVENTS &&
			!is_about_pools(making->settings);
	bool must_keep = making->settings && (making->settings->index == MODEL_INDEX_KEEP ||
					      making->settings->index == MODEL_INDEX_ANEW);
	CLEAN(free)
	char *cached = making->keeps ? index_path_cached(&making->identity, false) : NULL;
	CLEAN(free) char *path = NULL;
	struct err *err;

	if (making->keeps)
		announce(making);
	err = image_create(&image, making->keeps ? making->tape_path : NULL, is_small);
	image.other_path = cached;
	if (!err)
		err = model_build(making->capture, making->settings, &image, &making->identity,
				  NULL);
	if (image_lacks_room(err))
		return err_wrap(err, "no room for an index in any folder for it, nor in $TMPDIR, "
				     "/var/tmp or /tmp");
	if (!err && making->keeps && is_same_still(making))
		err = keep(making, &image, &path);
	if (err && !must_keep && path == NULL && err_code_of(err) == ERR_SYSTEM && image.is_whole) {
		err_destroy(err); /* nowhere to keep it: used this once */
		err = NULL;
	}
	if (!err)
		err = index_read(image.fd, NULL, &model);
	if (err)
		return err;
	model->index_path = steal(path);
	model->index_is_new = true;
	*model_ret = steal(model);
	return NULL;
}

/* The number of events decides whether an index is left behind. */
static bool wants_keeping(const struct capture *capture, const struct model_settings *settings)
{
	switch (is_about_pools(settings) ? MODEL_INDEX_NONE
		: settings		 ? settings->index
					 : MODEL_INDEX_AUTO) {
	case MODEL_INDEX_NONE:
	case MODEL_INDEX_USE:
		return false;
	case MODEL_INDEX_KEEP:
	case MODEL_INDEX_ANEW:
		return true;
	case MODEL_INDEX_AUTO:
		break;
	}
	return capture_is_finished(capture) &&
	       capture_facts(capture)->sealed_event_count >= KEEP_EVENTS_MIN;
}

static struct err *play(const char *path, enum model_depth depth,
			const struct model_settings *settings,
			const struct index_identity *identity, struct model **model_ret)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct making making;
	struct err *err = capture_open(path, &capture);

	if (err)
		return err;
	if (depth == MODEL_SUMMARY && !is_about_pools(settings))
		return err_wrap(model_build(capture, settings, NULL, NULL, model_ret), "%s", path);
	making = (struct making) { .capture = capture,
				   .tape_path = path,
				   .settings = settings,
				   .identity = *identity,
				   .keeps = wants_keeping(capture, settings) };
	if (settings &&
	    (settings->index == MODEL_INDEX_KEEP || settings->index == MODEL_INDEX_ANEW) &&
	    !capture_is_finished(capture))
		return err_new(
			ERR_STATE,
			"%s is still being written, or was when memtape or the program was killed; "
			"`memtape repack` makes it whole",
			path);
	return err_wrap(make(&making, model_ret), "%s", path);
}

struct err *model_load_with(const char *path, enum model_depth depth,
			    const struct model_settings *settings, struct model **model_ret)
{
	const enum model_index index = is_about_pools(settings) ? MODEL_INDEX_NONE
				       : settings		? settings->index
								: MODEL_INDEX_AUTO;
	struct index_identity identity = { 0 };
	struct model *model = NULL;
	struct err *err = index_identify(path, &identity);

	assert(depth == MODEL_SUMMARY || depth == MODEL_FULL);
	assert(!settings || settings->index <= MODEL_INDEX_ANEW);
	if (err)
		return err;
	if (index == MODEL_INDEX_AUTO || index == MODEL_INDEX_USE || index == MODEL_INDEX_KEEP)
		model = use_any(path, &identity);
	if (!model)
		return play(path, depth, settings, &identity, model_ret);
	*model_ret = model;
	return NULL;
}

struct err *model_load(const char *path, enum model_depth depth, struct model **model_ret)
{
	return model_load_with(path, depth, NULL, model_ret);
}

struct err *model_load_capture(const struct capture *capture, enum model_depth depth,
			       struct model **model_ret)
{
	const struct making making = { .capture = capture };

	assert(depth == MODEL_SUMMARY || depth == MODEL_FULL);
	if (depth == MODEL_SUMMARY)
		return model_build(capture, NULL, NULL, NULL, model_ret);
	return make(&making, model_ret);
}
