/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side-band for what existed before the recording: the kernel, its modules and BPF programs, cgroups, and the
 * tasks of /proc with their mappings. The records are those that the kernel would have written if it had been recorded
 * then. Trailers are all zero: time 0 is before everything.
 *
 * Anything that disappears meanwhile is left out.
 */
#ifndef RECORD_SIDEBAND_H
#define RECORD_SIDEBAND_H

#include "base/bytes.h"
#include "codec/record.h"

struct sideband {
	const struct trailer_layout *trailer;
	bool data_maps; /* mappings without PROT_EXEC too */
	bool namespaces;
	bool forks; /* FORK records, so that parents are known */
	struct bytes out;
	/* Takes the contents of out whenever they have become large, and at the end of each part. Returns 0, or an
	 * error that ends the part. */
	int (*flush)(void *ctx, const struct bytes *b);
	void *ctx;
	u32 hidden;	/* processes whose mappings were refused, */
	s32 hidden_pid; /* and the last of them */
	/* buffers that are used again and again */
	struct bytes file, path;
};

int sideband_put(struct sideband *s, const struct record *r); /* encodes; flushes now and then */
int sideband_flush(struct sideband *s);
void sideband_free(struct sideband *s);

int sideband_kernel(struct sideband *s);  /* MMAP of the kernel's text and of each module */
int sideband_bpf(struct sideband *s);	  /* KSYMBOL and BPF_EVENT */
int sideband_cgroups(struct sideband *s); /* CGROUP of each directory below the cgroup2 mount */

int sideband_all_tasks(struct sideband *s);
int sideband_process(struct sideband *s, s32 pid);	   /* with all its threads */
int sideband_thread(struct sideband *s, s32 pid, s32 tid); /* COMM, and the mappings of its process */
int sideband_comm(struct sideband *s, s32 pid, s32 tid);   /* COMM alone */

#endif
