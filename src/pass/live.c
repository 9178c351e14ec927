/* SPDX-License-Identifier: Apache-2.0 */
/*
 * There are three buffers of bytes: the inbox, which the recorder's thread fills under the lock; the data, which are
 * whole rounds of the history, in order; and the pending records. When a round becomes older than the history, its
 * side-band becomes pending, and one refresh later it is applied to the living, in order of time: by then all older
 * records have come, because rings are emptied once per round. Pending records are part of the span, too.
 */
#include "pass/live.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "pass/living.h"
#include "state/apart.h"

#define FRAMES_MAX (1u << 18) /* distinct ones, before names are read anew */
#define DSOS_MAX (1u << 13)   /* likewise */
#define PERF_MAPS_MS 10000    /* as compilers at run time add to their maps of names */

struct round {
	u64 len;
	u64 from, ms; /* when the one before it came, and it did */
};
struct rounds {
	struct round *v;
	size_t n, cap;
};

/* The file that was mapped last under a path, as MMAP2 tells it from others. */
struct mapped_file {
	u64 device, inode, generation; /* generation 0: not known, of what was mapped before the recording */
};
#define FILES_MAX (1u << 16)

struct side_record {
	u64 time, at;
};

struct live {
	struct live_opts opts;
	const struct notify *notify;
	pthread_mutex_t lock; /* for these: */
	struct bytes inbox;
	struct rounds arrived; /* rounds of the inbox that are whole */
	u64 open;	       /* bytes behind them */
	u64 last_ms;	       /* when the last round came, or the head */
	u64 left_out;
	/* From here on only the reader's thread: */
	struct bytes head, data, spare, pending;
	struct rounds rounds;	      /* of data */
	VEC(struct side_record) side; /* in pending */
	struct source *src;
	struct session_kept kept;
	u64 kept_ms;	    /* when it was begun */
	struct map file_of; /* hash of path -> place in: */
	VEC(struct mapped_file) files;
	bool replaced; /* a path has another file than kept has read */
	struct living living;
	struct live_view view;
	u64 lost, throttled; /* of rounds that are gone */
};

struct live *live_new(const struct live_opts *opts, const struct notify *notify)
{
	struct live *l = mem_zalloc(sizeof(*l));

