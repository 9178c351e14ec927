/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder's loop: what it takes out of rings, what calls it, and what ends it. */
#include "recorder_set.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "read/source.h"
#include "record/activity.h"

#define SIZE 4096u
#define FAR_MS (1ull << 40)

/* How long the loop was ready to wait the first time; -1: not yet. */
static int first_wait;
/* The errno that waiting ends with, or 0. */
static int wait_error;

int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	first_wait = first_wait < 0 ? timeout : first_wait;
	errno = wait_error;
	return wait_error ? -1 : epoll_pwait(fd, events, n, timeout, NULL);
}

/* The time, in ms, while it is the test's; 0: it is the machine's. */
static u64 now_ms;

int clock_gettime(clockid_t clock, struct timespec *out)
{
	if (!now_ms)
		return (int)syscall(SYS_clock_gettime, clock, out);
	*out = (struct timespec){ (time_t)(now_ms / 1000), (long)(now_ms % 1000) * 1000000 };
	return 0;
}

/* In the place of the BPF program: what asks, and what each answer takes. */
struct activities {
	int fd;
	void (*answer)(struct activities *a);
	struct recorder_set *s;
	u32 asked;
};

int activities_begin(struct activities **out, const struct notify *to)
{
	(void)out;
	(void)to;
	return 0;
}

int activities_attach(struct activities *a, const struct event_set *set)
{
	(void)a;
	(void)set;
	return 0;
}

void activities_end(struct activities *a)
{
	(void)a;
}

int activities_fd(const struct activities *a)
{
	return a->fd;
}

void activities_answer(struct activities *a)
{
	a->answer(a);
}

void activities_renew(struct activities *a)
{
	(void)a;
}

void activities_tell(struct activities *a, const struct notify *to)
{
	(void)a;
	(void)to;
}

static void open_file(struct recorder_set *s)
{
	assert_int_equal(writer_open(&s->r.writer, s->path, &s->notify), 0);
	assert_int_equal(writer_begin(&s->r.writer, &s->r.set, NULL), 0);
}

static void end_file(struct recorder_set *s, int err, const char *expected)
{
	struct features f = { 0 };
	char *text;

	assert_int_equal(writer_end(&s->r.writer, &f), err);
	text = file_text(s->path);
	assert_string_equal(text, expected);
	free(text);
}

/* Every ring is emptied, in order and across its end, and given back to the kernel; only a round with data is one. */
static void test_drain(void **state)
{
	struct recorder_set s;
	u64 in_rings = 0;

	(void)state;
	recorder_set_begin(&s, 3, SIZE);
	open_file(&s);
	for (u32 i = 0; i < 3; i++) /* of the next records the second wraps around */
		s.r.set.rings.v[i].ring.page->data_head = s.r.set.rings.v[i].ring.tail = 3 * SIZE - 56 * i;
	for (u32 i = 0; i < 3; i++) {
		ring_put_sample(&s, i, 10 * i + 1, 0x1000);
		ring_put_sample(&s, i, 10 * i + 2, 0x1000);
	}
	ring_put_lost(&s, 2, 9);
	for (u32 i = 0; i < 3; i++)
		in_rings += ring_filled(&s.r.set.rings.v[i].ring);
	assert_int_equal(recorder_drain(&s.r, false), 0);
	assert_int_equal(s.r.round_bytes, in_rings);
	assert_int_equal(s.result.events_bytes, in_rings);
	assert_int_equal(s.r.flow.samples, 6);
	assert_int_equal(s.r.flow.lost, 9);
	for (u32 i = 0; i < 3; i++) {
		const struct perf_event_mmap_page *page = s.r.set.rings.v[i].ring.page;

		assert_int_equal(page->data_tail, page->data_head);
	}
	assert_int_equal(recorder_drain(&s.r, false), 0); /* nothing came */
	assert_int_equal(s.r.round_bytes, 0);
	ring_put_sample(&s, 1, 30, 0x1000);
	assert_int_equal(recorder_drain(&s.r, false), 0);
	assert_int_equal(s.result.events_bytes, in_rings + s.r.round_bytes);
	assert_int_equal(recorder_drain(&s.r, true), 0); /* the last one always is */
	end_file(&s, 0, "1 2 11 12 21 22 -9 . 30 . . ");
	recorder_set_end(&s);
}

