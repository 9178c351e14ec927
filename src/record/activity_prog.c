/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program is put together here, instruction by instruction, for two reasons. It needs offsets in the kernel's
 * structs that differ from kernel to kernel, which BTF tells; and nobody who builds this needs a compiler or a loader
 * for BPF. It keeps to what Linux 5.15 has.
 *
 * In each sample:
 *
 * - the process is looked up. If nothing is known of it, or if it is time, the recorder is asked (record/activity.c),
 *   which finds out where the program of that process has its variable;
 * - from the thread pointer to the variable, from there to the record, and to its attributes. Nothing of that may
 *   fault: what is not in memory counts as unreadable;
 * - what was read is compared with what was written last for this thread. Only if it differs it is written. If it
 *   cannot be written, because the ring is full, the sample is dropped, too: without its record it would count for the
 *   activity before;
 * - the process context is written if it was published anew.
 *
 * A thread is known by its id and the time of its start, so the next thread with that id begins with nothing. The
 * first sample of each thread writes a record in any case: readers need not guess what was before. A process is known
 * by its id, the time of its start, and how often it called exec. Both tables forget those that were not sampled for
 * the longest time, as nobody says here when they end.
 *
 * In tracepoints and in probes other programs of the same instructions run, as the kernel has types of their own for
 * these. Such a program is one for all hits of a tracepoint or a probe, whoever hits it and wherever.
 *
 * The time in a record is the sample's, which kernels since 6.3 know when the program runs. On older ones, and in
 * tracepoints, the record has its own time, which is before the sample's.
 */
#include "record/activity_prog.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/activity_code.h"
#include "sys/btf.h"
#include "sys/cpulist.h"

#define LOG_BYTES (64u << 10)
#define PROCESSES 16384u
#define THREADS 16384u
#define THREAD_BYTES (sizeof(struct activity_head) + ACTIVITY_FIXED + ACTIVITY_ATTRS_MAX + 8)
#define PAYLOAD_BYTES (sizeof(struct activity_head) + ACTIVITY_PAYLOAD_MAX)
#define MODULES_MAX (1u << 20)
#define FEW_ATTRS 68 /* bytes that are read together with the record: most have no more */
#define CONTEXT_VERSION 2

/* What the program runs in. */
struct place {
	enum bpf_prog_type type; /* BPF_PROG_TYPE_PERF_EVENT: a sample of any event; else whatever hits something */
	bool followed;		 /* tasks that no event follows are left alone */
};

static void read_kernel(struct code *c, int16_t to, s32 size, u8 base, u32 off)
{
	address(c, R3, base, (s32)off);
	read_to(c, BPF_FUNC_probe_read_kernel, to, size);
}

static void look_up(struct code *c, int map, int16_t key)
{
	set_map(c, R1, map);
	address(c, R2, FP, key);
	call(c, BPF_FUNC_map_lookup_elem);
}

/* The sample's time, if it has one. Its fields are near each other, and one call reads all between them. */
static void put_time(struct code *c, const struct activity_offsets *o)
{
	u32 first = MIN(o->flags, o->time), size = MAX(o->flags, o->time) + 8 - first;

	/* struct bpf_perf_event_data_kern { regs, data, event } */
	read_kernel(c, TABLE, 8, CTX, 8);
	load(c, BPF_DW, R3, FP, TABLE);
	calc(c, BPF_ADD, R3, (s32)first);
	read_to(c, BPF_FUNC_probe_read_kernel, EMPTY, (s32)size);
	load(c, BPF_DW, R1, FP, (int16_t)(EMPTY + (s32)(o->flags - first)));
	calc(c, BPF_AND, R1, PERF_SAMPLE_TIME);
	jump(c, BPF_JEQ, R1, 0, NO_TIME);
	load(c, BPF_DW, R1, FP, (int16_t)(EMPTY + (s32)(o->time - first)));
	store(c, BPF_DW, FP, TIME, R1);
}

