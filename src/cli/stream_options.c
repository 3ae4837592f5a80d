#include "cli/stream_options.h"

struct err *stream_token(const struct stream_options *options, struct token_secret *secret)
{
	secret->len = 0;
	if (options->token_file && options->no_token)
		return err_new(ERR_USAGE, "--token-file does not go with --no-token");
	return options->token_file
		       ? err_wrap(token_secret_load(options->token_file, secret), "--token-file")
		       : NULL;
}

struct err *stream_tls(const struct stream_options *options, struct tls_context **context_ret)
{
	*context_ret = NULL;
	if (options->tls_ca && options->tls)
		return err_new(ERR_USAGE, "--tls does not go with --tls-ca");
	if (!options->tls_ca && !options->tls)
		return NULL;
	return err_wrap(tls_sender_create(options->tls_ca, context_ret),
			options->tls_ca ? "--tls-ca" : "--tls");
}

struct err *stream_check(const struct stream_options *options, const char *option,
			 const struct address *address)
{
	bool is_loopback = true;
	struct err *err = address_is_loopback(address, true, &is_loopback);

	if (err || is_loopback || options->token_file || options->no_token)
		return err;
	return err_new(ERR_USAGE,
		       "%s: %s is another machine; say --token-file, or --no-token if whoever "
		       "answers there may have the tape",
		       option, address->host);
}
