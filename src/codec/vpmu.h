/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The virtual PMU's side that recorder and plugin (vpmu/) share: its events, its cores, and the memory that connects
 * the two.
 *
 * The recorder makes one shared memory (struct vpmu_control and the chunks behind it), writes into it what to do, and
 * runs the program under QEMU with the plugin, which maps it through /proc/PID/fd/N. The plugin writes records, as the
 * kernel would (codec/sample.h, codec/record.h), into chunks. A chunk belongs to one thread at a time, which makes
 * what it wrote count by advancing `used`: a process that is killed at any instant leaves whole records only, and
 * nobody waits for a lock that a dead process holds. The recorder takes closed chunks in the order in which they were
 * closed, and what is left in open ones when their process is gone.
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
	VC_LLC_LOADS, /* last-level cache, what comes from L2 misses */
	VC_LLC_LOAD_MISSES,
	VC_LLC_STORES,
	VC_LLC_STORE_MISSES,
	VC_DTLB_LOADS,
	VC_DTLB_LOAD_MISSES,
	VC_DTLB_STORES,
	VC_DTLB_STORE_MISSES,
	VC_L1I_MISSES,
	VC_SLOW_LOADS, /* that took vpmu_options.ldlat cycles or more; only with vpmu_options.memory */
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

/* Events that the virtual PMU has, in the order in which `list` shows them. A count may stand in several rows. */
extern const char *const vpmu_count_names[NR_VPMU_COUNTS]; /* as the truth calls them: perf's names where it has one */
extern const struct vpmu_event_name vpmu_events[];
extern const u32 nr_vpmu_events;
/* The VC_* that an attr asks for, or -1: no such event here. Breakpoints, tracepoints, kernel-only events: -1. */
int vpmu_count_of(const struct attr *a);

enum vpmu_core { VPMU_GENERIC_X86, VPMU_NEOVERSE_N1, NR_VPMU_CORES };
extern const char *const vpmu_core_names[NR_VPMU_CORES]; /* "generic-x86", "neoverse-n1" */
extern const u32 vpmu_core_mhz[NR_VPMU_CORES];

/* Parts of the model that can be left out to go faster. Without any: instructions, branches, calls, returns only. */
enum { VPMU_MODEL_BRANCH = 1, VPMU_MODEL_CACHE = 2, VPMU_MODEL_TLB = 4, VPMU_MODEL_ALL = 7 };

struct vpmu_options {
	u32 core;     /* VPMU_GENERIC_X86 .. */
	u32 models;   /* VPMU_MODEL_* */
	u64 seed;     /* of jitter, skid and of the program's own random bytes (QEMU -seed) */
	u32 skid_min; /* instructions between the overflow and what the sample shows: drawn uniformly */
	u32 skid_max;
	u32 throttle;	      /* samples per second (of virtual time) and thread that an event may take; 0: no limit */
	u32 lose_every;	      /* of so many samples of a thread, */
	u32 lose_count;	      /* so many are dropped, as if the ring were full; 0: none */
	u32 interrupt_cycles; /* that a sample costs; time passes, the events (all of user space) do not count it */
	u32 cpus;	      /* 0: counters per thread. N: N virtual CPUs with counters of their own */
	u64 quantum;	      /* cycles that a thread may run on a virtual CPU while others wait */
	u64 delay_ns;	      /* virtual time before events count, -D */
	bool truth;	      /* TRUTH records are wanted */
	bool real_ids;	      /* process ids as they are, not numbered from 1 */
	bool totals_only;     /* stat: no samples, no side-band */
	bool memory;	  /* loads and stores are sampled: threads run on cores that share memory (vpmu/coherence.h) */
	u32 ldlat;	  /* cycles that VC_SLOW_LOADS take at least */
	u32 branch_depth; /* branch records that a core keeps */
};

/* mem-loads and mem-stores, whose samples say what the access met: Intel's numbers, with ldlat in config1. */
enum { VPMU_MEM_LOADS = 0x1cd, VPMU_MEM_STORES = 0x82d0 };
/* Is it one of them? */
bool vpmu_is_memory(const struct attr *a);
/* Cycles that a load takes which L1 answers. What others take more stands in vpmu/model.h. */
#define VPMU_L1_CYCLES 4
/* With vpmu_options.memory: threads beyond so many share a core with earlier ones. */
#define VPMU_MEMORY_CORES 64

/* Do these (VPMU_MODEL_*) count it? */
bool vpmu_is_modelled(u32 count, u32 models);

