#include "gather/crypto_tls.h"

#include <assert.h>
#include <errno.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* No tickets: nothing is said that nobody has asked for. */
#define PRIORITY "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:%NO_TICKETS"

struct tls_context {
	gnutls_certificate_credentials_t credentials;
	gnutls_priority_t priority;
	bool is_gatherer;
};

struct tls_session {
	gnutls_session_t session;
	const struct tls_context *context;
	char host[256]; /* gnutls keeps the pointer */
};

static struct err *library_error(int rc, const char *what)
{
	return rc < 0 ? err_new(ERR_FORMAT, "%s: %s", what, gnutls_strerror(rc)) : NULL;
}

/* --- contexts ------------------------------------------------------------------------------ */

static struct err *context_create(bool is_gatherer, struct tls_context **context_ret)
{
	CLEAN(tls_context_destroy) struct tls_context *context = calloc(1, sizeof(*context));
	struct err *err;

	if (!context)
		return err_nomem();
	context->is_gatherer = is_gatherer;
	err = library_error(gnutls_certificate_allocate_credentials(&context->credentials), "TLS");
	if (!err)
		err = library_error(gnutls_priority_init(&context->priority, PRIORITY, NULL),
				    "TLS");
	if (!err)
		*context_ret = steal(context);
	return err;
}

void tls_context_destroy(struct tls_context *context)
{
	if (!context)
		return;
	if (context->credentials)
		gnutls_certificate_free_credentials(context->credentials);
	if (context->priority)
		gnutls_priority_deinit(context->priority);
	free(context);
}

static struct err *file_check(const char *path, bool is_secret)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return err_errno("%s", path);
	if (!S_ISREG(status.st_mode))
		return err_new(ERR_FORMAT, "%s is not a regular file", path);
	if (is_secret && status.st_mode & S_IROTH)
		return err_new(ERR_STATE, "%s can be read by everybody: chmod o-r it", path);
	return NULL;
}

/* What no sender would accept is said at the start. */
static struct err *times_check(const struct tls_context *context, const char *cert_path)
{
	const time_t now = time(NULL);
	gnutls_x509_crt_t *list = NULL;
	unsigned count = 0;
	struct err *err = library_error(
		gnutls_certificate_get_x509_crt(context->credentials, 0, &list, &count), cert_path);

	for (unsigned i = 0; i < count; i++) {
		if (!err && gnutls_x509_crt_get_expiration_time(list[i]) < now)
			err = err_new(ERR_STATE, "%s: the certificate has expired", cert_path);
		gnutls_x509_crt_deinit(list[i]);
	}
	gnutls_free(list);
	return err;
}

struct err *tls_gatherer_create(const char *cert_path, const char *key_path,
				struct tls_context **context_ret)
{
	CLEAN(tls_context_destroy) struct tls_context *context = NULL;
	struct err *err = file_check(cert_path, false);

	if (!err)
		err = file_check(key_path, true);
	if (!err)
		err = context_create(true, &context);
	if (!err)
		err = err_wrap(library_error(gnutls_certificate_set_x509_key_file(
						     context->credentials, cert_path, key_path,
						     GNUTLS_X509_FMT_PEM),
					     key_path),
			       "%s", cert_path);
	if (!err)
		err = times_check(context, cert_path);
	if (!err)
		*context_ret = steal(context);
	return err;
}

struct err *tls_sender_create(const char *ca_path, struct tls_context **context_ret)
{
	CLEAN(tls_context_destroy) struct tls_context *context = NULL;
	struct err *err = ca_path ? file_check(ca_path, false) : NULL;
	int count;

	if (!err)
		err = context_create(false, &context);
	if (err)
		return err;
	count = ca_path ? gnutls_certificate_set_x509_trust_file(context->credentials, ca_path,
								 GNUTLS_X509_FMT_PEM)
			: gnutls_certificate_set_x509_system_trust(context->credentials);
	err = library_error(count, ca_path ? ca_path : "the system's certificates");
	if (!err && count == 0)
		err = err_new(ERR_FORMAT, "%s: no certificate is in it",
			      ca_path ? ca_path : "the system's trust");
	if (!err)
		*context_ret = steal(context);
	return err;
}

/* --- sessions ------------------------------------------------------------------------------ */

static bool is_number(const char *host)
{
	return strchr(host, ':') || host[strspn(host, "0123456789.")] == '\0';
}

struct err *tls_session_create(const struct tls_context *context, int fd, const char *host,
			       struct tls_session **session_ret)
{
	struct tls_session *session = calloc(1, sizeof(*session));
	struct err *err;

