/* SPDX-License-Identifier: Apache-2.0 */
/* The records that the kernel writes: include/uapi/linux/perf_event.h, enum perf_event_type. */
#include "codec/record_kinds.h"

typedef unsigned long long ull;

/* MMAP and MMAP2 */

enum { PROT_R = 1, PROT_W = 2, PROT_X = 4 };

static void mmap_head_decode(struct cursor *c, struct rec_mmap *m)
{
	m->pid = cursor_u32(c);
	m->tid = cursor_u32(c);
	m->start = cursor_u64(c);
	m->len = cursor_u64(c);
	m->pgoff = cursor_u64(c);
}

static void mmap_head_encode(const struct rec_mmap *m, struct bytes *out)
{
	bytes_u32(out, m->pid);
	bytes_u32(out, m->tid);
	bytes_u64(out, m->start);
	bytes_u64(out, m->len);
	bytes_u64(out, m->pgoff);
}

static void mmap_decode(struct cursor *c, struct record *r)
{
	mmap_head_decode(c, &r->mmap);
	r->mmap.prot = r->h.misc & PERF_RECORD_MISC_MMAP_DATA ? PROT_R : PROT_R | PROT_X;
	r->mmap.filename = cursor_text(c, cursor_left(c));
}

static void mmap_encode(const struct record *r, struct bytes *out)
{
	mmap_head_encode(&r->mmap, out);
	put_text(out, r->mmap.filename);
}

/*
 * Is it a build id that stands here, as misc says? While one event on the machine asks for build ids, kernels leave
 * that bit in the records of all other events, too, whose device and inode stand here all the same (seen on 6.18;
 * perf 6.1 aborts). Then the length is a device's major number, what is reserved is the rest of it, a minor number
 * follows, and half of an inode's number that is mostly 0. A build id that looks like this is one of 2^24, or of 2^56
 * where it is as long as usual.
 */
#define SHORTEST_BUILD_ID 4 /* that can be told; linkers make 8 (xxhash), 16 or 20 */

static bool is_build_id(struct cursor c)
{
	const u8 *p = cursor_bytes(&c, 16), *id; /* length, reserved, and twelve bytes of the id */

	if (!p)
		return true; /* cut off: the decoder will say so */
	id = p + 4;
	if (p[0] < SHORTEST_BUILD_ID || p[0] > sizeof(((struct rec_mmap *)0)->build_id) || p[1] || p[2] || p[3])
		return false;
	return id[1] || id[2] || id[3] || (p[0] >= 12 && (id[8] || id[9] || id[10] || id[11]));
}

static void mmap2_decode(struct cursor *c, struct record *r)
{
	struct rec_mmap *m = &r->mmap;

	mmap_head_decode(c, m);
	if (r->h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID && !is_build_id(*c))
		r->h.misc &= (u16)~PERF_RECORD_MISC_MMAP_BUILD_ID;
	if (r->h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		u32 size = cursor_u8(c);
		const u8 *id;

		cursor_skip(c, 3);
		id = cursor_bytes(c, sizeof(m->build_id));
		if (id && size <= sizeof(m->build_id)) {
			memcpy(m->build_id, id, size);
			m->build_id_size = (u8)size;
		}
	} else {
		m->maj = cursor_u32(c);
		m->min = cursor_u32(c);
		m->ino = cursor_u64(c);
		m->ino_generation = cursor_u64(c);
	}
	m->prot = cursor_u32(c);
	m->flags = cursor_u32(c);
	m->filename = cursor_text(c, cursor_left(c));
}

static void mmap2_encode(const struct record *r, struct bytes *out)
{
	const struct rec_mmap *m = &r->mmap;

	mmap_head_encode(m, out);
	if (m->build_id_size || r->h.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		bytes_u32(out, m->build_id_size);
		bytes_put(out, m->build_id, sizeof(m->build_id));
	} else {
		bytes_u32(out, m->maj);
		bytes_u32(out, m->min);
		bytes_u64(out, m->ino);
		bytes_u64(out, m->ino_generation);
	}
	bytes_u32(out, m->prot);
	bytes_u32(out, m->flags);
	put_text(out, m->filename);
}

