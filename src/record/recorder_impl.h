/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files that implement record/recorder.h. Not for others. */
#ifndef RECORD_RECORDER_IMPL_H
#define RECORD_RECORDER_IMPL_H

#include "base/map.h"
#include "open/set.h"
#include "record/control.h"
#include "record/flow.h"
#include "record/recorder.h"
#include "record/workload.h"
#include "record/writer.h"
#include "sim/sim.h"
#include "sim/tasks.h"
#include "windows/plan.h"

struct recorder {
	const struct record_opts *o;
	const struct notify *notify;
	const struct recorder_events *tell;
	struct record_result *result;
	struct event_specs *specs;
	struct record_opts changed; /* what o points to, if the recorder had to add something */
	VEC(char *) environment;    /* of the command; empty: ours */
	char *variable;		    /* what is ours in there */
	struct target target;
	struct event_set set;
	struct evlist events;	     /* the same events, in the form in which readers will see them */
	struct evlist kernel_events; /* and as the kernel writes them; empty unless stacks are unwound */
	struct flow flow;
	enum window_how window_how; /* WINDOW_AUTO: no windows */
	u64 window_interval_ns;	    /* refresh: between bursts */
	struct window_run windows;
	struct writer writer;
	struct workload workload;
	struct control control; /* --control */
	bool has_workload, target_is_workload;
	struct activities *activities; /* --activity, or NULL */
	struct journals *journals;     /* the same without BPF, or NULL */
	struct sim *sim;	       /* NULL: the machine's own PMU */
	struct sim_tasks tasks;	       /* its */
	struct bytes side_band;	       /* with sim and --switch-output: all side-band records so far */
	const char *path;	       /* from the options, or the default */
	int signal_fd, epoll_fd;
	size_t live_rings;
	VEC(s32) told_cpus;		   /* those that went offline or came online */
	u64 cpus_seen_ms;		   /* when that was looked at */
	VEC(char *) dated;		   /* files that --switch-output has finished and kept */
	u64 read_lost;			   /* lost in this file, according to the events' counters; */
	u64 looked_lost, read_looked_lost; /* from rings that are overwritten: according to their records, and to the
					      counters */
	u64 round_bytes;		   /* bytes in this pass over the rings */
	u64 round_ms;			   /* of the last FINISHED_ROUND */
	u64 started_ms, enable_at_ms, switch_at_ms;
	u64 clock_wall_ns, clock_ns;		   /* read together when it began, for CLOCK_DATA */
	u64 began_ms;				   /* when the loop began */
	bool unwinds;				   /* some event's stacks are unwound */
	bool delayed;				   /* events have to be enabled at enable_at_ms */
	VEC(struct feat_auxtrace_index) aux_index; /* where this file's AUXTRACE records are */
	bool snapshot_due;   /* the next pass is to keep what AUX areas hold that are overwritten */
	bool stop, hurry;    /* hurry: a second signal came; leave out everything that takes time */
	bool cut_off;	     /* the command goes on, but is recorded no more */
	struct map fd_tasks; /* the task of a descriptor, since the first one hung up */
	bool found_tasks, told_cut_off, told_hidden;
	bool off; /* events were disabled by a command, or wait for one (-D -1) */
};

/* Events that were delayed begin to count. */
void recorder_enable(struct recorder *r);

/* recorder_loop.c */
int recorder_watch(struct recorder *r); /* sets up epoll */
int recorder_loop(struct recorder *r);	/* until the end */

/* recorder_rings.c */
int recorder_drain(struct recorder *r, bool last); /* one pass over all rings */
int recorder_look(struct recorder *r);		   /* reads the contents of overwritten rings */
/* The largest size to which one COMPRESSED record unpacks: the contents of a ring. */
u64 recorder_window(const struct recorder *r);

/* recorder_unwind.c: stacks are unwound while they come. */
#define UNWOUND_AT_ONCE (256u << 10)		 /* so much is written at a time, */
#define UNWOUND_RECORD (64u << 10)		 /* and one record more */
bool recorder_unwinds(const struct recorder *r); /* the answer is kept as recorder.unwinds */
void recorder_unwind_begin(struct recorder *r);
/* Records for what existed before the first event, which are written elsewhere. */
void recorder_unwind_existing(struct recorder *r, const struct bytes *records);
/* Empties all rings into the recording, in order of time. */
int recorder_unwind_rings(struct recorder *r);

