/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plugin's inner contract: what there is per simulated thread, and who calls whom.
 *
 *   plugin.c   registers with QEMU and hands its callbacks on
 *   block.c    a block of guest code becomes a list of operations (decode_*.c says what each is)
 *   access_run.c   of which of its accesses one callback tells (operands_*.c says where they are)
 *   core.c     runs blocks: settles the one that ended, counts, predicts, stalls; finds the operation at which a count
 *              reaches what an armed event waits for; core_tell.c calls sampler_overflow there
 *   predictor.c, cache.c, model.c   the simulated core's parts and its table of sizes and costs
 *   sampler.c  periods, samples, throttling: what the kernel's perf core does
 *   callstack.c, regs.c  exact call chains; the guest's registers
 *   branch_regs.c  records of the last taken branches
 *   core_watch.c, core_tell.c  what armed events wait for; whom the core tells that it has come
 *   tasks.c    threads, processes, mappings: what the kernel's side-band says
 *   births.c   writes FORK records
 *   exec.c     follows execve
 *   names.c    follows names given through /proc
 *   maps.c     follows mappings
 *   task_records.c  writes the records of tasks and mappings
 *   sigframe.c where a signal's handler finds its stack
 *   channel.c  chunks of the shared memory
 *   truth.c    exact counts per instruction, call path and window
 *
 * Everything per thread hangs on struct vthread; the process's own state on struct vprocess, which plugin.c keeps
 * (QEMU gives callbacks no argument to find it by).
 */
#ifndef VPMU_VTHREAD_H
#define VPMU_VTHREAD_H

#include "base/bytes.h"
#include "codec/record.h"
#include "codec/sample.h"
#include "codec/vpmu.h"

struct core;	/* core.h: counters' machinery of one thread: predictor, caches, armed events, the block that runs */
struct sampler; /* sampler.h: schedules and layouts of the events, per thread or per virtual CPU */
struct sampler_state;
struct truth_windows;
/* What a thread takes over an exec: its events, and windows of the truth that are open. Made; NULL: nothing. */
struct exec_carried {
	struct sampler_state *events;
	struct truth_windows *windows;
};
struct callstack;   /* shadow.h */
struct truth;	    /* truth.h; NULL when not asked for */
struct tasks;	    /* tasks_impl.h: the process's threads and mappings */
struct code;	    /* block.h: all blocks of guest code */
struct model;	    /* model.h: the simulated core's table */
struct coherence;   /* coherence.h */
struct branch_regs; /* branch_regs.h */

struct vprocess {
	struct vpmu_control *control; /* shared with the recorder */
	bool arm64;		      /* the guest's architecture; else x86_64 */
	u32 pid;		      /* as recorded */
	s32 real_pid;
	struct tasks *tasks;
	struct code *code;
	const struct model *model;
	u64 guest_base;		 /* host address - guest address */
	struct vthread *threads; /* list, under tasks' lock */
	/* sampler.c: what sampling by frequency has come to, for threads and processes that begin: period per event */
	_Atomic u64 rates[VPMU_EVENTS_MAX];
	struct coherence *coherence; /* of its threads' caches, or NULL */
	_Atomic u32 nr_cores;	     /* that were given to threads */
	struct exec_carried carried; /* from the program before, for the first thread */
	/* regs.c: offset of the registers in QEMU's CPU state; 0: not available */
	_Atomic u32 regs_place;
	bool regs_sought;
	/* callstack.c: functions that handle signals */
	_Atomic u64 handler_bits; /* handler_bit of each */
	_Atomic u32 nr_handlers;
	u64 handlers[64];
};

/* A child that is asked for: while its parent is in that syscall. */
struct vpmu_birth {
	u32 nr, id; /* nr 0: none. id 0: as the system has it */
	bool process;
	u64 clock;
};