static void mmap_print(const struct record *r, struct bytes *out)
{
	const struct rec_mmap *m = &r->mmap;

	bytes_printf(out, "pid %d tid %d start %#llx len %#llx pgoff %#llx", m->pid, m->tid, (ull)m->start,
		     (ull)m->len, (ull)m->pgoff);
	if (m->build_id_size) {
		bytes_str(out, " build-id ");
		print_hex_bytes(out, m->build_id, m->build_id_size);
	} else if (r->h.type == PERF_RECORD_MMAP2) {
		bytes_printf(out, " dev %02x:%02x ino %llu gen %llu", m->maj, m->min, (ull)m->ino,
			     (ull)m->ino_generation);
	}
	bytes_printf(out, " %c%c%c%c ", m->prot & PROT_R ? 'r' : '-', m->prot & PROT_W ? 'w' : '-',
		     m->prot & PROT_X ? 'x' : '-', m->flags & 1 ? 's' : 'p');
	bytes_plain(out, m->filename.p, m->filename.len);
}

/* COMM */

static void comm_decode(struct cursor *c, struct record *r)
{
	r->comm.pid = cursor_u32(c);
	r->comm.tid = cursor_u32(c);
	r->comm.comm = cursor_text(c, cursor_left(c));
	r->comm.exec = r->h.misc & PERF_RECORD_MISC_COMM_EXEC;
}

static void comm_encode(const struct record *r, struct bytes *out)
{
	bytes_u32(out, r->comm.pid);
	bytes_u32(out, r->comm.tid);
	put_text(out, r->comm.comm);
}

static void comm_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "pid %d tid %d%s", r->comm.pid, r->comm.tid, r->comm.exec ? " exec" : "");
	print_text(out, " ", r->comm.comm);
}

/* FORK and EXIT */

static void task_decode(struct cursor *c, struct record *r)
{
	r->task.pid = cursor_u32(c);
	r->task.ppid = cursor_u32(c);
	r->task.tid = cursor_u32(c);
	r->task.ptid = cursor_u32(c);
	r->task.time = cursor_u64(c);
}

static void task_encode(const struct record *r, struct bytes *out)
{
	bytes_u32(out, r->task.pid);
	bytes_u32(out, r->task.ppid);
	bytes_u32(out, r->task.tid);
	bytes_u32(out, r->task.ptid);
	bytes_u64(out, r->task.time);
}

static void task_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "pid %d tid %d ppid %d ptid %d time %llu", r->task.pid, r->task.tid, r->task.ppid,
		     r->task.ptid, (ull)r->task.time);
}

/* LOST and LOST_SAMPLES */

static void lost_decode(struct cursor *c, struct record *r)
{
	if (r->h.type == PERF_RECORD_LOST)
		r->lost.id = cursor_u64(c);
	r->lost.lost = cursor_u64(c);
}

static void lost_encode(const struct record *r, struct bytes *out)
{
	if (r->h.type == PERF_RECORD_LOST)
		bytes_u64(out, r->lost.id);
	bytes_u64(out, r->lost.lost);
}

static void lost_print(const struct record *r, struct bytes *out)
{
	if (r->h.type == PERF_RECORD_LOST)
		bytes_printf(out, "id %llu ", (ull)r->lost.id);
	bytes_printf(out, "lost %llu", (ull)r->lost.lost);
}

/* THROTTLE and UNTHROTTLE */

static void throttle_decode(struct cursor *c, struct record *r)
{
	r->throttle.time = cursor_u64(c);
	r->throttle.id = cursor_u64(c);
	r->throttle.stream_id = cursor_u64(c);
}

static void throttle_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->throttle.time);
	bytes_u64(out, r->throttle.id);
	bytes_u64(out, r->throttle.stream_id);
}

