/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: a recording that was opened for reading, as one flat run of records in memory.
 *
 * File, pipe and compressed recordings all end up the same: `data` is `size` bytes of plain records. A file is mapped
 * and used in place, in pipe mode too. What cannot be used in place is spooled once into an unlinked temporary file
 * ($TMPDIR, else /var/tmp) and that is mapped, so memory holds no copy: standard input that is no file as it comes,
 * compressed records unpacked.
 *
 * The size is asked for once. Somebody who shortens the file while it is open makes a read behind its new end fatal
 * (SIGBUS), as with every mapped file; growing it is harmless.
 */
#ifndef READ_SOURCE_H
#define READ_SOURCE_H

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "codec/evlist.h"
#include "codec/features.h"
#include "codec/perfdata.h"

struct source {
	const char *path; /* as the user named it; "-" for standard input */
	const u8 *data;	  /* the records */
	u64 size;
	u64 data_offset; /* file offset of data[0], so that messages name the file's offsets (0 when unpacked) */
	u64 file_size;	 /* of the input, packed */
	u64 changed_ns;	 /* when the file was last written to (it, or a copy), in ns since 1970; 0: unknown */
	u64 map_bytes;	 /* bytes mapped: what "the mapped file apart" takes off the peak */
	bool swap;
	bool pipe;	 /* came in pipe mode */
	bool spooled;	 /* data was unpacked: offsets in messages are those of the unpacked records */
	bool unfinished; /* the recorder was killed */
	u64 left_out;	 /* bytes the recording had or promised that are not in data: cut off, or not to be unpacked. A
			    torn record at the end of data is not among them: source_next tells */
	u64 compressed_records, compressed_bytes, decompressed_bytes; /* those records are not in data */
	struct perfdata_header header;
	struct evlist events; /* sealed */
	u64 nr_ids;	      /* of all events */
	struct features features;
	struct arena arena;
	const struct notify *notify;
	struct source_map { /* the input, and what was unpacked from it */
		void *p;
		u64 size;
	} maps[2];
};

/*
 * Opens path ("-": standard input), reads header, events and features. In pipe mode that takes the whole input, and
 * HEADER_ATTR, EVENT_UPDATE, HEADER_FEATURE, TRACING_DATA and BUILD_ID records have been applied already; they stay in
 * data all the same. A feature that cannot be read is noted and left out; an unreadable header, or a file without any
 * event, is an error.
 */
int source_open(struct source **out, const char *path, const struct notify *notify);
/*
 * The same of a stream in pipe mode of which only the head is there yet: its header and the records up to the first
 * samples. data is that head; whoever has more sets data and size to other whole records. The head stays as long as
 * the source.
 */
int source_of_stream(struct source **out, const u8 *head, u64 size, const struct notify *notify);
void source_close(struct source *s);

/* Follows the header at *offset. True: *record is a whole record, *offset moved behind it and behind any payload that
 * follows it (AUXTRACE; *payload, may be NULL). False: the end, or bytes that are no record (then *bad is the offset,
 * else NO_OFFSET). */
struct source_record {
	const u8 *p; /* header included */
	struct record_header h;
	u64 offset;	   /* in data */
	const u8 *payload; /* or NULL */
	u64 payload_size;
};
/* The same, for records of any kind; source_next calls it where one is not of the usual kind. */
bool source_next_any(const struct source *s, u64 *offset, struct source_record *out, u64 *bad);

/*
 * Who goes through a recording waits for memory at each record: where the next one begins is known only once the size
 * of this one is there, so the processor does not look far ahead by itself. What lies some records further on is
 * therefore asked for here, all of its lines, as their bytes are what comes next. Asking for more than there is does
 * no harm.
 */
#define SOURCE_AHEAD 2048
#define CACHE_LINE 64

static inline void source_ask_ahead(const u8 *p, u16 size)
{
	uintptr_t at = ((uintptr_t)p + SOURCE_AHEAD) & ~(uintptr_t)(CACHE_LINE - 1);
	uintptr_t end = (uintptr_t)p + SOURCE_AHEAD + MIN((u32)size, SOURCE_AHEAD);

	for (; at < end; at += CACHE_LINE)
		__builtin_prefetch((const void *)at);
}

/* The same without asking for anything: for those who know where they go next, and ask for that. */
static inline bool source_next_asked(const struct source *s, u64 *offset, struct source_record *out, u64 *bad)
{
	u64 at = *offset, left = s->size - at;
	struct record_header h;
	const u8 *p;

	if (UNLIKELY(s->swap || left < sizeof(h)))
		return source_next_any(s, offset, out, bad);
	p = s->data + at;
	memcpy(&h, p, sizeof(h));
	if (UNLIKELY(h.size < sizeof(h) || h.size > left || record_has_payload(h.type)))
		return source_next_any(s, offset, out, bad);
	*offset = at + h.size;
	*out = (struct source_record){ p, h, at, NULL, 0 };
	return true;
}

static inline bool source_next(const struct source *s, u64 *offset, struct source_record *out, u64 *bad)
{
	bool more = source_next_asked(s, offset, out, bad);

	if (more)
		source_ask_ahead(out->p, out->h.size);
	return more;
}

/* Brings len bytes of data at offset into memory at once, which costs a third of as many page faults. A hint. */
void source_prefetch(const struct source *s, u64 offset, u64 len);

#endif
