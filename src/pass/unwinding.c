/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/unwinding.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "codec/procmaps.h"
#include "state/current.h"
#include "sys/smallfile.h"

#define MAPS_LIMIT (16u << 20)
/* Mappings are read again for so long in each second at most: anybody can have many processes, and many mappings. */
#define READ_NS 100000000
#define SECOND_NS 1000000000

struct unwinding {
	const struct notify *notify;
	struct dsos *dsos;
	struct current *current;
	struct unwinder *unwinder;
	struct stack_counts counts;
	struct stack_counts new; /* of them: since they were described last */
	struct stack_cuts cuts;	 /* the same, by file, as u->current knows it */
	u64 dropped;
	u64 second_ns, read_ns; /* since when, and how long, mappings have been read again */
	const struct evlist *kernel, *recorded;
};

struct unwinding *unwinding_new(const struct notify *notify)
{
	struct unwinding *u = mem_zalloc(sizeof(*u));

	u->notify = notify;
	return u;
}

void unwinding_free(struct unwinding *u)
{
	if (!u)
		return;
	stack_cuts_free(&u->cuts);
	unwinder_free(u->unwinder);
	current_free(u->current);
	if (u->dsos)
		dsos_free(u->dsos);
	free(u);
}

void unwinding_begin(struct unwinding *u, const struct evlist *kernel, const struct evlist *recorded)
{
	const struct symbol_opts opts = { .no_kernel = true, .no_lines = true };

	u->dsos = dsos_new(&opts, u->notify);
	u->current = current_new(u->dsos, u->notify);
	u->unwinder = unwinder_of_now(u->current);
	u->kernel = kernel;
	u->recorded = recorded;
}

const struct stack_counts *unwinding_counts(const struct unwinding *u)
{
	return &u->counts;
}

static bool loses_stack(const struct unwinding *u, u32 event)
{
	return u->kernel->events.v[event].attr.sample_type & PERF_SAMPLE_STACK_USER &&
	       !(u->recorded->events.v[event].attr.sample_type & PERF_SAMPLE_STACK_USER);
}

/* So many bytes at most are copied of a stack. */
static u32 bytes_copied(const struct unwinding *u)
{
	u32 most = 0;

	for (u32 i = 0; i < u->kernel->events.n; i++)
		if (loses_stack(u, i))
			most = MAX(most, u->kernel->events.v[i].attr.sample_stack_user);
	return most;
}

static void describe_sums(const struct unwinding *u, struct features *f)
{
	f->unwound_stacks = u->new.stacks;
	f->unwound_frames = u->new.frames;
	f->unwound_by_fp = u->new.guessed;
	f->unwound_bytes = bytes_copied(u);
}

void unwinding_sum_up(const struct unwinding *u, struct features *f)
{
	describe_sums(u, f);
	for (u32 i = STACK_WHOLE + 1; i < STACK_ENDS; i++)
		if (u->new.ends[i])
			vec_push(&f->unwound_cuts, (struct feat_stack_cut){ .file = "",
									    .why = stack_end_name(i),
									    .stacks = u->new.ends[i] });
}

void unwinding_describe(struct unwinding *u, struct features *f, struct arena *arena)
{
	if (!u->new.stacks)
		return;
	describe_sums(u, f);
	for (size_t i = 0; i < u->cuts.v.n; i++) {
		const struct stack_cut *c = &u->cuts.v.v[i];
		const char *path = current_file_path(u->current, c->file);

		vec_push(&f->unwound_cuts, (struct feat_stack_cut){ .file = arena_strndup(arena, path, strlen(path)),
								    .why = stack_end_name(c->end),
								    .stacks = c->stacks });
	}
	f->present[FEAT_UNWOUND / 64] |= 1ull << FEAT_UNWOUND % 64;
	u->new = (struct stack_counts){ 0 };
	stack_cuts_free(&u->cuts);
	u->cuts = (struct stack_cuts){ 0 };
}

u64 unwinding_dropped(const struct unwinding *u)
{
	return u->dropped;
}

