/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/branch_flags.h"

static const char *const names[] = { "",       "COND",	  "UNCOND", "IND",	  "CALL",	"IND_CALL",
				     "RET",    "SYSCALL", "SYSRET", "COND_CALL",  "COND_RET",	"ERET",
				     "IRQ",    "SERROR",  "NO_TX",  "FAULT_ALGN", "FAULT_DATA", "FAULT_INST",
				     "ARCH_1", "ARCH_2",  "ARCH_3", "ARCH_4",	  "ARCH_5" };

#define ARCH_1 18 /* the first of those whose meaning depends on the architecture */
static const char *const arm64_names[] = { "ARM64_FIQ", "ARM64_DEBUG_HALT", "ARM64_DEBUG_EXIT", "ARM64_DEBUG_INST",
					   "ARM64_DEBUG_DATA" };

const char *branch_type_name(u32 type, bool arm64)
{
	if (arm64 && type >= ARCH_1 && type < ARCH_1 + ARRAY_LEN(arm64_names))
		return arm64_names[type - ARCH_1];
	return type < ARRAY_LEN(names) ? names[type] : "";
}

const char *branch_spec_name(u32 spec)
{
	static const char *const specs[] = { "", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH" };

	return spec < ARRAY_LEN(specs) ? specs[spec] : "";
}

const char *branch_priv_name(u32 priv)
{
	static const char *const privs[] = { "", "user", "kernel", "hv" };

	return priv < ARRAY_LEN(privs) ? privs[priv] : "";
}
