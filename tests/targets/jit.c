/*
 * jit: machine code made at run time, which says how to unwind it with __register_frame, calls
 * back into the program. The frames below the generated code must be found. So must they be below
 * code that says nothing but keeps a frame pointer, as most JIT compilers' does (size 3003).
 *
 * Run: forgotten
 *	size 3001: 1000 malloc in run_generated, freed in from_generated
 *	size 3002: 50 malloc in run_generated, freed in from_generated
 * Run: kept
 *	size 3001: 1000 malloc in run_generated, freed in from_generated
 * Run: framed
 *	size 3003: 200 malloc in run_framed, freed in from_framed
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jit_code.h"
#include "target.h"

void __register_frame(void *frame);
void __deregister_frame(void *frame);

typedef void generated_fn(void (*call)(size_t size), size_t size);

typedef void framed_fn(const void *call, const void *first, size_t second);

/* An .eh_frame: a CIE, an FDE, a terminator. All pointers absolute. */
struct eh_frame {
	uint32_t cie_length, cie_id;
	uint8_t cie[16];
	uint32_t fde_length, fde_cie_offset;
	uintptr_t begin, size;
	uint8_t fde[8];
	uint32_t end;
} __attribute__((packed));

static void *page_make(void)
{
	void *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(page != MAP_FAILED);
	memcpy(page, CODE, sizeof(CODE));
	__builtin___clear_cache(page, (char *)page + sizeof(CODE));
	return page;
}

static struct eh_frame *frame_make(void *code)
{
	struct eh_frame *frame = (void *)((char *)code + 4096);

	*frame = (struct eh_frame) {
		.cie_length = 20,
		.fde_length = 12 + 2 * sizeof(uintptr_t),
		.fde_cie_offset = 28,
		.begin = (uintptr_t)code,
		.size = sizeof(CODE),
	};
	memcpy(frame->cie, CIE, sizeof(CIE));
	memcpy(frame->fde, FDE, sizeof(FDE));
	__register_frame(frame);
	return frame;
}

FRAME static void from_generated(size_t size)
{
	free(need_block(malloc(size)));
	no_tail_call();
}

FRAME static void run_generated(void *code, size_t size)
{
	generated_fn *run = (generated_fn *)code;

	run(from_generated, size);
	no_tail_call();
}

FRAME static void from_framed(size_t size)
{
	free(need_block(malloc(size)));
	no_tail_call();
}

/* Two generated frames, one in memory that was executable from the start and one made so later. */
FRAME static void run_framed(const void *outer, const void *inner, size_t size)
{
	framed_fn *run = (framed_fn *)outer;
	volatile size_t pad[16] = { size };

	run(inner, (const void *)from_framed, pad[0]);
	no_tail_call();
}

static int run_framed_often(void)
{
	void *outer = page_make();
	void *inner = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(inner != MAP_FAILED);
	memcpy(outer, FRAMED, sizeof(FRAMED));
	memcpy(inner, FRAMED, sizeof(FRAMED));
	__builtin___clear_cache(outer, (char *)outer + sizeof(FRAMED));
	__builtin___clear_cache(inner, (char *)inner + sizeof(FRAMED));
	NEED(!mprotect(inner, 4096, PROT_READ | PROT_EXEC));
	for (int i = 0; i < 200; i++)
		run_framed(outer, inner, 3003);
	puts("jit 200");
	return 0;
}

int main(int argc, char **argv)
{
	void *code;
	struct eh_frame *frame;

	if (argc > 1 && !strcmp(argv[1], "framed"))
		return run_framed_often();
	code = page_make();
	frame = frame_make(code);
	for (int i = 0; i < 1000; i++)
		run_generated(code, 3001);
	if (argc > 1 && !strcmp(argv[1], "kept"))
		_exit(0); /* libgcc frees with its lock held: an unwinder may not be called there */
	__deregister_frame(frame);
	/* Generated, used and thrown away again, likely at the same address. */
	for (int i = 0; i < 50; i++) {
		void *again = page_make();
		struct eh_frame *other = frame_make(again);

		run_generated(again, 3002);
		__deregister_frame(other);
		NEED(!munmap(again, 8192));
	}
	puts("jit 1050");
	return 0;
}
