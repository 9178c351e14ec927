/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/regs.h"

static const char *const x86_names[] = {
	"AX", "BX", "CX", "DX", "SI", "DI", "BP",  "SP",  "IP",	 "FLAGS", "CS",	 "SS",
	"DS", "ES", "FS", "GS", "R8", "R9", "R10", "R11", "R12", "R13",	  "R14", "R15"
};

const char *x86_reg_name(u32 n)
{
	return n < ARRAY_LEN(x86_names) ? x86_names[n] : NULL;
}
