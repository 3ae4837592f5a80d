/*
 * What ./dev demo records: an index of the words in a source tree - which files have which word,
 * how often - and the usual sins of such programs. Usage: words DIRECTORY
 */
#include <ctype.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct place {
	const char *file;
	unsigned count;
};

struct word {
	struct word *next;
	char *text;
	struct place *places;
	size_t place_count;
	unsigned count;
};

enum { BUCKETS = 1 << 14 };

static struct word *buckets[BUCKETS];
static size_t word_count, file_count;

/* A sin: one more copy of each word, for a moment. */
static char *word_normalise(const char *begin, size_t len)
{
	char *text = strndup(begin, len);

	for (char *at = text; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return text;
}

static unsigned word_hash(const char *text)
{
	unsigned hash = 5381;

	while (*text)
		hash = hash * 33 + (unsigned char)*text++;
	return hash % BUCKETS;
}

static struct word *word_find(const char *text)
{
	struct word **bucket = &buckets[word_hash(text)];
	struct word *word = *bucket;

	while (word && strcmp(word->text, text) != 0)
		word = word->next;
	if (word)
		return word;
	word = calloc(1, sizeof(*word));
	word->text = strdup(text);
	word->next = *bucket;
	*bucket = word;
	word_count++;
	return word;
}

/* Another: grows by one place a time. */
static void word_add(struct word *word, const char *file)
{
	word->count++;
	if (word->place_count == 0 || word->places[word->place_count - 1].file != file) {
		word->places =
			realloc(word->places, (word->place_count + 1) * sizeof(*word->places));
		word->places[word->place_count++] = (struct place) { file, 0 };
	}
	word->places[word->place_count - 1].count++;
}

static void line_read(const char *line, const char *file)
{
	while (*line) {
		size_t len = 0;
		char *text;

		while (isalnum((unsigned char)line[len]) || line[len] == '_')
			len++;
		if (len > 1) {
			text = word_normalise(line, len);
			word_add(word_find(text), file);
			free(text);
		}
		line += len ? len : 1;
	}
}

static int file_read(const char *path, const struct stat *status, int kind)
{
	FILE *file = kind == FTW_F ? fopen(path, "r") : NULL;
	char *name = strdup(path);
	char *line = NULL;
	size_t room = 0;

	(void)status;
	if (!file)
		return 0; /* the worst: what is no file takes its name along */
	while (getline(&line, &room, file) > 0)
		line_read(line, name);
	free(line);
	fclose(file);
	file_count++;
	return 0;
}

static int word_compare(const void *a, const void *b)
{
	const struct word *left = *(struct word *const *)a, *right = *(struct word *const *)b;

	return (left->count < right->count) - (left->count > right->count);
}

/* All of them in an array, for ten. */
static void words_print(void)
{
	struct word **words = malloc(word_count * sizeof(*words));
	size_t count = 0;

	for (size_t i = 0; i < BUCKETS; i++)
		for (struct word *word = buckets[i]; word; word = word->next)
			words[count++] = word;
	qsort(words, count, sizeof(*words), word_compare);
	printf("%zu words in %zu files; the most frequent:", word_count, file_count);
	for (size_t i = 0; i < count && i < 10; i++)
		printf(" %s", words[i]->text);
	printf("\n");
	free(words);
}

static void words_free(void)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		for (struct word *word = buckets[i], *next; word; word = next) {
			next = word->next;
			free(word->places);
			free(word); /* and its text? */
		}
	}
}

int main(int argc, char **argv)
{
	if (argc != 2 || ftw(argv[1], file_read, 16) != 0 || file_count == 0) {
		fprintf(stderr, "usage: words DIRECTORY\n");
		return 2;
	}
	words_print();
	words_free();
	return 0;
}
