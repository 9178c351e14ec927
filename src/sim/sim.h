/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder's side of the virtual PMU: creates the shared memory (codec/vpmu.h), determines how to call QEMU, and
 * empties the chunks that the plugin fills.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include <sys/uio.h>

#include "codec/record.h"
#include "open/set.h"
#include "sim/opts.h"
#include "sim/program.h"

struct sim {
	struct sim_opts opts;
	struct sim_program program;
	struct vpmu_control *control;
	u64 size; /* size of the memory; sizes inside the memory cannot be trusted, because the program can change them
		   */
	u8 *data; /* chunk 0 */
	int fd;
	VEC(char *) argv, env;	/* for QEMU; each ends with NULL */
	VEC(char *) made;	/* the strings of these that are owned */
	u32 taken[VPMU_CHUNKS]; /* number of bytes of an open chunk that were taken already */
	u64 taken_at;		/* the second in which open chunks were last read */
	struct bytes copy;	/* a chunk's new bytes: the program could still change the shared ones */
	bool short_of_room;	/* few chunks are free, and they are still being filled: threads may wait for the next
				   drain */
	bool spe;		/* operations are sampled: there are AUX data */
	bool damaged;		/* bytes that are not records were found and left out */
	u64 counts[NR_VPMU_COUNTS]; /* of the threads that have ended */
	u32 unfinished; /* of these, were killed (or still ran at the end): their last 65,536 instructions may be
			   missing */
	const struct notify *notify;
};

/* The functions that get the contents of chunks. Members may be NULL. */
struct sim_sink {
	int (*records)(void *ctx, const struct iovec *whole); /* the kernel's records; 0 or ERR_* */
	void (*totals)(void *ctx, u32 pid, u32 tid, const u64 counts[NR_VPMU_COUNTS]);
	void (*truth)(void *ctx, const u8 *record, u16 size); /* a VPMU_RECORD_TRUTH_*, header included */
	void (*task)(void *ctx, u32 type, u32 pid, u32 of);   /* VPMU_RECORD_PROCESS or _EXEC */
	void (*aux)(void *ctx, const struct rec_auxtrace *a, const u8 *data); /* a multiple of 8 bytes */
	void *ctx;
};

/*
 * Finds program, QEMU and plugin, and creates the memory. ERR_*, noted; program.status is then the exit status of a
 * shell for a command that cannot be run. Call sim_close in any case.
 */
int sim_open(struct sim *s, const struct sim_opts *o, char *const command[], const struct notify *to);
/* Passes a configured set's events to the plugin and gives them their ids. ERR_USAGE: the virtual PMU has no such
 * event. */
int sim_set_events(struct sim *s, struct event_set *set);
/* Can its cores keep the branch records that the set's events want? ERR_USAGE, noted with a way out. */
int sim_check_branches(const struct sim *s, const struct event_set *set);
/* Takes the records that have come; last: also those in chunks that are still being written. Returns the sink's first
 * error, after which records are dropped. */
int sim_drain(struct sim *s, const struct sim_sink *sink, bool last);
/* From now on the plugin does not wait any more. */
void sim_done(struct sim *s);
void sim_close(struct sim *s);

/* "generic-x86", and the architecture of the program. */
const char *sim_core(const struct sim *s);
u64 sim_cycles_per_second(const struct sim *s);
const char *sim_arch(const struct sim *s);

#endif
