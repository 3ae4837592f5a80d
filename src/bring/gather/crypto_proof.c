#include "gather/crypto.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <sys/stat.h>

#include "base/file.h"

enum { READ_BYTES = 64 << 10 };

static void hash_end(gnutls_hash_hd_t hash)
{
	if (hash)
		gnutls_hash_deinit(hash, NULL);
}
CLEAN_DEFINE(hash_end, gnutls_hash_hd_t);

static struct err *library_error(int rc, const char *what)
{
	return rc < 0 ? err_new(ERR_STATE, "%s: %s", what, gnutls_strerror(rc)) : NULL;
}

static struct err *secret_check(const char *path, const struct stat *status)
{
	if (!S_ISREG(status->st_mode))
		return err_new(ERR_FORMAT, "%s is not a regular file", path);
	if (status->st_mode & S_IROTH)
		return err_new(ERR_STATE, "%s can be read by everybody: chmod o-r it", path);
	return NULL;
}

struct err *token_secret_load(const char *path, struct token_secret *secret)
{
	CLEAN(close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	uint8_t bytes[TOKEN_SECRET_BYTES_MAX + 1];
	struct stat status;
	struct err *err;
	ssize_t len;

	if (fd < 0 || fstat(fd, &status) != 0)
		return err_errno("%s", path);
	err = secret_check(path, &status);
	if (err)
		return err;
	len = file_read_at(fd, bytes, sizeof(bytes), 0);
	if (len < 0)
		return err_errno("%s", path);
	if (len > TOKEN_SECRET_BYTES_MAX)
		return err_new(ERR_FORMAT, "%s: a token has at most %d bytes", path,
			       TOKEN_SECRET_BYTES_MAX);
	while (len > 0 && isspace(bytes[len - 1]))
		len--;
	if (len < TOKEN_SECRET_BYTES_MIN)
		return err_new(
			ERR_FORMAT,
			"%s: a token has at least %d bytes; `openssl rand -hex 32` makes one", path,
			TOKEN_SECRET_BYTES_MIN);
	memcpy(secret->bytes, bytes, (size_t)len);
	secret->len = (size_t)len;
	return NULL;
}

struct err *crypto_random(void *bytes, size_t len)
{
	return library_error(gnutls_rnd(GNUTLS_RND_RANDOM, bytes, len), "random bytes");
}

struct err *crypto_prove(const struct token_secret *secret, enum wire_side side,
			 const struct wire_hello *greeting, const struct wire_hello *answer,
			 uint8_t proof[WIRE_PROOF_BYTES])
{
	static const char labels[][24] = {
		[WIRE_SENDER] = WIRE_LABEL_SENDER,
		[WIRE_GATHERER] = WIRE_LABEL_GATHERER,
	};
	uint8_t text[sizeof(labels[0]) + 2 * sizeof(*greeting)];

	assert(secret->len >= TOKEN_SECRET_BYTES_MIN);
	memcpy(text, labels[side], sizeof(labels[0]));
	memcpy(text + sizeof(labels[0]), greeting, sizeof(*greeting));
	memcpy(text + sizeof(labels[0]) + sizeof(*greeting), answer, sizeof(*answer));
	return library_error(gnutls_hmac_fast(GNUTLS_MAC_SHA256, secret->bytes, secret->len, text,
					      sizeof(text), proof),
			     "HMAC-SHA-256");
}

bool crypto_equal(const void *left, const void *right, size_t len)
{
	return gnutls_memcmp(left, right, len) == 0;
}

struct err *crypto_digest(int fd, uint64_t begin, uint64_t end, uint8_t digest[WIRE_DIGEST_BYTES])
{
	CLEAN(free) uint8_t *bytes = malloc(READ_BYTES);
	CLEAN(hash_end) gnutls_hash_hd_t hash = NULL;
	struct err *err;

	assert(begin <= end);
	if (!bytes)
		return err_nomem();
	err = library_error(gnutls_hash_init(&hash, GNUTLS_DIG_SHA256), "SHA-256");
	while (!err && begin < end) {
		const size_t wanted = (size_t)u64_min(end - begin, READ_BYTES);
		const ssize_t got = file_read_at(fd, bytes, wanted, begin);

		if (got < 0)
			return err_errno("read");
		if ((size_t)got < wanted)
			return err_new(ERR_FORMAT, "the tape has become shorter");
		err = library_error(gnutls_hash(hash, bytes, wanted), "SHA-256");
		begin += wanted;
	}
	if (!err)
		gnutls_hash_output(hash, digest);
	return err;
}
