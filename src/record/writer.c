/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a recorder that was killed.
 *
 * Problem: readers find feature sections by a table directly after the data, and the data grow. Most recordings can be
 * read without any feature, but tracepoints cannot, because perf needs their formats, nor can compressed data.
 *
 * Design: the sections that are known at the start are before the data. Their table is written again after each
 * FINISHED_ROUND, and then the header's data.size is set so that the data end between the two. When the next round is
 * complete, the older FINISHED_ROUND record is enlarged over its table, so that the table becomes its body, which
 * nobody reads; then data.size is increased. Each step is one write of a few bytes, so the file is complete at any
 * time:
 *
 *   header  attrs  sections  | records  ROUND [table] | records  ROUND | table   records that are not told of yet
 *                              data.offset                             data.offset + data.size
 *
 * Counters that are opened during the recording (windows/run.c) have ids that are not in the attrs. Then all attrs and
 * ids are written again, into the body of a round's record, and the header's attrs section points there.
 *
 * Small pieces are held until there are many of them: each write costs as much as copying thousands of bytes, and the
 * page cache keeps what comes in small pieces in small pieces, which readers map one by one. A round's end writes what
 * is held, so that a killed recorder loses no more than it does otherwise: the file's header does not tell of what
 * came after the last round. In pipe mode, what came since the last round is lost with a recorder that is killed.
 *
 * Edge cases. If the recorder is killed between the two writes, the last record reaches beyond the end of the data;
 * readers may use or ignore it. The features at the end of a finished file replace the early ones, except for the
 * formats, which are large. If they cannot be written (a full disk), a last round replaces the last few records.
 */
#include "record/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "codec/attr.h"
#include "codec/record.h"

#define ATTRS_AT 24	/* in the header: behind magic, size and attr_size */
#define TELL_MS 1000	/* between two times that late ids are told */
#define DATA_SIZE_AT 48 /* in the header: behind magic, size, attr_size, attrs and data.offset */
#define MODE 0600
#define PARTS_MAX 5	  /* what is held, a record, a payload in two parts, and what fills it up */
#define SMALL (16u << 10) /* less than that is held: copying it costs less than a system call */
#define HOLD_MOST (256u << 10)

/* Is the file at path (not a link) a recording? Only its first bytes are looked at. */
static bool is_recording(const char *path)
{
	char magic[8] = { 0 };
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	bool yes = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
		   (!memcmp(magic, "PERFILE2", 8) || !memcmp(magic, "2ELIFREP", 8) || !memcmp(magic, "PERFFILE", 8));

	if (fd >= 0)
		close(fd);
	return yes;
}

static int move_away(struct writer *w, const struct stat *st)
{
	char *old = mem_printf("%s.old", w->path);
	int err = 0;

	if (!st->st_size) {
		if (unlink(w->path))
			err = notify_error(w->notify, ERR_IO, "cannot replace %s: %s", w->path, strerror(errno));
	} else if (!is_recording(w->path)) {
		err = notify_error(w->notify, ERR_USAGE, "%s exists and is not a recording: name another file with -o",
				   w->path);
	} else if (rename(w->path, old)) {
		err = notify_error(w->notify, ERR_IO, "cannot rename %s to %s: %s", w->path, old, strerror(errno));
	} else {
		w->moved = true;
	}
	free(old);
	return err;
}

/* A link that somebody else made could lead our writing anywhere; one's own leads where one wants. */
static int follow_own_link(struct writer *w, const struct stat *st)
{
	char *real;

	if (st->st_uid != geteuid() && st->st_uid)
		return notify_error(w->notify, ERR_PERM,
				    "%s is a symbolic link that belongs to another user: name another file with -o",
				    w->path);
	real = realpath(w->path, NULL);
	if (!real)
		return notify_error(w->notify, ERR_IO, "cannot follow %s: %s", w->path, strerror(errno));
	free(w->path);
	w->path = real;
	return 0;
}

/* The recorder has these blocked and asks for them in its loop. */
static bool stop_is_pending(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigpending(&set);
	return sigismember(&set, SIGINT) || sigismember(&set, SIGTERM) || sigismember(&set, SIGHUP);
}

