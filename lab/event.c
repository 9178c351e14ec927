/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

enum { PAGE = 4096, RING = 1024 * PAGE };
enum { BURST_SIZE = 160 }; /* of an attr that ends with what bursts need */

struct attr attr_cycles(u64 period)
{
	struct attr a = { 0 };

	a.perf.type = PERF_TYPE_HARDWARE;
	a.perf.size = PERF_ATTR_SIZE_VER6;
	a.perf.config = PERF_COUNT_HW_CPU_CYCLES;
	a.perf.sample_period = period;
	a.perf.sample_type =
		PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ;
	a.perf.disabled = 1;
	a.perf.exclude_kernel = 1;
	a.perf.exclude_hv = 1;
	return a;
}

struct attr attr_burst(u64 whole, u64 period_short, u32 batch)
{
	struct attr a = attr_cycles(whole);

	a.perf.size = BURST_SIZE;
	a.period_short = period_short;
	a.batch = batch;
	return a;
}

int perf_open(const struct attr *a, pid_t pid, int cpu, int group)
{
	int fd = syscall(SYS_perf_event_open, a, pid, cpu, group, 0);

	return fd < 0 ? -errno : fd;
}

int event_open(struct event *e, const struct attr *a, pid_t pid, int cpu)
{
	*e = (struct event){ .fd = perf_open(a, pid, cpu, -1), .group = a->perf.read_format & PERF_FORMAT_GROUP };
	if (e->fd < 0)
		return e->fd;
	e->ring = mmap(NULL, PAGE + RING, PROT_READ | PROT_WRITE, MAP_SHARED, e->fd, 0);
	e->samples = malloc(SAMPLES_MAX * sizeof(*e->samples));
	if (e->ring != MAP_FAILED && e->samples)
		return 0;
	int err = -errno;
	free(e->samples);
	close(e->fd);
	return err;
}

void event_enable(const struct event *e)
{
	ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0);
}

void event_disable(const struct event *e)
{
	ioctl(e->fd, PERF_EVENT_IOC_DISABLE, 0);
}

static void add_sample(struct event *e, const u64 *field)
{
	if (e->n == SAMPLES_MAX) {
		e->lost++;
		return;
	}
	e->samples[e->n++] = (struct sample){
		.tid = field[0] >> 32,
		.time = field[1],
		.cpu = (u32)field[2],
		.period = field[3],
		.count = e->group ? field[5] : field[4],
		.sibling = e->group ? field[6] : 0,
	};
}

size_t event_record(const struct event *e, u64 at, u64 record[8192])
{
	const char *data = (const char *)e->ring + PAGE;
	struct perf_event_header h;

	/* Records are multiples of 8 bytes, so no header is cut by the ring's end. */
	memcpy(&h, data + at % RING, sizeof(h));
	for (size_t i = 0; i < h.size / 8u; i++)
		memcpy(&record[i], data + (at + 8 * i) % RING, 8);
	return h.size;
}

void event_drain(struct event *e)
{
	u64 head = __atomic_load_n(&e->ring->data_head, __ATOMIC_ACQUIRE), tail = e->ring->data_tail;
	static u64 record[8192];

	while (tail < head) {
		size_t size = event_record(e, tail, record);
		u32 type = (u32)record[0];

		if (!size)
			break;
		if (type == PERF_RECORD_SAMPLE)
			add_sample(e, record + 1);
		e->lost += type == PERF_RECORD_LOST ? record[2] : 0;
		e->throttled += type == PERF_RECORD_THROTTLE;
		e->unthrottled += type == PERF_RECORD_UNTHROTTLE;
		tail += size;
	}
	__atomic_store_n(&e->ring->data_tail, tail, __ATOMIC_RELEASE);
}

bool event_full(const struct event *e)
{
	return __atomic_load_n(&e->ring->data_head, __ATOMIC_ACQUIRE) - e->ring->data_tail > RING - PAGE;
}

void event_close(struct event *e)
{
	munmap(e->ring, PAGE + RING);
	free(e->samples);
	close(e->fd);
}

int event_run(struct event *e, const struct attr *a, u64 cycles)
{
	int err;

	pin(0);
	err = event_open(e, a, 0, -1);
	if (err)
		return err;
	event_enable(e);
	work(cycles);
	event_disable(e);
	event_drain(e);
	return 0;
}

void stop_tasks(const pid_t *pids, int n)
{
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
}

void work(u64 cycles)
{
	u64 rounds = cycles / 4 + 1; /* two instructions, two cycles each */

	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}

void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

bool set_sysctl(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	int fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	bool ok = write(fd, value, strlen(value)) == (ssize_t)strlen(value);
	close(fd);
	return ok;
}

bool set_sample_rate(const char *rate)
{
	/* The kernel lets the rate be set while it limits the time that sampling takes, which it then must not do. */
	return set_sysctl("perf_cpu_time_max_percent", "25") && set_sysctl("perf_event_max_sample_rate", rate) &&
	       set_sysctl("perf_cpu_time_max_percent", "0");
}