/* Bursts call many times a second: not each time is a round, but the last one is. */
static void test_rounds_of_bursts(void **state)
{
	struct recorder_set s;

	(void)state;
	recorder_set_begin(&s, 1, SIZE);
	open_file(&s);
	s.r.window_how = WINDOW_REFRESH;
	s.r.round_ms = 50000;
	for (u32 i = 1; i <= 3; i++) {
		now_ms = (u64[]){ 50100, 50199, 50199 }[i - 1];
		ring_put_sample(&s, 0, i, 0x1000);
		assert_int_equal(recorder_drain(&s.r, i == 3), 0);
		assert_int_equal(s.r.round_ms, i < 3 ? 50100 : 50199);
	}
	now_ms = 0;
	end_file(&s, 0, "1 . 2 3 . ");
	recorder_set_end(&s);
}

/* A write that fails ends the pass: the rings behind it keep what they have. Small pieces are written when the round
 * ends, and fail then. */
static void drain_fails(u32 samples, bool at_once)
{
	struct recorder_set s;

	recorder_set_begin(&s, 2, 16 * SIZE);
	open_file(&s);
	close(s.r.writer.fd);
	s.r.writer.fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	s.r.writer.pipe = true; /* no header to write again */
	for (u32 i = 0; i < samples; i++)
		ring_put_sample(&s, 0, i, 0x1000);
	ring_put_sample(&s, 1, samples, 0x1000);
	assert_int_equal(recorder_drain(&s.r, true), ERR_IO);
	assert_int_equal(ring_filled(&s.r.set.rings.v[1].ring) > 0, at_once);
	bytes_u8(&s.notes, 0);
	assert_non_null(strstr((char *)s.notes.p, "the disk is full"));
	recorder_set_end(&s);
}

static void test_drain_fails(void **state)
{
	(void)state;
	drain_fails(1000, true);
	drain_fails(1, false);
}

/* Rings that are overwritten are read at the end, the oldest record first, and then what the others have. */
static void test_look(void **state)
{
	struct recorder_set s;
	u64 bytes;

	(void)state;
	recorder_set_begin(&s, 3, SIZE);
	open_file(&s);
	s.r.set.rings.v[0].ring.backward = s.r.set.rings.v[2].ring.backward = true;
	ring_put_sample(&s, 0, 1, 0x1000);
	ring_put_lost(&s, 0, 4);
	ring_put_sample(&s, 0, 2, 0x1000);
	ring_put_sample(&s, 2, 3, 0x1000);
	ring_put_lost(&s, 2, 5);
	ring_put_lost(&s, 1, 100);
	assert_int_equal(recorder_look(&s.r), 0); /* they are not, as the set says */
	assert_int_equal(s.r.flow.samples, 0);
	s.r.set.overwrites = true;
	bytes = -s.r.set.rings.v[0].ring.page->data_head - s.r.set.rings.v[2].ring.page->data_head +
		ring_filled(&s.r.set.rings.v[1].ring);
	assert_int_equal(recorder_look(&s.r), 0);
	assert_int_equal(s.r.flow.samples, 3);
	assert_int_equal(s.r.looked_lost, 9);
	assert_int_equal(s.r.flow.lost, 109);
	assert_int_equal(s.r.round_bytes, bytes);
	assert_int_equal(s.result.events_bytes, bytes);
	/* Of these, no round says that what comes later is younger. */
	ring_put_sample(&s, 1, 7, 0x1000);
	assert_int_equal(recorder_drain(&s.r, false), 0);
	end_file(&s, 0, "1 -4 2 3 -5 -100 7 ");
	recorder_set_end(&s);
}

