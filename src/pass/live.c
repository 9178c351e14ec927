/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A round is kept as it came, whole, for as long as the history is. Two horizons go along it (pass/horizon.h): `begin`
 * is where the history begins; `front` is behind all rounds of which the samples have been collected for good, which
 * are all but the newest: of that one some sample may be newer than a mapping that comes with the next. A refresh
 * makes a span of the rounds behind the front, and what came of the others is added to it (pass/portions.h). When it
 * was collected by other options, or names are read anew, or samples cannot be told apart at all, the span is that of
 * the whole history, behind `begin`.
 */
#include "pass/live.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "pass/horizon.h"
#include "pass/portions.h"
#include "state/apart.h"

#define INBOX_KEPT (4u << 20)
#define SPAN_KEPT (4u << 20)
#define VIEWS_UNTIL_TRIM 16
#define PERF_MAPS_MS 10000 /* as compilers at run time add to their maps of names */

/* Names are made anew when there are so many more than when they were last, and at least as many more. */
#define FRAMES_MORE (1u << 14)
#define STRINGS_MORE (1u << 11)
#define DSOS_MORE (1u << 9)

/* Symbol tables that were made are read back from the cache when there are so many bytes of them; where they are soon
 * made once more, because the cache loses what it is given, that costs time, so not often. */
#define MADE_MOST (1u << 18)
#define READ_BACK_MS 30000

struct round {
	u8 *p;
	u64 len, cap;
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
/* Files are kept in two generations. When the newer one has this many files, it becomes the older one. */
#define FILES_MAX (1u << 10)
struct mapped_files {
	struct map at; /* hash of path -> place in: */
	VEC(struct mapped_file) v;
};

struct live {
	struct live_opts opts;
	const struct notify *notify;
	pthread_mutex_t lock;  /* for these: */
	struct bytes inbox;    /* of the round that has not ended */
	struct bytes spare;    /* empty: for the inbox of the next one */
	struct rounds arrived; /* those that have */
	u64 arrived_bytes;     /* that they hold, as in `bytes` */
	u64 last_ms;	       /* when the last round came, or the head */
	u64 left_out;
	/* From here on only the reader's thread: */
	struct round head;
	struct rounds rounds;
	struct portion *portions; /* of each round */
	u64 bytes;		  /* that all rounds hold: their cap */
	struct horizon begin, front;
	size_t behind_front; /* rounds */
	u64 kind;	     /* of portions */
	struct bytes span;
	struct source *src;
	struct session_kept kept;
	u64 kept_ms;				  /* when it was begun */
	u64 read_back_ms;			  /* when symbol tables were last read back from the cache; 0: never */
	u32 most_frames, most_strings, most_dsos; /* then names are read anew; 0: not known yet */
	struct mapped_files files, old_files;
	bool replaced; /* a path has another file than before */
	u32 views;     /* that there were; every VIEWS_UNTIL_TRIM of them free memory is given back */
	struct live_view view;
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
	l->span.len = 0;
	if (l->span.cap > SPAN_KEPT)
		bytes_free(&l->span);
	/* What one view leaves free is too small or too large for the next one, here and there. */
	if (++l->views % VIEWS_UNTIL_TRIM == 0)
		mem_trim();
}

/* A round that came is freed for each one that comes, so its memory is what the next one needs: fresh pages would cost
 * more time than to write into them. */
static void free_round(struct live *l, struct round *r)
{
	pthread_mutex_lock(&l->lock);
	if (!l->spare.p && r->cap <= INBOX_KEPT) {
		l->spare = (struct bytes){ .p = r->p, .cap = r->cap };
		r->p = NULL;
	}
	pthread_mutex_unlock(&l->lock);
	free(r->p);
	*r = (struct round){ 0 };
}

static void free_rounds(struct live *l, struct rounds *r)
{
	for (size_t i = 0; i < r->n; i++)
		free_round(l, &r->v[i]);
	vec_free(r);
}

static void free_files(struct mapped_files *f)
{
	map_free(&f->at);
	vec_free(&f->v);
}

static void forget_portions(struct live *l)
{
	for (size_t i = 0; i < l->rounds.n; i++)
		portion_forget(&l->portions[i]);
}

void live_free(struct live *l)
{
	if (!l)
		return;
	end_view(l);
	forget_portions(l);
	free(l->portions);
	session_kept_free(&l->kept);
	source_close(l->src);
	horizon_free(&l->begin);
	horizon_free(&l->front);
	free_round(l, &l->head);
	bytes_free(&l->span);
	free_rounds(l, &l->arrived);
	free_rounds(l, &l->rounds);
	bytes_free(&l->inbox);
	bytes_free(&l->spare);
	free_files(&l->files);
	free_files(&l->old_files);
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
	if (l->arrived.n && l->arrived_bytes + l->inbox.len + n > l->opts.max_bytes) {
		l->left_out += n;
		n = 0;
	}
	for (int i = 0; n && i < nr; i++)
		bytes_put(&l->inbox, part[i].iov_base, part[i].iov_len);
	pthread_mutex_unlock(&l->lock);
}

/* The inbox's memory becomes the round's, without what is left empty if that is much. */
static struct round empty_inbox(struct live *l)
{
	struct round r = { .p = l->inbox.p, .len = l->inbox.len, .cap = l->inbox.cap };

