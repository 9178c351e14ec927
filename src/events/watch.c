/* SPDX-License-Identifier: Apache-2.0 */
#include "events/watch.h"

#include <sys/ioctl.h>
#include <time.h>

#include "sys/ring.h"

#define RING_PAGES 8
#define SPIN_ROUNDS 20000

static u64 thread_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
}

/* In user space, which alone may be sampled: the clock is read by a system call. */
static void spin(u64 ns)
{
	u64 start = thread_ns();

	while (thread_ns() - start < ns)
		for (u32 i = 0; i < SPIN_ROUNDS; i++)
			__asm__ volatile("" : "+r"(i));
}

/* The ring has not wrapped around. */
static void read_samples(const struct ring *r, const struct attr *a, void (*take)(void *, const struct sample *),
			 void *ctx)
{
	struct sample_layout layout;
	struct iovec part[2];
	int nr;

	ring_peek(r, part, &nr);
	if (!nr || sample_layout_init(&layout, a, NULL, NULL))
		return;
	for (size_t at = 0; at + sizeof(struct perf_event_header) <= part[0].iov_len;) {
		const u8 *p = (const u8 *)part[0].iov_base + at;
		struct perf_event_header h;
		struct sample s;

		memcpy(&h, p, sizeof(h));
		if (h.size < sizeof(h) || at + h.size > part[0].iov_len)
			break;
		if (h.type == PERF_RECORD_SAMPLE && !sample_decode(&layout, cursor_over(p, h.size, false), &s))
			take(ctx, &s);
		at += h.size;
	}
}

int event_watch(int fd, const struct attr *a, u64 ns, void (*take)(void *ctx, const struct sample *s), void *ctx)
{
	struct ring ring = { 0 };

	if (ring_map(&ring, fd, RING_PAGES))
		return ERR_LIMIT;
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin(ns);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	read_samples(&ring, a, take, ctx);
	ring_unmap(&ring);
	return 0;
}