/* What the record of a piece of AUX data says, and the data with what fills them up. */
static void check_aux(const struct source_record *sr, const struct rec_auxtrace *expected, const u8 *data, u64 size)
{
	static const u8 zeros[8];
	struct record r;

	assert_int_equal(record_decode(cursor_over(sr->p, sr->h.size, false), 0, NULL, &r), 0);
	assert_int_equal(r.auxtrace.size, expected->size);
	assert_int_equal(r.auxtrace.offset, expected->offset);
	assert_int_equal(r.auxtrace.idx, expected->idx);
	assert_int_equal(r.auxtrace.cpu, expected->cpu);
	assert_int_equal(r.auxtrace.tid, expected->tid);
	assert_int_equal(sr->payload_size, expected->size);
	assert_memory_equal(sr->payload, data, size);
	assert_memory_equal(sr->payload + size, zeros, expected->size - size);
}

/* AUX data follow the rings' records, those of each ring in a record of their own, also across the area's end. */
static void test_aux(void **state)
{
	static const struct rec_auxtrace expected[] = {
		{ .size = 16, .offset = 0, .idx = 0, .cpu = 3, .tid = UINT32_MAX },
		{ .size = 24, .offset = 60, .idx = 2, .cpu = UINT32_MAX, .tid = 70 },
	};
	u8 areas[2][64], data[2][20];
	struct features f = { 0 };
	struct source_record sr;
	struct source *src = NULL;
	struct recorder_set s;
	u64 offset = 0, bad;
	u32 found = 0;

	(void)state;
	for (u32 i = 0; i < 2 * 64; i++)
		areas[i / 64][i % 64] = (u8)(i + 1);
	for (u32 i = 0; i < 20; i++) {
		data[0][i] = areas[0][i];
		data[1][i] = areas[1][(60 + i) % 64];
	}
	recorder_set_begin(&s, 3, SIZE); /* the one between has no area */
	open_file(&s);
	for (u32 i = 0; i < 3; i += 2) {
		struct watched_ring *w = &s.r.set.rings.v[i];

		w->aux = (struct aux_area){
			.page = w->ring.page, .data = areas[i / 2], .size = 64, .tail = i ? 60 : 0
		};
		w->ring.page->aux_head = i ? 80 : 13;
		w->ring.cpu = i ? -1 : 3;
		w->ring.tid = i ? 70 : -1;
	}
	assert_int_equal(recorder_drain(&s.r, false), 0);
	assert_int_equal(s.result.aux_bytes, 33);
	assert_int_equal(s.r.round_bytes, 2 * 48 + 16 + 24);
	assert_int_equal(s.r.set.rings.v[0].ring.page->aux_tail, 13);
	assert_int_equal(s.r.set.rings.v[2].ring.page->aux_tail, 80);
	assert_int_equal(writer_end(&s.r.writer, &f), 0);
	assert_int_equal(source_open(&src, s.path, NULL), 0);
	while (source_next(src, &offset, &sr, &bad))
		if (sr.h.type == PERF_RECORD_AUXTRACE) {
			assert_true(found < 2);
			check_aux(&sr, &expected[found], data[found], found ? 20 : 13);
			found++;
		}
	assert_int_equal(found, 2);
	source_close(src);
	recorder_set_end(&s);
}

