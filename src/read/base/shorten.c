#include "base/shorten.h"

enum { TAIL_COLUMNS_MIN = 12 };

void str_add_cut(struct str *out, const char *words, size_t columns)
{
	size_t len = 0;

	if (str_width(words) <= columns) {
		str_add(out, words);
		return;
	}
	for (size_t i = 0; i + 1 < columns && words[len]; i++) {
		const size_t bytes = str_utf8_bytes(words + len);

		len += bytes ? bytes : 1;
	}
	str_add_bytes(out, words, len);
	str_add(out, "…");
}

void str_add_cut_middle(struct str *out, const char *words, size_t columns)
{
	const char *end = words;
	size_t width = str_width(words);

	if (width <= columns) {
		str_add(out, words);
		return;
	}
	for (; *end && width > columns / 2; width = str_width(end)) {
		const size_t bytes = str_utf8_bytes(end);

		end += bytes ? bytes : 1;
	}
	str_add_cut(out, words, columns - width);
	str_add(out, end);
}

/*
 * Where the bracket that opens at text[0] closes, or the end; "->", "<<" and "<=" are not brackets.
 */
static const char *bracket_end(const char *text, char open, char close)
{
	size_t depth = 0;

	for (; *text; text++) {
		if (*text == open)
			depth++;
		else if (*text == close && text[-1] != '-' && --depth == 0)
			return text + 1;
	}
	return text;
}

static bool begins(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

/* Defaults that the library spells out and programmers omit. */
static void add_simplified(struct str *out, const char *text)
{
	static const struct {
		const char *from;
		const char *to;
	} words[] = {
		{ "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
		  "std::string" },
		{ "std::__1::basic_string<char, std::__1::char_traits<char>, "
		  "std::__1::allocator<char> >",
		  "std::string" },
		{ "std::basic_string_view<char, std::char_traits<char> >", "std::string_view" },
		{ "std::__cxx11::", "std::" },
		{ "std::__1::", "std::" },
		{ "(anonymous namespace)::", "" },
		{ " >", ">" },
		{ " [clone .", " [" },
	};

	while (*text) {
		size_t i;

		if (begins(text, ", std::allocator<")) {
			text = bracket_end(text + strlen(", std::allocator"), '<', '>');
			continue;
		}
		for (i = 0; i < array_size(words) && !begins(text, words[i].from); i++)
			;
		if (i < array_size(words)) {
			str_add(out, words[i].to);
			text += strlen(words[i].from);
		} else {
			str_add_char(out, *text++);
		}
	}
}

/* Elides the contents of brackets: f<int>(char) becomes f<...>(char), or f<...>(). */
static void add_collapsed(struct str *out, const char *text, char open, char close,
			  const char *instead)
{
	const bool is_operator = open == '<' && strstr(text, "operator<");

	while (*text) {
		if (*text != open || is_operator || begins(text, "(anonymous")) {
			str_add_char(out, *text++);
			continue;
		}
		str_add(out, instead);
		text = bracket_end(text, open, close);
	}
}

/* The end of a name is more informative than its beginning: a::b::c::run() becomes …::run(). */
static void add_tail(struct str *out, const char *name, size_t columns)
{
	const char *last = NULL;

	for (const char *at = strstr(name, "::"); at; at = strstr(at + 2, "::")) {
		last = at;
		if (str_width(at) + 1 <= columns)
			break;
	}
	if (!last || columns < TAIL_COLUMNS_MIN) {
		str_add_cut(out, name, columns);
		return;
	}
	str_add(out, "…");
	str_add_cut(out, last, columns - 1);
}

/* After the return type that precedes the name of a template function. */
static const char *skip_return_type(const char *name)
{
	const char *end = name + strcspn(name, "(");
	const char *begin = name;

	if (strstr(name, "operator"))
		return name;
	for (const char *at = name; at < end; at++) {
		if (*at == ' ')
			begin = at + 1;
	}
	return begin;
}

/* "(outer frames not known)" stands for a function. */
static bool is_remark(const char *name)
{
	return name[0] == '(' && *bracket_end(name, '(', ')') == '\0';
}

void str_add_function(struct str *out, const char *function, size_t columns)
{
	CLEAN(str_deinit) struct str simple = { 0 };
	CLEAN(str_deinit) struct str without_parameters = { 0 };
	CLEAN(str_deinit) struct str without_arguments = { 0 };
	const char *name;
	const char *unknown = begins(function, "0x") ? strstr(function, " [") : NULL;

	if (unknown) /* avoids repeating the address in "0x1234 [libfoo.so+0x1234]" */
		str_add_bytes(&simple, unknown + 2, strlen(unknown) - strlen(" []"));
	else
		add_simplified(&simple, function);
	if (str_width(str_text(&simple)) <= columns) {
		str_add(out, str_text(&simple));
		return;
	}
	if (is_remark(str_text(&simple))) {
		str_add_cut(out, str_text(&simple), columns);
		return;
	}
	add_collapsed(&without_parameters, str_text(&simple), '(', ')', "()");
	if (str_width(str_text(&without_parameters)) <= columns) {
		str_add(out, str_text(&without_parameters));
		return;
	}
	add_collapsed(&without_arguments, str_text(&without_parameters), '<', '>', "<…>");
	name = skip_return_type(str_text(&without_arguments));
	if (str_width(name) <= columns)
		str_add(out, name);
	else
		add_tail(out, name, columns);
}