static void throttle_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "time %llu id %llu stream %llu", (ull)r->throttle.time, (ull)r->throttle.id,
		     (ull)r->throttle.stream_id);
}

/* READ */

static void read_decode(struct cursor *c, struct record *r)
{
	r->read.pid = cursor_u32(c);
	r->read.tid = cursor_u32(c);
	r->read.values = cursor_sub(c, cursor_left(c));
}

static void read_encode(const struct record *r, struct bytes *out)
{
	bytes_u32(out, r->read.pid);
	bytes_u32(out, r->read.tid);
	for (struct cursor c = r->read.values; cursor_left(&c) >= 8;)
		bytes_u64(out, cursor_u64(&c));
}

static void read_print(const struct record *r, struct bytes *out)
{
	struct cursor c = r->read.values;

	bytes_printf(out, "pid %d tid %d values", r->read.pid, r->read.tid);
	while (cursor_left(&c) >= 8)
		bytes_printf(out, " %llu", (ull)cursor_u64(&c));
}

/* AUX */

static void aux_decode(struct cursor *c, struct record *r)
{
	r->aux.offset = cursor_u64(c);
	r->aux.size = cursor_u64(c);
	r->aux.flags = cursor_u64(c);
}

static void aux_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->aux.offset);
	bytes_u64(out, r->aux.size);
	bytes_u64(out, r->aux.flags);
}

static void aux_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "offset %#llx size %#llx flags %#llx", (ull)r->aux.offset, (ull)r->aux.size,
		     (ull)r->aux.flags);
}

/* ITRACE_START */

static void itrace_start_decode(struct cursor *c, struct record *r)
{
	r->itrace_start.pid = cursor_u32(c);
	r->itrace_start.tid = cursor_u32(c);
}

static void itrace_start_encode(const struct record *r, struct bytes *out)
{
	bytes_u32(out, r->itrace_start.pid);
	bytes_u32(out, r->itrace_start.tid);
}

static void itrace_start_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "pid %d tid %d", r->itrace_start.pid, r->itrace_start.tid);
}

/* SWITCH and SWITCH_CPU_WIDE */

static void switch_decode(struct cursor *c, struct record *r)
{
	if (r->h.type == PERF_RECORD_SWITCH)
		return;
	r->sw.next_prev_pid = cursor_u32(c);
	r->sw.next_prev_tid = cursor_u32(c);
}

static void switch_encode(const struct record *r, struct bytes *out)
{
	if (r->h.type == PERF_RECORD_SWITCH)
		return;
	bytes_u32(out, r->sw.next_prev_pid);
	bytes_u32(out, r->sw.next_prev_tid);
}

static void switch_print(const struct record *r, struct bytes *out)
{
	bool away = r->h.misc & PERF_RECORD_MISC_SWITCH_OUT;

	bytes_str(out, away ? "out" : "in");
	if (away && r->h.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)
		bytes_str(out, " preempted");
	if (r->h.type == PERF_RECORD_SWITCH_CPU_WIDE)
		bytes_printf(out, " %s pid %d tid %d", away ? "next" : "prev", r->sw.next_prev_pid,
			     r->sw.next_prev_tid);
}

/* NAMESPACES */

static void namespaces_decode(struct cursor *c, struct record *r)
{
	u64 nr;

	r->namespaces.pid = cursor_u32(c);
	r->namespaces.tid = cursor_u32(c);
	nr = cursor_u64(c);
	r->namespaces.dev_inode = cursor_u64s(c, nr <= UINT32_MAX ? nr * 2 : UINT64_MAX);
}

static void namespaces_encode(const struct record *r, struct bytes *out)
{
	bytes_u32(out, r->namespaces.pid);
	bytes_u32(out, r->namespaces.tid);
	bytes_u64(out, r->namespaces.dev_inode.n / 2);
	put_u64s(out, &r->namespaces.dev_inode);
}