/* Of what is written from two parts, the whole records stay when the file may not grow any more. */
static void test_torn_write(void **state)
{
	struct rlimit old, now;
	struct recorder_set s;
	u64 size;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	recorder_set_begin(&s, 1, SIZE);
	ring_put_sample(&s, 0, 1, 0x1000);
	size = ring_filled(&s.r.set.rings.v[0].ring);
	s.r.set.rings.v[0].ring.page->data_head = s.r.set.rings.v[0].ring.tail = SIZE - 3 * size;
	for (u32 i = 1; i <= 6; i++)
		ring_put_sample(&s, 0, i, 0x1000);
	open_file(&s);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	now = (struct rlimit){ writer_size(&s.r.writer) + 4 * size + size / 2, old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
	assert_int_equal(recorder_drain(&s.r, true), ERR_IO);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	bytes_u8(&s.notes, 0);
	assert_non_null(strstr((char *)s.notes.p, "the file size limit is reached"));
	end_file(&s, ERR_IO, "1 2 3 4 ");
	recorder_set_end(&s);
}

/* Who reads a pipe may end first, which is no fault of the disk. */
static void test_reader_ends(void **state)
{
	struct recorder_set s;
	int p[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	recorder_set_begin(&s, 1, SIZE);
	open_file(&s);
	close(s.r.writer.fd);
	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	close(p[0]);
	s.r.writer.fd = p[1];
	s.r.writer.pipe = true;
	ring_put_sample(&s, 0, 1, 0x1000);
	assert_int_equal(recorder_drain(&s.r, true), ERR_IO);
	bytes_u8(&s.notes, 0);
	assert_non_null(strstr((char *)s.notes.p, "the reader has ended"));
	assert_null(strstr((char *)s.notes.p, "is kept"));
	recorder_set_end(&s);
}

/* ---- what calls it */

static sigset_t unblocked;

static void begin_loop(struct recorder_set *s, u32 nr, u32 fds)
{
	sigset_t set;

	recorder_set_begin(s, nr, SIZE);
	open_file(s);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR2);
	sigaddset(&set, SIGCHLD);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, &unblocked), 0);
	s->r.signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	assert_true(s->r.signal_fd >= 0);
	for (u32 i = 0; i < nr * fds; i++)
		vec_push(&s->r.set.rings.v[i / fds].fds, -1);
}

static void close_rings(struct recorder_set *s)
{
	for (size_t i = 0; i < s->r.set.rings.n; i++)
		for (size_t k = 0; k < s->r.set.rings.v[i].fds.n; k++)
			close(s->r.set.rings.v[i].fds.v[k]);
}

static void end_loop(struct recorder_set *s)
{
	close_rings(s);
	recorder_set_end(s);
	assert_int_equal(sigprocmask(SIG_SETMASK, &unblocked, NULL), 0);
}

/* A descriptor whose other end is closed, or has something to say. */
static int call_once(const char *say)
{
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	if (say)
		assert_int_equal(write(p[1], say, 1), 1);
	close(p[1]);
	return p[0];
}

/* When the task of the descriptor that is polled has ended, another one of the ring is; after the last one of all
 * rings the recording ends. */
static void test_tasks_end(void **state)
{
	struct recorder_set s;

	(void)state;
	begin_loop(&s, 3, 2);
	for (u32 i = 0; i < 6; i++)
		s.r.set.rings.v[i / 2].fds.v[i % 2] = call_once(NULL);
	for (u32 i = 0; i < 3; i++)
		ring_put_sample(&s, i, i + 1, 0x1000);
	assert_int_equal(recorder_watch(&s.r), 0);
	assert_int_equal(s.r.live_rings, 3);
	assert_int_equal(recorder_loop(&s.r), 0);
	assert_true(s.r.stop && !s.result.interrupted && !s.result.size_reached);
	assert_int_equal(s.r.live_rings, 0);
	assert_int_equal(s.result.woken, 0);
	for (u32 i = 0; i < 3; i++)
		assert_int_equal(s.r.set.rings.v[i].live, 2);
	end_file(&s, 0, "1 2 3 . ");
	end_loop(&s);
}

/* A ring that is half full calls; one that is overwritten does not, but its task's end is told all the same. */
static void test_rings_call(void **state)
{
	struct recorder_set s;

	(void)state;
	begin_loop(&s, 3, 1);
	for (u32 i = 0; i < 3; i++)
		s.r.set.rings.v[i].fds.v[0] = call_once(i < 2 ? "x" : NULL);
	s.r.set.rings.v[1].ring.backward = true;
	s.o.output.max_size = 1; /* one turn */
	assert_int_equal(recorder_watch(&s.r), 0);
	assert_int_equal(recorder_loop(&s.r), 0);
	assert_int_equal(s.result.woken, 1);
	assert_int_equal(s.r.live_rings, 1);
	assert_true(s.r.stop && s.result.size_reached);
	end_loop(&s);
}