struct vthread {
	struct vprocess *process;
	struct vthread *next;
	u32 pid, tid, cpu; /* as recorded */
	s32 real_tid;
	u32 vcpu;		    /* QEMU's number of it */
	u64 counts[NR_VPMU_COUNTS]; /* exact up to the operation that core.c stands at whenever it calls out */
	u64 time_base; /* ns: this thread's clock is time_base + counts[VC_TIME_NS] + what interrupts cost */
	u32 in_memory; /* with process->coherence: which core it is there */
	struct core *core;
	struct sampler *sampler;
	bool sampler_waits; /* for the entry of the next block */
	bool first;	    /* of the whole recording: the one that was there when events were opened */
	struct callstack *stack;
	struct truth *truth;
	struct branch_regs *branches; /* NULL: nobody wants them */
	u8 *regs;		      /* regs.c: in QEMU's CPU state, or NULL */
	u64 syscall[6];		      /* arguments of the one that it is in */
	struct vpmu_birth birth;
	u64 random;		     /* state of what its getrandom gives */
	bool on_cpu;		     /* with virtual CPUs: it has one, t->cpu; else that is the one it had last */
	bool leaves;		     /* its time there is over: it gives it up at the next block */
	bool execs;		     /* it is in an execve, and what was counted before it has been told */
	struct exec_carried carried; /* until sampler_start and truth_start take it */
	/* channel.c */
	u8 *totals;  /* its TOTALS record in the chunk, where those are all that is wanted (totals_only); or NULL */
	bool scarce; /* few chunks were left when it took its own */
	s32 chunk;   /* index of the one that it writes, or -1 */
	struct bytes record; /* the one that is being built */
};

/* --- core.c --- */
/* An event that waits: when counts[count] reaches `at`, core_tell.c calls sampler_overflow, which sets a new `at`. */
struct armed {
	u8 count; /* VC_* */
	u8 event; /* index in control->events */
	u64 at;	  /* UINT64_MAX: not now */
};
/* What an access met; of several parts, the worst. cycles 0: there was none. */
struct core_met {
	u64 addr;
	u32 cycles;
	u8 level; /* enum cache_level */
	bool walk, peer;
};
struct core_at {		     /* where the thread stands at an overflow */
	u64 pc;			     /* of the operation whose cost reached the count */
	u64 addr;		     /* of its last memory access; 0: it has none */
	struct core_met load, store; /* that took longest, of that operation */
	bool locked;		     /* it is atomic */
	u8 kind;		     /* enum op_kind */
	bool wrong;		     /* a branch: it was not foreseen */
	u64 to, behind;		     /* a branch: where it led (UINT64_MAX: nobody knows); the address behind it */
	u32 waits, stalls;	     /* cycles: for the operation before it; of its own, beside those of accesses */
};
/* The armed events of t; sampler.c fills them when a thread starts. Any call into sampler.c may change each `at`, so
 * core.c looks at all of them again after it; those that are due at one operation are told in their order here. */
#define ARMED_MAX (2 * VPMU_EVENTS_MAX + 2)
struct armed *core_armed(struct vthread *t);
void core_set_armed(struct vthread *t, u32 nr);
/* Nanoseconds that so many cycles take. */
u64 core_ns(const struct vthread *t, u64 cycles);
/* Settles the block that has run last, so that counts hold all that was executed. Before a syscall, at an end. */
void core_settle(struct vthread *t);

/* --- sampler.c --- */
void sampler_start(struct vthread *t);
/* The thread ends: samples that still wait are taken, READ and LOST_SAMPLES records written. Counts are settled. */
void sampler_stop(struct vthread *t);
/* a->at is reached. When it returns a->at is above the count again. */
void sampler_overflow(struct vthread *t, struct armed *a, const struct core_at *at);
/*
 * exec: prepare gives the descriptor by which the events' state, and the truth's open windows, get into the next
 * program (-1: not), sampler_exec takes sampler_stop's place, and sampler_take_over, in the new program or in the old
 * one when exec has failed, closes the descriptor and leaves what sampler_start and truth_start go on from.
 */