/* A FIFO or a device. Waits for a FIFO's reader, but not in open, where no signal would end the waiting. */
static int open_special(const char *path, bool fifo)
{
	const int flags = O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
	struct timespec pause = { .tv_nsec = 20000000 };
	int fd;

	if (!fifo)
		return open(path, flags);
	while ((fd = open(path, flags | O_NONBLOCK)) < 0 && errno == ENXIO) {
		if (stop_is_pending()) {
			errno = EINTR;
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

static int open_path(struct writer *w)
{
	struct stat st;
	bool there = !lstat(w->path, &st);
	int err = 0;

	if (there && S_ISLNK(st.st_mode)) {
		err = follow_own_link(w, &st);
		there = !err && !lstat(w->path, &st);
	}
	if (err)
		return err;
	if (there && S_ISDIR(st.st_mode))
		return notify_error(w->notify, ERR_USAGE, "%s is a directory: name a file with -o", w->path);
	if (there && !S_ISREG(st.st_mode)) {
		w->pipe = true;
		w->fd = open_special(w->path, S_ISFIFO(st.st_mode));
	} else {
		err = there ? move_away(w, &st) : 0;
		if (err)
			return err;
		w->fd = open(w->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
		if (w->fd >= 0 && fchmod(w->fd, MODE))
			notify_warn(w->notify, "cannot set the mode of %s: %s", w->path, strerror(errno));
	}
	return w->fd >= 0 ? 0 : notify_error(w->notify, ERR_IO, "cannot create %s: %s", w->path, strerror(errno));
}

int writer_open(struct writer *w, const char *path, const struct notify *to)
{
	*w = (struct writer){ .path = mem_strdup(path), .fd = -1, .notify = to };
	if (strcmp(path, "-"))
		return open_path(w);
	w->pipe = true;
	if (isatty(STDOUT_FILENO))
		return notify_error(to, ERR_USAGE,
				    "standard output is a terminal, and a recording could harm it: pipe it to "
				    "a program, or name a file with -o");
	w->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return w->fd >= 0 ? 0 : notify_error(to, ERR_IO, "cannot write to standard output: %s", strerror(errno));
}

void writer_open_sink(struct writer *w, const struct sink *sink, const struct notify *to)
{
	*w = (struct writer){ .fd = -1, .sink = sink, .pipe = true, .notify = to };
}

/* Of the record at p, of which `left` bytes can be read, with its payload; 0: it is none. */
static u64 record_size(const u8 *p, size_t left)
{
	struct perf_event_header h;
	u64 payload = 0;

	memcpy(&h, p, sizeof(h));
	if (h.size < sizeof(h))
		return 0;
	if (h.type == PERF_RECORD_AUXTRACE && left >= sizeof(h) + sizeof(payload))
		memcpy(&payload, p + sizeof(h), sizeof(payload));
	return h.size + payload;
}

/* How many of the first n bytes are whole records. */
static size_t whole_records(const struct iovec *part, int nr, size_t n)
{
	size_t at = 0, base = 0;

	for (int i = 0; i < nr; base += part[i++].iov_len) {
		while (at >= base && at - base + sizeof(struct perf_event_header) <= part[i].iov_len) {
			u64 size =
				record_size((const u8 *)part[i].iov_base + (at - base), part[i].iov_len - (at - base));

			if (!size || size > n - at)
				return at;
			at += size;
		}
	}
	return at;
}

static int refuse(struct writer *w, int failed, u64 kept)
{
	const char *what = failed == ENOSPC ? "the disk is full" :
			   failed == EDQUOT ? "the disk quota is used up" :
			   failed == EFBIG  ? "the file size limit is reached (ulimit -f)" :
			   failed == EPIPE  ? "the reader has ended" :
					      strerror(failed);

	w->at += kept;
	if (!w->pipe && ftruncate(w->fd, (off_t)w->at))
		what = strerror(errno);
	w->err = notify_error(w->notify, ERR_IO, "cannot write %s: %s%s", w->path, what,
			      w->pipe ? "" : "; what was recorded up to here is kept");
	return w->err;
}

/* All of it, or the errno. *done tells how far it came. */
static int write_all(int fd, struct iovec *part, int nr, u64 *done)
{
	while (nr) {
		ssize_t n = writev(fd, part, nr);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		*done += (u64)n;
		while (nr && (size_t)n >= part->iov_len) {
			n -= (ssize_t)part->iov_len;
			part++;
			nr--;
		}
		if (nr) {
			part->iov_base = (u8 *)part->iov_base + n;
			part->iov_len -= (size_t)n;
		}
	}
	return 0;
}

/* What is held, and the parts. If not all can be written, the records that are whole are kept. */
static int put_out(struct writer *w, const struct iovec *part, int nr)
{
	struct iovec all[PARTS_MAX], left[PARTS_MAX];
	u64 done = 0, size = 0;
	int failed, n = 0;

	if (w->held.len)
		all[n++] = (struct iovec){ w->held.p, w->held.len };
	for (int i = 0; i < nr; i++) {
		all[n++] = part[i];
		size += part[i].iov_len;
	}
	memcpy(left, all, (size_t)n * sizeof(*all));
	failed = write_all(w->fd, left, n, &done);
	if (failed) {
		w->at -= w->held.len;
		w->plain -= w->held.len;
		w->held.len = 0;
		return refuse(w, failed, whole_records(all, n, done));
	}
	w->held.len = 0;
	w->at += size;
	w->plain += size;
	return 0;
}

static int put_held(struct writer *w)
{
	return w->err || !w->held.len ? w->err : put_out(w, NULL, 0);
}

static void take(struct writer *w, const struct iovec *part, int nr, u64 size)
{
	for (int i = 0; i < nr && !w->sink; i++)
		bytes_put(&w->held, part[i].iov_base, part[i].iov_len);
	if (w->sink)
		w->sink->put(w->sink->ctx, part, nr);
	w->at += size;
	w->plain += size;
}

int writer_put(struct writer *w, const struct iovec *part, int nr)
{
	u64 size = 0;

	if (w->err)
		return w->err;
	for (int i = 0; i < nr; i++)
		size += part[i].iov_len;
	if (!w->sink && (size >= SMALL || w->held.len + size > HOLD_MOST))
		return put_out(w, part, nr);
	take(w, part, nr, size);
	return 0;
}

int writer_put_payload(struct writer *w, const struct bytes *record, const struct iovec *part, int nr)
{
	struct iovec all[PARTS_MAX] = { { record->p, record->len } };

	memcpy(all + 1, part, (size_t)nr * sizeof(*part));
	return writer_put(w, all, nr + 1);
}

int writer_put_bytes(struct writer *w, const struct bytes *b)
{
	struct iovec part = { b->p, b->len };

	return b->len ? writer_put(w, &part, 1) : w->err;
}

int writer_put_data(struct writer *w, const struct iovec *part, int nr)
{
	struct bytes out = { 0 };
	u64 n = 0;
	int err;

	if (!w->packer)
		return writer_put(w, part, nr);
	for (int i = 0; i < nr; i++)
		n += part[i].iov_len;
	err = packer_pack(w->packer, part, nr, &out);
	if (err) {
		(void)put_held(w); /* what came before stays good */
		err = notify_error(w->notify, err, "zstd cannot compress the data");
		w->err = w->err ? w->err : err;
	} else {
		err = writer_put_bytes(w, &out);
	}
	if (!err) {
		w->packed += out.len;
		w->unpacked += n;
		w->plain += n - out.len;
	}
	bytes_free(&out);
	return err;
}

/* Ids of all events, then the attrs, each with the place of its ids. */
static void encode_events(struct writer *w, const struct event_set *set, u64 at, struct bytes *out)
{
	u64 ids_at = at;
	u32 size = ATTR_SIZE_MIN;

	for (size_t e = 0; e < set->events.n; e++) {
		struct attr a = event_recorded_attr(&set->events.v[e]);

		size = MAX(size, attr_least_size(&a));
		for (size_t i = 0; i < set->events.v[e].on.n; i++)
			bytes_u64(out, set->events.v[e].on.v[i].id);
	}
	w->ids = out->len / sizeof(u64);
	w->header.attr_size = size + sizeof(struct section);
	w->header.attrs = (struct section){ at + out->len, set->events.n * w->header.attr_size };
	for (size_t e = 0; e < set->events.n; e++) {
		u64 ids = set->events.v[e].on.n * sizeof(u64);
		struct attr a = event_recorded_attr(&set->events.v[e]);

		attr_encode(&a, size, out);
		bytes_u64(out, ids_at);
		bytes_u64(out, ids);
		ids_at += ids;
	}
}

int writer_compress(struct writer *w, u32 level, u64 window)
{
	w->packer = level ? packer_open(level, window) : NULL;
	return !level || w->packer ? 0 :
				     notify_error(w->notify, ERR_LIMIT, "zstd cannot be set up with level %u", level);
}

#define MOST_SECTIONS (FEAT_MAX + 1) /* perf's features, and one of ours */

struct placed {
	struct section where;
	bool early; /* it stands before the data already; else where.offset counts from the first that does not */
};

/* The sections one after the other into body. Returns how many there are. */
static u32 encode_sections(struct writer *w, const struct features *f, struct placed table[MOST_SECTIONS],
			   struct bytes *body)
{
	u32 n = 0;

	memset(w->header.features, 0, sizeof(w->header.features));
	for (u32 i = 1; i < MOST_SECTIONS; i++) {
		u32 id = i < FEAT_MAX ? i : FEAT_UNWOUND;
		size_t start = body->len;

		if (id == FEAT_TRACING_DATA && w->formats.size) {
			table[n++] = (struct placed){ w->formats, true };
		} else if (f->present[id / 64] >> id % 64 & 1 && !feature_encode(f, id, body)) {
			table[n++] = (struct placed){ { start, body->len - start }, false };
		} else {
			body->len = start;
			continue;
		}
		w->header.features[id / 64] |= 1ull << id % 64;
	}
	return n;
}

/* at: where the first section stands that is not early. */
static void put_table(const struct placed *table, u32 n, u64 at, struct bytes *out)
{
	for (u32 i = 0; i < n; i++) {
		bytes_u64(out, table[i].where.offset + (table[i].early ? 0 : at));
		bytes_u64(out, table[i].where.size);
	}
}

/* Sections that stand before the data. */
static void put_early(struct writer *w, const struct features *f, struct bytes *head)
{
	u64 at = PERFDATA_HEADER_SIZE + head->len;
	struct placed table[MOST_SECTIONS];
	struct bytes body = { 0 };
	u32 n;

	if (f->present[0] >> FEAT_TRACING_DATA & 1 && !feature_encode(f, FEAT_TRACING_DATA, head))
		w->formats = (struct section){ at, PERFDATA_HEADER_SIZE + head->len - at };
	n = encode_sections(w, f, table, &body);
	put_table(table, n, PERFDATA_HEADER_SIZE + head->len, &w->table);
	bytes_put(head, body.p, body.len);
	bytes_zero(head, -head->len % 8);
	bytes_free(&body);
}

int writer_begin(struct writer *w, const struct event_set *set, const struct features *early)
{
	struct bytes head = { 0 }, events = { 0 };

	w->set = set;
	w->header.pipe = w->pipe;
	w->header.size = w->pipe ? PERFDATA_PIPE_HEADER_SIZE : PERFDATA_HEADER_SIZE;
	if (!w->pipe) {
		encode_events(w, set, PERFDATA_HEADER_SIZE, &events);
		if (early)
			put_early(w, early, &events);
		w->header.data.offset = PERFDATA_HEADER_SIZE + events.len;
	}
	perfdata_header_encode(&w->header, &head);
	bytes_put(&head, events.p, events.len);
	writer_put_bytes(w, &head);
	put_held(w);
	w->data_start = w->at;
	w->plain = 0;
	bytes_free(&events);
	bytes_free(&head);
	return early ? writer_round(w, true) : w->err;
}

static void put_round_header(struct bytes *out, u64 size)
{
	bytes_u32(out, PERF_RECORD_FINISHED_ROUND);
	bytes_u16(out, 0);
	bytes_u16(out, (u16)size);
}

static void put_round(const struct writer *w, struct bytes *out)
{
	size_t body = w->round_body ? w->round_body->len : 0;

	put_round_header(out, sizeof(struct record_header) + body);
	if (body)
		bytes_put(out, w->round_body->p, body);
}

/* All of it, or the errno. */
static int pwrite_all(int fd, const struct bytes *b, u64 at)
{
	for (size_t done = 0; done < b->len;) {
		ssize_t n = pwrite(fd, b->p + done, b->len - done, (off_t)(at + done));

		if (n > 0)
			done += (size_t)n;
		else if (!n || errno != EINTR)
			return n ? errno : EIO;
	}
	return 0;
}

/* The last round's record takes in the table that follows it. Data may go on behind that. */
static int close_round(struct writer *w)
{
	struct bytes b = { 0 };
	int failed = 0;

	if (w->round_at) {
		put_round_header(&b, w->round_size + w->table.len);
		failed = pwrite_all(w->fd, &b, w->round_at);
	}
	bytes_free(&b);
	return failed;
}

/* A round's record at the end, and the table. */
static int put_round_and_table(struct writer *w)
{
	struct bytes b = { 0 };
	u64 at = w->at, size;
	int err;

	put_round(w, &b);
	size = b.len;
	bytes_put(&b, w->table.p, w->table.len);
	err = writer_put_bytes(w, &b);
	bytes_free(&b);
	err = err ? err : put_held(w);
	if (!err && close_round(w))
		err = ERR_IO;
	if (!err) {
		w->round_at = at;
		w->round_size = size;
	}
	return err;
}

static bool has_late_ids(const struct writer *w)
{
	size_t ids = 0;

	for (size_t e = 0; e < w->set->events.n; e++)
		ids += w->set->events.v[e].on.n;
	return ids != w->ids;
}

/* The ids of events that were opened since, in the body of a round's record, to which the header points then. */
static int tell_late_ids(struct writer *w)
{
	struct bytes b = { 0 }, events = { 0 }, section = { 0 };
	const struct section before = w->header.attrs;
	const size_t ids = w->ids;
	int err = 0;

	w->told_ms = clock_ms();
	encode_events(w, w->set, w->at + sizeof(struct record_header), &events);
	put_round_header(&b, sizeof(struct record_header) + events.len);
	bytes_put(&b, events.p, events.len);
	if (b.len <= UINT16_MAX) {
		bytes_u64(&section, w->header.attrs.offset);
		bytes_u64(&section, w->header.attrs.size);
		err = writer_put_bytes(w, &b);
		err = err ? err : put_held(w);
		if (!err)
			(void)pwrite_all(w->fd, &section, ATTRS_AT); /* a failure shows at the end */
	}
	/* Too many for a record, or it was cut off: at the end, then. */
	if (err || b.len > UINT16_MAX) {
		w->header.attrs = before;
		w->ids = ids;
	}
	bytes_free(&section);
	bytes_free(&events);
	bytes_free(&b);
	return err;
}

int writer_round(struct writer *w, bool mark)
{
	struct bytes b = { 0 };
	u64 size;
	int err = w->err;

	if (!err && !w->pipe && has_late_ids(w) && clock_ms() - w->told_ms >= TELL_MS)
		err = tell_late_ids(w);

	if (!err && w->table.len) {
		err = put_round_and_table(w);
	} else if (!err && mark) {
		put_round(w, &b);
		err = writer_put_bytes(w, &b);
		bytes_free(&b);
	}
	err = err ? err : put_held(w);
	if (w->sink)
		w->sink->round(w->sink->ctx);
	size = w->table.len ? w->round_at + w->round_size - w->data_start : w->at - w->data_start;
	/* A failure shows at the end at the latest, where it is handled. */
	if (!w->pipe && (!err || !w->table.len) && pwrite(w->fd, &size, sizeof(size), DATA_SIZE_AT) == sizeof(size))
		w->header.data.size = size;
	return err;
}

/* The table of sections, then the sections, behind the data. */
static void encode_features(struct writer *w, const struct features *f, struct bytes *out)
{
	struct placed table[MOST_SECTIONS];
	struct bytes body = { 0 };
	u32 n = encode_sections(w, f, table, &body);

	put_table(table, n, w->at + n * sizeof(struct section), out);
	bytes_put(out, body.p, body.len);
	bytes_free(&body);
}

static int rewrite_header(struct writer *w)
{
	struct bytes head = { 0 };
	int failed;

	perfdata_header_encode(&w->header, &head);
	failed = pwrite_all(w->fd, &head, 0);
	bytes_free(&head);
	return failed;
}

/* Where the last record begins from which on there are `need` bytes of the file; NO_OFFSET: not since the last round.
 */
static u64 last_record(const struct writer *w, u64 need)
{
	u64 at = w->round_at + w->round_size + w->table.len, last = NO_OFFSET;
	struct perf_event_header h;

	while (at + need <= w->at) {
		last = at;
		if (pread(w->fd, &h, sizeof(h), (off_t)at) != sizeof(h) || h.size < sizeof(h))
			break;
		at += h.size;
	}
	return last;
}

/* There is no room for the features at the end: the early ones have to do. */
static int keep_early(struct writer *w)
{
	struct bytes b = { 0 };
	u64 last, size;
	int failed;

	put_round_header(&b, sizeof(struct record_header));
	bytes_put(&b, w->table.p, w->table.len);
	last = last_record(w, b.len);
	failed = last == NO_OFFSET ? 0 : pwrite_all(w->fd, &b, last);
	bytes_free(&b);
	if (failed || last == NO_OFFSET)
		return failed;
	size = last + sizeof(struct record_header) - w->data_start;
	failed = close_round(w);
	if (!failed && pwrite(w->fd, &size, sizeof(size), DATA_SIZE_AT) != sizeof(size))
		failed = errno;
	return failed;
}

/* All ids once more. */
static int append_ids(struct writer *w, u64 at)
{
	struct bytes b = { 0 };
	int failed;

	encode_events(w, w->set, at, &b);
	failed = pwrite_all(w->fd, &b, at);
	bytes_free(&b);
	return failed;
}

static void end_file(struct writer *w, const struct features *f)
{
	struct bytes out = { 0 };
	int failed;

	w->header.data.size = w->at - w->data_start;
	encode_features(w, f, &out);
	failed = pwrite_all(w->fd, &out, w->at);
	if (!failed && has_late_ids(w))
		failed = append_ids(w, w->at + out.len + -(w->at + out.len) % 8);
	if (!failed)
		failed = close_round(w);
	if (failed) {
		if (ftruncate(w->fd, (off_t)w->at) || !w->err)
			w->err = notify_error(w->notify, ERR_IO, "cannot write the features of %s: %s", w->path,
					      strerror(failed));
		/* The records are worth more than their description. */
		memset(w->header.features, 0, sizeof(w->header.features));
	}
	failed = failed && w->table.len ? keep_early(w) : rewrite_header(w);
	if (failed && !w->err)
		w->err = notify_error(w->notify, ERR_IO, "cannot finish %s: %s", w->path, strerror(failed));
	bytes_free(&out);
}

int writer_end(struct writer *w, const struct features *f)
{
	int err;

	put_held(w);
	if (!w->pipe)
		end_file(w, f);
	if (!w->sink && close(w->fd) && !w->err)
		w->err = notify_error(w->notify, ERR_IO, "cannot close %s: %s", w->path, strerror(errno));
	err = w->err;
	w->fd = -1;
	writer_abandon(w);
	return err;
}

/* Nothing was recorded: what stood there before comes back. */
static void undo(struct writer *w)
{
	char *old = mem_printf("%s.old", w->path);

	if (w->moved)
		(void)!rename(old, w->path);
	else
		unlink(w->path);
	free(old);
}

void writer_abandon(struct writer *w)
{
	if (w->fd >= 0) {
		close(w->fd);
		if (!w->pipe)
			undo(w);
	}
	packer_close(w->packer);
	bytes_free(&w->held);
	bytes_free(&w->table);
	free(w->path);
	*w = (struct writer){ .fd = -1 };
}
