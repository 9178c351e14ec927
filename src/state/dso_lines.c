/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines of a DSO: finding its DWARF, and turning DSO addresses into linked ones. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/map.h"
#include "state/apart.h"
#include "state/debuginfo.h"
#include "state/dso_answers.h"
#include "state/dso_cache.h"
#include "state/dso_table.h"
#include "state/elf_symbols.h"
#include "state/source_function.h"

/*
 * What is needed to ask the DWARF of one DSO. Whether there is any is asked for each DSO, while samples come in and
 * others wait for the answer; opening it, which may unpack megabytes, waits until an address is asked for.
 */
struct dso_lines {
	int fd; /* of the file that has it; -1: none, or handed on to apart */
	struct apart_file *apart;
	struct answers *answers; /* what was asked, by linked address */
	struct elf_segment *segments;
	u32 nr_segments;
	bool absolute; /* the DSO's addresses are linked addresses moved by `moved` */
	u64 moved;
};

/* What is kept is of files that need no other one: which others there are, and that they stay as they are, is not
 * known. Those that turn out to need one are seen when they are parsed (ask_batch). */
static void open_answers(const struct dsos *d, const struct dso_slot *s, struct dso_lines *l,
			 const struct elf_file *run, const struct elf_file *dwarf)
{
	struct bytes key = { 0 };

	if (!d->cache || d->opts.no_lines || elf_section_named(dwarf, ".gnu_debugaltlink"))
		return;
	if (dso_cache_key(d, s, run, dwarf, &key)) {
		bytes_u8(&key, d->opts.symfs != NULL);
		bytes_u8(&key, d->functions_only);
		l->answers = answers_new(d->cache, &key);
	}
	bytes_free(&key);
}

static void load_file_lines(struct dsos *d, struct dso_slot *s, struct dso_lines *l)
{
	struct found_file run, separate;
	const char *why;

	if (debuginfo_runtime(d, s, &run, &why) < 0)
		return;
	if (debuginfo_has_dwarf(&run.elf)) {
		l->fd = dup(run.elf.fd);
		open_answers(d, s, l, &run.elf, &run.elf);
	} else if (debuginfo_separate(d, s, &run.elf, WANT_DWARF, &separate) == 0) {
		l->fd = dup(separate.elf.fd);
		open_answers(d, s, l, &run.elf, &separate.elf);
		found_file_close(&separate);
	}
	l->segments = run.elf.segments;
	l->nr_segments = run.elf.nr_segments;
	run.elf.segments = NULL;
	found_file_close(&run);
}

static void load_kernel_lines(struct dsos *d, struct dso_slot *s, struct dso_lines *l)
{
	struct found_file f = { .path = d->opts.vmlinux ? mem_strdup(d->opts.vmlinux) : NULL };

	if (!f.path || elf_file_open(&f.elf, f.path) < 0) {
		free(f.path);
		return;
	}
	l->absolute = true;
	l->moved = s->moved;
	if (debuginfo_is_build(s, &f.elf) && debuginfo_has_dwarf(&f.elf))
		l->fd = dup(f.elf.fd);
	found_file_close(&f);
}

/* False: there is nobody to ask. */
static bool open_apart(struct dsos *d, struct dso_lines *l)
{
	if (l->fd >= 0) {
		struct apart *a = d->opts.no_lines ? NULL : dsos_get_parser(d);

		if (a)
			l->apart = apart_file_new(a, l->fd, d->opts.symfs || d->opts.offline, !d->functions_only);
		else
			close(l->fd);
		l->fd = -1;
	}
	return l->apart;
}

/* Called with the DSO's lock held. */
static struct dso_lines *get_lines(struct dsos *d, struct dso_slot *s)
{
	if (s->lines)
		return s->lines;
	s->lines = mem_zalloc(sizeof(*s->lines));
	s->lines->fd = -1;
	if (s->pub.kind == DSO_FILE)
		load_file_lines(d, s, s->lines);
	else if (s->pub.kind == DSO_KERNEL)
		load_kernel_lines(d, s, s->lines);
	if (!s->lines->answers)
		s->lines->answers = answers_new(NULL, NULL);
	if (s->lines->fd >= 0 && !d->opts.no_lines && !d->apart_waits && !answers_count(s->lines->answers)) {
		(void)dsos_get_parser(d);
		if (d->opens_ahead && open_apart(d, s->lines))
			apart_file_ahead(s->lines->apart);
	}
	return s->lines;
}

