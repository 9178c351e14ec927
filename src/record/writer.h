/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writer: a perf.data file that grows, in file mode or (standard output, FIFOs) pipe mode.
 *
 * The header is written first, and its data.size again after every round, so that a recorder that is killed leaves a
 * file that readers can use, with the features that were known at its start (see writer.c). If the disk is full or a
 * limit is reached, the file keeps what was written: the incomplete record is cut off, and the writer refuses more.
 */
#ifndef RECORD_WRITER_H
#define RECORD_WRITER_H

#include <sys/uio.h>

#include "codec/features.h"
#include "codec/perfdata.h"
#include "open/set.h"
#include "record/sink.h"

struct packer;

struct writer {
	char *path;
	int fd;
	const struct sink *sink; /* takes the stream instead of fd, in pipe mode; or NULL */
	bool pipe, moved;	 /* moved: an older recording is at path.old now */
	struct perfdata_header header;
	u64 at;		       /* position of the next byte: behind the last whole record, held ones included */
	struct bytes held;     /* small pieces that are written with the next large one, or when the round ends */
	u64 data_start;	       /* where data begins */
	u64 plain;	       /* bytes of data before compression */
	u64 packed;	       /* bytes of compressed records in the file */
	u64 unpacked;	       /* and their size before compression */
	struct packer *packer; /* or NULL */
	struct bytes table; /* the table of features that are before the data; it follows a round. Empty: there are no
			       such features */
	struct section formats;		/* TRACING_DATA among them */
	const struct bytes *round_body; /* of the records of rounds from now on; NULL: none */
	u64 round_at;			/* where the last round's record is, when a table follows it; else 0 */
	u64 round_size;			/* of that record, without the table */
	const struct event_set *set;	/* of writer_begin */
	size_t ids;			/* number of ids of its events in the header */
	u64 told_ms;			/* when they were last written */
	int err;			/* once set, nothing more is written */
	const struct notify *notify;
};

/*
 * path "-" is standard output. An existing recording at path is renamed to path.old; any other file that is not empty
 * is not overwritten. The mode is 0600, whatever the umask. ERR_USAGE, ERR_PERM, ERR_IO (noted).
 */
int writer_open(struct writer *w, const char *path, const struct notify *to);
/* The stream of pipe mode goes to a sink. */
void writer_open_sink(struct writer *w, const struct sink *sink, const struct notify *to);
/* zstd's level, and the most that one COMPRESSED record may hold. After writer_open. */
int writer_compress(struct writer *w, u32 level, u64 window);
/* Writes the header, events and their ids. early: features for readers of the file of a killed recorder; NULL: none,
 * as in pipe mode. */
int writer_begin(struct writer *w, const struct event_set *set, const struct features *early);
/* Appends whole records, which are in the file when a round has ended. As they are; */
int writer_put(struct writer *w, const struct iovec *part, int nr);
/* a record and its payload, of up to three parts; */
int writer_put_payload(struct writer *w, const struct bytes *record, const struct iovec *part, int nr);
/* or compressed, if so asked: for what came from rings. */
int writer_put_data(struct writer *w, const struct iovec *part, int nr);
int writer_put_bytes(struct writer *w, const struct bytes *b);
/* Ends a round, with a FINISHED_ROUND, which has round_body, if so told, or if that carries the features. Updates the
 * header. */
int writer_round(struct writer *w, bool mark);
/* Writes feature sections and the final header, with the ids of events that were opened meanwhile. In pipe mode
 * `features` is not used. Closes the file; returns w->err. */
int writer_end(struct writer *w, const struct features *f);
/* Closes and removes a file that was opened but not ended. */
void writer_abandon(struct writer *w);

static inline u64 writer_size(const struct writer *w)
{
	return w->at;
}

/* record/packer.c: zstd streams in COMPRESSED records. */
struct packer *packer_open(u32 level, u64 window);
void packer_close(struct packer *p);
/* Compresses into out as COMPRESSED records. ERR_LIMIT when zstd fails. */
int packer_pack(struct packer *p, const struct iovec *part, int nr, struct bytes *out);

#endif
