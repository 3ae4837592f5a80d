/*
 * A module of redis that counts visits and never forgets one: the leak of
 * docs/recipes/find-a-leak.md. The functions of redis that it needs are asked for by name, as its
 * header does; it is built without that header.
 *
 * Must be found:
 *	one malloc of 512 bytes in remember_visit for every VISIT, leaked
 */
#include <stdlib.h>
#include <string.h>

typedef int command_fn(void *ctx, void **argv, int argc);

static void (*set_attribs)(void *ctx, const char *name, int version, int api);
static int (*create_command)(void *ctx, const char *name, command_fn *run, const char *flags,
			     int first, int last, int step);
static int (*reply_number)(void *ctx, long long number);

static struct visit {
	struct visit *next;
	char who[504];
} * visits;
static long long visit_count;

__attribute__((noinline)) static void remember_visit(void)
{
	struct visit *visit = malloc(sizeof(*visit));

	memset(visit->who, 'v', sizeof(visit->who));
	visit->next = visits;
	visits = visit;
	visit_count++;
}

static int visit_command(void *ctx, void **argv, int argc)
{
	(void)argv;
	(void)argc;
	remember_visit();
	return reply_number(ctx, visit_count);
}

int RedisModule_OnLoad(void *ctx, void **argv, int argc);

int RedisModule_OnLoad(void *ctx, void **argv, int argc)
{
	int (*get)(const char *name, void *function) = ((int (**)(const char *, void *))ctx)[0];

	(void)argv;
	(void)argc;
	if (get("RedisModule_SetModuleAttribs", &set_attribs) ||
	    get("RedisModule_CreateCommand", &create_command) ||
	    get("RedisModule_ReplyWithLongLong", &reply_number))
		return 1;
	set_attribs(ctx, "visits", 1, 1);
	return create_command(ctx, "visit", visit_command, "write", 0, 0, 0);
}
