/* SPDX-License-Identifier: Apache-2.0 */
/* A journal of activities that any program may have written, read twice: in between it goes on by some entries. What
 * is handed out is within its limits, and ends. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "record/journal_ring.h"

#define NOW 1000000u

static u64 now(void)
{
	return NOW;
}

static void check(void *ctx, const struct journal_ring *r, const struct journal_entry *e, u64 time)
{
	u32 *n = ctx;

	MUST(++*n <= 2 * JOURNAL_MOST_SLOTS + 2);
	MUST(r->head.slots && r->head.pid);
	MUST(!e || (e->tid && e->time == time && e->time <= NOW && e->size <= JOURNAL_RECORD_MAX &&
		    (!e->size || e->size >= ACTIVITY_FIXED)));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct journal_ring r;
	struct journal_head head;
	u64 next = 0;
	u32 n = 0;

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	if (size >= JOURNAL_PUBLISHED_AT && journal_publication_decode(data, &head))
		MUST(head.pid && head.time);
	if (journal_ring_begin(&r, fd) && journal_ring_read(&r, now, check, &n)) {
		MUST(pread(fd, &next, sizeof(next), JOURNAL_NEXT_AT) == sizeof(next));
		next += data[size - 1];
		MUST(pwrite(fd, &next, sizeof(next), JOURNAL_NEXT_AT) == sizeof(next));
		(void)journal_ring_read(&r, now, check, &n);
		journal_ring_skip(&r);
		MUST(r.next <= next);
	}
	close(fd);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
