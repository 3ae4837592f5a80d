/*
 * The parts of a demangled name: "int* app::find<int>(int) const" is a return type, the name
 * app::find<int>, and parameters. Names of C, Go and Rust are names as a whole.
 */
#include "symbol/spell.h"

static bool begins(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$';
}

/* Behind the bracket that closes the one at text; the end if there is none. */
static const char *group_end(const char *text)
{
	unsigned depth = 0;

	for (; *text; text++) {
		if (strchr("<({[", *text))
			depth++;
		else if (strchr(")}]", *text) || (*text == '>' && text[-1] != '-'))
			depth -= depth > 0;
		if (depth == 0)
			return text + 1;
	}
	return text;
}

/* Behind "operator" and what it is of: "operator()", "operator<", "operator std::string". */
static const char *operator_end(const char *at)
{
	at += strlen("operator");
	if (begins(at, "()"))
		return at + 2;
	if (*at == ' ') { /* new, delete[], a type */
		for (at++; *at && *at != '('; at = *at == '<' ? group_end(at) : at + 1)
			;
		return at;
	}
	at += strspn(at, "<>=+-*/%^&|~!,");
	return at[0] == '[' ? at + strlen("[]") : at;
}

static bool at_operator(const char *full, const char *at)
{
	return begins(at, "operator") && !is_word(at[strlen("operator")]) &&
	       (at == full || !is_word(at[-1]));
}

/* Parentheses that are a part of the name, or of a type before it. */
static bool is_within_name(const char *name, const char *at)
{
	return begins(at, "(anonymous namespace)") ||
	       (at > name && (size_t)(at - name) >= strlen("decltype") &&
		begins(at - strlen("decltype"), "decltype")) ||
	       (at - name >= (ptrdiff_t)strlen("decltype ") &&
		begins(at - strlen("decltype "), "decltype "));
}

/* "(*app::get(int))(char)": a function that returns a pointer to one. */
static bool is_pointer(const char *at)
{
	return at[0] == '(' && (at[1] == '*' || at[1] == '&');
}

/* A local class, "app::run(int)::{lambda()#1}::operator()": the name goes on behind. */
static bool goes_on(const char *end)
{
	if (begins(end, " const"))
		end += strlen(" const");
	return begins(end, "::");
}

struct spell_parts spell_parts_of(const char *full)
{
	struct spell_parts parts = { .name = full };
	const char *at = full;

	if (full[0] == '<') /* of Rust: "<A as B>::f" */
		return (struct spell_parts) { full, strlen(full), false };
	while (*at) {
		if (at_operator(full, at)) {
			at = operator_end(at);
		} else if (*at == '(' && !is_within_name(parts.name, at)) {
			if (is_pointer(at)) {
				at += 1 + strspn(at + 1, "*&");
				parts.name = at;
				continue;
			}
			parts.has_parameters = true;
			if (!goes_on(group_end(at)))
				break;
			at = group_end(at);
			at += *at == ' ' ? strlen(" const") : 0;
		} else if (*at == '<' || *at == '(' || *at == '{' || *at == '[') {
			at = group_end(at);
		} else if (*at == ' ' || *at == '*' || *at == '&') {
			parts.name = ++at; /* that was the return type */
		} else {
			at++;
		}
	}
	if (!*at && !parts.has_parameters) /* no function of C++: blanks are a part of it */
		return (struct spell_parts) { full, strlen(full), false };
	parts.name_bytes = (size_t)(at - parts.name);
	return parts;
}
