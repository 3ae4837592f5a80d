/*
 * Functions whose frames have every shape compilers give them. shapes.c is compiled once for each
 * set of options; SHAPES_NAME names the table.
 */
#ifndef MEMTAPE_TESTS_UNIT_UNWIND_SHAPES_H
#define MEMTAPE_TESTS_UNIT_UNWIND_SHAPES_H

/* Calls callback() from the innermost frame; returns something the compiler cannot foresee. */
typedef long shape_run(void (*callback)(void), int size);

struct shape {
	const char *name;
	shape_run *run;
};

enum { SHAPES_MAX = 24 };

#define SHAPES_TABLES(X)                                                                           \
	X(shapes_unoptimized) X(shapes_optimized) X(shapes_frame_pointers) X(shapes_vectorized)

#define SHAPES_DECLARE(name) extern const struct shape name[SHAPES_MAX];
SHAPES_TABLES(SHAPES_DECLARE)

#endif
