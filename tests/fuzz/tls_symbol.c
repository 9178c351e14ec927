/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF file in which a variable of threads is looked for, or what Go's linker writes, as the recorder does with
 * files of any process. */
#include "record/tls_symbol.h"
#include "record/go_program.h"

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define ROOM (64ull << 20)

static const struct tls_name names[] = { { "seed_variable", 8 }, { "seed_words", 32 } };

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct go_program program;
	u64 room = ROOM;

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	for (u32 as_program = 0; as_program < 2; as_program++) {
		struct tls_symbol out;
		u64 left = ROOM;

		if (!tls_symbol_find(fd, names, ARRAY_LEN(names), as_program, &left, &out))
			MUST(out.kind == ACTIVITY_KIND_NONE);
		MUST(left <= ROOM);
	}
	go_program_find(fd, &room, &program);
	MUST(room <= ROOM && (program.is_go || !*program.why_not));
	close(fd);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
