/*
 * stream_options: what the commands that send tapes, or receive them, have in common: the token, and
 * that without one only programs of this machine are spoken to.
 */
#ifndef MEMTAPE_CLI_STREAM_OPTIONS_H
#define MEMTAPE_CLI_STREAM_OPTIONS_H

#include "base/options.h"
#include "gather/address.h"
#include "gather/crypto.h"
#include "gather/crypto_tls.h"

struct stream_options {
	const char *token_file; /* NULL: there is none */
	bool no_token;		/* the user confirmed that none is needed */
	const char *tls_ca;	/* of a sender: the certificates it trusts */
	bool tls;		/* of a sender: those that the system trusts */
};

#define STREAM_TLS_CA_HELP_SEND                                                                    \
	"speak TLS with the gatherer, whose certificate must be signed by one in FILE, or be in "  \
	"it"
#define STREAM_TLS_HELP_SEND	  "the same, signed by one that this system trusts"
#define STREAM_NO_TOKEN_HELP_SEND "without a token, send to other machines as well"

/* The token, or an empty one; path NULL: there is none. */
struct err *stream_token(const struct stream_options *options, struct token_secret *secret);

/* A sender's, or NULL if TLS was not asked for; the caller's. */
struct err *stream_tls(const struct stream_options *options, struct tls_context **context_ret);

/* ERR_USAGE: `option` names another machine, and there is no token. Names are not looked up. */
struct err *stream_check(const struct stream_options *options, const char *option,
			 const struct address *address);

#endif
