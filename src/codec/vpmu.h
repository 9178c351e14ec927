/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the virtual PMU that recorder and plugin (vpmu/) share: its events, its cores, and the memory that
 * connects the two.
 *
 * The recorder creates one shared memory (struct vpmu_control and the chunks after it), writes the options into it,
 * and runs the program in QEMU with the plugin, which maps the memory through /proc/PID/fd/N. The plugin writes
 * records into chunks, in the same form as the kernel (codec/sample.h, codec/record.h). A chunk belongs to one thread
 * at a time. What the thread wrote becomes valid when it advances `used`: so a process that is killed at any moment
 * leaves only whole records, and nobody waits for a lock that a dead process holds. The recorder takes closed chunks
 * in the order in which they were closed; it takes the contents of open ones when their process has ended.
 */
#ifndef CODEC_VPMU_H
#define CODEC_VPMU_H

#include <stdatomic.h>

#include "codec/attr.h"
#include "codec/schedule.h"

/* What the model counts, per thread. The rows of vpmu_events[] say how perf names each. */
enum vpmu_count {
	VC_INSTRUCTIONS,
	VC_CYCLES,
	VC_BRANCHES,
	VC_BRANCH_MISSES,
	VC_RETURNS, /* instructions that return from a function */
	VC_CALLS,
	VC_L1D_LOADS,
	VC_L1D_LOAD_MISSES,
	VC_L1D_STORES,
	VC_L1D_STORE_MISSES,
	VC_L2_REFERENCES,
	VC_L2_MISSES,
	VC_LLC_LOADS, /* last-level cache, accessed after L2 misses */
	VC_LLC_LOAD_MISSES,
	VC_LLC_STORES,
	VC_LLC_STORE_MISSES,
	VC_DTLB_LOADS,
	VC_DTLB_LOAD_MISSES,
	VC_DTLB_STORES,
	VC_DTLB_STORE_MISSES,
	VC_L1I_MISSES,
	VC_SLOW_LOADS, /* loads that took vpmu_options.ldlat cycles or more; only with vpmu_options.memory */
	/* Slots: cycles times the core's width. These four add up to VC_SLOTS exactly. */
	VC_SLOTS,
	VC_SLOTS_RETIRING,
	VC_SLOTS_BAD_SPECULATION,
	VC_SLOTS_FRONTEND,
	VC_SLOTS_BACKEND,
	VC_STALL_FRONTEND, /* cycles without a retiring slot for that reason */
	VC_STALL_BACKEND,
	VC_LLC_REFERENCES, /* loads and stores: perf's cache-references, */
	VC_LLC_MISSES,	   /* and cache-misses */
	VC_TIME_NS,	   /* cycles at the core's frequency: cpu-clock, task-clock */
	VC_NONE,	   /* dummy: counts nothing */
	NR_VPMU_COUNTS,
};

struct vpmu_event_name {
	const char *name; /* perf's, or the raw event's */
	u32 type;	  /* PERF_TYPE_* */
	u64 config;
	u8 count; /* VC_* */
};

/* The events of the virtual PMU, in the order in which `list` shows them. A count may be in several rows. */
extern const char
	*const vpmu_count_names[NR_VPMU_COUNTS]; /* their names in the truth: perf's names where there are any */
extern const struct vpmu_event_name vpmu_events[];
extern const u32 nr_vpmu_events;
/* The VC_* that an attr asks for, or -1 if there is no such event here: for breakpoints, tracepoints, kernel-only
 * events. */
int vpmu_count_of(const struct attr *a);

enum vpmu_core { VPMU_GENERIC_X86, VPMU_NEOVERSE_N1, NR_VPMU_CORES };
extern const char *const vpmu_core_names[NR_VPMU_CORES]; /* "generic-x86", "neoverse-n1" */
extern const u32 vpmu_core_mhz[NR_VPMU_CORES];

/* Parts of the model that can be left out to make it faster. Without any of them it counts only instructions,
 * branches, calls and returns. */
enum { VPMU_MODEL_BRANCH = 1, VPMU_MODEL_CACHE = 2, VPMU_MODEL_TLB = 4, VPMU_MODEL_ALL = 7 };