/* Who is sampled, and when. */
static void put_who(struct code *c, const struct activity_prog *p, const struct place *in)
{
	const struct activity_offsets *o = &p->offsets;

	copy(c, CTX, R1);
	store_value(c, BPF_W, FP, ZERO_KEY, 0);
	look_up(c, p->scratch, ZERO_KEY);
	jump(c, BPF_JEQ, R0, 0, KEEP);
	copy(c, SCRATCH, R0);
	call(c, BPF_FUNC_get_current_pid_tgid);
	copy(c, R9, R0);
	calc(c, BPF_RSH, R9, 32);
	jump(c, BPF_JEQ, R9, 0, KEEP); /* idle */
	calc(c, BPF_LSH, R9, 32);
	calc(c, BPF_LSH, R0, 32);
	calc(c, BPF_RSH, R0, 32);
	store(c, BPF_DW, FP, TID, R0);
	call(c, BPF_FUNC_get_current_task_btf); /* what it points to is read without a call */
	if (in->followed) {
		for (u32 i = 0; i < o->contexts; i++) {
			load(c, BPF_DW, R1, R0, (int16_t)(o->events + i * sizeof(void *)));
			jump(c, BPF_JNE, R1, 0, FOLLOWED);
		}
		go(c, KEEP);
		here(c, FOLLOWED);
	}
	load(c, BPF_W, R1, R0, (int16_t)o->exec_id);
	calc_with(c, BPF_OR, R1, R9);
	store(c, BPF_DW, FP, KEY, R1);
	load(c, BPF_DW, R1, R0, (int16_t)o->start_time);
	store(c, BPF_DW, FP, THREAD, R1);
	load(c, BPF_DW, R1, R0, (int16_t)o->pointer);
	store(c, BPF_DW, FP, POINTER, R1);
	load(c, BPF_DW, R1, R0, (int16_t)o->leader);
	load(c, BPF_DW, R1, R1, (int16_t)o->start_time);
	store(c, BPF_DW, FP, STARTED, R1);
	store_value(c, BPF_DW, FP, TIME, 0);
	if (o->has_time && in->type == BPF_PROG_TYPE_PERF_EVENT)
		put_time(c, o);
	here(c, NO_TIME);
}

/* What is known of its process; the recorder is asked if it is time. If there is no room for it, TARGET is on the
 * stack, and the thread's record says so: without one, its samples would count for the thread that had its id before.
 */
static void put_target(struct code *c, const struct activity_prog *p)
{
	look_up(c, p->processes, KEY);
	jump(c, BPF_JNE, R0, 0, KNOWN_TARGET);
	for (int16_t at = 0; at < (int16_t)sizeof(struct activity_target); at += 8)
		store_value(c, BPF_DW, FP, (int16_t)(EMPTY + at), 0);
	set_map(c, R1, p->processes);
	address(c, R2, FP, KEY);
	address(c, R3, FP, EMPTY);
	set(c, R4, BPF_NOEXIST);
	call(c, BPF_FUNC_map_update_elem);
	look_up(c, p->processes, KEY);
	jump(c, BPF_JNE, R0, 0, KNOWN_TARGET);
	store_value(c, BPF_W, FP, EMPTY + (int16_t)offsetof(struct activity_target, kind), ACTIVITY_KIND_NO_ROOM);
	address(c, TARGET, FP, EMPTY);
	go(c, HAVE_TARGET);
	here(c, KNOWN_TARGET);
	copy(c, TARGET, R0);
	load(c, BPF_DW, R0, FP, TIME);
	jump(c, BPF_JNE, R0, 0, HAVE_NOW);
	call(c, BPF_FUNC_ktime_get_ns);
	here(c, HAVE_NOW);
	load(c, BPF_DW, R1, TARGET, offsetof(struct activity_target, ask_after));
	jump(c, BPF_JEQ, R1, 0, IS_IT_TIME);
	calc_with(c, BPF_ADD, R1, R0);
	store(c, BPF_DW, TARGET, offsetof(struct activity_target, ask_at), R1);
	store_value(c, BPF_DW, TARGET, offsetof(struct activity_target, ask_after), 0);
	go(c, ASKED);
	here(c, IS_IT_TIME);
	load(c, BPF_DW, R1, TARGET, offsetof(struct activity_target, ask_at));
	jump_with(c, BPF_JGT, R1, R0, ASKED);
	store_value(c, BPF_DW, TARGET, offsetof(struct activity_target, ask_at), -1);
	set_map(c, R1, p->asks);
	address(c, R2, FP, KEY);
	set(c, R3, sizeof(struct activity_key));
	set(c, R4, 0);
	call(c, BPF_FUNC_ringbuf_output);
	jump(c, BPF_JEQ, R0, 0, ASKED);
	store_value(c, BPF_DW, TARGET, offsetof(struct activity_target, ask_at), 0); /* no room: the next one asks */
	here(c, ASKED);
	here(c, HAVE_TARGET);
}

