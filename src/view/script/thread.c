/* SPDX-License-Identifier: Apache-2.0 */
/* Threads as lines show them, kept by each worker. */
#include <string.h>

#include "base/hash.h"
#include "view/script/impl.h"

const char *script_comm(const struct script *s, const struct thread_view *view)
{
	return view->comm == ID_NONE || view->named_later ? NULL : strtab_get(s->strings, view->comm);
}

static void name_thread(const struct script_worker *w, struct thread_slot *t)
{
	const char *comm = script_comm(w->s, &t->view);
	char made_up[THREAD_NAME_SIZE];

	if (!comm)
		comm = thread_made_up_name(t->tid, made_up);
	t->comm.len = 0;
	bytes_plain(&t->comm, comm, strlen(comm));
	bytes_char(&t->comm, 0);
	t->comm.len--;
}

const struct thread_slot *script_thread(struct script_worker *w, u32 pid, u32 tid, u64 clock)
{
	struct thread_slot *t = &w->threads[hash_u64((u64)pid << 32 | tid) & (THREAD_SLOTS - 1)];

	if (t->used && t->pid == pid && t->tid == tid && clock >= t->view.from && clock < t->view.until)
		return t;
	*t = (struct thread_slot){ .pid = pid, .tid = tid, .used = true, .comm = t->comm };
	procs_thread_at(w->s->procs, pid, tid, clock, &t->view);
	name_thread(w, t);
	return t;
}
