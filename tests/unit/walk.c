/* SPDX-License-Identifier: Apache-2.0 */
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct listener {
	struct walked *w;
	const char *path;
};

static void listen(void *ctx, const struct note *note)
{
	struct listener *l = ctx;

	if (note->level == NOTE_ERROR) {
		l->w->errors++;
		l->w->names_file &= note->file && !strcmp(note->file, l->path);
	} else {
		l->w->warnings++;
	}
	if (!*l->w->first)
		snprintf(l->w->first, sizeof(l->w->first), "%s", note->text);
}

static u64 sum_words(const struct u64s *a)
{
	u64 sum = 0;

	for (u32 i = 0; i < a->n; i++)
		sum += u64s_at(a, i);
	return sum;
}

static u64 sum_bytes(const u8 *p, u64 n)
{
	u64 sum = 0;

	for (u64 i = 0; p && i < n; i++)
		sum += p[i];
	return sum;
}

static u64 sum_sample(const struct sample *s)
{
	u64 sum = s->ip + s->time + s->addr + s->period + sum_words(&s->chain) + sum_words(&s->regs_user) +
		  sum_words(&s->regs_intr) + sum_words(&s->branch_counters) + sum_bytes(s->raw, s->raw_size) +
		  sum_bytes(s->stack_user, s->stack_user_size) + sum_bytes(s->tls_user, s->tls_user_size) +
		  sum_bytes(s->aux, s->aux_size);

	for (u32 i = 0; i < s->read.nr; i++)
		sum += read_value(&s->read, i) + read_id(&s->read, i) + read_lost(&s->read, i);
	for (u32 i = 0; i < s->nr_branches; i++)
		sum += sample_branch(s, i).to;
	return sum;
}

static void walk_sample(struct walked *w, const struct source *s, const struct source_record *at, struct cursor c)
{
	u32 event = evlist_find(&s->events, at->p, at->h.size, true, s->swap);
	const struct event *e = event == ID_NONE ? NULL : &s->events.events.v[event];
	struct sample_core core;
	struct sample sample;

	w->samples++;
	if (!e || e->unsupported) {
		w->undecodable++;
		return;
	}
	if (!sample_core_decode(&e->layout, c, &core))
		w->sum += core.ip + sum_words(&core.chain);
	if (sample_decode(&e->layout, c, &sample))
		w->undecodable++;
	else
		w->sum += sum_sample(&sample);
}

static void walk_record(struct walked *w, const struct source *s, const struct source_record *at, struct cursor c)
{
	const struct trailer_layout *t = evlist_trailer(&s->events, at->p, at->h.size, s->swap);
	const struct record_kind *kind = record_kind(at->h.type);
	struct bytes text = { 0 };
	struct record r;

	if (record_decode(c, at->offset, t, &r)) {
		w->undecodable++;
		return;
	}
	if (kind && kind->print)
		kind->print(&r, &text);
	w->sum += sum_bytes(text.p, text.len);
	bytes_free(&text);
}

static void walk_all(struct walked *w, const struct source *s)
{
	struct source_record at;
	struct bytes text = { 0 };
	u64 offset = 0;

	w->bad = NO_OFFSET;
	while (source_next(s, &offset, &at, &w->bad)) {
		struct cursor c = cursor_over(at.p, at.h.size, s->swap);

		w->records++;
		w->sum += sum_bytes(at.payload, at.payload_size);
		if (at.h.type == PERF_RECORD_SAMPLE)
			walk_sample(w, s, &at, c);
		else
			walk_record(w, s, &at, c);
	}
	features_print_all(&s->features, &text);
	w->sum += sum_bytes(text.p, text.len);
	bytes_free(&text);
	w->arena_bytes = s->arena.bytes;
	w->left_out = s->left_out;
}

struct walked walk(const char *path)
{
	struct walked w = { .names_file = true };
	struct listener listener = { &w, path };
	const struct notify notify = { listen, &listener };
	struct source *s;

	w.err = source_open(&s, path, &notify);
	if (!w.err)
		walk_all(&w, s);
	source_close(s);
	return w;
}

struct memory_file memory_file(const void *p, size_t n)
{
	struct memory_file f = { .fd = memfd_create("recording", MFD_CLOEXEC) };

	if (f.fd < 0)
		abort();
	snprintf(f.path, sizeof(f.path), "/proc/self/fd/%d", f.fd);
	memory_file_set(&f, 0, p, n);
	return f;
}

void memory_file_set(const struct memory_file *f, u64 at, const void *p, size_t n)
{
	if (pwrite(f->fd, p, n, (off_t)at) != (ssize_t)n)
		abort();
}

void memory_file_cut(const struct memory_file *f, u64 size)
{
	if (ftruncate(f->fd, (off_t)size))
		abort();
}

void memory_file_close(struct memory_file *f)
{
	close(f->fd);
	f->fd = -1;
}