struct vpmu_options {
	u32 core;     /* VPMU_GENERIC_X86 .. */
	u32 models;   /* VPMU_MODEL_* */
	u64 seed;     /* for jitter, skid and the program's own random bytes (QEMU -seed) */
	u32 skid_min; /* instructions between the overflow and the place that the sample shows: drawn uniformly */
	u32 skid_max;
	u32 throttle;	      /* samples per second (of virtual time) and thread that an event may take; 0: no limit */
	u32 lose_every;	      /* of so many samples of a thread, */
	u32 lose_count;	      /* so many are dropped, as if the ring were full; 0: none */
	u32 interrupt_cycles; /* cycles that a sample costs; time passes, but the events (all of user space) do not
				 count them */
	u32 cpus;	      /* 0: counters per thread. N: N virtual CPUs with counters of their own */
	u64 quantum;	      /* cycles that a thread may run on a virtual CPU while others wait */
	u64 delay_ns;	      /* virtual time before events count, -D */
	bool truth;	      /* TRUTH records are wanted */
	bool real_ids;	      /* process ids as they are, not numbered from 1 */
	bool totals_only;     /* stat: no samples, no side-band */
	bool memory;	  /* loads and stores are sampled: threads run on cores that share memory (vpmu/coherence.h) */
	u32 ldlat;	  /* cycles that VC_SLOW_LOADS take at least */
	u32 branch_depth; /* branch records that a core keeps */
	u32 branch_kind;  /* VPMU_LBR .. */
};

/* mem-loads and mem-stores, whose samples say what the access met: Intel's numbers, with ldlat in config1. */
enum { VPMU_MEM_LOADS = 0x1cd, VPMU_MEM_STORES = 0x82d0 };
/* Is it one of them? */
bool vpmu_is_memory(const struct attr *a);
/*
 * arm_spe_0: operations are sampled, and written as the packets of codec/spe.h. The bits of its config are those of
 * Linux's driver; in config1 are the events that an operation has to have caused, in config2 the cycles that it has to
 * have taken, and in config3 the events that it must not have caused.
 */
#define VPMU_SPE_TYPE 8
enum {
	VPMU_SPE_TIME = 0,	/* ts_enable */
	VPMU_SPE_PHYSICAL,	/* pa_enable */
	VPMU_SPE_PHYSICAL_TIME, /* pct_enable: of a clock that is the same one here */
	VPMU_SPE_JITTER = 16,
	VPMU_SPE_BRANCH = 32, /* branch_filter, load_filter, store_filter; none: all operations */
	VPMU_SPE_LOAD,
	VPMU_SPE_STORE,
};
#define VPMU_SPE_MIDR 0x413fd0c1ull /* of the simulated core, a Neoverse-N1 */
#define VPMU_SPE_JITTER_RANGE 256   /* instructions by which intervals differ, at most */
bool vpmu_is_spe(const struct attr *a);
/*
 * Where an address of a process lies in the simulated machine's memory. No pages are modelled: each process's memory
 * lies there as a whole, at an address that its id's last byte says: only those whose ids are the same there share it.
 */
#define VPMU_PROCESS_BITS 48
static inline u64 vpmu_physical(u32 pid, u64 addr)
{
	u64 mask = (1ull << VPMU_PROCESS_BITS) - 1;

	return (u64)(u8)pid << VPMU_PROCESS_BITS | (addr & mask);
}
/* Cycles that a load takes if L1 answers. vpmu/model.h has the additional cycles of other loads. */
#define VPMU_L1_CYCLES 4
/* With vpmu_options.memory: the number of cores. If there are more threads, they share a core with earlier ones. */
#define VPMU_MEMORY_CORES 64

/* Do these models (VPMU_MODEL_*) count it? */
bool vpmu_is_modelled(u32 count, u32 models);

/* The largest number of branch records that a core keeps: eight times as many as real cores, and as many as readers
 * accept. */
#define VPMU_BRANCHES_MAX 512

/* Whose branch records a core keeps: Intel's LBR, or the BRBE of Arm's cores as Linux's driver reads it. */
enum vpmu_branch_kind { VPMU_LBR, VPMU_BRBE, NR_VPMU_BRANCH_KINDS };
extern const char *const vpmu_branch_kinds[NR_VPMU_BRANCH_KINDS]; /* "lbr", "brbe" */
/* May a core of that kind keep so many? */
bool vpmu_branch_depth_fits(u32 kind, u32 depth);
/*
 * Branch counters, which LBR has: with each record, how often events of its group happened since the one before. So
 * many events at most, in their order from the lowest bits on, with so many bits each, which hold the largest number
 * when there were more. Those count whose branch_sample_type has BRANCH_COUNTERS.
 */
#define VPMU_BRANCH_COUNTERS 4
#define VPMU_BRANCH_COUNTER_BITS 2

#define VPMU_EVENTS_MAX 64

struct vpmu_event { /* one that was asked for, in group order */
	struct attr attr;
	struct schedule schedule; /* by period; period_long 0: by frequency (attr.sample_period with ATTR_FREQ), with
				     period_short and batch_count possible then too; or no sampling at all */
	u64 id;			  /* id of its samples; on virtual CPU c: id + c * nr_events */
	u32 leader;		  /* index of the group's leader; its own when alone */
	u32 count;		  /* VC_* */
	u32 limit;		  /* the largest number of its samples that a thread takes (term nr=); 0: any number */
};

