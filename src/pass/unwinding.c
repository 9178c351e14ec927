/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/unwinding.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "codec/procmaps.h"
#include "state/current.h"
#include "sys/smallfile.h"

#define MAPS_LIMIT (16u << 20)

struct unwinding {
	const struct notify *notify;
	struct dsos *dsos;
	struct current *current;
	struct unwinder *unwinder;
	struct unwind_counts counts;
	u64 dropped;
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
	u->current = current_new(u->dsos);
	u->unwinder = unwinder_of_now(u->current);
	u->kernel = kernel;
	u->recorded = recorded;
}

const struct unwind_counts *unwinding_counts(const struct unwinding *u)
{
	return &u->counts;
}

u64 unwinding_dropped(const struct unwinding *u)
{
	return u->dropped;
}

static bool loses_stack(const struct unwinding *u, u32 event)
{
	return u->kernel->events.v[event].attr.sample_type & PERF_SAMPLE_STACK_USER &&
	       !(u->recorded->events.v[event].attr.sample_type & PERF_SAMPLE_STACK_USER);
}

/* Of a process some of whose mappings may have been lost; it is late for that, but most of it is what it was. */
static void read_mappings(struct unwinding *u, u32 pid)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER } };
	struct bytes maps = { 0 }, path = { 0 };
	char name[32];
	struct str line;
	size_t at = 0;
	struct maps_line l;

	current_again(u->current, pid);
	snprintf(name, sizeof(name), "/proc/%u/maps", pid);
	if (!smallfile_read(AT_FDCWD, name, MAPS_LIMIT, &maps))
		while (bytes_line(&maps, &at, &line)) {
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
	bytes_free(&maps);
}

/* False: the sample has no user space. */
static bool unwind_it(struct unwinding *u, const struct event *e, const struct sample *s, struct unwound *stack)
{
	if (!unwind_sample(u->unwinder, &e->layout, s, stack))
		return false;
	if (stack->end != UNWIND_UNMAPPED || !current_doubtful(u->current, s->pid))
		return true;
	read_mappings(u, s->pid);
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
