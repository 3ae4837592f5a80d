/*
 * What compilers make beside the user's functions: those that initialise the variables of a file, and
 * those that call a lambda for a pointer to it. A frame of them that only calls the user's is glue;
 * where the compiler merged both into it, it is all that there is of the user's.
 */
#include <assert.h>

#include "model/names_parts.h"
#include "symbol/demangle.h"
#include "symbol/spell.h"

static const char INITIALISERS[] = "static initialisers";

/* Behind the word; NULL: the name does not begin with it. */
static const char *behind(const char *name, const char *word)
{
	const size_t len = strlen(word);

	return strncmp(name, word, len) == 0 ? name + len : NULL;
}

/*
 * The file or the variable that follows "_GLOBAL__sub_I_", as GCC and clang name them; "" for
 * functions with no more than a number; NULL: no such function.
 */
static const char *initialised_find(const char *name)
{
	const char *rest;

	if ((rest = behind(name, "_GLOBAL__sub_I_")) || (rest = behind(name, "_GLOBAL__I_")))
		return rest;
	return behind(name, "__static_initialization_and_destruction_") ||
			       behind(name, "__cxx_global_var_init")
		       ? ""
		       : NULL;
}

const char *names_function(struct names *names, const struct symbol_frame *frame)
{
	const char *initialised = frame->is_known ? initialised_find(frame->function) : NULL;
	const char *name;
	char *variable;

	if (!initialised)
		return frame->function;
	if (!frame->file && !initialised[0])
		return INITIALISERS;
	if (frame->file) {
		name = arena_printf(&names->arena, "%s of %s", INITIALISERS,
				    names_short_path(frame->file));
		return name ? name : frame->function;
	}
	variable = demangle(initialised); /* GCC's: one of the file's */
	name = variable ? arena_printf(&names->arena, "%s with %s", INITIALISERS, variable)
			: arena_printf(&names->arena, "%s of %s", INITIALISERS, initialised);
	free(variable);
	return name ? name : frame->function;
}

/* --- glue ----------------------------------------------------------------------------------- */

static bool is_same_lambda(struct names *names, const char *pointer, const char *lambda)
{
	return spell_is_of_pointer(pointer) &&
	       strcmp(spell_function(pointer, false, &names->arena),
		      spell_function(lambda, false, &names->arena)) == 0;
}

static bool is_glue(struct names *names, const struct name_frame *outer,
		    const struct name_frame *inner)
{
	const struct name *caller = names_get(names, outer->name);
	const struct name *callee = names_get(names, inner->name);

	if (caller->role != NAME_MINE || callee->role != NAME_MINE)
		return false;
	if (behind(caller->full, INITIALISERS))
		return behind(callee->full, INITIALISERS) && inner->file;
	return is_same_lambda(names, caller->full, callee->full);
}

void names_glue_find(struct names *names, struct name_frame *frames, size_t count)
{
	for (size_t i = 1; i < count; i++)
		frames[i].is_glue = is_glue(names, &frames[i], &frames[i - 1]);
}

void names_glue_find_caller(struct names *names, uint32_t stack)
{
	const uint32_t parent = model_stacks(names->model)[stack].parent;
	const struct name_frames *inner, *outer;
	struct name_frames *frames;
	struct name_frame *copy;
	struct place *place;

	if (parent < CAPTURE_STACK_FIRST)
		return;
	place = &names->places.items[names->places_of.items[parent]];
	inner = names->places.items[names->places_of.items[stack]].frames;
	outer = place->frames;
	if (!outer || outer->frames[0].is_glue ||
	    !is_glue(names, &outer->frames[0], &inner->frames[inner->count - 1]))
		return;
	frames = arena_new(&names->arena, struct name_frames);
	copy = arena_array(&names->arena, outer->count, sizeof(*copy));
	if (!frames || !copy) /* it is shown, then */
		return;
	memcpy(copy, outer->frames, outer->count * sizeof(*copy));
	copy[0].is_glue = true;
	*frames = (struct name_frames) { copy, outer->count };
	place->frames = frames;
}
