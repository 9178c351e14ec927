/* SPDX-License-Identifier: Apache-2.0 */
/* Side-band records as lines among the samples (--show-task-events and its like). */
#include <string.h>
#include <sys/mman.h>

#include "codec/perf_abi.h"
#include "view/script/impl.h"

bool script_shows(const struct script_opts *o, u32 record_type)
{
	switch (record_type) {
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return o->show_tasks;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return o->show_mmaps;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		return o->show_switches;
	case PERF_RECORD_NAMESPACES:
		return o->show_namespaces;
	case PERF_RECORD_LOST:
		return o->show_lost;
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_BPF_EVENT:
		return o->show_bpf;
	case PERF_RECORD_CGROUP:
		return o->show_cgroups;
	case PERF_RECORD_TEXT_POKE:
		return o->show_text_pokes;
	case PERF_RECORD_FINISHED_ROUND:
		return o->show_rounds;
	default:
		return false;
	}
}

/* As printf's %#llx. */
static void put_hex(struct bytes *out, u64 v)
{
	if (v)
		bytes_str(out, "0x");
	bytes_hex(out, v);
}

static void put_text(struct bytes *out, struct str s)
{
	bytes_plain(out, s.p, s.len);
}

static void put_mmap(const struct record *r, struct bytes *out)
{
	const struct rec_mmap *m = &r->mmap;

	bytes_printf(out, " %d/%d: [", (s32)m->pid, (s32)m->tid);
	put_hex(out, m->start);
	bytes_char(out, '(');
	put_hex(out, m->len);
	bytes_str(out, ") @ ");
	put_hex(out, m->pgoff);
	if (r->h.type == PERF_RECORD_MMAP) {
		bytes_printf(out, "]: %c ", r->h.misc & PERF_RECORD_MISC_MMAP_DATA ? 'r' : 'x');
	} else {
		if (m->build_id_size) {
			bytes_str(out, " <");
			for (u32 i = 0; i < m->build_id_size; i++)
				bytes_printf(out, "%02x", m->build_id[i]);
			bytes_char(out, '>');
		} else {
			bytes_printf(out, " %02x:%02x %llu %llu", m->maj, m->min, (unsigned long long)m->ino,
				     (unsigned long long)m->ino_generation);
		}
		bytes_printf(out, "]: %c%c%c%c ", m->prot & PROT_READ ? 'r' : '-', m->prot & PROT_WRITE ? 'w' : '-',
			     m->prot & PROT_EXEC ? 'x' : '-', m->flags & MAP_SHARED ? 's' : 'p');
	}
	put_text(out, m->filename);
}

static void put_namespaces(const struct record *r, struct bytes *out)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	const struct rec_namespaces *n = &r->namespaces;
	u32 nr = n->dev_inode.n / 2;

	bytes_printf(out, " %d/%d - nr_namespaces: %u\n\t\t[", (s32)n->pid, (s32)n->tid, nr);
	for (u32 i = 0; i < nr; i++) {
		if (i && i % 4 == 0)
			bytes_str(out, "\n\t\t ");
		bytes_printf(out, "%u/%s: %llu/", i, i < ARRAY_LEN(names) ? names[i] : "unknown",
			     (unsigned long long)u64s_at(&n->dev_inode, i * 2));
		put_hex(out, u64s_at(&n->dev_inode, i * 2 + 1));
		if (i + 1 < nr)
			bytes_str(out, ", ");
	}
	bytes_char(out, ']');
}

static void put_switch(const struct record *r, struct bytes *out)
{
	bool leaves = r->h.misc & PERF_RECORD_MISC_SWITCH_OUT;
	const char *how = !leaves					  ? "IN         " :
			  r->h.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? "OUT preempt" :
									    "OUT        ";

	bytes_printf(out, " %s", how);
	if (r->h.type == PERF_RECORD_SWITCH_CPU_WIDE)
		bytes_printf(out, "  %s pid/tid: %5d/%-5d", leaves ? "next" : "prev", (s32)r->sw.next_prev_pid,
			     (s32)r->sw.next_prev_tid);
}

static void put_bytes(const u8 *p, u32 n, struct bytes *out)
{
	for (u32 i = 0; i < n; i++)
		bytes_printf(out, " %02x", p[i]);
}

