/* README, find-a-leak.md: a cache that forgets its keys, and one that does not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	char *key;
	char *value;
};

static struct entry *entry_create(int number)
{
	struct entry *entry = malloc(sizeof(*entry));
	char text[32];

	snprintf(text, sizeof(text), "key %d", number);
	entry->key = strdup(text);
	entry->value = malloc(400);
	memset(entry->value, 'x', 400);
	return entry;
}

/* The leak: the key is forgotten. */
static void entry_destroy(struct entry *entry)
{
	free(entry->value);
	free(entry);
}

int main(void)
{
	struct entry *last = NULL;

	for (int i = 0; i < 5000; i++) {
		if (last)
			entry_destroy(last);
		last = entry_create(i);
	}
	entry_destroy(last);
	return 0;
}