	if (r.cap - r.len > r.len / 8) {
		r.p = mem_realloc(r.p, r.len, 1);
		r.cap = r.len;
	}
	l->inbox = l->spare;
	l->spare = (struct bytes){ 0 };
	return r;
}

void live_round(struct live *l)
{
	u64 now = clock_ms();

	pthread_mutex_lock(&l->lock);
	if (l->inbox.len) {
		struct round r = empty_inbox(l);

		r.from = l->last_ms;
		r.ms = now;
		vec_push(&l->arrived, r);
		l->arrived_bytes += r.cap;
	}
	l->last_ms = now;
	pthread_mutex_unlock(&l->lock);
}

static void take_inbox(struct live *l, struct rounds *rounds)
{
	pthread_mutex_lock(&l->lock);
	*rounds = l->arrived;
	l->arrived = (struct rounds){ 0 };
	l->arrived_bytes = 0;
	l->view.left_out = l->left_out;
	l->left_out = 0;
	pthread_mutex_unlock(&l->lock);
}

/* A program that was built anew has the path, and not the symbols, of the one before. */
static void note_file(struct live *l, const struct rec_mmap *m)
{
	struct mapped_file now = { (u64)m->maj << 32 | m->min, m->ino, m->ino_generation };
	const struct mapped_file *before = NULL;
	u64 path = hash_bytes(m->filename.p, m->filename.len);
	u32 at, old;

	if (m->build_id_size || !m->ino)
		return;
	if (l->files.v.n >= FILES_MAX) {
		free_files(&l->old_files);
		l->old_files = l->files;
		l->files = (struct mapped_files){ 0 };
	}
	at = *map_at(&l->files.at, path, (u32)l->files.v.n);
	old = map_get(&l->old_files.at, path);
	if (at < l->files.v.n)
		before = &l->files.v.v[at];
	else if (old != ID_NONE)
		before = &l->old_files.v.v[old];
	if (before && (now.device != before->device || now.inode != before->inode ||
		       (now.generation && before->generation && now.generation != before->generation))) {
		l->replaced = true;
		if (l->kept.dsos)
			dsos_outdate(l->kept.dsos, m->filename);
	}
	if (at < l->files.v.n)
		l->files.v.v[at] = now;
	else
		vec_push(&l->files.v, now);
}

/* Which files what comes maps. */
static void note_files(struct live *l, const u8 *records, u64 len)
{
	const struct source in = { .data = records, .size = len };
	struct source_record at;
	struct record r;
	u64 offset = 0;

	while (source_next(&in, &offset, &at, NULL))
		if (at.h.type == PERF_RECORD_MMAP2 &&
		    !record_decode(cursor_over(at.p, at.h.size, false), 0,
				   evlist_trailer(&l->src->events, at.p, at.h.size, false), &r))
			note_file(l, &r.mmap);
}

/* Everything up to the end of the first round says what the events are, and what was there before them. */
static int take_head(struct live *l, const struct round *r)
{
	const u8 *records;
	u64 len;
	int err;

	free_round(l, &l->head);
	l->head = *r;
	err = source_of_stream(&l->src, l->head.p, l->head.len, l->notify);
	if (err)
		return err;
	records = l->head.p + PERFDATA_PIPE_HEADER_SIZE;
	len = l->head.len - PERFDATA_PIPE_HEADER_SIZE;
	note_files(l, records, len);
	horizon_begin(&l->begin, records, len);
	horizon_begin(&l->front, records, len);
	return 0;
}

/* Rounds [from, end) go behind a horizon. */
static void move_horizon(const struct live *l, struct horizon *h, size_t from, size_t end)
{
	if (from >= end)
		return;
	horizon_move(h);
	for (size_t i = from; i < end; i++)
		horizon_take(h, &l->src->events, l->rounds.v[i].p, l->rounds.v[i].len);
}

/* Rounds that are too old, or too much, go; n of them. */
static void drop_rounds(struct live *l, size_t n)
{
	if (!n)
		return;
	move_horizon(l, &l->begin, 0, n);
	move_horizon(l, &l->front, l->behind_front, n);
	l->behind_front -= MIN(l->behind_front, n);
	for (size_t i = 0; i < n; i++) {
		l->bytes -= l->rounds.v[i].cap;
		free_round(l, &l->rounds.v[i]);
		portion_forget(&l->portions[i]);
	}
	l->rounds.n -= n;
	memmove(l->rounds.v, l->rounds.v + n, l->rounds.n * sizeof(*l->rounds.v));
	memmove(l->portions, l->portions + n, l->rounds.n * sizeof(*l->portions));
}

static size_t old_rounds(const struct live *l)
{
	u64 now = clock_ms(), bytes = l->bytes;
	size_t n = 0;

	while (n < l->rounds.n && (l->rounds.v[n].ms + l->opts.history_ms < now || bytes > l->opts.max_bytes))
		bytes -= l->rounds.v[n++].cap;
	return n;
}

static int take_rounds(struct live *l)
{
	struct rounds rounds;
	int err = 0;

	take_inbox(l, &rounds);
	l->portions = mem_realloc(l->portions, l->rounds.n + rounds.n + 1, sizeof(*l->portions));
	for (size_t i = 0; i < rounds.n; i++) {
		struct round *r = &rounds.v[i];

		if (err) {
			free_round(l, r);
		} else if (!l->src) {
			err = take_head(l, r);
		} else {
			note_files(l, r->p, r->len);
			l->bytes += r->cap;
			l->portions[l->rounds.n] = (struct portion){ 0 };
			vec_push(&l->rounds, *r);
		}
	}
	vec_free(&rounds);
	if (!err && l->src)
		drop_rounds(l, old_rounds(l));
	return err;
}

static bool may_read_back(struct live *l, u64 now)
{
	bool may = dsos_in_cache_too(l->kept.dsos) > MADE_MOST &&
		   (!l->read_back_ms || now - l->read_back_ms > READ_BACK_MS);

	if (may)
		l->read_back_ms = now;
	return may;
}

/*
 * What lasts from one refresh to the next grows with all that was ever seen, most of which is gone. Names of what is
 * gone cannot be taken out, as others go by their numbers; so all go, and what is there is named anew. Symbols take
 * longer than the rest, and stay until there are too many files; but those that the cache holds by now need no memory
 * when they are read from there.
 */
static void renew_names(struct live *l, struct apart *parser)
{
	u64 now = clock_ms();
	bool again = l->kept.dsos && ((l->replaced && parser) || dsos_count(l->kept.dsos) > l->most_dsos);

	if (l->kept.dsos && !again && now - l->kept_ms > PERF_MAPS_MS) {
		again = dsos_maps_grew(l->kept.dsos);
		l->kept_ms = now;
	}
	again = again || (l->kept.dsos && may_read_back(l, now));
	if (again) {
		session_kept_free(&l->kept);
		if (parser)
			apart_renew(parser);
	} else if (l->kept.dsos &&
		   (frames_count(l->kept.frames) > l->most_frames || l->kept.strings.entries.n > l->most_strings)) {
		again = true;
		session_kept_renew(&l->kept);
	}
	if (again) {
		forget_portions(l);
		l->most_frames = 0;
	}
	if (!l->kept.dsos)
		l->kept_ms = now;
	l->replaced = false;
}

static u32 and_more(u32 n, u32 least)
{
	return n + MAX(least, n);
}

/* How many there may be, by how many it takes to name what is there. */
static void limit_names(struct live *l, bool new_dsos)
{
	const struct session *s = l->view.session;

	if (l->most_frames)
		return;
	l->most_frames = and_more(frames_count(s->frames), FRAMES_MORE);
	l->most_strings = and_more((u32)s->strings.entries.n, STRINGS_MORE);
	if (new_dsos)
		l->most_dsos = and_more(dsos_count(s->dsos), DSOS_MORE);
}

/* The rounds from `first` on, and what was there when they began. A span of the whole history is large, and goes with
 * its view. */
static void make_span(struct live *l, size_t first)
{
	u64 len = 0;

	for (size_t i = first; i < l->rounds.n; i++)
		len += l->rounds.v[i].len;
	bytes_grow(&l->span, len);
	for (size_t i = first; i < l->rounds.n; i++) {
		l->portions[i].from = l->span.len;
		bytes_put(&l->span, l->rounds.v[i].p, l->rounds.v[i].len);
		l->portions[i].end = l->span.len;
	}
	horizon_put(first ? &l->front : &l->begin, &l->span);
	l->src->data = l->span.p;
	l->src->size = l->span.len;
}

/* A profile of all rounds, of which those before `first` were collected. */
static int make_view(struct live *l, const struct pipeline_opts *o, bool in_portions, size_t first)
{
	struct session_opts opts = o->session;
	const struct horizon *h = first ? &l->front : &l->begin;
	bool new_dsos = !l->kept.dsos;
	int err;

	make_span(l, first);
	opts.kept = &l->kept;
	err = session_over(&l->view.session, l->src, &opts, l->notify);
	if (err)
		return err;
	err = in_portions ? pipeline_portions(o, l->view.session, l->portions, (u32)l->rounds.n, &l->view.profile,
					      l->notify) :
			    pipeline_over(o, l->view.session, &l->view.profile, l->notify);
	if (err)
		return err;
	limit_names(l, new_dsos);
	l->view.ms = l->rounds.n ? l->rounds.v[l->rounds.n - 1].ms - l->rounds.v[0].from : 0;
	l->view.lost = h->lost + l->view.profile->tally.lost;
	l->view.throttled = h->throttled + l->view.profile->tally.throttled;
	return 0;
}

/* All but the newest round have been collected for good. */
static void move_front(struct live *l)
{
	size_t n = l->rounds.n ? l->rounds.n - 1 : 0;

	move_horizon(l, &l->front, l->behind_front, n);
	l->behind_front = MAX(l->behind_front, n);
	if (l->rounds.n)
		portion_forget(&l->portions[n]);
}

int live_refresh(struct live *l, const struct pipeline_opts *o, bool take, struct live_view *view)
{
	bool in_portions;
	u64 left_out;
	int err;

	end_view(l);
	err = take || !l->src ? take_rounds(l) : 0;
	*view = l->view;
	if (err || !l->src)
		return err;
	left_out = l->view.left_out;
	renew_names(l, o->session.symbols.apart);
	in_portions = portions_suffice(o, l->src);
	if (!in_portions || portions_kind(o) != l->kind)
		forget_portions(l);
	l->kind = portions_kind(o);
	/* Where the first is to be collected, all are. */
	err = make_view(l, o, in_portions, l->behind_front && l->portions[0].collected ? l->behind_front : 0);
	if (err) {
		end_view(l);
		forget_portions(l); /* the newest one must not stay */
		return err;
	}
	l->view.left_out = left_out;
	if (in_portions)
		move_front(l);
	*view = l->view;
	return 0;
}

void live_zero(struct live *l)
{
	drop_rounds(l, l->rounds.n);
}