/* Most branch records that a core keeps: eight times what cores have, and what readers take. */
#define VPMU_BRANCHES_MAX 512

#define VPMU_EVENTS_MAX 64

struct vpmu_event { /* one that was asked for, in group order */
	struct attr attr;
	struct schedule schedule; /* by period; period_long 0: by frequency (attr.sample_period with ATTR_FREQ), with
				     period_short and batch_count possible then too; or no sampling at all */
	u64 id;			  /* of its samples; on virtual CPU c: id + c * nr_events */
	u32 leader;		  /* index of the group's leader; its own when alone */
	u32 count;		  /* VC_* */
	u32 limit;		  /* samples that a thread takes of it, then no more (term nr=); 0: any number */
};

/* A recording is of this PMU when its CPUID begins so; the core's name follows behind a colon. */
#define VPMU_CPUID_PREFIX "reticle-sim"
/* The core in such a CPUID; len 0: it is no such CPUID. NULL is none either. */
struct str vpmu_simulated(const char *cpuid);

#define VPMU_MAGIC 0x554d505645435452 /* "RTCEVPMU" */
#define VPMU_VERSION 5
#define VPMU_CHUNKS 256
#define VPMU_CHUNK_SIZE (256u << 10)
#define VPMU_PATH 1024
#define VPMU_BIRTHS 256

enum vpmu_chunk_state { VPMU_CHUNK_FREE, VPMU_CHUNK_OPEN, VPMU_CHUNK_CLOSED };

struct vpmu_chunk {
	_Atomic u32 state; /* FREE -> OPEN by a thread (compare and swap); -> CLOSED by it; -> FREE by the recorder,
			  which sets used and owner to 0 before */
	_Atomic u32 used;  /* bytes of whole records */
	_Atomic u64 turn;  /* when it was opened, and again when it was closed: a number that only grows */
	_Atomic s32 owner; /* real process id: when that is gone, an open chunk can be taken */
};

/* A virtual CPU. One thread at a time runs on it, and only it looks at the rest. */
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
	/* What the plugin needs to follow an exec. Absolute paths. */
	char plugin[VPMU_PATH];
	char qemu_x86_64[VPMU_PATH], qemu_aarch64[VPMU_PATH]; /* "": not installed */
	char sysroot[VPMU_PATH];			      /* QEMU's -L for aarch64, or "" */
	char control_path[VPMU_PATH];			      /* /proc/PID/fd/N of this memory */
	/* From here on the plugin writes. */
	_Atomic u64 turn;	 /* of chunks */
	_Atomic u64 time_ns;	 /* no record that is written from now on is older than this (see doc/vpmu.md, time) */
	_Atomic u32 next_id;	 /* the last thread or process id that was given: 0 at first */
	_Atomic u32 started;	 /* processes that ran under the plugin */
	_Atomic u32 escaped;	 /* programs that could not be followed (another architecture, set-uid, no file) */
	_Atomic u64 lost;	 /* records that found no free chunk because the recorder is gone */
	_Atomic u32 cpus_given;	 /* how often a virtual CPU became free: what threads wait on */
	_Atomic u32 cpus_wanted; /* some thread waits for one */
	_Atomic u32 births;	 /* threads and processes that were asked for */
	/* [n % VPMU_BIRTHS] is n or more: the nth of them has its FORK, or came to nothing */
	_Atomic u32 told[VPMU_BIRTHS];
	_Atomic u32 done; /* set by the recorder when it takes no more chunks: nobody waits for a free one then */
	struct vpmu_chunk chunks[VPMU_CHUNKS];
};

/*
 * Records that travel in chunks beside the kernel's and never reach a file. Each begins with the kernel's 8-byte
 * header {u32 type; u16 misc; u16 size}; all numbers are this machine's.
 */
enum vpmu_record {
	/* A thread's end (or exec): u32 pid, tid; u64 counts[NR_VPMU_COUNTS]. Without virtual CPUs too. */
	VPMU_RECORD_TOTALS = 0x10000,
	/* TRUTH of one thread: codec/vpmu_truth.h says what they hold. */
	VPMU_RECORD_TRUTH_PC,
	VPMU_RECORD_TRUTH_NODE,
	VPMU_RECORD_TRUTH_WINDOW,
	VPMU_RECORD_TRUTH_BEGIN,
	VPMU_RECORD_TRUTH_END,
	/* u32 pid, and what the system calls it: behind the FORK of a process; */
	VPMU_RECORD_PROCESS,
	/* u32 pid, tid: that thread tries to run another program. */
	VPMU_RECORD_EXEC,
};

#endif