/* recorder_aux.c */
struct aux_pmu {
	u32 type;
	u64 least_period;
	const char *cpus; /* where it is; NULL: everywhere */
};
struct aux_pmus {
	VEC(struct aux_pmu) v; /* one at least */
};
struct aux_core {
	u32 cpu;
	u64 midr; /* 0: not known */
};
struct aux_cores {
	VEC(struct aux_core) v;
};
/* What AUX data are; words holds what the record refers to. real: the cores are this machine's. */
void recorder_aux_info(struct record *out, struct bytes *words, const struct aux_pmus *pmus, bool real,
		       const struct notify *to);
/*
 * The words alone. Their first version holds the PMU's type, and that there is a buffer per CPU; which core it is, the
 * recording's CPUID says. All versions of perf read it. The second one names core and PMU of each CPU, for machines
 * with several kinds of either.
 */
void recorder_aux_words(struct bytes *words, const struct aux_cores *cores, const struct aux_pmus *pmus);
/* Writes such a piece, in one or two parts. */
int recorder_put_aux(struct recorder *r, const struct rec_auxtrace *a, const struct iovec *part, int nr);
/* Before the rings are emptied: data that come later wait for the next pass, whose records tell of them. */
void recorder_look_at_aux(struct recorder *r);
int recorder_drain_aux(struct recorder *r, bool last);
/* Around a pass that takes a snapshot: what fills AUX areas stops for it. */
void recorder_begin_snapshot(struct recorder *r);
void recorder_end_snapshot(struct recorder *r, bool last);

/* recorder_cpus.c: tells of CPUs that went offline or came online, once each; stops where none is left and
 * there is no command. */
void recorder_look_at_cpus(struct recorder *r);

/* recorder_rights.c: says what can no longer be recorded because rights were taken away, once each. A descriptor has
 * hung up; */
void recorder_hung_up(struct recorder *r, int fd);
/* the mappings of so many processes were refused, among them that one's. */
void recorder_tell_hidden(struct recorder *r, u32 processes, s32 pid);

/* recorder_control.c: executes the commands that have come. False: no more will come */
bool recorder_control(struct recorder *r);

/* recorder.c: frees what the recorder has beside its events, their rings and its file, which have ends of their own.
 */
void recorder_free(struct recorder *r);

/* recorder_file.c */
int recorder_begin_file(struct recorder *r);
int recorder_end_file(struct recorder *r);
int recorder_switch_file(struct recorder *r, bool last);
void recorder_put_lost(void *ctx, const struct opened *o, u64 lost); /* ctx: the recorder */

/* recorder_activity.c: who says what threads work for */
int recorder_prepare_activities(struct recorder *r); /* before the command is made, whose environment it sets */
int recorder_begin_activities(struct recorder *r);   /* before events are made; may change r->o */
int recorder_read_journals(struct recorder *r, bool last);

/* recorder_synth.c: records for what existed before the first event */
int recorder_synthesize(struct recorder *r);

/* recorder_windows.c: decides which windows are made, and how, and makes the events for them */
int recorder_plan_windows(struct recorder *r);

/* recorder_sim.c: the same stages with the virtual PMU */
int recorder_sim_open(struct recorder *r);
int recorder_sim_events(struct recorder *r);
int recorder_sim_synthesize(struct recorder *r);
int recorder_sim_drain(struct recorder *r, bool last);
void recorder_sim_discard(struct recorder *r);
void recorder_sim_features(struct recorder *r, struct features *f, struct arena *arena);
void recorder_sim_close(struct recorder *r);

/* recorder_features.c: text lives in arena. The features that are known when a file begins; */
void recorder_head_features(struct recorder *r, struct features *f, struct arena *arena);
void recorder_build_ids(struct recorder *r, struct features *f, struct arena *arena);
/* the formats of tracepoints; */
void recorder_formats(struct recorder *r, struct features *f, struct arena *arena);
/* all others, at its end. */
void recorder_features(struct recorder *r, struct features *f, struct arena *arena);

/* recorder_pipe.c */
void recorder_put_head(struct recorder *r);
/* The features that are known at the start, as HEADER_FEATURE records. */
void recorder_put_features(struct recorder *r);
void recorder_put_build_ids(struct recorder *r);

#endif
