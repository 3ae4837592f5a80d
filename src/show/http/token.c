#include "http/token.h"

#include <assert.h>

#include "base/str.h"
#include "core/random.h"

struct err *token_make(struct token *token)
{
	uint8_t bytes[TOKEN_BYTES];
	const int rc = random_fill(bytes, sizeof(bytes));

	if (rc < 0)
		return err_errno_new(-rc, "random bytes for the token");
	for (size_t i = 0; i < sizeof(bytes); i++)
		str_format(token->text + 2 * i, 3, "%02x", bytes[i]);
	return NULL;
}

bool token_equals(const struct token *token, const char *text, size_t len)
{
	volatile uint8_t differences = 0;

	assert(text || len == 0);
	if (len != TOKEN_TEXT_BYTES - 1)
		return false;
	for (size_t i = 0; i < len; i++)
		differences |= (uint8_t)(token->text[i] ^ text[i]);
	return differences == 0 && token->text[0];
}
