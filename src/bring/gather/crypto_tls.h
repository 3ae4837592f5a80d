/*
 * crypto_tls: connections that nobody overhears or changes: TLS, by GnuTLS. The gatherer shows a
 * certificate, the sender checks it; who the sender is says the token, inside of it.
 */
#ifndef MEMTAPE_GATHER_CRYPTO_TLS_H
#define MEMTAPE_GATHER_CRYPTO_TLS_H

#include "base/err.h"

/* What a side has for all its connections. Never written once it is made: threads may share it. */
struct tls_context;

/* One connection's. One thread at a time. */
struct tls_session;

/*
 * A gatherer's: its certificate, with those between it and the root after it, and the key, as PEM.
 * ERR_FORMAT: they are none, or do not fit together; ERR_STATE: the certificate has expired, or everybody
 * may read the key.
 */
struct err *tls_gatherer_create(const char *cert_path, const char *key_path,
				struct tls_context **context_ret);

/* A sender's: the certificates it trusts, as PEM; NULL: those that the system does. */
struct err *tls_sender_create(const char *ca_path, struct tls_context **context_ret);

void tls_context_destroy(struct tls_context *context);
CLEAN_DEFINE(tls_context_destroy, struct tls_context *);

/*
 * Of a connected socket that does not block, which stays the caller's; host: as the user wrote it, whose
 * certificate a sender demands (NULL: of a gatherer). The context is borrowed.
 */
struct err *tls_session_create(const struct tls_context *context, int fd, const char *host,
			       struct tls_session **session_ret);
void tls_session_destroy(struct tls_session *session);

enum tls_step {
	TLS_DONE,
	TLS_CLOSED, /* by the other side */
	TLS_WAIT_INPUT,
	TLS_WAIT_OUTPUT,
	TLS_FAILED /* *err_ret says why */
};

/*
 * Goes on, as far as it can without waiting. *is_final_ret: the certificate is one that will not do next
 * time either. Not more than len bytes are read or written, *done_ret of them.
 */
enum tls_step tls_handshake(struct tls_session *session, bool *is_final_ret, struct err **err_ret);
enum tls_step tls_read(struct tls_session *session, void *bytes, size_t len, size_t *done_ret,
		       struct err **err_ret);
enum tls_step tls_write(struct tls_session *session, const void *bytes, size_t len,
			size_t *done_ret, struct err **err_ret);

#endif