void dso_lines_free(struct dsos *d, struct dso_slot *s)
{
	struct dso_lines *l = s->lines;

	s->lines = NULL;
	if (!l)
		return;
	answers_free(l->answers, d->cache);
	apart_file_free(l->apart);
	if (l->fd >= 0)
		close(l->fd);
	free(l->segments);
	free(l);
}

void dso_find_lines(struct dsos *d, u32 dso)
{
	struct dso_slot *of = dso_slot_of_file(d, dso);
	struct dso_lines *l;
	bool has;

	pthread_mutex_lock(&of->lock);
	l = get_lines(d, of);
	has = l->apart || l->fd >= 0;
	pthread_mutex_unlock(&of->lock);
	atomic_store_explicit(&d->slots.v[dso]->has_lines, has ? LINES_THERE : LINES_NONE, memory_order_relaxed);
}

bool dsos_has_lines(struct dsos *d, u32 dso)
{
	struct dso_slot *s = d->slots.v[dso];

	if (atomic_load_explicit(&s->has_lines, memory_order_relaxed) == LINES_UNKNOWN) {
		(void)dso_get_table(d, dso); /* how far the kernel was moved is found with its symbols */
		dso_find_lines(d, dso);
	}
	return atomic_load_explicit(&s->has_lines, memory_order_relaxed) == LINES_THERE;
}

/* The address that DWARF knows it by; false: none. */
static bool linked_address(const struct dso_lines *l, u64 addr, u64 *linked)
{
	const struct elf_file f = { .segments = l->segments, .nr_segments = l->nr_segments };

	*linked = addr - l->moved;
	return l->absolute || elf_vaddr(&f, addr, linked);
}

void dsos_start_parser_for(struct dsos *d, u32 dso, u64 addr)
{
	const struct dso_lines *l;
	struct dso_slot *s;
	bool unknown;
	u64 linked;

	if (d->apart_asked || !dsos_has_lines(d, dso))
		return;
	s = dso_slot_of_file(d, dso);
	pthread_mutex_lock(&s->lock);
	l = get_lines(d, s); /* they may have been dropped since (dsos_drop_lines) */
	unknown = linked_address(l, addr, &linked) && !answers_has(l->answers, linked);
	pthread_mutex_unlock(&s->lock);
	if (unknown)
		dsos_start_parser(d);
}

static const char *take_text(struct cursor *c, bool there)
{
	const u8 *end = there && cursor_left(c) ? memchr(c->p, 0, cursor_left(c)) : NULL;
	const u8 *p = end ? cursor_bytes(c, (u64)(end - c->p) + 1) : NULL;

	c->bad |= there && !p;
	return (const char *)p;
}

/* The frames of one address, as apart_lines has them. Nothing of them when they are damaged. */
static void take_frames(struct dso_lines *l, struct cursor *c, u64 linked)
{
	struct source_frame frames[APART_FRAMES];
	u32 n = cursor_u32(c);

	c->bad |= n > APART_FRAMES;
	for (u32 i = 0; i < n && !c->bad; i++) {
		u8 has;

		frames[i].line = cursor_u32(c);
		has = cursor_u8(c);
		frames[i].function = take_text(c, has & APART_HAS_FUNCTION);
		frames[i].file = take_text(c, has & APART_HAS_FILE);
	}
	answers_add(l->answers, linked, frames, c->bad ? 0 : n);
}

/* Asks about at most APART_BATCH addresses, none of which is known. An answer that is not complete counts as empty,
 * and is not kept. */
