/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF program that reads activities, and its maps. It runs in each sample, before the kernel writes it, and writes
 * a record (codec/activity.h) in front of the sample if the thread's activity is not the one that it wrote last.
 */
#ifndef RECORD_ACTIVITY_PROG_H
#define RECORD_ACTIVITY_PROG_H

#include "base/err.h"

/* How the address of a thread's variable is found. */
enum activity_kind {
	ACTIVITY_KIND_UNASKED, /* nobody has looked yet */
	ACTIVITY_KIND_NO_ROOM, /* the kernel had no room for it; on the program's stack only */
	ACTIVITY_KIND_REFUSED, /* the recorder may not look at it */
	ACTIVITY_KIND_NONE,    /* the program has none, or it was not found yet */
	ACTIVITY_KIND_STATIC,  /* where: its distance from the thread pointer */
	/* where: the address of a slot that the dynamic linker fills with */
	ACTIVITY_KIND_OFFSET, /* that distance; */
	ACTIVITY_KIND_DESC,   /* a TLS descriptor: a function, and the distance or the address of module and offset; */
	ACTIVITY_KIND_MODULE, /* module and offset */
};

/* What the variable is. */
enum activity_form {
	ACTIVITY_FORM_POINTER, /* the address of the thread's record, or NULL (OTEP 4947) */
	ACTIVITY_FORM_NODE,    /* where Node has that address (record/activity_node.c) */
	ACTIVITY_FORM_SET,     /* the address of a set of labels, or NULL (Custom Labels, record/activity_labels.c) */
	/* the address of Go's goroutine (also record/activity_labels.c), whose labels are */
	ACTIVITY_FORM_GO_MAP,  /* a map: Go 1.23 and earlier; */
	ACTIVITY_FORM_GO_LIST, /* a slice of pairs */
};

/* Where Go's runtime has what leads to labels: in a goroutine its thread, in a thread the goroutine that it runs, and
 * in that one its labels. */
struct activity_go {
	u16 m, curg, labels;
};

/* A process. */
struct activity_key {
	u64 id;	     /* its number in the upper half, and how often it called exec in the lower half */
	u64 started; /* by the clock of the system's boot */
};

/* What the program knows of a process. */
struct activity_target {
	u32 kind;      /* enum activity_kind */
	u16 dtv_width; /* bytes of an entry in the thread's table of modules */
	u16 form;      /* enum activity_form */
	s64 dtv_at;    /* where the address of that table is, from the thread pointer */
	u64 where;
	u64 context;   /* the address of its process context (OTEP 4719); 0: it has none */
	u64 published; /* when the one was published that was written last; set by the program */
	u64 ask_after; /* ns from the next sample until it asks again; the program turns that into ask_at and 0 */
	u64 ask_at;    /* when it asks, by the clock of samples; 0: in the next sample */
	struct activity_go go;
	u16 zero;
};

/* Where the running kernel has what the program reads, by its BTF. */
struct activity_offsets {
	u32 exec_id, start_time, leader, pointer;
	u32 events, contexts; /* of the task: what perf follows it with, so many pointers, or NULL */
	bool has_time;
	u32 flags, time; /* in perf_sample_data */
};

/* Programs that run whenever something is hit, also by tasks of which nothing is recorded. Those of probes, which are
 * tracepoints as well, are of a type of their own. */
enum activity_hit { ACTIVITY_TRACEPOINT, ACTIVITY_PROBE, NR_ACTIVITY_HITS };

/* ACTIVITY_PROG_NONE, until it is loaded. */
#define ACTIVITY_PROG_NONE                                                                                            \
	{                                                                                                             \
		-1, { -1, -1 }, -1, -1, -1, -1, -1, -1                                                                \
	}
struct activity_prog {
	int prog, on_hit[NR_ACTIVITY_HITS], processes, threads, scratch, payload, output, asks;
	struct activity_offsets offsets;
};

/* Loads it. 0, or a negative enum err (noted). All descriptors are -1 or to be closed by activity_prog_close. */
int activity_prog_load(struct activity_prog *p, const struct notify *to);
/* Loads the same for what is hit, once the other one is loaded. followed: it then does nothing for tasks that no event
 * follows. */
int activity_prog_load_on_hit(struct activity_prog *p, enum activity_hit hit, bool followed, const struct notify *to);
void activity_prog_close(struct activity_prog *p);

/* Which event takes the records of a CPU. 0 or a negative errno. */
int activity_prog_output(const struct activity_prog *p, u32 cpu, int event);
bool activity_prog_target(const struct activity_prog *p, const struct activity_key *key, struct activity_target *out);
void activity_prog_set_target(const struct activity_prog *p, const struct activity_key *key,
			      const struct activity_target *t);
/* Everything is to be written again: for a file that begins. */
void activity_prog_forget(const struct activity_prog *p);

/* The ring of asks, each a struct activity_key. */
#define ACTIVITY_ASKS_BYTES (64u << 10)

#endif
