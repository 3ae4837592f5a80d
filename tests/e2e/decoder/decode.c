/*
 * decode: everything that is played of a tape, as text; built of the reader's own sources for a processor that memtape
 * itself is not built for (test_byte_order.py). It has no zstd: what that has compressed
 * is malformed to it.
 *
 *	decode TAPE
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "capture/capture.h"
#include "capture/zst.h"
#include "core/hash.h"

size_t zst_bound(size_t bytes)
{
	return bytes;
}

struct zst_packer *zst_packer_create(int level)
{
	(void)level;
	return malloc(1);
}

void zst_packer_destroy(struct zst_packer *packer)
{
	free(packer);
}

struct zst_unpacker *zst_unpacker_create(void)
{
	return malloc(1);
}

void zst_unpacker_destroy(struct zst_unpacker *unpacker)
{
	free(unpacker);
}

size_t zst_pack(struct zst_packer *packer, void *out, size_t room, const void *from, size_t bytes)
{
	(void)packer, (void)out, (void)room, (void)from, (void)bytes;
	return SIZE_MAX;
}

size_t zst_unpack(struct zst_unpacker *unpacker, void *out, size_t room, const void *from,
		  size_t bytes)
{
	(void)unpacker, (void)out, (void)room, (void)from, (void)bytes;
	return SIZE_MAX;
}

FILE *zst_open(FILE *out)
{
	(void)out;
	return NULL;
}

static struct err *print(void *context, const struct capture_event *events, size_t count)
{
	(void)context;
	for (size_t i = 0; i < count; i++) {
		const struct capture_event *event = &events[i];

		if (event->fn == TAPE_FN_EXTENDED) {
			const struct tape_extended_record record = capture_event_extended(event);

			printf("%" PRIu64 " %u record %u, %zu bytes %016" PRIx64 "\n", event->ticks,
			       event->stream, (unsigned)record.type, (size_t)record.payload_bytes,
			       hash_bytes(record.payload, record.payload_bytes, 0));
			continue;
		}
		printf("%" PRIu64 " %u fn %u: %" PRIx64 " %" PRIu64 " %" PRIu64 " stack %u\n",
		       event->ticks, event->stream, event->fn, event->address, event->size,
		       event->usable, event->stack);
	}
	return NULL;
}

static struct err *decode(const char *path)
{
	CLEAN(capture_destroy) struct capture *capture = NULL;
	struct capture_stacks stacks;
	struct capture_played played;
	const struct tape_header *header;
	struct err *err = capture_open(path, &capture);

	if (err)
		return err;
	header = capture_header(capture);
	printf("version %u, machine %u, clock %u << %u from %" PRIu64 ", process %u, flags %x\n",
	       header->version, header->elf_machine, header->clock, header->tick_shift,
	       header->start_ticks, header->pid, header->flags);
	printf("%zu chunks, %zu damages\n", capture_chunk_count(capture),
	       capture_damage_count(capture));
	if (!capture_stacks_init(&stacks))
		return err_nomem();
	err = capture_play(capture, &stacks, &(struct capture_player) { print, NULL, 1 }, &played);
	if (!err)
		printf("%" PRIu64 " events, %" PRIu64 " records, %" PRIu64 " damages, %" PRIu64
		       " unknown nodes\n",
		       played.event_count, played.extended_count, played.damage_count,
		       played.unknown_node_count);
	for (size_t i = 0; i < stacks.nodes.count && !err; i++)
		printf("node %zu: %" PRIx64 " from %u\n", i, (uint64_t)stacks.nodes.items[i].pc,
		       stacks.nodes.items[i].parent);
	for (size_t i = 0; i < stacks.modules.count && !err; i++)
		printf("module %s: %" PRIx64 " to %" PRIx64 "\n", stacks.modules.items[i].path,
		       stacks.modules.items[i].begin, stacks.modules.items[i].end);
	capture_stacks_deinit(&stacks);
	return err;
}

int main(int argc, char **argv)
{
	struct err *err = argc == 2 ? decode(argv[1]) : NULL;

	if (!err)
		return argc == 2 ? 0 : 2;
	fprintf(stderr, "decode: %s\n", err_message(err));
	err_destroy(err);
	return 1;
}
