#include "cli/pid_operand.h"

#include <stdlib.h>

struct err *pid_operand(int operand_count, char **operands, pid_t *pid_ret)
{
	char *end;
	long number;

	if (operand_count != 1)
		return err_new(ERR_USAGE, "expected the number of one process");
	number = strtol(operands[0], &end, 10);
	if (*end || end == operands[0] || number <= 0 || number > INT32_MAX)
		return err_new(ERR_USAGE, "%s is not the number of a process", operands[0]);
	*pid_ret = (pid_t)number;
	return NULL;
}