static void namespaces_print(const struct record *r, struct bytes *out)
{
	static const char *const names[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	const struct u64s *a = &r->namespaces.dev_inode;

	bytes_printf(out, "pid %d tid %d", r->namespaces.pid, r->namespaces.tid);
	for (u32 i = 0; i + 1 < a->n; i += 2)
		bytes_printf(out, " %s %#llx:%#llx", i / 2 < ARRAY_LEN(names) ? names[i / 2] : "?", (ull)u64s_at(a, i),
			     (ull)u64s_at(a, i + 1));
}

/* KSYMBOL */

static void ksymbol_decode(struct cursor *c, struct record *r)
{
	r->ksymbol.addr = cursor_u64(c);
	r->ksymbol.len = cursor_u32(c);
	r->ksymbol.ksym_type = cursor_u16(c);
	r->ksymbol.flags = cursor_u16(c);
	r->ksymbol.name = cursor_text(c, cursor_left(c));
}

static void ksymbol_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->ksymbol.addr);
	bytes_u32(out, r->ksymbol.len);
	bytes_u16(out, r->ksymbol.ksym_type);
	bytes_u16(out, r->ksymbol.flags);
	put_text(out, r->ksymbol.name);
}

static void ksymbol_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "addr %#llx len %#x type %u flags %#x", (ull)r->ksymbol.addr, r->ksymbol.len,
		     r->ksymbol.ksym_type, r->ksymbol.flags);
	print_text(out, " ", r->ksymbol.name);
}

/* BPF_EVENT */

static void bpf_event_decode(struct cursor *c, struct record *r)
{
	const u8 *tag;

	r->bpf_event.type = cursor_u16(c);
	r->bpf_event.flags = cursor_u16(c);
	r->bpf_event.id = cursor_u32(c);
	tag = cursor_bytes(c, sizeof(r->bpf_event.tag));
	if (tag)
		memcpy(r->bpf_event.tag, tag, sizeof(r->bpf_event.tag));
}

static void bpf_event_encode(const struct record *r, struct bytes *out)
{
	bytes_u16(out, r->bpf_event.type);
	bytes_u16(out, r->bpf_event.flags);
	bytes_u32(out, r->bpf_event.id);
	bytes_put(out, r->bpf_event.tag, sizeof(r->bpf_event.tag));
}

static void bpf_event_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "type %u flags %#x id %u tag ", r->bpf_event.type, r->bpf_event.flags, r->bpf_event.id);
	print_hex_bytes(out, r->bpf_event.tag, sizeof(r->bpf_event.tag));
}

/* CGROUP */

static void cgroup_decode(struct cursor *c, struct record *r)
{
	r->cgroup.id = cursor_u64(c);
	r->cgroup.path = cursor_text(c, cursor_left(c));
}

static void cgroup_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->cgroup.id);
	put_text(out, r->cgroup.path);
}

static void cgroup_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "id %llu", (ull)r->cgroup.id);
	print_text(out, " ", r->cgroup.path);
}

/* TEXT_POKE */

static void text_poke_decode(struct cursor *c, struct record *r)
{
	r->text_poke.addr = cursor_u64(c);
	r->text_poke.old_len = cursor_u16(c);
	r->text_poke.new_len = cursor_u16(c);
	r->text_poke.bytes = cursor_bytes(c, (u64)r->text_poke.old_len + r->text_poke.new_len);
}

static void text_poke_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->text_poke.addr);
	bytes_u16(out, r->text_poke.old_len);
	bytes_u16(out, r->text_poke.new_len);
	bytes_put(out, r->text_poke.bytes, (size_t)r->text_poke.old_len + r->text_poke.new_len);
}

static void text_poke_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "addr %#llx old ", (ull)r->text_poke.addr);
	print_hex_bytes(out, r->text_poke.bytes, r->text_poke.old_len);
	bytes_str(out, " new ");
	print_hex_bytes(out, r->text_poke.bytes + r->text_poke.old_len, r->text_poke.new_len);
}

/* AUX_OUTPUT_HW_ID */

