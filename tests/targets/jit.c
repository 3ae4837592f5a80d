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

typedef void framed_fn(const void *call, const void *first, size_t second);

/*
 * push %rbp; mov %rsp, %rbp; sub $32, %rsp; mov %rdi, %rax; mov %rsi, %rdi; mov %rdx, %rsi;
 * call *%rax; leave; ret
 */
static const uint8_t FRAMED[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0x48, 0x89, 0xf8,
				  0x48, 0x89, 0xf7, 0x48, 0x89, 0xd6, 0xff, 0xd0, 0xc9, 0xc3 };

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
