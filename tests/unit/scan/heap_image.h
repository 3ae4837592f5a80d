/*
 * heap_image: memory as glibc's malloc leaves it, for tests of the heap walk: libc's data with the
 * main arena, its heap, the heap of another arena, a page of thread-local memory, a mapping.
 */
#ifndef MEMTAPE_TESTS_UNIT_SCAN_HEAP_IMAGE_H
#define MEMTAPE_TESTS_UNIT_SCAN_HEAP_IMAGE_H

#include <stdlib.h>
#include <string.h>

#include "scan/heap_walk.h"

enum {
	DATA = 0x10000,
	DATA_BYTES = 0x3000,
	BINS = DATA + 0x400,
	PARAMETERS = DATA + 0x2000, /* of malloc_par: the bytes that are mapped */
	MAIN = 0x100000,
	MAIN_BYTES = 0x4000,
	TLS = 0x200000,
	TLS_BYTES = 0x1000,
	TLS_CACHE = TLS + 0x800, /* libc's variable */
	CONTROL = TLS + 0xf00,
	MAPPED = 0x300000,
	MAPPED_BYTES = 0x20000,
	WINDOW = 0x8000000, /* 128 MiB: a multiple of 64 */
	WINDOW_BYTES = 0x4000,
	PLACES = 5,
	STATE_HEAD = 16,     /* before fastbins */
	ARENA = WINDOW + 48, /* struct malloc_state of the other arena */
	ARENA_BINS = ARENA + STATE_HEAD + 96,
	ARENA_FIRST = 0x8d0 /* its first chunk */
};

struct heap_image {
	struct heap_place {
		uint64_t begin, bytes;
		uint8_t *content;
	} places[PLACES];
	struct maps maps;
	struct stop stop;
	struct heap_ranges data;
	struct heap_request request;
	struct heap heap;
};

static inline uint8_t *image_at(const struct heap_image *image, uint64_t address, size_t *room)
{
	for (size_t i = 0; i < PLACES; i++) {
		const struct heap_place *place = &image->places[i];

		if (address >= place->begin && address < place->begin + place->bytes) {
			*room = place->begin + place->bytes - address;
			return place->content + (address - place->begin);
		}
	}
	*room = 0;
	return NULL;
}

static inline size_t image_read(void *context, uint64_t address, void *buffer, size_t bytes)
{
	size_t done = 0, room;

	while (done < bytes) {
		const uint8_t *at = image_at(context, address + done, &room);

		if (!at)
			break;
		room = u64_min(room, bytes - done);
		memcpy((uint8_t *)buffer + done, at, room);
		done += room;
	}
	return done;
}

static inline void put(struct heap_image *image, uint64_t address, uint64_t word)
{
	size_t room;
	uint8_t *at = image_at(image, address, &room);

	if (at && room >= sizeof(word))
		memcpy(at, &word, sizeof(word));
}

/* All bins of an arena are empty, and it is alone. */
static inline void put_arena(struct heap_image *image, uint64_t bins, uint64_t top, uint64_t bytes)
{
	put(image, bins - 16, top);
	for (size_t i = 0; i < 127; i++) {
		put(image, bins + i * 16, bins + i * 16 - 16);
		put(image, bins + i * 16 + 8, bins + i * 16 - 16);
	}
	put(image, bins + 254 * 8 + 16, bins - 96 - STATE_HEAD);
	put(image, bins + 254 * 8 + 16 + 24, bytes);
}

/* A chunk, in use if the next one says so. */
static inline uint64_t put_chunk(struct heap_image *image, uint64_t chunk, uint64_t size,
				 unsigned bits)
{
	put(image, chunk + 8, size | bits);
	return chunk + size;
}

/* The heap up to MAIN + MAIN_BYTES is the top. */
static inline void put_top(struct heap_image *image, uint64_t top)
{
	put(image, BINS - 16, top);
	put_chunk(image, top, MAIN + MAIN_BYTES - top, 1);
}

static inline int image_setup(void **state)
{
	static const uint64_t places[PLACES][2] = { { DATA, DATA_BYTES },
						    { MAIN, MAIN_BYTES },
						    { TLS, TLS_BYTES },
						    { MAPPED, MAPPED_BYTES },
						    { WINDOW, WINDOW_BYTES } };
	struct heap_image *image = calloc(1, sizeof(*image));
	struct stop_thread *thread;

	for (size_t i = 0; i < PLACES; i++) {
		const struct maps_entry entry = {
			.begin = places[i][0],
			.end = places[i][0] + places[i][1],
			.is_readable = true,
			.is_writable = true,
			.is_file = i == 0,
		};

		image->places[i] =
			(struct heap_place) { places[i][0], places[i][1], calloc(1, places[i][1]) };
		maps_entries_push(&image->maps.entries, entry);
	}
	str_add_char(&image->maps.texts, '\0');
	heap_ranges_push(&image->data, (struct heap_range) { DATA, DATA + DATA_BYTES });
	thread = stop_threads_add(&image->stop.threads);
	*thread = (struct stop_thread) { .tid = 1, .is_stopped = true };
	thread->registers[ARCH_REGSET_THREAD] = CONTROL;
	image->request = (struct heap_request) {
		{ image_read, image }, &image->maps, &image->stop, &image->data
	};
	put_arena(image, BINS, MAIN, MAIN_BYTES);
	put_top(image, MAIN);
	*state = image;
	return 0;
}

static inline int image_teardown(void **state)
{
	struct heap_image *image = *state;

	for (size_t i = 0; i < PLACES; i++)
		free(image->places[i].content);
	heap_deinit(&image->heap);
	heap_ranges_deinit(&image->data);
	maps_deinit(&image->maps);
	stop_deinit(&image->stop);
	free(image);
	return 0;
}

#endif
