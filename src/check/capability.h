/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine and this user can do, one row per capability, and how to enable the rest. */
#ifndef CHECK_CAPABILITY_H
#define CHECK_CAPABILITY_H

#include "base/bytes.h"
#include "events/spec.h"
#include "sys/sysfs_pmu.h"

enum capability_state { CAPABILITY_OK, CAPABILITY_LIMITED, CAPABILITY_NO };

struct capability_report {
	enum capability_state state;
	struct bytes detail; /* text, without a NUL */
	struct bytes remedy; /* what would enable it; empty: nothing is necessary, or nothing is possible */
};

/* The places where probes look; all members are set. */
struct capability_env {
	const char *sysfs, *procfs, *tracefs;
	struct sysfs_pmus pmus;
	u64 effective; /* this process's capabilities, one bit each */
};

struct capability {
	const char *name;
	bool records; /* enough by itself to record something */
	void (*probe)(const struct capability_env *env, struct capability_report *r);
};

extern const struct capability capabilities[];
extern const u32 nr_capabilities;

/* NULL members of from (or a NULL from) mean the real places. */
void capability_env_init(struct capability_env *env, const struct event_env *from);
void capability_env_free(struct capability_env *env);
void capability_probe(const struct capability *c, const struct capability_env *env, struct capability_report *r);
void capability_report_free(struct capability_report *r);
const char *capability_state_name(enum capability_state s); /* "ok", "limited", "no" */

/* For the probes. */
bool capability_has(const struct capability_env *env, u32 cap);
/* A number below procfs/sys; false when it cannot be read. */
bool capability_sysctl(const struct capability_env *env, const char *name, s64 *out);
/* Sets the state and the texts; remedy may be NULL. */
void capability_say(struct capability_report *r, enum capability_state state, const char *remedy, const char *fmt, ...)
	PRINTF_LIKE(4, 5);

/* capability_rights.c */
void capability_kernel(const struct capability_env *env, struct capability_report *r);
void capability_syscall(const struct capability_env *env, struct capability_report *r);
void capability_paranoid(const struct capability_env *env, struct capability_report *r);
void capability_rights(const struct capability_env *env, struct capability_report *r);
/* capability_pmu.c */
void capability_hardware(const struct capability_env *env, struct capability_report *r);
void capability_precise(const struct capability_env *env, struct capability_report *r);
void capability_branches(const struct capability_env *env, struct capability_report *r);
void capability_software(const struct capability_env *env, struct capability_report *r);
void capability_spe(const struct capability_env *env, struct capability_report *r);
void capability_intel_pt(const struct capability_env *env, struct capability_report *r);
void capability_amd_ibs(const struct capability_env *env, struct capability_report *r);
void capability_other_pmus(const struct capability_env *env, struct capability_report *r);
void capability_clocks(const struct capability_env *env, struct capability_report *r);
/* capability_sim.c */
void capability_simulation(const struct capability_env *env, struct capability_report *r);
/* capability_windows.c */
void capability_windows_native(const struct capability_env *env, struct capability_report *r);
void capability_windows_twin(const struct capability_env *env, struct capability_report *r);
void capability_windows_refresh(const struct capability_env *env, struct capability_report *r);
void capability_windows_plain(const struct capability_env *env, struct capability_report *r);
void capability_thread_data(const struct capability_env *env, struct capability_report *r);
/* capability_system.c */
void capability_bpf(const struct capability_env *env, struct capability_report *r);
void capability_btf(const struct capability_env *env, struct capability_report *r);
void capability_kallsyms(const struct capability_env *env, struct capability_report *r);
void capability_tracepoints(const struct capability_env *env, struct capability_report *r);
void capability_uprobes(const struct capability_env *env, struct capability_report *r);
void capability_max_rate(const struct capability_env *env, struct capability_report *r);
void capability_cpu_share(const struct capability_env *env, struct capability_report *r);
void capability_ring_memory(const struct capability_env *env, struct capability_report *r);
void capability_stack_depth(const struct capability_env *env, struct capability_report *r);
void capability_open_files(const struct capability_env *env, struct capability_report *r);
void capability_debuginfod(const struct capability_env *env, struct capability_report *r);
void capability_virtual(const struct capability_env *env, struct capability_report *r);
void capability_features(const struct capability_env *env, struct capability_report *r);

#endif