/* R3 becomes the address of the thread's variable. */
static void put_variable(struct code *c)
{
	load(c, BPF_W, R1, TARGET, offsetof(struct activity_target, kind));
	jump(c, BPF_JEQ, R1, ACTIVITY_KIND_UNASKED, NOT_YET);
	jump(c, BPF_JEQ, R1, ACTIVITY_KIND_NO_ROOM, NO_ROOM);
	jump(c, BPF_JEQ, R1, ACTIVITY_KIND_REFUSED, REFUSED);
	jump(c, BPF_JEQ, R1, ACTIVITY_KIND_NONE, COMPARE);
	load(c, BPF_DW, R2, TARGET, offsetof(struct activity_target, where));
	jump(c, BPF_JEQ, R1, ACTIVITY_KIND_STATIC, FROM_POINTER);
	copy(c, R3, R2);
	jump(c, BPF_JEQ, R1, ACTIVITY_KIND_OFFSET, IS_OFFSET);
	jump(c, BPF_JEQ, R1, ACTIVITY_KIND_DESC, IS_DESC);
	read_user(c, SLOT, 16, NO_THREAD);
	go(c, BY_MODULE);

	here(c, IS_OFFSET);
	read_user(c, SLOT, 8, NO_THREAD);
	load(c, BPF_DW, R2, FP, SLOT);
	jump(c, BPF_JEQ, R2, 0, COMPARE); /* not relocated yet */
	go(c, FROM_POINTER);

	here(c, IS_DESC);
	read_user(c, SLOT, 16, NO_THREAD);
	load(c, BPF_DW, R1, FP, SLOT);
	jump(c, BPF_JEQ, R1, 0, COMPARE);
	load(c, BPF_DW, R2, FP, SLOT + 8);
	set_wide(c, R3, 0, 0xffffffff);
	jump_with(c, BPF_JSLE, R2, R3, FROM_POINTER);
	copy(c, R3, R2);
	read_user(c, SLOT, 16, NO_THREAD);

	here(c, BY_MODULE);
	load(c, BPF_DW, R9, FP, SLOT);
	jump(c, BPF_JEQ, R9, 0, COMPARE);
	jump(c, BPF_JGT, R9, MODULES_MAX, NO_THREAD);
	load(c, BPF_H, R2, TARGET, offsetof(struct activity_target, dtv_width));
	calc_with(c, BPF_MUL, R9, R2);
	load(c, BPF_DW, R3, FP, POINTER);
	load(c, BPF_DW, R2, TARGET, offsetof(struct activity_target, dtv_at));
	calc_with(c, BPF_ADD, R3, R2);
	read_user(c, TABLE, 8, NO_THREAD);
	load(c, BPF_DW, R3, FP, TABLE);
	calc_with(c, BPF_ADD, R3, R9);
	read_user(c, TABLE, 8, NO_THREAD);
	load(c, BPF_DW, R3, FP, TABLE);
	jump(c, BPF_JEQ, R3, -1, COMPARE); /* the thread has not used it yet */
	jump(c, BPF_JEQ, R3, 0, COMPARE);
	load(c, BPF_DW, R2, FP, SLOT + 8);
	calc_with(c, BPF_ADD, R3, R2);
	go(c, AT_VARIABLE);

	here(c, FROM_POINTER);
	load(c, BPF_DW, R3, FP, POINTER);
	calc_with(c, BPF_ADD, R3, R2);
	here(c, AT_VARIABLE);
}

/* When the process began, and how often it called exec: nobody calls it so often that this is another one's time. */
static void put_image(struct code *c, u8 head)
{
	load(c, BPF_W, R1, FP, KEY);
	load(c, BPF_DW, R2, FP, STARTED);
	calc_with(c, BPF_ADD, R1, R2);
	store(c, BPF_DW, head, offsetof(struct activity_head, image), R1);
}

