/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program that the lab's kernels run: scenarios for perf events on the emulated PMU.
 *
 * QEMU makes cycles from the instructions it has executed (-icount shift=1: two cycles each), so a loop's counts are
 * known beforehand and a window that is one cycle off is a defect. All events count user space alone.
 */
#ifndef LAB_GUEST_H
#define LAB_GUEST_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef uint64_t u64;
typedef uint32_t u32;

/* A perf_event_attr as long as the patched kernel's; headers of the cross compiler don't know its end. */
struct attr {
	union {
		struct perf_event_attr perf;
		u64 word[21];
		struct {
			u64 known[17], config4, period_short;
			u32 jitter, batch;
			int tls_offset;
			uint16_t tls_size, tls_flags;
		};
	};
};

struct sample {
	u64 time, period, count, sibling;
	u32 tid, cpu;
};

enum { SAMPLES_MAX = 60000 };

struct event {
	int fd;
	bool group; /* its samples have a sibling's count too */
	struct perf_event_mmap_page *ring;
	size_t n;
	struct sample *samples;
	u64 throttled, unthrottled, lost;
};

/* ---- event.c */

/* Cycles in user space, off until enabled. */
struct attr attr_cycles(u64 period);
struct attr attr_burst(u64 whole, u64 period_short, u32 batch);
/* -> descriptor, or -errno. */
int perf_open(const struct attr *a, pid_t pid, int cpu, int group);
/* -> 0, or -errno. */
int event_open(struct event *e, const struct attr *a, pid_t pid, int cpu);
void event_enable(const struct event *e);
void event_disable(const struct event *e);
/* Copies the record that begins at this position of the ring. -> its size in bytes, a multiple of 8 up to 64 KiB. */
size_t event_record(const struct event *e, u64 at, u64 record[8192]);
/* Adds what is in the ring to samples. */
void event_drain(struct event *e);
/* Is there no room in the ring for another page of records? What came then is lost, and nothing says so until there is
 * room again. */
bool event_full(const struct event *e);
void event_close(struct event *e);
/* Opens, runs `cycles` of work on CPU 0, reads the samples. -> 0, or -errno; close it in any case but an error. */
int event_run(struct event *e, const struct attr *a, u64 cycles);

/* Ends child processes that would go on for ever. */
void stop_tasks(const pid_t *pids, int n);
/* Spins for so many cycles of user space, plus a few. */
void work(u64 cycles);
void pin(int cpu);
bool set_sysctl(const char *name, const char *value);
/* Samples per second before an event is throttled. */
bool set_sample_rate(const char *rate);

/* ---- scenarios */

enum { FIGURES_MAX = 200 };

/* Writes exact figures, or what went wrong. -> passed? */
typedef bool scenario_fn(char *figures);

struct scenario {
	const char *name;
	scenario_fn *run;
	/*
	 * WATCHED: only on the patched kernel that checks its memory and locks. PERF: only beside Debian's perf.
	 * ALONE: where there is one CPU, and only there; QEMU executes one after the other, so that a timer waits
	 * while it is the other one's turn, and what the other one executes counts as well. COUNTS: how many windows
	 * come is checked, too. What one CPU executes counts on the other as well, and a kernel that watches itself
	 * has work for both: not there.
	 */
	enum { ANY = 3, UNPATCHED = 1, PATCHED = 2, WATCHED = 4, PERF = 8, ALONE = 16, COUNTS = 32 } where;
};

/* Ended by a row without a name. */
extern const struct scenario burst_scenarios[];
extern const struct scenario task_scenarios[];
extern const struct scenario churn_scenarios[];
extern const struct scenario perf_scenarios[];
extern const struct scenario tls_scenarios[];
extern const struct scenario compat_scenarios[];
extern const struct scenario rseq_scenarios[];
extern const struct scenario deferred_scenarios[];
extern const struct scenario rights_scenarios[];

__attribute__((format(printf, 2, 3))) bool passed(char *figures, const char *format, ...);
__attribute__((format(printf, 2, 3))) bool failed(char *figures, const char *format, ...);

/* ---- burst.c: what a burst's samples must be like */

struct turn {
	u64 period_long, period_short;
	u32 batch;
};

/*
 * Are these samples of task `tid` (0: of all) turn after turn, beginning with a long period? Both the period that each
 * states and, unless `periods_only`, the counts between them. Says where not. *n is how many they were.
 */
bool is_burst(const struct event *e, struct turn t, u32 tid, bool periods_only, size_t *n, char *figures);

#endif