static void aux_output_hw_id_decode(struct cursor *c, struct record *r)
{
	r->aux_output_hw_id.hw_id = cursor_u64(c);
}

static void aux_output_hw_id_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->aux_output_hw_id.hw_id);
}

static void aux_output_hw_id_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "hw-id %#llx", (ull)r->aux_output_hw_id.hw_id);
}

/* CALLCHAIN_DEFERRED */

static void callchain_deferred_decode(struct cursor *c, struct record *r)
{
	r->callchain_deferred.cookie = cursor_u64(c);
	r->callchain_deferred.ips = cursor_u64s(c, cursor_u64(c));
}

static void callchain_deferred_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->callchain_deferred.cookie);
	bytes_u64(out, r->callchain_deferred.ips.n);
	put_u64s(out, &r->callchain_deferred.ips);
}

static void callchain_deferred_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "cookie %#llx chain", (ull)r->callchain_deferred.cookie);
	for (u32 i = 0; i < r->callchain_deferred.ips.n; i++)
		bytes_printf(out, " %#llx", (ull)u64s_at(&r->callchain_deferred.ips, i));
}

/* TLS_USER */

static void tls_user_decode(struct cursor *c, struct record *r)
{
	u64 size, dyn_size;

	r->tls_user.cookie = cursor_u64(c);
	size = cursor_u64(c);
	r->tls_user.bytes = cursor_sub(c, size);
	dyn_size = size ? cursor_u64(c) : 0;
	r->tls_user.dyn_size = MIN(dyn_size, cursor_left(&r->tls_user.bytes));
}

static void tls_user_encode(const struct record *r, struct bytes *out)
{
	bytes_u64(out, r->tls_user.cookie);
	bytes_u64(out, cursor_left(&r->tls_user.bytes));
	bytes_put(out, r->tls_user.bytes.p, cursor_left(&r->tls_user.bytes));
	if (cursor_left(&r->tls_user.bytes))
		bytes_u64(out, r->tls_user.dyn_size);
}

static void tls_user_print(const struct record *r, struct bytes *out)
{
	bytes_printf(out, "cookie %#llx tls ", (ull)r->tls_user.cookie);
	print_hex_bytes(out, r->tls_user.bytes.p, (size_t)r->tls_user.dyn_size);
}

#define ROW(TYPE, what)                                                                                               \
	{                                                                                                             \
		PERF_RECORD_##TYPE, #TYPE, true, false, what##_decode, what##_encode, what##_print                    \
	}

/* A row for every type from 1 on, in order: record_kind() indexes it. */
const struct record_kind kernel_kinds[] = {
	ROW(MMAP, mmap),
	ROW(LOST, lost),
	ROW(COMM, comm),
	ROW(EXIT, task),
	ROW(THROTTLE, throttle),
	ROW(UNTHROTTLE, throttle),
	ROW(FORK, task),
	ROW(READ, read),
	/* What a sample holds depends on its event: codec/sample.h. */
	{ .type = PERF_RECORD_SAMPLE, .name = "SAMPLE" },
	{ PERF_RECORD_MMAP2, "MMAP2", true, false, mmap2_decode, mmap2_encode, mmap_print },
	ROW(AUX, aux),
	ROW(ITRACE_START, itrace_start),
	ROW(LOST_SAMPLES, lost),
	ROW(SWITCH, switch),
	ROW(SWITCH_CPU_WIDE, switch),
	ROW(NAMESPACES, namespaces),
	ROW(KSYMBOL, ksymbol),
	ROW(BPF_EVENT, bpf_event),
	ROW(CGROUP, cgroup),
	ROW(TEXT_POKE, text_poke),
	ROW(AUX_OUTPUT_HW_ID, aux_output_hw_id),
	ROW(CALLCHAIN_DEFERRED, callchain_deferred),
	ROW(TLS_USER, tls_user),
};
const u32 nr_kernel_kinds = ARRAY_LEN(kernel_kinds);