/* The largest size is a limit on the file. */
static void test_size_limit(void **state)
{
	struct recorder_set s;

	(void)state;
	for (u32 more = 0; more < 2; more++) {
		begin_loop(&s, 1, 1);
		s.r.set.rings.v[0].fds.v[0] = call_once(NULL);
		s.o.output.max_size = writer_size(&s.r.writer) + more;
		assert_int_equal(recorder_watch(&s.r), 0);
		assert_int_equal(recorder_loop(&s.r), 0);
		assert_int_equal(s.result.size_reached, !more);
		end_loop(&s);
	}
}

/* A process that waits to be told: -> its pid */
static pid_t start_waiting(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		sigset_t none;

		sigemptyset(&none);
		signal(SIGTERM, SIG_DFL);
		sigprocmask(SIG_SETMASK, &none, NULL);
		for (;;)
			pause();
	}
	return pid;
}

/* What only we got is passed on to the command; a second one is in a hurry. SIGUSR2 ends nothing. */
static void test_stop_signals(void **state)
{
	int live[2];
	struct recorder_set s;

	(void)state;
	begin_loop(&s, 1, 1);
	assert_int_equal(pipe2(live, O_CLOEXEC), 0);
	s.r.set.rings.v[0].fds.v[0] = live[0];
	s.r.has_workload = true;
	s.r.workload.pid = start_waiting();
	assert_int_equal(recorder_watch(&s.r), 0);
	raise(SIGUSR2);
	raise(SIGTERM);
	assert_int_equal(recorder_loop(&s.r), 0);
	assert_true(s.r.stop && s.result.interrupted && !s.r.hurry);
	assert_int_equal(s.result.signal, SIGTERM);
	/* The loop may have seen its end. */
	while (!workload_ended(&s.r.workload, true))
		;
	assert_true(WIFSIGNALED(s.r.workload.status) && WTERMSIG(s.r.workload.status) == SIGTERM);
	s.r.stop = false;
	raise(SIGTERM);
	assert_int_equal(recorder_loop(&s.r), 0);
	assert_true(s.r.hurry);
	close(live[1]);
	end_loop(&s);
}

/* The command's end is the recording's, and that of some other child is not. */
static void test_command_ends(void **state)
{
	struct recorder_set s;
	int live[2];
	pid_t pid;

	(void)state;
	begin_loop(&s, 1, 1);
	assert_int_equal(pipe2(live, O_CLOEXEC), 0);
	s.r.set.rings.v[0].fds.v[0] = live[0];
	assert_int_equal(recorder_watch(&s.r), 0);
	s.o.output.max_size = 1;
	raise(SIGCHLD);
	assert_int_equal(recorder_loop(&s.r), 0);
	assert_true(s.result.size_reached); /* only that ended it */
	s.r.stop = s.result.size_reached = false;
	s.o.output.max_size = 0;
	s.r.has_workload = true;
	pid = s.r.workload.pid = fork();
	if (!pid)
		_exit(3);
	assert_int_equal(recorder_loop(&s.r), 0);
	assert_true(s.r.workload.reaped && !s.result.interrupted && !s.result.signal);
	assert_int_equal(workload_exit_status(&s.r.workload), 3);
	close(live[1]);
	end_loop(&s);
}

/* What waits to be enabled is, once its time has come, and not before. */
static void test_late_start(void **state)
{
	struct recorder_set s;

	(void)state;
	for (u32 late = 0; late < 2; late++) {
		begin_loop(&s, 1, 1);
		s.r.set.rings.v[0].fds.v[0] = call_once(NULL);
		s.r.delayed = true;
		s.r.enable_at_ms = late ? FAR_MS : clock_ms();
		assert_int_equal(recorder_watch(&s.r), 0);
		assert_int_equal(recorder_loop(&s.r), 0);
		assert_int_equal(s.r.delayed, late);
		end_loop(&s);
	}
}

/* The first pass comes soon, that of a file of limited size need not, and what has a time is not slept through. The
 * clock stands still, as a busy machine may let any time pass between two looks at it. */
