/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/wait_names.h"

#include <string.h>

#include "base/hash.h"

enum kind { NOT_ASKED, KERNEL, SCHEDULER, USER, C_LIBRARY };

static u64 hash_of_stack(struct wait_stack at)
{
	return hash_pair(at.kernel, at.user);
}

static bool same_stack(struct wait_stack a, struct wait_stack b)
{
	return a.kernel == b.kernel && a.user == b.user;
}

u32 wait_names_place(struct wait_names *n, struct wait_stack at)
{
	u64 hash = hash_of_stack(at);
	u32 id, slot;

	SET_FIND(id, &n->known_places, hash, slot, same_stack(n->places.v[id], at));
	if (id == ID_NONE) {
		id = (u32)n->places.n;
		set_add(&n->known_places, hash, id);
		vec_push(&n->places, at);
	}
	return id;
}

static bool same_waker(const struct wait_waker *a, const struct wait_waker *b)
{
	return a->context == b->context && a->comm == b->comm && a->activity == b->activity &&
	       same_stack(a->at, b->at);
}

u32 wait_names_waker(struct wait_names *n, const struct wait_waker *w)
{
	u64 hash = hash_pair(hash_of_stack(w->at), hash_pair((u64)w->comm << 32 | w->activity, w->context));
	u32 id, slot;

	SET_FIND(id, &n->known_wakers, hash, slot, same_waker(&n->wakers.v[id], w));
	if (id == ID_NONE) {
		id = (u32)n->wakers.n;
		set_add(&n->known_wakers, hash, id);
		vec_push(&n->wakers, *w);
	}
	return id;
}

static bool begins_with_any(const char *name, const char *const *with, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strncmp(name, with[i], strlen(with[i])))
			return true;
	return false;
}

/* All waits and all wakings go through these, so they tell nothing of any. */
static bool is_scheduler(const char *name)
{
	static const char *const names[] = {
		"__schedule",	   "schedule",
		"io_schedule",	   "preempt_schedule",
		"__cond_resched",  "try_to_wake_up",
		"ttwu_",	   "wake_up_",
		"__wake_up",	   "default_wake_function",
		"autoremove_wake", "woken_wake_function",
		"swake_up_",	   "perf_trace_",
		"__traceiter_",	   "trace_event_",
		"bpf_trampoline_", "__bpf_trace_",
	};

	return begins_with_any(name, names, ARRAY_LEN(names));
}

static bool is_c_library(const char *dso)
{
	static const char *const names[] = { "libc.so",	 "libc-",   "libc.musl", "libpthread",
					     "ld-linux", "ld-musl", "[vdso]" };

	return begins_with_any(dso, names, ARRAY_LEN(names));
}

static enum kind kind_of(const struct wait_names *n, u32 frame)
{
	const struct frame *f = frames_get(n->frames, frame);

	if (f->level == 'k' || f->level == 'g')
		return f->sym != ID_NONE && is_scheduler(dsos_symbol_name(n->dsos, f->dso, f->sym)) ? SCHEDULER :
												      KERNEL;
	return is_c_library(dsos_at(n->dsos, f->dso)->short_name) ? C_LIBRARY : USER;
}

static enum kind kind(struct wait_names *n, u32 frame)
{
	while (n->kinds.n <= frame)
		vec_push(&n->kinds, NOT_ASKED);
	if (n->kinds.v[frame] == NOT_ASKED)
		n->kinds.v[frame] = (u8)kind_of(n, frame);
	return n->kinds.v[frame];
}

struct wait_stack wait_names_stack(struct wait_names *n, const u32 *frames, u32 nr)
{
	u32 first[C_LIBRARY + 1] = { [0 ... C_LIBRARY] = ID_NONE };

	for (u32 i = 0; i < nr; i++) {
		u32 *f = &first[kind(n, frames[i])];

		if (*f == ID_NONE)
			*f = frames[i];
	}
	return (struct wait_stack){ .kernel = first[KERNEL] != ID_NONE ? first[KERNEL] : first[SCHEDULER],
				    .user = first[USER] != ID_NONE ? first[USER] : first[C_LIBRARY] };
}

void wait_names_free(struct wait_names *n)
{
	strtab_free(&n->keys);
	vec_free(&n->places);
	vec_free(&n->wakers);
	vec_free(&n->kinds);
	set_free(&n->known_places);
	set_free(&n->known_wakers);
}