/* The bytes of the record at R3 and, if there is memory behind it, so many of its attributes; AGAIN says how many. */
static void read_record(struct code *c)
{
	store_value(c, BPF_DW, FP, AGAIN, FEW_ATTRS);
	address(c, R1, SCRATCH, DATA);
	set(c, R2, ACTIVITY_FIXED + FEW_ATTRS);
	call(c, BPF_FUNC_probe_read_user);
	jump(c, BPF_JEQ, R0, 0, HAVE_FIXED);
	store_value(c, BPF_DW, FP, AGAIN, 0); /* there may be no memory behind a record without any */
	load(c, BPF_DW, R3, FP, PLACE);
	address(c, R1, SCRATCH, DATA);
	set(c, R2, ACTIVITY_FIXED);
	call(c, BPF_FUNC_probe_read_user);
	jump(c, BPF_JNE, R0, 0, NO_RECORD);
	here(c, HAVE_FIXED);
}

/* Goes on with IS_POINTER if the variable at R3 is the address of a record. */
static void put_other_forms(struct code *c)
{
	load(c, BPF_H, R1, TARGET, offsetof(struct activity_target, form));
	jump(c, BPF_JEQ, R1, ACTIVITY_FORM_POINTER, IS_POINTER);
	jump(c, BPF_JNE, R1, ACTIVITY_FORM_NODE, IS_LABELS);
	activity_put_node(c);
	here(c, IS_LABELS);
	activity_put_labels(c);
}

/* The thread's record, into the scratch, with its attributes. Behind its end there are 0s, so that whole words can be
 * compared. */
static void put_record(struct code *c)
{
	store_value(c, BPF_W, SCRATCH, 0, ACTIVITY_VERSION | ACTIVITY_THREAD << 8);
	store_value(c, BPF_W, SCRATCH, offsetof(struct activity_head, size), 0);
	load(c, BPF_DW, R1, FP, TIME);
	store(c, BPF_DW, SCRATCH, offsetof(struct activity_head, time), R1);
	put_image(c, SCRATCH);
	put_variable(c);
	put_other_forms(c);
	here(c, IS_POINTER);
	read_user(c, PLACE, 8, NO_THREAD);
	here(c, AT_RECORD);
	load(c, BPF_DW, R3, FP, PLACE);
	jump(c, BPF_JEQ, R3, 0, COMPARE);
	read_record(c);
	load(c, BPF_B, R1, SCRATCH, DATA + 24);
	jump(c, BPF_JNE, R1, 1, COMPARE); /* not valid */
	put_status(c, ACTIVITY_KNOWN);
	store_value(c, BPF_W, SCRATCH, offsetof(struct activity_head, size), ACTIVITY_FIXED);
	load(c, BPF_H, R9, SCRATCH, DATA + 26);
	jump(c, BPF_JEQ, R9, 0, NO_ATTRS);
	jump(c, BPF_JGT, R9, ACTIVITY_ATTRS_MAX, BARE);
	load(c, BPF_DW, R1, FP, AGAIN);
	jump_with(c, BPF_JGE, R1, R9, HAVE_ATTRS);
	load(c, BPF_DW, R3, FP, PLACE);
	calc(c, BPF_ADD, R3, ACTIVITY_FIXED);
	address(c, R1, SCRATCH, DATA + ACTIVITY_FIXED);
	copy(c, R2, R9);
	call(c, BPF_FUNC_probe_read_user);
	jump(c, BPF_JNE, R0, 0, BARE);
	here(c, HAVE_ATTRS);
	copy(c, R1, SCRATCH);
	calc_with(c, BPF_ADD, R1, R9);
	store_value(c, BPF_DW, R1, DATA + ACTIVITY_FIXED, 0);
	calc(c, BPF_ADD, R9, ACTIVITY_FIXED);
	store(c, BPF_W, SCRATCH, offsetof(struct activity_head, size), R9);
	go(c, COMPARE);
	here(c, BARE);
	put_status(c, ACTIVITY_BARE);
	here(c, NO_ATTRS);
	store_value(c, BPF_W, SCRATCH, DATA + ACTIVITY_FIXED, 0);
	go(c, COMPARE);
	here(c, NO_THREAD);
	put_status(c, ACTIVITY_NO_THREAD);
	go(c, COMPARE);
	here(c, NO_RECORD);
	put_status(c, ACTIVITY_NO_RECORD);
	go(c, COMPARE);
	here(c, NO_ROOM);
	put_status(c, ACTIVITY_NO_ROOM);
	go(c, COMPARE);
	here(c, REFUSED);
	put_status(c, ACTIVITY_REFUSED);
	go(c, COMPARE);
	here(c, NOT_YET);
	put_status(c, ACTIVITY_NOT_YET);
}

