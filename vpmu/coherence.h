/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which simulated cores have a line of memory, and whether one of them has changed it: what decides whether a core's
 * own caches may answer, or another core has to. Threads of a process share one; it is asked for each access, so it is
 * there only where somebody samples loads and stores (vpmu_options.memory).
 */
#ifndef VPMU_COHERENCE_H
#define VPMU_COHERENCE_H

#include "codec/vpmu.h"

#define COHERENCE_CORES VPMU_MEMORY_CORES

enum coherence_was {
	COHERENT_OWN,	   /* the core had it, and may use it so: its own caches say where; */
	COHERENT_NOBODYS,  /* so they do if no core had it */
	COHERENT_SHARED,   /* others have it unchanged, or have to give it up for the store */
	COHERENT_MODIFIED, /* another core had changed it, and hands it over */
};

struct coherence;
struct coherence *coherence_new(void);

/* The core (below COHERENCE_CORES) loads from the line, or stores to it, and has it then. For several threads. */
enum coherence_was coherence_use(struct coherence *c, u32 core, u64 line, bool store);
/*
 * Cores run at one speed, however the system schedules their threads: one that is far ahead of another lets it catch
 * up, for a while. Without it two threads that fight over a line would do so only as often as the system switches
 * between them. work: what the core has done, in slots; it only grows.
 */
void coherence_pace(struct coherence *c, u32 core, u64 work);
/* The core's thread is in a syscall, or has ended: nobody waits for it. */
void coherence_rest(struct coherence *c, u32 core);
/* A line left the core's L2 for one that was not there. */
void coherence_evicted(struct coherence *c, u32 core);

#endif