static void ask_batch(struct dsos *d, struct dso_slot *s, struct dso_lines *l, const u64 *linked, u32 n)
{
	struct bytes reply = { 0 };
	struct cursor c;
	const char *why;
	int err;

	if (!open_apart(d, l))
		return;
	err = apart_lines(l->apart, linked, n, &reply, &why);
	if (why)
		(void)notify_at(d->notify, NOTE_WARNING, ERR_LIMIT, s->pub.path, NO_OFFSET,
				"no source lines and inlined calls of it: %s", why);
	c = cursor_over(reply.p, reply.len, false);
	for (u32 i = 0; i < n; i++)
		take_frames(l, &c, linked[i]);
	if (err || c.bad || apart_file_needs_others(l->apart))
		answers_do_not_keep(l->answers);
	bytes_free(&reply);
}

/* Called with the DSO's lock held, as is the next one. */
static void ask_for(struct dsos *d, struct dso_slot *s, const u64 *addrs, u32 n)
{
	struct dso_lines *l = get_lines(d, s);
	u64 batch[APART_BATCH];
	struct map asked = { 0 };
	u32 nr = 0;

	for (u32 i = 0; i < n; i++) {
		u32 before = asked.n;
		u64 linked;

		if (!linked_address(l, addrs[i], &linked) || answers_has(l->answers, linked))
			continue;
		map_set(&asked, linked, 0);
		if (asked.n == before)
			continue; /* twice among addrs */
		batch[nr++] = linked;
		if (nr == APART_BATCH) {
			ask_batch(d, s, l, batch, nr);
			nr = 0;
		}
	}
	if (nr)
		ask_batch(d, s, l, batch, nr);
	map_free(&asked);
}

/* An answer about functions, and where names are in it that may come again. */
struct functions_answer {
	const struct bytes *bytes;
	struct cursor c;
	struct map names;
};

/* The next name: it follows, or the answer has had it. Nothing else is taken for one, so that all names together have
 * no more bytes than the answer. */
static const char *take_name(struct functions_answer *a)
{
	u32 at = cursor_u32(&a->c);
	const char *name;

	if (at != (size_t)(a->c.p - a->bytes->p)) {
		a->c.bad |= map_get(&a->names, at) == ID_NONE;
		return a->c.bad ? NULL : (const char *)a->bytes->p + at;
	}
	name = take_text(&a->c, true);
	if (name && (const char *)a->c.p - name <= APART_NAME_AGAIN)
		map_set(&a->names, at, 0);
	return name;
}

static bool take_rows(struct functions_answer *a, u32 n, struct source_function *out)
{
	for (u32 i = 0; i < n && !a->c.bad; i++) {
		struct source_row r;

		r.line = cursor_u32(&a->c);
		r.first_line = cursor_u32(&a->c);
		r.discriminator = cursor_u32(&a->c);
		r.function = take_name(a);
		if (!a->c.bad)
			vec_push(&out->rows, r);
	}
	return !a->c.bad;
}

/* As apart_functions has it. False: it is damaged. A function without ranges or spans tells nothing. */
static bool take_function(struct functions_answer *a, struct source_function *out)
{
	struct cursor *c = &a->c;
	u32 ranges, spans;

	out->ranges.n = out->spans.n = out->rows.n = 0;
	out->entry = cursor_u64(c);
	ranges = cursor_u32(c);
	spans = cursor_u32(c);
	for (u32 i = 0; i < ranges && !c->bad; i++) {
		struct source_code r = { cursor_u64(c), 0 };

		r.end = cursor_u64(c);
		c->bad |= r.end < r.start;
		if (!c->bad)
			vec_push(&out->ranges, r);
	}
	for (u32 i = 0; i < spans && !c->bad; i++) {
		struct source_span span = { cursor_u64(c), (u32)out->rows.n, 0 };

		span.n = cursor_u32(c);
		c->bad |= span.n > APART_FRAMES || (i && span.start < out->spans.v[i - 1].start);
		if (take_rows(a, span.n, out))
			vec_push(&out->spans, span);
	}
	return !c->bad;
}

struct function_taker {
	bool (*take)(void *ctx, const struct source_function *f);
	void *ctx;
	struct source_function f;
};

/* Of an answer; returns how many of the addresses it is about, perhaps more than were asked for. 0: it is damaged, or
 * nobody wants more. */