/* Is it what was written last? */
static void put_compare(struct code *c, const struct activity_prog *p)
{
	here(c, COMPARE);
	look_up(c, p->threads, THREAD);
	copy(c, LAST, R0);
	jump(c, BPF_JEQ, LAST, 0, EMIT);
	load(c, BPF_DW, R1, SCRATCH, 0);
	load(c, BPF_DW, R2, LAST, 0);
	jump_with(c, BPF_JNE, R1, R2, EMIT);
	load(c, BPF_DW, R1, SCRATCH, offsetof(struct activity_head, image));
	load(c, BPF_DW, R2, LAST, offsetof(struct activity_head, image));
	jump_with(c, BPF_JNE, R1, R2, EMIT);
	load(c, BPF_W, R1, SCRATCH, offsetof(struct activity_head, size));
	set(c, R3, 0);
	here(c, NEXT_WORD);
	jump_with(c, BPF_JGE, R3, R1, SAME);
	copy(c, R4, SCRATCH);
	calc_with(c, BPF_ADD, R4, R3);
	load(c, BPF_DW, R4, R4, DATA);
	copy(c, R5, LAST);
	calc_with(c, BPF_ADD, R5, R3);
	load(c, BPF_DW, R5, R5, DATA);
	jump_with(c, BPF_JNE, R4, R5, EMIT);
	calc(c, BPF_ADD, R3, 8);
	jump(c, BPF_JLT, R3, ACTIVITY_FIXED + ACTIVITY_ATTRS_MAX, NEXT_WORD);
	/* What the process publishes matters to new records only, unless nothing of it was written yet. */
	here(c, SAME);
	load(c, BPF_DW, R1, TARGET, offsetof(struct activity_target, published));
	jump(c, BPF_JNE, R1, 0, KEEP);
	go(c, CONTEXT);
}

/* R4: what; R5: its size. */
static void put_output(struct code *c, const struct activity_prog *p)
{
	copy(c, R1, CTX);
	set_map(c, R2, p->output);
	set_wide(c, R3, 0, BPF_F_CURRENT_CPU);
	call(c, BPF_FUNC_perf_event_output);
}

/* All readers of a tracepoint share what its programs return: to drop a sample is to drop theirs, too. That is done
 * only if the ring is full, and not on CPUs where nothing is recorded. */
static void put_emit(struct code *c, const struct activity_prog *p, const struct place *in)
{
	here(c, EMIT);
	load(c, BPF_W, R5, SCRATCH, offsetof(struct activity_head, size));
	jump(c, BPF_JGT, R5, ACTIVITY_FIXED + ACTIVITY_ATTRS_MAX,
	     DROP); /* it is not, but the kernel wants to see it */
	calc(c, BPF_ADD, R5, DATA);
	copy(c, R4, SCRATCH);
	put_output(c, p);
	if (in->type != BPF_PROG_TYPE_PERF_EVENT) {
		jump(c, BPF_JEQ, R0, -ENOENT, KEEP);
		jump(c, BPF_JEQ, R0, -EOPNOTSUPP, KEEP);
	}
	jump(c, BPF_JNE, R0, 0, DROP);
	jump(c, BPF_JEQ, LAST, 0, NEW_THREAD);
	load(c, BPF_W, R2, SCRATCH, offsetof(struct activity_head, size));
	jump(c, BPF_JGT, R2, ACTIVITY_FIXED + ACTIVITY_ATTRS_MAX, DROP);
	calc(c, BPF_ADD, R2, DATA + 8);
	copy(c, R1, LAST);
	copy(c, R3, SCRATCH);
	call(c, BPF_FUNC_probe_read_kernel);
	go(c, CONTEXT);
	here(c, NEW_THREAD);
	set_map(c, R1, p->threads);
	address(c, R2, FP, THREAD);
	copy(c, R3, SCRATCH);
	set(c, R4, BPF_ANY);
	call(c, BPF_FUNC_map_update_elem);
}

