/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CPUs that go offline, or come online, while everything on them is recorded.
 *
 * The kernel takes the counters of a CPU that goes offline away. Their descriptors do not hang up, and when the CPU
 * comes back they do not count again. So nothing but the list of CPUs says why samples are missing; it is read once a
 * second, so a CPU that comes back sooner is not noticed, nor one that a suspend takes away, which stops the recorder
 * as well. Counters of tasks are not concerned: their tasks go on on other CPUs.
 */
#include "base/clock.h"
#include "record/recorder_impl.h"

#define LOOK_MS 1000

static bool is_among(s32 cpu, const s32 *cpus, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (cpus[i] == cpu)
			return true;
	return false;
}

static bool is_told(const struct recorder *r, s32 cpu)
{
	return is_among(cpu, r->told_cpus.v, r->told_cpus.n);
}

static void look_for_new(struct recorder *r, const struct cpulist *online)
{
	for (size_t i = 0; i < online->v.n; i++) {
		s32 cpu = (s32)online->v.v[i];

		if (is_among(cpu, r->target.cpus.v, r->target.cpus.n) || is_told(r, cpu))
			continue;
		vec_push(&r->told_cpus, cpu);
		notify_warn(r->notify, "CPU %d came online: it is not recorded; to record it, begin anew", cpu);
	}
}

/* How many are still recorded? */
static u32 look_for_gone(struct recorder *r, const struct cpulist *online)
{
	u32 left = 0;

	for (size_t i = 0; i < r->target.cpus.n; i++) {
		s32 cpu = r->target.cpus.v[i];

		if (is_told(r, cpu))
			continue;
		if (cpulist_has(online, (u32)cpu)) {
			left++;
			continue;
		}
		vec_push(&r->told_cpus, cpu);
		notify_warn(r->notify,
			    "CPU %d went offline: nothing more is recorded of it, even if it comes back; to record it "
			    "then, begin anew",
			    cpu);
	}
	return left;
}

void recorder_look_at_cpus(struct recorder *r)
{
	struct cpulist online = { 0 };
	u64 now = clock_ms();

	if (!r->set.system_wide || r->sim || now < r->cpus_seen_ms + LOOK_MS)
		return;
	r->cpus_seen_ms = now;
	if (!cpulist_online_told(&online)) {
		/* With a command, its end is the recording's; otherwise nothing would ever come. */
		r->stop |= !look_for_gone(r, &online) && !r->has_workload;
		if (!r->o->target.cpus)
			look_for_new(r, &online);
	}
	cpulist_free(&online);
}
