/*
 * jit: machine code made at run time, which says how to unwind it with __register_frame, calls
 * back into the program. The frames below the generated code must be found.
 *
 * Run: forgotten
 *	size 3001: 1000 malloc in run_generated, freed in from_generated
 *	size 3002: 50 malloc in run_generated, freed in from_generated
 * Run: kept
 *	size 3001: 1000 malloc in run_generated, freed in from_generated
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "target.h"

void __register_frame(void *frame);
void __deregister_frame(void *frame);

typedef void generated_fn(void (*call)(size_t size), size_t size);

/*
 * sub $24, %rsp; mov %rdi, %rax; mov %rsi, %rdi; call *%rax; add $24, %rsp; ret
 * (32 bytes of frame: only the registered tables can tell.)
 */
static const uint8_t CODE[] = { 0x48, 0x83, 0xec, 0x18, 0x48, 0x89, 0xf8, 0x48, 0x89,
				0xf7, 0xff, 0xd0, 0x48, 0x83, 0xc4, 0x18, 0xc3 };

/* An .eh_frame: a CIE, an FDE, a terminator. All pointers absolute. */
struct eh_frame {
	uint32_t cie_length, cie_id;
	uint8_t cie[16];
	uint32_t fde_length, fde_cie_offset;
	uint64_t begin, size;
	uint8_t fde[8];
	uint32_t end;
} __attribute__((packed));

static void *page_make(void)
{
	void *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(page != MAP_FAILED);
	memcpy(page, CODE, sizeof(CODE));
	return page;
}

static struct eh_frame *frame_make(void *code)
{
	/* version 1, no augmentation, code 1, data -8, ra 16; cfa = rsp + 8; ra at cfa - 8 */
	static const uint8_t CIE[16] = { 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1 };
	/* after 4 bytes: cfa = rsp + 32; after 12 more: cfa = rsp + 8 again */
	static const uint8_t FDE[8] = { 0x44, 0x0e, 32, 0x4c, 0x0e, 8 };
	struct eh_frame *frame = (void *)((char *)code + 4096);

	*frame = (struct eh_frame) {
		.cie_length = 20,
		.fde_length = 28,
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

int main(int argc, char **argv)
{
	void *code = page_make();
	struct eh_frame *frame = frame_make(code);

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