static void test_waits(void **state)
{
	static const struct {
		u64 max_size;
		int enable_in, switch_in, wait;
	} rows[] = {
		{ 0, 0, 0, 20 },
		{ 1 << 30, 0, 0, 100 },
		{ 0, 10, 0, 10 },
		{ 0, 0, 600000, 20 },
		{ 0, 600000, 0, 20 },
		{ 1 << 30, 50, 600000, 50 },
		{ 1 << 30, 600000, 50, 50 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct recorder_set s;

		begin_loop(&s, 1, 1);
		s.r.set.rings.v[0].fds.v[0] = call_once(NULL);
		s.o.output.max_size = rows[i].max_size;
		now_ms = 50000;
		s.r.delayed = rows[i].enable_in;
		s.r.enable_at_ms = now_ms + (u64)rows[i].enable_in;
		s.o.output.switch_on = rows[i].switch_in ? SWITCH_TIME : 0;
		s.r.switch_at_ms = now_ms + (u64)rows[i].switch_in;
		assert_int_equal(recorder_watch(&s.r), 0);
		first_wait = -1;
		assert_int_equal(recorder_loop(&s.r), 0);
		now_ms = 0;
		assert_int_equal(first_wait, rows[i].wait);
		end_loop(&s);
	}
}

/* Commands come while the recording goes on. */
static void test_commands(void **state)
{
	int live[2], in[2], ack[2];
	struct recorder_set s;
	char answer[32] = { 0 };
	static const char text[] = "  ping\r\ndisable second\nenable third\nnonsense 1\n\nsnapshot\nenable\n stop\n";

	(void)state;
	begin_loop(&s, 1, 1);
	assert_int_equal(pipe2(live, O_CLOEXEC) | pipe2(in, O_CLOEXEC | O_NONBLOCK) | pipe2(ack, O_CLOEXEC), 0);
	s.r.set.rings.v[0].fds.v[0] = live[0];
	s.r.control.in = in[0];
	s.r.control.ack = ack[1];
	s.r.delayed = true;
	s.r.enable_at_ms = FAR_MS;
	assert_int_equal(recorder_watch(&s.r), 0);
	assert_int_equal(write(in[1], text, strlen(text)), strlen(text));
	assert_int_equal(recorder_loop(&s.r), 0);
	assert_true(s.r.stop && !s.result.interrupted);
	assert_false(s.r.delayed); /* all were enabled */
	assert_true(s.r.set.events.v[1].off && !s.r.set.events.v[0].off);
	bytes_u8(&s.notes, 0);
	assert_string_equal(
		(char *)s.notes.p,
		"second disabled\n--control: there is no event 'third' to enable\n"
		"--control: 'nonsense 1' is not a command (enable, disable, stop, ping, snapshot, evlist)\n"
		"--control: there is no snapshot to take: none of these events has an AUX area\n"
		"events enabled\n");
	assert_int_equal(read(ack[0], answer, sizeof(answer)), 30); /* six of five bytes */
	close(live[1]);
	close(in[1]);
	close(ack[0]);
	end_loop(&s);
}

struct listed {
	struct recorder_set *s;
	int to; /* where commands are written */
	u32 times;
};

static void list_events(void *ctx, const struct evlist *events, const char *how)
{
	struct listed *l = ctx;
	const char *next = l->times < 2 ? "evlist -v\n" : "stop\n";

	assert_ptr_equal(events, &l->s->r.events);
	assert_string_equal(how, "-v");
	ring_put_sample(l->s, 0, ++l->times, 0x1000);
	assert_int_equal(write(l->to, next, strlen(next)), strlen(next));
}

/* Whatever calls, the rings are emptied each time. */
static void test_every_turn_drains(void **state)
{
	int live[2], in[2];
	struct recorder_set s;
	struct listed l = { &s, -1, 0 };

	(void)state;
	begin_loop(&s, 1, 1);
	assert_int_equal(pipe2(live, O_CLOEXEC) | pipe2(in, O_CLOEXEC | O_NONBLOCK), 0);
	s.r.set.rings.v[0].fds.v[0] = live[0];
	s.r.control.in = in[0];
	s.tell.list = list_events;
	s.tell.ctx = &l;
	l.to = in[1];
	assert_int_equal(recorder_watch(&s.r), 0);
	assert_int_equal(write(in[1], "evlist   -v\n", 12), 12);
	assert_int_equal(recorder_loop(&s.r), 0);
	end_file(&s, 0, "1 . 2 . 3 . ");
	close(live[1]);
	close(in[1]);
	end_loop(&s);
}

/* A sample each time, and these times; with the last one the recording ends. */
static void ask_at_times(struct activities *a)
{
	static const u64 at[] = { 50000, 50019, 50020, 51019, 51020, 51020 };

	now_ms = at[a->asked];
	ring_put_sample(a->s, 0, ++a->asked, 0x1000);
	a->s->r.stop = a->asked == ARRAY_LEN(at);
}

/* Asks come often: where nothing else calls, the rings wait as long as they would without any, but not longer than the
 * recording. */
static void test_asks_drain_seldom(void **state)
{
	struct recorder_set s;
	struct activities a = { .answer = ask_at_times, .s = &s };
	int live[2];

	(void)state;
	begin_loop(&s, 1, 1);
	assert_int_equal(pipe2(live, O_CLOEXEC), 0);
	s.r.set.rings.v[0].fds.v[0] = live[0];
	a.fd = call_once("x");
	s.r.activities = &a;
	assert_int_equal(recorder_watch(&s.r), 0);
	now_ms = 50000;
	assert_int_equal(recorder_loop(&s.r), 0);
	now_ms = 0;
	assert_int_equal(a.asked, 6);
	end_file(&s, 0, "1 . 2 3 . 4 5 . 6 . ");
	close(a.fd);
	close(live[1]);
	end_loop(&s);
}

/* A recording that ends, or that failed, begins no other file, even if one is due. */
static void test_no_file_at_the_end(void **state)
{
	(void)state;
	for (u32 fails = 0; fails < 2; fails++) {
		struct recorder_set s;
		int live[2];

		begin_loop(&s, 1, 1);
		assert_int_equal(pipe2(live, O_CLOEXEC), 0);
		s.r.set.rings.v[0].fds.v[0] = fails ? live[0] : call_once(NULL); /* the last task's end */
		s.o.output.switch_on = SWITCH_SIGNAL;
		s.r.switch_at_ms = 0;
		assert_int_equal(recorder_watch(&s.r), 0);
		wait_error = fails ? EBADF : 0;
		assert_int_equal(recorder_loop(&s.r), fails ? ERR_IO : 0);
		wait_error = 0;
		assert_int_equal(s.result.files, 0);
		if (fails)
			close(live[0]);
		close(live[1]);
		end_loop(&s);
	}
}

/* Where it cannot wait, the loop ends with that, and leaves the rings to who ends the file. */
static void test_waiting_fails(void **state)
{
	struct recorder_set s;

	(void)state;
	begin_loop(&s, 1, 1);
	s.r.set.rings.v[0].fds.v[0] = call_once("x");
	ring_put_sample(&s, 0, 1, 0x1000);
	s.o.output.max_size = 1; /* one turn, if the loop went on */
	assert_int_equal(recorder_watch(&s.r), 0);
	wait_error = EBADF;
	assert_int_equal(recorder_loop(&s.r), ERR_IO);
	wait_error = 0;
	assert_int_equal(s.r.flow.samples, 0);
	bytes_u8(&s.notes, 0);
	assert_string_equal((char *)s.notes.p, "cannot wait for events: Bad file descriptor\n");
	end_loop(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_aux),
		cmocka_unit_test(test_torn_write),
		cmocka_unit_test(test_reader_ends),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_rounds_of_bursts),
		cmocka_unit_test(test_drain_fails),
		cmocka_unit_test(test_look),
		cmocka_unit_test(test_tasks_end),
		cmocka_unit_test(test_rings_call),
		cmocka_unit_test(test_size_limit),
		cmocka_unit_test(test_stop_signals),
		cmocka_unit_test(test_command_ends),
		cmocka_unit_test(test_late_start),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_every_turn_drains),
		cmocka_unit_test(test_asks_drain_seldom),
		cmocka_unit_test(test_no_file_at_the_end),
		cmocka_unit_test(test_waiting_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
