/* SPDX-License-Identifier: Apache-2.0 */
#include "io/window_native.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "codec/sample.h"
#include "io/ring.h"

#define NATIVE_SIZE 160
#define PROBE_LONG 900000 /* ns */
#define PROBE_SHORT 100000
#define PROBE_NS 20000000
#define RING_PAGES 8
#define SAMPLES_MAX 64
#define LEAST 6 /* samples to judge by */

/* What follows the attr that others know. */
struct native_attr {
	struct attr attr;
	u64 period_short;
	u32 jitter, batch_count;
};
_Static_assert(sizeof(struct native_attr) == NATIVE_SIZE, "the series' layout");

int window_native_open(const struct attr *a, const struct schedule *s, s32 pid, s32 cpu, int group)
{
	struct native_attr n = { *a, s->period_short, (u32)MIN(s->jitter_long, (u64)UINT32_MAX), s->batch_count };

	n.attr.size = NATIVE_SIZE;
	return (int)syscall(SYS_perf_event_open, &n, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

static void spin(u64 ns)
{
	struct timespec t;
	u64 start, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	start = now = (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
	while (now - start < ns) {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
	}
}

/* Times of the samples that are in the ring; it has not wrapped around. */
static u32 read_times(const struct ring *r, const struct attr *a, u64 times[SAMPLES_MAX])
{
	struct sample_layout layout;
	struct iovec part[2];
	u32 n = 0;
	int nr;

	ring_peek(r, part, &nr);
	if (!nr || sample_layout_init(&layout, a, NULL, NULL))
		return 0;
	for (size_t at = 0; at + sizeof(struct perf_event_header) <= part[0].iov_len && n < SAMPLES_MAX;) {
		const u8 *p = (const u8 *)part[0].iov_base + at;
		struct perf_event_header h;
		struct sample s;

		memcpy(&h, p, sizeof(h));
		if (h.size < sizeof(h) || at + h.size > part[0].iov_len)
			break;
		if (h.type == PERF_RECORD_SAMPLE && !sample_decode(&layout, cursor_over(p, h.size, false), &s))
			times[n++] = s.time;
		at += h.size;
	}
	return n;
}

/* Of neighbours, one is near and one is far, in turn. */
static bool alternate(const u64 *times, u32 n)
{
	u32 turns = 0;

	for (u32 i = 2; i < n; i++) {
		bool first = times[i - 1] - times[i - 2] < (PROBE_LONG + PROBE_SHORT) / 2;
		bool second = times[i] - times[i - 1] < (PROBE_LONG + PROBE_SHORT) / 2;

		turns += first != second;
	}
	return n >= LEAST && turns * 4 >= (n - 2) * 3;
}

static bool watch(int fd, const struct attr *a, const char **why)
{
	struct ring ring = { 0 };
	u64 times[SAMPLES_MAX];
	bool works;

	if (ring_map(&ring, fd, RING_PAGES)) {
		*why = "it cannot be tried: no memory may be locked";
		return false;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin(PROBE_NS);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	works = alternate(times, read_times(&ring, a, times));
	ring_unmap(&ring);
	*why = works ? "the kernel alternates periods" :
		       "the kernel takes the attributes of alternating periods, and does not alternate them";
	return works;
}

bool windows_native_works(const char **why)
{
	const struct schedule s = { PROBE_LONG, PROBE_SHORT, 1, 0, 0 };
	struct attr a = { .type = PERF_TYPE_SOFTWARE,
			  .config = PERF_COUNT_SW_CPU_CLOCK,
			  .sample_period = PROBE_LONG + PROBE_SHORT,
			  .sample_type = PERF_SAMPLE_TIME,
			  .flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV };
	int fd = window_native_open(&a, &s, 0, -1, -1);
	bool works = false;

	*why = "this kernel has no alternating periods";
	if (fd >= 0) {
		works = watch(fd, &a, why);
		close(fd);
	} else if (errno == EACCES || errno == EPERM) {
		*why = "this user may not record";
	}
	return works;
}
