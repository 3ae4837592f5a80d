/*
 * tables: an object's unwind tables as rows that a program in the kernel can search: from which
 * address on which one-word rule holds (unwind/rule.h).
 *
 * Private to the room.
 */
#ifndef MEMTAPE_BPF_TABLES_H
#define MEMTAPE_BPF_TABLES_H

#include "base/err.h"
#include "base/vec.h"
#include "bpf/kernel_shared.h"
#include "symbol/elf_file.h"

VEC_DEFINE(tables_rows, struct probes_row);

/*
 * Appends the file's rows, sorted by address. A file without tables has none. ERR_LIMIT: it is
 * larger than rows can say.
 */
struct err *tables_read(const struct elf_file *file, struct tables_rows *rows);

#endif
