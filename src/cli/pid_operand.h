/* pid_operand: the number of a process, as the one operand of a command. */
#ifndef MEMTAPE_CLI_PID_OPERAND_H
#define MEMTAPE_CLI_PID_OPERAND_H

#include <sys/types.h>

#include "base/err.h"

/* ERR_USAGE: there are more or fewer operands, or it is not a number. */
struct err *pid_operand(int operand_count, char **operands, pid_t *pid_ret);

#endif