static void put_context(struct code *c, const struct activity_prog *p)
{
	u64 signature;

	memcpy(&signature, "OTEL_CTX", sizeof(signature));
	here(c, CONTEXT);
	load(c, BPF_DW, R3, TARGET, offsetof(struct activity_target, context));
	jump(c, BPF_JEQ, R3, 0, KEEP);
	calc(c, BPF_ADD, R3, 16);
	read_user(c, PLACE, 8, KEEP);
	load(c, BPF_DW, R1, FP, PLACE);
	jump(c, BPF_JEQ, R1, 0, KEEP); /* it is being changed */
	load(c, BPF_DW, R2, TARGET, offsetof(struct activity_target, published));
	jump_with(c, BPF_JEQ, R1, R2, KEEP);
	look_up(c, p->payload, ZERO_KEY);
	jump(c, BPF_JEQ, R0, 0, KEEP);
	copy(c, R9, R0);
	load(c, BPF_DW, R3, TARGET, offsetof(struct activity_target, context));
	read_user(c, SLOT, 32, KEEP);
	load(c, BPF_DW, R1, FP, SLOT);
	set_wide(c, R2, 0, signature);
	jump_with(c, BPF_JNE, R1, R2, KEEP);
	load(c, BPF_W, R1, FP, SLOT + 8);
	jump(c, BPF_JNE, R1, CONTEXT_VERSION, KEEP);
	store_value(c, BPF_W, R9, 0, ACTIVITY_VERSION | ACTIVITY_PROCESS << 8 | ACTIVITY_KNOWN << 16);
	load(c, BPF_DW, R1, FP, TIME);
	store(c, BPF_DW, R9, offsetof(struct activity_head, time), R1);
	put_image(c, R9);
	load(c, BPF_W, R7, FP, SLOT + 12);
	jump(c, BPF_JLE, R7, ACTIVITY_PAYLOAD_MAX, WRITE_CONTEXT);
	store_value(c, BPF_B, R9, offsetof(struct activity_head, status), ACTIVITY_BARE); /* too long */
	set(c, R7, 0);
	here(c, WRITE_CONTEXT);
	address(c, R1, R9, DATA);
	copy(c, R2, R7);
	load(c, BPF_DW, R3, FP, SLOT + 24);
	call(c, BPF_FUNC_probe_read_user);
	jump(c, BPF_JNE, R0, 0, KEEP);
	load(c, BPF_DW, R3, TARGET, offsetof(struct activity_target, context));
	calc(c, BPF_ADD, R3, 16);
	read_user(c, AGAIN, 8, KEEP);
	load(c, BPF_DW, R1, FP, AGAIN);
	load(c, BPF_DW, R2, FP, PLACE);
	jump_with(c, BPF_JNE, R1, R2, KEEP);
	store(c, BPF_W, R9, offsetof(struct activity_head, size), R7);
	copy(c, R4, R9);
	copy(c, R5, R7);
	calc(c, BPF_ADD, R5, DATA);
	put_output(c, p);
	jump(c, BPF_JNE, R0, 0, KEEP);
	load(c, BPF_DW, R1, FP, PLACE);
	store(c, BPF_DW, TARGET, offsetof(struct activity_target, published), R1);
}

