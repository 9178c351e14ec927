/* SPDX-License-Identifier: Apache-2.0 */
/* A jitdump as a profiled process left it, read from its file: each piece of code that it gives has a DSO with a
 * symbol. */
#include "state/jit.h"
#include "scratch.h"

static void take_code(void *ctx, u64 start, u64 len, u64 time, u64 begun, u32 dso)
{
	struct dsos *d = ctx;

	(void)len;
	(void)time;
	(void)begun;
	MUST(dso < dsos_count(d));
	(void)dsos_symbol_at(d, dso, start);
}

#define PID (1u << 30) /* no process has it */

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct dsos *d = dsos_new(&(struct symbol_opts){ .demangle = true }, NULL);
	char path[128];

	scratch_write("jit-7.dump", data, size);
	snprintf(path, sizeof(path), "%s/jit-7.dump", scratch());
	(void)jit_load(d, path, PID, take_code, d);
	dsos_free(d);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
