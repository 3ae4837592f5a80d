#include "symbol/spell.h"

#include <assert.h>
#include <ctype.h>

enum { DEPTH_MAX = 100, ARGUMENTS_MAX = 64, NAME_BYTES_MAX = 1 << 16 };

struct spell {
	const char *in;
	struct str out;
	bool hides_arguments;
	unsigned depth;
};

/* Checked at every character: most results are in the first. */
static inline bool begins(const char *text, const char *word)
{
	return text[0] == word[0] && strncmp(text, word, strlen(word)) == 0;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static char last_char(const struct spell *spell)
{
	return spell->out.len ? spell->out.ptr[spell->out.len - 1] : '\0';
}

static bool out_ends_with(const struct spell *spell, size_t begin, const char *text)
{
	return spell->out.len - begin == strlen(text) &&
	       memcmp(spell->out.ptr + begin, text, spell->out.len - begin) == 0;
}

static void out_cut(struct spell *spell, size_t len)
{
	spell->out.len = len;
	spell->out.ptr[len] = '\0';
}

/* Inline namespaces and ABI tags. */
static bool skip_noise(struct spell *spell)
{
	static const char *const noise[] = { "__cxx11::", "__1::", "[abi:cxx11]" };

	for (size_t i = 0; i < array_size(noise); i++) {
		if (begins(spell->in, noise[i]) && (i == 2 || last_char(spell) == ':')) {
			spell->in += strlen(noise[i]);
			return true;
		}
	}
	return false;
}

/* After "operator": <, >, -> and the like are not brackets there. */
static void copy_operator(struct spell *spell)
{
	static const char *const symbols[] = { "<<=", ">>=", "<=>", "->*", "<<", ">>",
					       "<=",  ">=",  "->",  "()",  "<",	 ">" };

	str_add(&spell->out, "operator");
	spell->in += strlen("operator");
	for (size_t i = 0; i < array_size(symbols); i++) {
		if (begins(spell->in, symbols[i])) {
			str_add(&spell->out, symbols[i]);
			spell->in += strlen(symbols[i]);
			return;
		}
	}
}

static bool at_operator(const struct spell *spell)
{
	const size_t len = strlen("operator");

	return begins(spell->in, "operator") && !is_word(spell->in[len]) &&
	       !is_word(last_char(spell));
}

/* Start of the name that ends at out[end]. */
static size_t name_begin(const struct spell *spell, size_t end)
{
	while (end > 0 && (is_word(spell->out.ptr[end - 1]) || spell->out.ptr[end - 1] == ':'))
		end--;
	return end;
}

static bool is_default_argument(const char *text)
{
	static const char *const words[] = { "std::allocator<",	  "std::char_traits<",
					     "std::less<",	  "std::default_delete<",
					     "std::hash<",	  "std::equal_to<",
					     "std::regex_traits<" };

	for (size_t i = 0; i < array_size(words); i++) {
		if (begins(text, words[i]))
			return true;
	}
	return false;
}

/* std::basic_string<char> -> std::string, and likewise its variants. */
static void use_alias(struct spell *spell, size_t name)
{
	const size_t prefix = name + strlen("std::basic_");
	size_t bracket;
	const char *open;

	if (!begins(spell->out.ptr + name, "std::basic_"))
		return;
	open = strchr(spell->out.ptr + name, '<');
	bracket = (size_t)(open - spell->out.ptr);
	if (!out_ends_with(spell, bracket, "<char>"))
		return;
	out_cut(spell, bracket);
	memmove(spell->out.ptr + name + strlen("std::"), spell->out.ptr + prefix,
		spell->out.len + 1 - prefix);
	spell->out.len -= strlen("basic_");
}

static bool copy_until(struct spell *spell, char closing, bool stops_at_comma);

static bool copy_arguments_in(struct spell *spell)
{
	const size_t open = spell->out.len;
	const size_t name = name_begin(spell, open);
	const bool is_std = begins(str_text(&spell->out) + name, "std::");
	const bool is_hidden = spell->hides_arguments && (name < open || last_char(spell) == '>');
	size_t begins_at[ARGUMENTS_MAX], count = 0;

	str_add_char(&spell->out, *spell->in++);
	for (;;) {
		if (count == ARGUMENTS_MAX)
			return false;
		begins_at[count++] = spell->out.len;
		if (!copy_until(spell, '>', true))
			return false;
		if (*spell->in != ',')
			break;
		spell->in++;
		while (*spell->in == ' ')
			spell->in++;
		str_add(&spell->out, ", ");
	}
	spell->in++; /* the '>' */
	if (spell->out.failed)
		return false;
	while (is_std && count > 1 && is_default_argument(spell->out.ptr + begins_at[count - 1]))
		out_cut(spell, begins_at[--count] - strlen(", "));
	while (last_char(spell) == ' ')
		out_cut(spell, spell->out.len - 1);
	str_add_char(&spell->out, '>');
	if (spell->out.failed)
		return false;
	if (is_std)
		use_alias(spell, name);
	if (is_hidden && last_char(spell) == '>' && spell->out.len > open) {
		out_cut(spell, open);
		str_add(&spell->out, "<...>");
	}
	return true;
}

static bool copy_arguments(struct spell *spell)
{
	bool is_sound;

	if (spell->depth >= DEPTH_MAX)
		return false;
	spell->depth++;
	is_sound = copy_arguments_in(spell);
	spell->depth--;
	return is_sound;
}

static bool copy_group(struct spell *spell, char closing)
{
	bool is_sound;

	if (spell->depth >= DEPTH_MAX)
		return false;
	spell->depth++;
	str_add_char(&spell->out, *spell->in++);
	is_sound = copy_until(spell, closing, false);
	spell->depth--;
	if (!is_sound)
		return false;
	str_add_char(&spell->out, *spell->in++);
	return true;
}

/* Copies up to the bracket that closes; '\0' is the end of the name. */
static bool copy_until(struct spell *spell, char closing, bool stops_at_comma)
{
	while (*spell->in && !spell->out.failed) {
		const char c = *spell->in;
		const bool is_arrow = c == '>' && last_char(spell) == '-';

		if ((c == closing && !is_arrow) || (stops_at_comma && c == ','))
			return true;
		if (skip_noise(spell))
			continue;
		if (at_operator(spell)) {
			copy_operator(spell);
		} else if (c == '<') {
			if (!copy_arguments(spell))
				return false;
		} else if (c == '(' || c == '{' || c == '[') {
			if (!copy_group(spell, c == '(' ? ')' : c == '{' ? '}' : ']'))
				return false;
		} else {
			str_add_char(&spell->out, c);
			spell->in++;
		}
	}
	return closing == '\0' && !spell->out.failed;
}

const char *spell_name(const char *name, enum symbol_spelling spelling, struct arena *arena)
{
	struct spell spell = { .in = name,
			       .hides_arguments = spelling == SYMBOL_SPELL_NO_ARGUMENTS };
	const char *copy = NULL;

	assert(spelling <= SYMBOL_SPELL_NO_ARGUMENTS);
	/* Plain names, i.e. most of them, and absurdly long ones. */
	if (spelling == SYMBOL_SPELL_FULL || !strpbrk(name, "<[:") ||
	    strnlen(name, NAME_BYTES_MAX) == NAME_BYTES_MAX)
		return name;
	if (copy_until(&spell, '\0', false) && strcmp(str_text(&spell.out), name) != 0)
		copy = arena_strdup(arena, str_text(&spell.out));
	str_deinit(&spell.out);
	return copy ? copy : name;
}
