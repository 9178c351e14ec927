/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file: opened like any recording, every record decoded and printed. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "read/source.h"

static void walk(const struct source *s)
{
	struct bytes text = { 0 };
	struct source_record at;
	u64 offset = 0, bad;

	while (source_next(s, &offset, &at, &bad)) {
		const struct record_kind *kind = record_kind(at.h.type);
		struct cursor c = cursor_over(at.p, at.h.size, s->swap);
		bool is_sample = at.h.type == PERF_RECORD_SAMPLE;
		u32 event = evlist_find(&s->events, at.p, at.h.size, is_sample, s->swap);
		struct sample sample;
		struct record r;

		MUST(at.p >= s->data && at.p + at.h.size <= s->data + s->size);
		if (is_sample && event != ID_NONE && !s->events.events.v[event].unsupported)
			sample_decode(&s->events.events.v[event].layout, c, &sample);
		else if (!record_decode(c, at.offset, evlist_trailer(&s->events, at.p, at.h.size, s->swap), &r) &&
			 kind && kind->print)
			kind->print(&r, &text);
		text.len = 0;
	}
	features_print_all(&s->features, &text);
	bytes_free(&text);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct source *s;
	char path[64];

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!source_open(&s, path, NULL)) {
		walk(s);
		source_close(s);
	}
	close(fd);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	fuzz_whole_recording(r, sink);
}
