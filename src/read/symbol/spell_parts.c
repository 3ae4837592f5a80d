/*
 * The parts of a demangled name: "int* app::find<int>(int) const" is a return type, the name
 * app::find<int>, and parameters. Names of C, Go and Rust are names as a whole.
 */
#include "symbol/spell.h"

#include <stdlib.h>

enum { SPELL_BYTES_MAX = 1 << 16 };

static const char CLANG_LAMBDA[] = "$_";

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
	/* Those that begin others come after them. What follows may be arguments: "operator+<char>" */
	static const char *const signs[] = {
		"()", "[]", "->*", "->", "<=>", "<<=", ">>=", "<<", ">>", "<=", ">=", "==", "!=",
		"&&", "||", "++",  "--", "+=",	"-=",  "*=",  "/=", "%=", "^=", "&=", "|=", "<",
		">",  "=",  "+",   "-",	 "*",	"/",   "%",   "^",  "&",  "|",	"~",  "!",  ",",
	};

	at += strlen("operator");
	if (*at == ' ') { /* new, delete[], a type */
		for (at++; *at && *at != '('; at = *at == '<' ? group_end(at) : at + 1)
			;
		return at;
	}
	for (size_t i = 0; i < array_size(signs); i++) {
		if (begins(at, signs[i])) {
			at += strlen(signs[i]);
			break;
		}
	}
	return begins(at, " <") ? at + 1 : at; /* "operator<< <char>" */
}

static bool at_operator(const char *full, const char *at)
{
	return begins(at, "operator") && !is_word(at[strlen("operator")]) &&
	       (at == full || !is_word(at[-1]));
}

static bool is_behind(const char *full, const char *at, const char *word)
{
	const size_t len = strlen(word);

	return (size_t)(at - full) >= len && memcmp(at - len, word, len) == 0;
}

/* Parentheses that are a part of the name, or of a type before it. */
static bool is_within_name(const char *full, const char *at)
{
	return begins(at, "(anonymous namespace)") || is_behind(full, at, "decltype") ||
	       is_behind(full, at, "decltype ");
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
		} else if (*at == '(' && !is_within_name(full, at)) {
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

/* --- as shown -------------------------------------------------------------------------------- */

/* "std::vector<char>::resize" -> "std::vector::resize" */
static void add_without_arguments(struct str *out, const char *name, const char *end)
{
	while (name < end) {
		if (at_operator(name, name)) {
			const char *next = operator_end(name);

			next = next < end ? next : end;
			str_add_bytes(out, name, (size_t)(next - name) - (next[-1] == ' '));
			name = next;
		} else if (*name == '<') {
			name = group_end(name);
		} else {
			str_add_char(out, *name++);
		}
	}
}

/*
 * What a lambda is called by: itself, or as a pointer to a function, by a function that GCC and clang
 * make for that. Behind the name at text; NULL: it is another.
 */
static const char *caller_end(const char *at)
{
	static const char *const names[] = { "::operator()", "::_FUN", "::__invoke" };

	for (size_t i = 0; i < array_size(names); i++) {
		const size_t len = strlen(names[i]);

		if (begins(at, names[i]) && !is_word(at[len]))
			return at + len;
	}
	return NULL;
}

/* Behind "::operator()<int>(int) const", which says nothing of a lambda. */
static const char *call_end(const char *at)
{
	const char *end = caller_end(at);

	if (!end)
		return at;
	at = end;
	if (*at == '<')
		at = group_end(at);
	if (*at == '(')
		at = group_end(at);
	return begins(at, " const") ? at + strlen(" const") : at;
}

/*
 * A lambda: "{lambda(int)#2}", or as clang calls those of no other file, from 0: "$_1". Its end, and
 * which it is of its function, from 1; NULL: it is none.
 */
static const char *lambda_end(const char *full, const char *text, int *number_ret)
{
	const char *number, *end;

	if (begins(text, "{lambda(")) {
		end = number = group_end(text);
		while (number > text && *number != '#')
			number--;
		*number_ret = number > text ? atoi(number + 1) : 1;
		return end;
	}
	if (!begins(text, CLANG_LAMBDA) || (text > full && is_word(text[-1])))
		return NULL;
	number = text + strlen(CLANG_LAMBDA);
	end = number + strspn(number, "0123456789");
	*number_ret = atoi(number) + 1;
	return end > number && !is_word(*end) ? end : NULL;
}

/* "main::{lambda(int)#2}::operator()(int) const" -> "main::{lambda#2}"; the first has no number. */
static void add_lambdas(struct str *out, const char *full, const char *text, const char *end)
{
	while (text < end) {
		int number;
		const char *next = lambda_end(full, text, &number);

		if (!next || next > end) {
			str_add_char(out, *text++);
			continue;
		}
		str_add(out, "{lambda");
		if (number > 1)
			str_printf(out, "#%d", number);
		str_add_char(out, '}');
		text = call_end(next);
	}
}

/* Where the parameters of "(*app::get(int))(char)" end; else the end of the text. */
static const char *parameters_end(const char *full, const struct spell_parts *parts)
{
	const char *open = parts->name + parts->name_bytes;
	const char *before = parts->name;

	while (before > full && strchr("*&", before[-1]))
		before--;
	if (before > full && before < parts->name && before[-1] == '(')
		return group_end(open);
	return open + strlen(open);
}

/* "std::for_each<int*, f>": debug information names what is inlined without its parameters. */
static bool is_template(const char *name)
{
	bool has_arguments = false;

	for (const char *at = name; *at;) {
		if (at_operator(name, at)) {
			at = operator_end(at);
		} else if (*at == '<') {
			if (at == name || !is_word(at[-1])) /* of Rust */
				return false;
			has_arguments = true;
			at = group_end(at);
		} else {
			at++;
		}
	}
	return has_arguments;
}

static bool is_changed(const char *name, const struct spell_parts *parts, bool is_library)
{
	if (strlen(name) >= SPELL_BYTES_MAX)
		return false;
	return parts->has_parameters ||
	       (is_library ? is_template(name)
			   : strstr(name, "{lambda(") || strstr(name, CLANG_LAMBDA));
}

bool spell_is_of_pointer(const char *name)
{
	for (const char *at = name; (at = strstr(at, "::_")); at++) {
		const char *end = caller_end(at);

		if (end && at > name && (at[-1] == '}' || strstr(name, CLANG_LAMBDA)) &&
		    (*end == '\0' || *end == '(' || *end == '<') && !strstr(end, "::"))
			return true;
	}
	return false;
}

const char *spell_function(const char *name, bool is_library, struct arena *arena)
{
	const struct spell_parts parts = spell_parts_of(name);
	struct str out = { 0 };
	const char *copy = NULL;

	if (!is_changed(name, &parts, is_library))
		return name;
	if (is_library)
		add_without_arguments(&out, parts.name, parts.name + parts.name_bytes);
	else
		add_lambdas(&out, name, parts.name, parameters_end(name, &parts));
	if (!out.failed && out.len > 0 && strcmp(str_text(&out), name) != 0)
		copy = arena_strdup(arena, str_text(&out));
	str_deinit(&out);
	return copy ? copy : name;
}
