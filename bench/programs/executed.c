/*
 * executed: a plugin of qemu-user that adds up the instructions of all blocks that are executed, and writes
 * the sum into a file at the end: `-plugin executed.so,out=FILE`.
 *
 * Debian has no qemu-plugin.h; what is used of it is declared here as version 1 of that interface has it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef uint64_t plugin_id;
struct block;

enum { ADD_U64 = 0 };

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

size_t qemu_plugin_tb_n_insns(const struct block *block);
void qemu_plugin_register_vcpu_tb_exec_inline(struct block *block, int op, void *sum,
					      uint64_t more);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*call)(plugin_id, struct block *));
void qemu_plugin_register_atexit_cb(plugin_id id, void (*call)(plugin_id, void *), void *data);

static uint64_t executed;
static char path[4096];

static void translated(plugin_id id, struct block *block)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(block, ADD_U64, &executed,
						 qemu_plugin_tb_n_insns(block));
}

static void at_exit(plugin_id id, void *data)
{
	FILE *file = fopen(path, "w");

	(void)id;
	(void)data;
	if (!file)
		return;
	fprintf(file, "%" PRIu64 "\n", executed);
	fclose(file);
}

__attribute__((visibility("default"))) int qemu_plugin_install(plugin_id id, const void *info,
							       int argc, char **argv)
{
	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4) != 0 || strlen(argv[0] + 4) >= sizeof(path))
		return 1;
	strcpy(path, argv[0] + 4);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	qemu_plugin_register_atexit_cb(id, at_exit, NULL);
	return 0;
}