	l->opts = *opts;
	l->notify = notify;
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

static void end_view(struct live *l)
{
	profile_free(l->view.profile);
	session_close(l->view.session);
	l->view = (struct live_view){ 0 };
}

void live_free(struct live *l)
{
	if (!l)
		return;
	end_view(l);
	session_kept_free(&l->kept);
	source_close(l->src);
	living_free(&l->living);
	bytes_free(&l->inbox);
	bytes_free(&l->head);
	bytes_free(&l->data);
	bytes_free(&l->spare);
	bytes_free(&l->pending);
	vec_free(&l->arrived);
	vec_free(&l->rounds);
	vec_free(&l->side);
	vec_free(&l->files);
	map_free(&l->file_of);
	pthread_mutex_destroy(&l->lock);
	free(l);
}

void live_put(struct live *l, const struct iovec *part, int nr)
{
	u64 n = 0;

	for (int i = 0; i < nr; i++)
		n += part[i].iov_len;
	pthread_mutex_lock(&l->lock);
	/* Nobody has made a profile for long: a terminal that is held. What stands before the events is not left out.
	 */
	if (l->arrived.n && l->inbox.len + n > l->opts.max_bytes) {
		l->left_out += n;
		n = 0;
	}
	for (int i = 0; n && i < nr; i++)
		bytes_put(&l->inbox, part[i].iov_base, part[i].iov_len);
	l->open += n;
	pthread_mutex_unlock(&l->lock);
}

void live_round(struct live *l)
{
	u64 now = clock_ms();

	pthread_mutex_lock(&l->lock);
	if (l->open)
		vec_push(&l->arrived, (struct round){ l->open, l->last_ms, now });
	l->open = 0;
	l->last_ms = now;
	pthread_mutex_unlock(&l->lock);
}

/* Whole rounds out of the inbox; what is of a round that has not ended stays there. */
static void take_inbox(struct live *l, struct rounds *rounds)
{
	struct bytes taken;
	u64 rest;

	pthread_mutex_lock(&l->lock);
	rest = l->open;
	taken = l->inbox;
	l->spare.len = 0;
	bytes_put(&l->spare, taken.p + taken.len - rest, rest);
	l->inbox = l->spare;
	*rounds = l->arrived;
	l->arrived = (struct rounds){ 0 };
	l->view.left_out = l->left_out;
	l->left_out = 0;
	pthread_mutex_unlock(&l->lock);
	taken.len -= rest;
	l->spare = taken; /* holds what was taken until the next time */
}

/* The records in [from, end) of b are gone through as those of a source. */
static struct source records_in(const struct bytes *b, u64 end)
{
	return (struct source){ .data = b->p, .size = end };
}

static int decode(const struct live *l, const struct source_record *at, struct record *out)
{
	return record_decode(cursor_over(at->p, at->h.size, false), 0,
			     evlist_trailer(&l->src->events, at->p, at->h.size, false), out);
}

/* A program that was built anew has the path, and not the symbols, of the one before. */
static void note_file(struct live *l, const struct rec_mmap *m)
{
	struct mapped_file now = { (u64)m->maj << 32 | m->min, m->ino, m->ino_generation }, *before;
	u64 path = hash_bytes(m->filename.p, m->filename.len);
	u32 at;

	if (m->build_id_size || !m->ino)
		return;
	if (l->files.n >= FILES_MAX) {
		map_free(&l->file_of);
		l->files.n = 0;
	}
	at = *map_at(&l->file_of, path, (u32)l->files.n);
	if (at == l->files.n) {
		vec_push(&l->files, now);
		return;
	}
	before = &l->files.v[at];
	l->replaced |= now.device != before->device || now.inode != before->inode ||
		       (now.generation && before->generation && now.generation != before->generation);
	*before = now;
}

/* Which files what comes maps. */
static void note_files(struct live *l, const struct bytes *b, u64 from, u64 end)
{
	const struct source in = records_in(b, end);
	struct source_record at;
	struct record r;

	while (source_next(&in, &from, &at, NULL))
		if (at.h.type == PERF_RECORD_MMAP2 && !decode(l, &at, &r))
			note_file(l, &r.mmap);
}

static void apply_at_once(struct live *l, const struct bytes *b, u64 from)
{
	const struct source in = records_in(b, b->len);
	struct source_record at;

	while (source_next(&in, &from, &at, NULL))
		living_apply(&l->living, at.p, at.h.size);
}

/* Everything up to the end of the first round says what the events are, and what was there before them. */
static int take_head(struct live *l, u64 len)
{
	int err;

	bytes_put(&l->head, l->spare.p, len);
	err = source_of_stream(&l->src, l->head.p, l->head.len, l->notify);
	if (err)
		return err;
	note_files(l, &l->head, PERFDATA_PIPE_HEADER_SIZE, l->head.len);
	apply_at_once(l, &l->head, PERFDATA_PIPE_HEADER_SIZE);
	return 0;
}

static void keep_side_band(struct live *l, const struct source_record *at)
{
	struct record r;

	if (decode(l, at, &r))
		return;
	if (at->h.type == PERF_RECORD_LOST)
		l->lost += r.lost.lost;
	l->throttled += at->h.type == PERF_RECORD_THROTTLE;
	if (!living_wants(at->h.type))
		return;
	vec_push(&l->side, (struct side_record){ r.sid.time, l->pending.len });
	bytes_put(&l->pending, at->p, at->h.size);
}

static int by_time(const void *va, const void *vb)
{
	const struct side_record *a = va, *b = vb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void tell_living(struct live *l)
{
	if (l->side.n)
		qsort(l->side.v, l->side.n, sizeof(*l->side.v), by_time);
	for (size_t i = 0; i < l->side.n; i++) {
		const u8 *p = l->pending.p + l->side.v[i].at;
		struct perf_event_header h;

		memcpy(&h, p, sizeof(h));
		living_apply(&l->living, p, h.size);
	}
	l->side.n = 0;
	l->pending.len = 0;
}

/* Rounds that are too old, or too much, go; n of them. */
static void drop_rounds(struct live *l, size_t n)
{
	struct source_record at;
	u64 len = 0, offset = 0;
	struct source in;

	if (!n)
		return;
	tell_living(l);
	for (size_t i = 0; i < n; i++)
		len += l->rounds.v[i].len;
	in = records_in(&l->data, len);
	while (source_next(&in, &offset, &at, NULL))
		if (at.h.type != PERF_RECORD_SAMPLE)
			keep_side_band(l, &at);
	memmove(l->data.p, l->data.p + len, l->data.len - len);
	l->data.len -= len;
	memmove(l->rounds.v, l->rounds.v + n, (l->rounds.n - n) * sizeof(*l->rounds.v));
	l->rounds.n -= n;
}

static size_t old_rounds(const struct live *l)
{
	u64 now = clock_ms(), bytes = l->data.len;
	size_t n = 0;

	while (n < l->rounds.n && (l->rounds.v[n].ms + l->opts.history_ms < now || bytes > l->opts.max_bytes))
		bytes -= l->rounds.v[n++].len;
	return n;
}

static int take_rounds(struct live *l)
{
	struct rounds rounds;
	u64 at = 0;
	int err = 0;

	take_inbox(l, &rounds);
	for (size_t i = 0; i < rounds.n && !err; i++) {
		const struct round *r = &rounds.v[i];

		if (!l->src) {
			err = take_head(l, r->len);
		} else {
			note_files(l, &l->spare, at, at + r->len);
			bytes_put(&l->data, l->spare.p + at, r->len);
			vec_push(&l->rounds, *r);
		}
		at += r->len;
	}
	vec_free(&rounds);
	if (!err && l->src)
		drop_rounds(l, old_rounds(l));
	return err;
}

static bool has_perf_map(const struct dsos *d)
{
	for (u32 i = 0; i < dsos_count(d); i++)
		if (dsos_at(d, i)->kind == DSO_PERFMAP && *dsos_at(d, i)->path == '/')
			return true;
	return false;
}

/* Names are read anew when there are too many, or when some may have been added. */
static void renew_names(struct live *l, struct apart *parser)
{
	u64 now = clock_ms();

	if (l->kept.dsos &&
	    (l->replaced || frames_count(l->kept.frames) > FRAMES_MAX || dsos_count(l->kept.dsos) > DSOS_MAX ||
	     (now - l->kept_ms > PERF_MAPS_MS && has_perf_map(l->kept.dsos)))) {
		session_kept_free(&l->kept);
		if (parser)
			apart_renew(parser);
	}
	l->replaced = false;
	if (!l->kept.dsos)
		l->kept_ms = now;
}

int live_refresh(struct live *l, const struct pipeline_opts *o, bool take, struct live_view *view)
{
	struct session_opts opts = o->session;
	u64 whole, left_out;
	int err;

	end_view(l);
	err = take || !l->src ? take_rounds(l) : 0;
	*view = l->view;
	if (err || !l->src)
		return err;
	left_out = l->view.left_out;
	renew_names(l, opts.symbols.apart);
	opts.kept = &l->kept;
	whole = l->data.len;
	bytes_put(&l->data, l->pending.p, l->pending.len);
	living_put(&l->living, &l->data);
	l->src->data = l->data.p;
	l->src->size = l->data.len;
	err = session_over(&l->view.session, l->src, &opts, l->notify);
	if (!err)
		err = pipeline_over(o, l->view.session, &l->view.profile, l->notify);
	l->data.len = whole;
	if (err) {
		end_view(l);
		return err;
	}
	l->view.left_out = left_out;
	l->view.ms = l->rounds.n ? l->rounds.v[l->rounds.n - 1].ms - l->rounds.v[0].from : 0;
	l->view.lost = l->lost + l->view.profile->tally.lost;
	l->view.throttled = l->throttled + l->view.profile->tally.throttled;
	*view = l->view;
	return 0;
}

void live_zero(struct live *l)
{
	drop_rounds(l, l->rounds.n);
}