	assert(fd >= 0);
	assert(context->is_gatherer == !host);
	if (!session)
		return err_nomem();
	session->context = context;
	err = library_error(gnutls_init(&session->session,
					(context->is_gatherer ? GNUTLS_SERVER : GNUTLS_CLIENT) |
						GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL),
			    "TLS");
	if (!err)
		err = library_error(gnutls_priority_set(session->session, context->priority),
				    "TLS");
	if (!err)
		err = library_error(gnutls_credentials_set(session->session, GNUTLS_CRD_CERTIFICATE,
							   context->credentials),
				    "TLS");
	if (err) {
		tls_session_destroy(session);
		return err;
	}
	gnutls_transport_set_int(session->session, fd);
	gnutls_handshake_set_timeout(session->session, GNUTLS_INDEFINITE_TIMEOUT);
	if (host) {
		strncat(session->host, host, sizeof(session->host) - 1);
		gnutls_session_set_verify_cert(session->session, session->host, 0);
		if (!is_number(session->host))
			gnutls_server_name_set(session->session, GNUTLS_NAME_DNS, session->host,
					       strlen(session->host));
	}
	*session_ret = session;
	return NULL;
}

void tls_session_destroy(struct tls_session *session)
{
	if (!session)
		return;
	if (session->session)
		gnutls_deinit(session->session);
	free(session);
}

/* Why a sender does not believe the gatherer, in one sentence. */
static struct err *distrust(struct tls_session *session)
{
	const unsigned status = gnutls_session_get_verify_cert_status(session->session);
	const char *why = "it is not valid";

	if (status & GNUTLS_CERT_EXPIRED)
		why = "it has expired";
	else if (status & GNUTLS_CERT_NOT_ACTIVATED)
		why = "it is not valid yet: is the clock right?";
	else if (status & (GNUTLS_CERT_SIGNER_NOT_FOUND | GNUTLS_CERT_SIGNER_NOT_CA))
		why = "it is not signed by one that is trusted here (--tls-ca)";
	else if (status & GNUTLS_CERT_UNEXPECTED_OWNER)
		why = "it is that of another name";
	else if (status & GNUTLS_CERT_REVOKED)
		why = "it was revoked";
	return err_new(ERR_STATE, "the gatherer's certificate: %s; nothing was sent to it", why);
}

static enum tls_step step_of(struct tls_session *session, ssize_t rc, struct err **err_ret)
{
	switch (rc) {
	case GNUTLS_E_AGAIN:
	case GNUTLS_E_INTERRUPTED:
		return gnutls_record_get_direction(session->session) ? TLS_WAIT_OUTPUT
								     : TLS_WAIT_INPUT;
	case GNUTLS_E_PREMATURE_TERMINATION:
	case GNUTLS_E_PUSH_ERROR:
	case GNUTLS_E_PULL_ERROR:
	case GNUTLS_E_INVALID_SESSION: /* it has failed before */
		return TLS_CLOSED;
	case GNUTLS_E_FATAL_ALERT_RECEIVED:
		*err_ret = err_new(ERR_STATE, "TLS: the other side says: %s",
				   gnutls_alert_get_name(gnutls_alert_get(session->session)));
		return TLS_FAILED;
	default:
		*err_ret = err_new(ERR_STATE, "TLS: %s", gnutls_strerror((int)rc));
		return TLS_FAILED;
	}
}

enum tls_step tls_handshake(struct tls_session *session, bool *is_final_ret, struct err **err_ret)
{
	int rc;

	do
		rc = gnutls_handshake(session->session);
	while (rc < 0 && rc != GNUTLS_E_AGAIN && !gnutls_error_is_fatal(rc));
	if (rc == 0)
		return TLS_DONE;
	if (rc == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR) {
		gnutls_alert_send_appropriate(session->session, rc);
		*is_final_ret = true;
		*err_ret = distrust(session);
		return TLS_FAILED;
	}
	return step_of(session, rc, err_ret);
}

enum tls_step tls_read(struct tls_session *session, void *bytes, size_t len, size_t *done_ret,
		       struct err **err_ret)
{
	const ssize_t got = gnutls_record_recv(session->session, bytes, len);

	if (got == 0)
		return TLS_CLOSED;
	if (got < 0)
		return step_of(session, got, err_ret);
	*done_ret = (size_t)got;
	return TLS_DONE;
}

enum tls_step tls_write(struct tls_session *session, const void *bytes, size_t len,
			size_t *done_ret, struct err **err_ret)
{
	const ssize_t sent = gnutls_record_send(session->session, bytes, len);

	if (sent < 0)
		return step_of(session, sent, err_ret);
	*done_ret = (size_t)sent;
	return TLS_DONE;
}
