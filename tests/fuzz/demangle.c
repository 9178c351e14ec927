/* SPDX-License-Identifier: Apache-2.0 */
/* A linker's name. What it stands for is no longer than a person would read, and it is found in little time. */
#include "state/demangle.h"
#include "fuzz.h"

#define READABLE (256u << 10) /* and "@plt" */

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	char *name = mem_strndup((const char *)data, size), *text = demangle(name);

	MUST(!text || strlen(text) <= READABLE + 4);
	free(text);
	free(name);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
