#include "arch/machine.h"

#include <elf.h>
#include <string.h>

static const struct {
	uint16_t elf_machine;
	const char *name;
	const char *counter;
} machines[] = {
	{ EM_X86_64, "x86_64", "tsc" },	  { EM_AARCH64, "aarch64", "cntvct" },
	{ EM_RISCV, "riscv64", "time" },  { EM_ARM, "arm", "counter" },
	{ EM_MIPS, "mips64", "counter" }, { EM_386, "i386", "tsc" },
};

enum { MACHINES = sizeof(machines) / sizeof(machines[0]) };

const char *arch_machine_name(uint16_t elf_machine)
{
	for (unsigned i = 0; i < MACHINES; i++)
		if (machines[i].elf_machine == elf_machine)
			return machines[i].name;
	return "unknown";
}

const char *arch_machine_counter(uint16_t elf_machine)
{
	for (unsigned i = 0; i < MACHINES; i++)
		if (machines[i].elf_machine == elf_machine)
			return machines[i].counter;
	return "counter";
}

uint16_t arch_machine_find(const char *name)
{
	for (unsigned i = 0; i < MACHINES; i++)
		if (strcmp(machines[i].name, name) == 0)
			return machines[i].elf_machine;
	return EM_NONE;
}