int sampler_exec_prepare(void);
void sampler_exec(struct vthread *t, int fd);
void sampler_take_over(struct exec_carried *to, bool truth, int fd);
/* Some samples want the guest's registers: while t->sampler_waits, core_tell.c calls this at the entry of a block
 * (counts settled, pc: its first instruction), and then lets a thread that leaves give its virtual CPU up. */
void sampler_entry(struct vthread *t, u64 pc);
/* The thread is about to leave for a syscall at pc (counts settled): late samples come no later than this. */
void sampler_leave(struct vthread *t, u64 pc);

/* --- callstack.c: core.c tells it each call, return and indirect jump, at entry of the block that follows it --- */
struct frame_event {
	u64 from;   /* pc of the call, return or jump */
	u64 expect; /* a call: the address behind it */
	u64 to;	    /* where the thread is now */
};
void callstack_call(struct vthread *t, const struct frame_event *e);
void callstack_return(struct vthread *t, const struct frame_event *e);
/* An indirect jump; and whenever the thread is where its last block cannot have led (a signal, its end). */
void callstack_jump(struct vthread *t, const struct frame_event *e);
/* The thread goes on at `to` after a syscall, or begins there. */
void callstack_resume(struct vthread *t, u64 to);
/* If a signal's handler begins at pc: where the thread was, and whether the signal is one of those that the
 * instruction there causes; else 0. */
u64 callstack_interrupted(const struct vthread *t, u64 pc, bool *fault);
/* A handler's bit in vprocess.handler_bits. */
static inline u64 handler_bit(u64 pc)
{
	return 1ull << (pc >> 4 & 63);
}
/* Return addresses, innermost first; at most max. The sample's own pc is not among them. */
u32 callstack_chain(const struct vthread *t, u64 *chain, u32 max);
/* A number that truth.c keeps with the innermost frame: 0 in a new one; ID_NONE where there is no frame. */
u32 callstack_mark(const struct vthread *t);
void callstack_set_mark(struct vthread *t, u32 mark);

/* --- regs.c: the guest's registers, right at block entry only --- */
bool regs_available(const struct vprocess *p);
u64 regs_stack_pointer(const struct vthread *t); /* 0: not available */

/* --- sigframe.c: where a signal's handler may begin, before anything asks for registers --- */
void sigframe_align(struct vthread *t);

/* --- maps.c --- */
/* t translates code of this page for the first time (host: where QEMU has it): its mapping gets its MMAP2 record. */
void tasks_code_page(struct vthread *t, u64 pc, const void *host);

/* --- task_records.c --- */
/* Nanoseconds of the thread's clock; never less than the newest side-band record's. */
u64 tasks_time(const struct vthread *t);
/* With totals_only: brings its TOTALS up to date, so that little is lost when it is killed. */
void tasks_keep_totals(struct vthread *t);

/* --- channel.c --- */
/* Puts one whole record (t->record, or any) into t's chunk. Waits for a free one while the recorder lives. */
void channel_put(struct vthread *t, const struct bytes *record);
void channel_close(struct vthread *t); /* gives its chunk up */

/* --- truth.c: all are cheap no-ops where t->truth is NULL, so callers need not ask --- */
void truth_start(struct vthread *t);
/* Where control went, once callstack.c knows of it; jump: by an indirect jump, which may have left for another
 * function. */
void truth_transfer(struct vthread *t, const struct frame_event *e, bool jump);
void truth_window(struct vthread *t, const struct vpmu_event *e, u64 id, u64 pc);
/* A sample of that id says what the operation at pc met. */
struct vpmu_truth_operation;
void truth_operation(struct vthread *t, u64 id, u64 pc, const struct vpmu_truth_operation *o);
/* All that it has counted; then it ends, or truth_start comes again. */
void truth_tell(struct vthread *t);
void truth_end(struct vthread *t);

#endif