/* A recording was made by this PMU if its CPUID begins with this; the core's name follows after a colon. */
#define VPMU_CPUID_PREFIX "reticle-sim"
/* The core in such a CPUID; len 0: it is not such a CPUID, or NULL. */
struct str vpmu_simulated(const char *cpuid);

#define VPMU_MAGIC 0x554d505645435452 /* "RTCEVPMU" */
#define VPMU_VERSION 7
#define VPMU_CHUNKS 256
#define VPMU_CHUNK_SIZE (256u << 10)
#define VPMU_PATH 1024
#define VPMU_BIRTHS 256

enum vpmu_chunk_state { VPMU_CHUNK_FREE, VPMU_CHUNK_OPEN, VPMU_CHUNK_CLOSED };

struct vpmu_chunk {
	_Atomic u32 state; /* FREE -> OPEN by a thread (compare and swap); -> CLOSED by it; -> FREE by the recorder,
			  which sets used and owner to 0 before */
	_Atomic u32 used;  /* bytes of whole records */
	_Atomic u64 turn;  /* set when it is opened, and again when it is closed: a number that only grows */
	_Atomic s32 owner; /* real process id: when that process has ended, an open chunk can be taken */
};

/* A virtual CPU. One thread at a time runs on it, and only that thread accesses the rest. */
struct vpmu_cpu {
	_Atomic s32 holder; /* real id of that thread; 0: none */
	u64 clock;	    /* ns: where it was when its last thread left */
	u8 state[16368];    /* the plugin's: its events, which stand still while no thread is there */
};

struct vpmu_control {
	u64 magic;
	u32 version;
	u32 chunk_size, nr_chunks;
	u64 data_offset; /* of chunk 0, from here: page-aligned */
	u64 cpus_offset; /* of options.cpus virtual CPUs, likewise */
	u64 size;	 /* of the whole */
	struct vpmu_options options;
	u32 nr_events, tracking; /* tracking: index of the event whose attr says which side-band is wanted */
	struct vpmu_event events[VPMU_EVENTS_MAX];
	/* Absolute paths that the plugin needs to follow an exec. */
	char plugin[VPMU_PATH];
	char qemu_x86_64[VPMU_PATH], qemu_aarch64[VPMU_PATH]; /* "": not installed */
	char sysroot[VPMU_PATH];			      /* QEMU's -L for aarch64, or "" */
	char control_path[VPMU_PATH];			      /* /proc/PID/fd/N of this memory */
	/* From here on the plugin writes. */
	_Atomic u64 turn;	 /* of chunks */
	_Atomic u64 time_ns;	 /* no record that is written from now on is older than this (see doc/vpmu.md, time) */
	_Atomic u32 next_id;	 /* the last thread or process id that was assigned: 0 at first */
	_Atomic u32 started;	 /* processes that ran under the plugin */
	_Atomic u32 escaped;	 /* programs that could not be followed (another architecture, set-uid, no file) */
	_Atomic u64 lost;	 /* records for which there was no free chunk because the recorder has ended */
	_Atomic u32 cpus_given;	 /* how often a virtual CPU became free: threads wait for a change of this */
	_Atomic u32 cpus_wanted; /* some thread waits for one */
	_Atomic u32 births;	 /* threads and processes whose creation has begun */
	/* if [n % VPMU_BIRTHS] is n or more, the nth of them has its FORK, or its creation failed */
	_Atomic u32 told[VPMU_BIRTHS];
	_Atomic u32 done; /* set by the recorder when it takes no more chunks: nobody waits for a free one then */
	struct vpmu_chunk chunks[VPMU_CHUNKS];
};

/*
 * Records that are passed in chunks, beside those of the kernel's kinds, and never reach a file. Each begins with the
 * kernel's 8-byte header {u32 type; u16 misc; u16 size}; all numbers are this machine's.
 */
enum vpmu_record {
	/* A thread's end (or exec): u32 pid, tid; u64 counts[NR_VPMU_COUNTS]. Without virtual CPUs too. */
	VPMU_RECORD_TOTALS = 0x10000,
	/* TRUTH of one thread: codec/vpmu_truth.h describes the contents. */
	VPMU_RECORD_TRUTH_PC,
	VPMU_RECORD_TRUTH_NODE,
	VPMU_RECORD_TRUTH_WINDOW,
	VPMU_RECORD_TRUTH_OPERATION,
	VPMU_RECORD_TRUTH_BEGIN,
	VPMU_RECORD_TRUTH_END,
	/* u32 pid, and the system's id of it: after the FORK of a process; */
	VPMU_RECORD_PROCESS,
	/* u32 pid, tid: that thread tries to run another program. */
	VPMU_RECORD_EXEC,
	/* u32 cpu, tid; u64 offset; then packets, which were at that offset of the thread's AUX area. */
	VPMU_RECORD_AUX,
};

#endif