static size_t take_functions(const struct bytes *reply, const u64 *linked, size_t n, struct function_taker *t)
{
	struct functions_answer a = { .bytes = reply, .c = cursor_over(reply->p, reply->len, false) };
	size_t i = 0;

	while (i < n && cursor_left(&a.c)) {
		u64 from = cursor_u64(&a.c), to = cursor_u64(&a.c);

		if (!take_function(&a, &t->f) || from > linked[i] || to <= linked[i] ||
		    (t->f.ranges.n && t->f.spans.n && !t->take(t->ctx, &t->f))) {
			i = 0;
			break;
		}
		while (i < n && linked[i] < to)
			i++;
	}
	map_free(&a.names);
	return i;
}

static bool ask_for_functions(struct dsos *d, struct dso_slot *s, const u64 *linked, u32 n, struct bytes *reply)
{
	const char *why = NULL;
	bool good;

	pthread_mutex_lock(&s->lock);
	good = open_apart(d, get_lines(d, s)) && !apart_functions(s->lines->apart, linked, n, reply, &why);
	pthread_mutex_unlock(&s->lock);
	if (why)
		(void)notify_at(d->notify, NOTE_WARNING, ERR_LIMIT, s->pub.path, NO_OFFSET,
				"no source lines and inlined calls of it: %s", why);
	return good;
}

void dsos_source_functions(struct dsos *d, u32 dso, const u64 *linked, size_t n,
			   bool (*take)(void *ctx, const struct source_function *f), void *ctx)
{
	struct function_taker t = { .take = take, .ctx = ctx };
	struct bytes reply = { 0 };
	size_t done = 0, more = n && dsos_has_lines(d, dso);

	while (more && done < n) {
		u32 batch = (u32)MIN(n - done, (size_t)APART_BATCH);

		more = ask_for_functions(d, dso_slot_of_file(d, dso), linked + done, batch, &reply) ?
			       take_functions(&reply, linked + done, n - done, &t) :
			       0;
		done += more;
	}
	vec_free(&t.f.ranges);
	vec_free(&t.f.spans);
	vec_free(&t.f.rows);
	bytes_free(&reply);
}

static u32 known_at(const struct dso_lines *l, u64 addr, struct source_frame *out, u32 max)
{
	u64 linked;
	u32 n = 0;

	return linked_address(l, addr, &linked) && answers_find(l->answers, linked, out, max, &n) ? n : 0;
}

void dsos_source_ahead(struct dsos *d, u32 dso, const u64 *addrs, u32 n)
{
	struct dso_slot *s;

	if (!dsos_has_lines(d, dso))
		return;
	s = dso_slot_of_file(d, dso);
	pthread_mutex_lock(&s->lock);
	ask_for(d, s, addrs, n);
	pthread_mutex_unlock(&s->lock);
}

u32 dsos_source_at(struct dsos *d, u32 dso, u64 addr, struct source_frame *out, u32 max)
{
	u32 n, sym = dsos_symbol_at(d, dso, addr);
	struct dso_slot *s;

	if (!dsos_has_lines(d, dso))
		return 0;
	s = dso_slot_of_file(d, dso);
	pthread_mutex_lock(&s->lock);
	ask_for(d, s, &addr, 1);
	n = known_at(s->lines, addr, out, max);
	pthread_mutex_unlock(&s->lock);
	/* A line without a function: the padding behind one, or assembler code. */
	if (n && !out[n - 1].function)
		out[n - 1].function = sym != ID_NONE ? dsos_symbol_name(d, dso, sym) : "";
	return n;
}

void dsos_drop_lines(struct dsos *d)
{
	for (size_t i = 0; i < d->slots.n; i++) {
		struct dso_slot *s = d->slots.v[i];

		pthread_mutex_lock(&s->lock);
		dso_lines_free(d, s);
		pthread_mutex_unlock(&s->lock);
	}
}

void dsos_functions_only(struct dsos *d, bool only)
{
	if (d->functions_only != only)
		dsos_drop_lines(d);
	d->functions_only = only;
}