static void put_body(const struct record *r, struct bytes *out)
{
	switch (r->h.type) {
	case PERF_RECORD_COMM:
		bytes_printf(out, "%s: ", r->comm.exec ? " exec" : "");
		put_text(out, r->comm.comm);
		bytes_printf(out, ":%d/%d", (s32)r->comm.pid, (s32)r->comm.tid);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		bytes_printf(out, "(%d:%d):(%d:%d)", (s32)r->task.pid, (s32)r->task.tid, (s32)r->task.ppid,
			     (s32)r->task.ptid);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		put_mmap(r, out);
		break;
	case PERF_RECORD_NAMESPACES:
		put_namespaces(r, out);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		put_switch(r, out);
		break;
	case PERF_RECORD_LOST:
		bytes_printf(out, " lost %llu", (unsigned long long)r->lost.lost);
		break;
	case PERF_RECORD_KSYMBOL:
		bytes_printf(out, " addr %llx len %u type %u flags 0x%x name ", (unsigned long long)r->ksymbol.addr,
			     r->ksymbol.len, r->ksymbol.ksym_type, r->ksymbol.flags);
		put_text(out, r->ksymbol.name);
		break;
	case PERF_RECORD_BPF_EVENT:
		bytes_printf(out, " type %u, flags %u, id %u", r->bpf_event.type, r->bpf_event.flags, r->bpf_event.id);
		break;
	case PERF_RECORD_CGROUP:
		bytes_printf(out, " cgroup: %llu ", (unsigned long long)r->cgroup.id);
		put_text(out, r->cgroup.path);
		break;
	case PERF_RECORD_TEXT_POKE:
		bytes_printf(out, " %llx old len %u new len %u\n            old bytes:",
			     (unsigned long long)r->text_poke.addr, r->text_poke.old_len, r->text_poke.new_len);
		put_bytes(r->text_poke.bytes, r->text_poke.old_len, out);
		bytes_str(out, "\n            new bytes:");
		put_bytes(r->text_poke.bytes + r->text_poke.old_len, r->text_poke.new_len, out);
		break;
	default:
		break;
	}
}

/* Whose name the line begins with: the task that the record is about, as the record leaves it. */
static void name_of(struct script_worker *w, const struct record *r, const struct line_head *h, u64 clock,
		    struct bytes *name)
{
	const struct thread_slot *t;
	u32 pid = h->pid, tid = h->tid;

	switch (r->h.type) {
	case PERF_RECORD_COMM:
		put_text(name, r->comm.comm);
		return;
	case PERF_RECORD_FORK: /* a child is born with its parent's name */
		pid = r->task.ppid;
		tid = r->task.ptid;
		break;
	case PERF_RECORD_EXIT:
		pid = r->task.pid;
		tid = r->task.tid;
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		pid = r->mmap.pid;
		tid = r->mmap.tid;
		break;
	case PERF_RECORD_NAMESPACES:
		pid = r->namespaces.pid;
		tid = r->namespaces.tid;
		break;
	default:
		break;
	}
	/* The kernel's maps come with pid -1, tid 0: the idle task. */
	t = script_thread(w, pid == NO_TASK ? tid : pid, tid, clock);
	bytes_put(name, t->comm.p, t->comm.len);
}

static void put_event_json(const struct record *r, const struct line_head *h, const char *name, struct bytes *out)
{
	struct json j = { .out = out };
	struct bytes text = { 0 };

	json_object(&j);
	json_set_text(&j, "record", name);
	if (h->tid != NO_TASK) {
		json_set_u64(&j, "pid", h->pid);
		json_set_u64(&j, "tid", h->tid);
	}
	if (h->cpu != NO_CPU)
		json_set_u64(&j, "cpu", h->cpu);
	json_set_u64(&j, "time", h->time);
	put_body(r, &text);
	json_set_str(&j, "text", (char *)text.p, text.len);
	json_object_end(&j);
	json_end(&j);
	bytes_free(&text);
}

void script_put_event(struct script_worker *w, const struct record *r, const struct event *event, u64 clock,
		      struct bytes *out)
{
	const struct record_kind *kind = record_kind(r->h.type);
	struct line_head head = {
		.pid = r->sid.has & PERF_SAMPLE_TID ? r->sid.pid : NO_TASK,
		.tid = r->sid.has & PERF_SAMPLE_TID ? r->sid.tid : NO_TASK,
		.cpu = r->sid.has & PERF_SAMPLE_CPU ? r->sid.cpu : NO_CPU,
		.time = r->sid.has & PERF_SAMPLE_TIME ? r->sid.time : 0,
		.misc = r->h.misc,
		.record_type = r->h.type,
	};
	struct bytes name = { 0 };

	if (!event || !kind)
		return;
	if (head.cpu != NO_CPU && !u32_list_holds(&w->s->opts.samples.cpus, head.cpu))
		return;
	if (w->s->opts.json) {
		put_event_json(r, &head, kind->name, out);
		return;
	}
	if (r->h.type != PERF_RECORD_FINISHED_ROUND) {
		name_of(w, r, &head, clock, &name);
		script_put_head(w, event, &head, &name, out);
		bytes_free(&name);
	}
	bytes_printf(out, "PERF_RECORD_%s", kind->name);
	put_body(r, out);
	bytes_char(out, '\n');
}