static void finish(struct code *c)
{
	here(c, KEEP);
	set(c, R0, 1);
	put(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	here(c, DROP);
	set(c, R0, 0);
	put(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	code_link(c);
}

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static bool make_map(int *fd, u32 type, u32 key, size_t value, u32 entries)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_type = type;
	a.key_size = key;
	a.value_size = (u32)value;
	a.max_entries = entries;
	*fd = (int)bpf(BPF_MAP_CREATE, &a);
	return *fd >= 0;
}

static bool make_maps(struct activity_prog *p, u32 cpus)
{
	return make_map(&p->processes, BPF_MAP_TYPE_LRU_HASH, sizeof(struct activity_key),
			sizeof(struct activity_target), PROCESSES) &&
	       make_map(&p->threads, BPF_MAP_TYPE_LRU_HASH, 16, THREAD_BYTES, THREADS) &&
	       make_map(&p->scratch, BPF_MAP_TYPE_PERCPU_ARRAY, 4, ACTIVITY_SCRATCH, 1) &&
	       make_map(&p->payload, BPF_MAP_TYPE_PERCPU_ARRAY, 4, PAYLOAD_BYTES, 1) &&
	       make_map(&p->output, BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, cpus) &&
	       make_map(&p->asks, BPF_MAP_TYPE_RINGBUF, 0, 0, ACTIVITY_ASKS_BYTES);
}

static bool find_offsets(struct activity_offsets *o)
{
#if defined(__x86_64__)
	const char *pointer = "thread.fsbase";
#else
	const char *pointer = "thread.uw.tp_value";
#endif
	struct btf b;
	u32 before;
	bool ok = !btf_read(&b) && btf_offset(&b, "task_struct", "self_exec_id", &o->exec_id) &&
		  btf_offset(&b, "task_struct", "start_time", &o->start_time) &&
		  btf_offset(&b, "task_struct", "group_leader", &o->leader) && o->leader <= INT16_MAX &&
		  btf_offset(&b, "task_struct", pointer, &o->pointer) && MAX(o->exec_id, o->start_time) <= INT16_MAX &&
		  o->pointer <= INT16_MAX;

	/* In Linux 6.2 the two contexts of a task, for hardware and software, became one. A tracepoint is in that of
	 * its group's leader. */
	ok = ok && btf_offset(&b, "task_struct", "perf_event_ctxp", &o->events);
	o->contexts = ok && !btf_offset(&b, "perf_event_pmu_context", "ctx", &before) ? 2 : 1;
	ok = ok && o->events + sizeof(void *) <= INT16_MAX;
	o->has_time = ok && btf_offset(&b, "perf_sample_data", "sample_flags", &o->flags) &&
		      btf_offset(&b, "perf_sample_data", "time", &o->time) &&
		      MAX(o->flags, o->time) + 8 - MIN(o->flags, o->time) <= SLOT - EMPTY;
	btf_free(&b);
	return ok;
}

/* -1 and errno. */
static int load_code(struct code *c, const struct place *in, char *log)
{
	union bpf_attr a;

	if (c->n > CODE_MAX) {
		errno = E2BIG;
		return -1;
	}
	memset(&a, 0, sizeof(a));
	a.prog_type = in->type;
	a.insns = (u64)(uintptr_t)c->insn;
	a.insn_cnt = c->n;
	a.license = (u64)(uintptr_t) "GPL"; /* else the kernel lets it read nothing; the instructions are Apache-2.0 */
	memcpy(a.prog_name, "activity", sizeof("activity"));
	if (log) {
		a.log_buf = (u64)(uintptr_t)log;
		a.log_size = LOG_BYTES;
		a.log_level = 1;
	}
	return (int)bpf(BPF_PROG_LOAD, &a);
}

static int refused(const char *what, int sys, const struct notify *to)
{
	if (sys == EPERM || sys == EACCES)
		return notify_error(
			to, ERR_PERM,
			"--activity needs a BPF program, and this user may load none: run it as root, or "
			"give it the capabilities CAP_BPF and CAP_PERFMON, and "
			"CAP_SYS_PTRACE for processes of other users (setcap "
			"cap_bpf,cap_perfmon,cap_sys_ptrace+ep on the program); or take --activity=journal, "
			"which reads what programs write down");
	return notify_error(to, ERR_UNSUPPORTED,
			    "--activity: the kernel refuses %s: %s (it takes Linux 5.15 or later; --activity=journal "
			    "takes no BPF)",
			    what, strerror(sys));
}

/* Once more with the kernel's reasons, the last line of which says most. */
static int refused_program(struct code *c, const struct place *in, int sys, const struct notify *to)
{
	char *log, *line, *end;
	int err;

	if (sys == EPERM)
		return refused("its BPF program", sys, to);
	log = mem_zalloc(LOG_BYTES);
	load_code(c, in, log);
	end = log + strlen(log);
	for (int lines = 0; end > log && lines < 3; end--)
		lines += end[-1] == '\n';
	line = end > log ? end + 1 : log;
	line[strcspn(line, "\n")] = '\0';
	err = notify_error(to, ERR_UNSUPPORTED, "--activity: the kernel refuses its BPF program: %s: %s",
			   strerror(sys), line);
	free(log);
	return err;
}

static int load_program(const struct activity_prog *p, const struct place *in, int *prog, const struct notify *to)
{
	struct code *c = mem_zalloc(sizeof(*c));
	int err = 0;

	put_who(c, p, in);
	put_target(c, p);
	put_record(c);
	put_compare(c, p);
	put_emit(c, p, in);
	put_context(c, p);
	finish(c);
	*prog = load_code(c, in, NULL);
	if (*prog < 0)
		err = refused_program(c, in, errno, to);
	free(c);
	return err;
}

static int no_offsets(const struct notify *to)
{
	return notify_error(to, ERR_UNSUPPORTED,
			    "--activity: this kernel does not say where its structs have what it needs "
			    "(/sys/kernel/btf/vmlinux: CONFIG_DEBUG_INFO_BTF)");
}

int activity_prog_load(struct activity_prog *p, const struct notify *to)
{
	struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	const struct place in = { .type = BPF_PROG_TYPE_PERF_EVENT };

	if (!find_offsets(&p->offsets))
		return no_offsets(to);
	setrlimit(RLIMIT_MEMLOCK, &all); /* kernels before 5.11 count maps as locked memory */
	if (!make_maps(p, (u32)sysconf(_SC_NPROCESSORS_CONF)))
		return refused("the maps of its BPF program", errno, to);
	return load_program(p, &in, &p->prog, to);
}

int activity_prog_load_on_hit(struct activity_prog *p, enum activity_hit hit, bool followed, const struct notify *to)
{
	static const enum bpf_prog_type types[] = {
		[ACTIVITY_TRACEPOINT] = BPF_PROG_TYPE_TRACEPOINT,
		[ACTIVITY_PROBE] = BPF_PROG_TYPE_KPROBE,
	};
	const struct place in = { .type = types[hit], .followed = followed };

	return load_program(p, &in, &p->on_hit[hit], to);
}

void activity_prog_close(struct activity_prog *p)
{
	int *fds[] = { &p->prog,
		       &p->on_hit[ACTIVITY_TRACEPOINT],
		       &p->on_hit[ACTIVITY_PROBE],
		       &p->processes,
		       &p->threads,
		       &p->scratch,
		       &p->payload,
		       &p->output,
		       &p->asks };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}

static int element(int cmd, int map, const void *key, void *value)
{
	union bpf_attr a;

	memset(&a, 0, sizeof(a));
	a.map_fd = (u32)map;
	a.key = (u64)(uintptr_t)key;
	a.value = (u64)(uintptr_t)value;
	return bpf(cmd, &a) ? -errno : 0;
}

int activity_prog_output(const struct activity_prog *p, u32 cpu, int event)
{
	u32 fd = (u32)event;

	return element(BPF_MAP_UPDATE_ELEM, p->output, &cpu, &fd);
}

bool activity_prog_target(const struct activity_prog *p, const struct activity_key *key, struct activity_target *out)
{
	return !element(BPF_MAP_LOOKUP_ELEM, p->processes, key, out);
}

void activity_prog_set_target(const struct activity_prog *p, const struct activity_key *key,
			      const struct activity_target *t)
{
	struct activity_target copied = *t;

	element(BPF_MAP_UPDATE_ELEM, p->processes, key, &copied);
}

/* The first of those that are left, again and again. */
static void empty(int map)
{
	u8 key[16];

	for (u32 i = 0; i < 2 * THREADS && !element(BPF_MAP_GET_NEXT_KEY, map, NULL, key); i++)
		element(BPF_MAP_DELETE_ELEM, map, key, NULL);
}

void activity_prog_forget(const struct activity_prog *p)
{
	struct activity_key key, next;
	struct activity_target t;
	const struct activity_key *from = NULL;

	empty(p->threads);
	for (u32 i = 0; i < PROCESSES && !element(BPF_MAP_GET_NEXT_KEY, p->processes, from, &next); i++) {
		key = next;
		from = &key;
		if (!activity_prog_target(p, &key, &t) || !t.published)
			continue;
		t.published = 0;
		activity_prog_set_target(p, &key, &t);
	}
}