static void tell_mappings(struct unwinding *u, u32 pid, const struct bytes *maps)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER } };
	struct bytes path = { 0 };
	struct str line;
	size_t at = 0;
	struct maps_line l;

	while (bytes_line(maps, &at, &line)) {
		if (!maps_line_parse(line.p, line.len, &l) || !(l.prot & PROT_EXEC))
			continue;
		path.len = 0;
		maps_path_plain(l.path, &path);
		r.mmap = (struct rec_mmap){ .pid = pid,
					    .tid = pid,
					    .start = l.start,
					    .len = l.end - l.start,
					    .pgoff = l.pgoff,
					    .prot = l.prot,
					    .maj = l.maj,
					    .min = l.min,
					    .ino = l.ino,
					    .filename = { (const char *)path.p, (u32)path.len } };
		current_apply(u->current, &r);
	}
	bytes_free(&path);
}

/* Of a process some of whose mappings may have been lost; it is late for that, but most of it is what it was. False:
 * they are as before. */
static bool read_mappings(struct unwinding *u, u32 pid)
{
	struct bytes maps = { 0 };
	u64 begin = clock_ns();
	char name[32];
	bool done;

	if (begin - u->second_ns >= SECOND_NS) {
		u->second_ns = begin;
		u->read_ns = 0;
	}
	if (u->read_ns >= READ_NS)
		return false;
	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	done = !smallfile_read(AT_FDCWD, name, MAPS_LIMIT, &maps) && maps.len;
	if (done) {
		current_again(u->current, pid);
		tell_mappings(u, pid, &maps);
	} else {
		current_settle(u->current, pid);
	}
	bytes_free(&maps);
	u->read_ns += clock_ns() - begin;
	return done;
}

/* False: the sample has no user space. Wrong mappings let a stack end anywhere; if they are doubtful, any end but the
 * right one is. */
static bool unwind_it(struct unwinding *u, const struct event *e, const struct sample *s, struct unwound *stack)
{
	if (!unwind_sample(u->unwinder, &e->layout, s, stack))
		return false;
	if (stack->end == STACK_WHOLE || !current_doubtful(u->current, s->pid) || !read_mappings(u, s->pid))
		return true;
	return unwind_sample(u->unwinder, &e->layout, s, stack);
}

static void take_sample(struct unwinding *u, const u8 *record, u16 size, struct bytes *out)
{
	u32 event = evlist_find(u->kernel, record, size, true, false), n = 0;
	const struct event *e = event < u->kernel->events.n ? &u->kernel->events.v[event] : NULL;
	u64 words[CHAIN_WORDS];
	struct unwound stack;
	struct sample s;

	/* One that nobody can read must not stay: what is in it is not known. */
	if (!e || sample_decode_bytes(&e->layout, record, size, false, &s)) {
		u->dropped++;
		return;
	}
	if (!loses_stack(u, event)) {
		bytes_put(out, record, size);
		return;
	}
	if (unwind_it(u, e, &s, &stack)) {
		unwind_count(&u->counts, &stack);
		unwind_count(&u->new, &stack);
		stack_cuts_count(&u->cuts, stack.dso, stack.end, 1);
		n = unwind_chain(&stack, s.misc & PERF_RECORD_MISC_CPUMODE_MASK, s.ip, &s.chain, words);
	} else {
		n = chain_kernel_part(&s.chain, words, CHAIN_WORDS);
	}
	u->dropped += sample_put_unwound(&e->layout, record, size, words, n, out) != 0;
}

static void take_other(struct unwinding *u, const u8 *record, u16 size)
{
	struct record r;

	if (!record_decode(cursor_over(record, size, false), 0, evlist_trailer(u->kernel, record, size, false), &r))
		current_apply(u->current, &r);
}

void unwinding_take(struct unwinding *u, const u8 *record, u16 size, struct bytes *out)
{
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	if (h.type == PERF_RECORD_SAMPLE) {
		take_sample(u, record, size, out);
		return;
	}
	take_other(u, record, size);
	bytes_put(out, record, size);
}
