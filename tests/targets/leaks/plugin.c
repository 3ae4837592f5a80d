/*
 * plugin: a library for modules.c, linked or loaded at run time, that holds blocks.
 */
#include "leak.h"

void plugin_hold_zeroed(void);
void plugin_hold_initialised(void);
void plugin_hold_static(void);
void plugin_hold_local(void);
void plugin_hold_for_destructor(void);
void plugin_lose(void);

void *plugin_public;

static int unused;
static void *volatile zeroed;
static void *volatile initialised = &unused;
static void *volatile for_destructor;
static __thread void *volatile local;

void plugin_hold_zeroed(void)
{
	zeroed = block(701);
}

void plugin_hold_initialised(void)
{
	initialised = block(702);
}

void plugin_hold_static(void)
{
	static MAYBE_UNUSED void *volatile mine;

	mine = block(703);
}

void plugin_hold_local(void)
{
	local = block(704);
}

void plugin_hold_for_destructor(void)
{
	for_destructor = block(705);
}

void plugin_lose(void)
{
	block(706);
}

__attribute__((destructor)) static void free_at_the_end(void)
{
	free((void *)for_destructor);
	for_destructor = NULL;
}
