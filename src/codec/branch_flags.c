/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/branch_flags.h"

static const char *const names[] = { "",       "COND",	  "UNCOND", "IND",	  "CALL",	"IND_CALL",
				     "RET",    "SYSCALL", "SYSRET", "COND_CALL",  "COND_RET",	"ERET",
				     "IRQ",    "SERROR",  "NO_TX",  "FAULT_ALGN", "FAULT_DATA", "FAULT_INST",
				     "ARCH_1", "ARCH_2",  "ARCH_3", "ARCH_4",	  "ARCH_5" };

const char *branch_type_name(u32 type)
{
	return type < ARRAY_LEN(names) ? names[type] : "";
}
