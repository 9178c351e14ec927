/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: sleep until a ring is half full, a signal comes or a deadline passes; then empty all rings, straight from
 * their memory to the file.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "record/activity.h"
#include "record/journals.h"
#include "record/recorder_impl.h"

#define AT_MOST_MS 1000 /* between two passes: what a killed recorder can lose */
#define FIRST_MS 20	/* before the first one; then as long as the recording has lasted */
#define SIM_MS 50	/* and with the virtual PMU, whose chunks call nobody */
#define SIM_SHORT_MS 2	/* when these run low */
#define SIZED_MS 100	/* the same where a size limits the file */
#define SIGNAL_EVENT UINT64_MAX
#define WINDOW_EVENT (UINT64_MAX - 1)
#define CONTROL_EVENT (UINT64_MAX - 2)
#define ACTIVITY_ASKED (UINT64_MAX - 3)
#define BATCH 64

/* An end is told in any case. */
static u32 calls(const struct recorder *r, u64 data)
{
	return data < r->set.rings.n && r->set.rings.v[data].ring.backward ? 0 : EPOLLIN;
}

static int watch(struct recorder *r, int fd, u64 data)
{
	struct epoll_event e = { .events = calls(r, data), .data.u64 = data };

	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &e) ?
		       notify_error(r->notify, ERR_IO, "cannot wait for events: %s", strerror(errno)) :
		       0;
}

void recorder_enable(struct recorder *r)
{
	if (r->window_how > WINDOW_SIM)
		window_run_start(&r->windows, false, r->has_workload ? r->workload.pid : -1);
	else
		event_set_enable(&r->set, true);
}

int recorder_watch(struct recorder *r)
{
	int err;

	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0)
		return notify_error(r->notify, ERR_IO, "cannot wait for events: %s", strerror(errno));
	err = watch(r, r->signal_fd, SIGNAL_EVENT);
	for (size_t i = 0; i < r->set.rings.n && !err; i++)
		err = watch(r, r->set.rings.v[i].fds.v[0], i);
	if (!err && r->windows.timer >= 0)
		err = watch(r, r->windows.timer, WINDOW_EVENT);
	if (!err && r->activities)
		err = watch(r, activities_fd(r->activities), ACTIVITY_ASKED);
	if (!err && r->control.in >= 0)
		err = watch(r, r->control.in, CONTROL_EVENT);
	r->live_rings = r->set.rings.n;
	return err;
}

/* The task of the polled descriptor has ended: go on with another that writes into this ring. */
static void hung_up(struct recorder *r, size_t ring)
{
	struct watched_ring *w = &r->set.rings.v[ring];
	struct epoll_event e = { .events = calls(r, ring), .data.u64 = ring };

	epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, w->fds.v[w->live], NULL);
	recorder_hung_up(r, w->fds.v[w->live]);
	if (++w->live == w->fds.n)
		r->live_rings--;
	else
		epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, w->fds.v[w->live], &e);
}

/* A signal that only we got is meant for what we run; the terminal's goes to both anyway. */
static void ask_to_stop(struct recorder *r, const struct signalfd_siginfo *info)
{
	r->hurry = r->result->interrupted;
	r->result->interrupted = true;
	r->result->signal = (int)info->ssi_signo;
	r->stop = true;
	if (r->has_workload && !r->workload.reaped && info->ssi_code != SI_KERNEL)
		kill(r->workload.pid, (int)info->ssi_signo);
}

static void look_now(struct recorder *r)
{
	r->snapshot_due |= r->set.aux_overwritten;
	if (r->o->output.switch_on == SWITCH_SIGNAL)
		r->switch_at_ms = 0;
}

/* Was the signal sent by a process that asks for it, rather than by the kernel because the terminal was closed? */
static bool asks_to_reload(const struct recorder *r, const struct signalfd_siginfo *info)
{
	return info->ssi_signo == SIGHUP && info->ssi_code != SI_KERNEL && r->tell && r->tell->reload;
}

static void read_signals(struct recorder *r)
{
	struct signalfd_siginfo info;

	while (read(r->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			r->stop |= r->has_workload && workload_ended(&r->workload, false);
		else if (info.ssi_signo == SIGUSR2)
			look_now(r);
		else if (asks_to_reload(r, &info)) {
			r->tell->reload(r->tell->ctx);
			r->switch_at_ms = 0;
		} else
			ask_to_stop(r, &info);
	}
}

static int until(u64 now, u64 deadline, int timeout)
{
	if (deadline <= now)
		return 0;
	return deadline - now < (u64)timeout ? (int)(deadline - now) : timeout;
}

/* What a program maps below a root directory of its own can be asked for while it lives only (flow.c), and most of
 * that is mapped at its start: a program that lasts a second is looked at six times. */
static int at_most(const struct recorder *r, u64 now)
{
	return (int)MAX((u64)FIRST_MS, MIN(now - r->began_ms, (u64)AT_MOST_MS));
}

static int next_timeout(const struct recorder *r)
{
	u64 now = clock_ms();
	int timeout = r->sim ? (r->sim->short_of_room ? SIM_SHORT_MS : SIM_MS) :
		      r->o->output.max_size || r->o->output.switch_size ? SIZED_MS :
									  at_most(r, now);

	if (r->writer.sink)
		timeout = MIN(timeout, (int)r->writer.sink->every_ms);
	if (r->journals)
		timeout = MIN(timeout, journals_timeout(r->journals));
	if (r->delayed)
		timeout = until(now, r->enable_at_ms, timeout);
	if (r->o->output.switch_on == SWITCH_TIME)
		timeout = until(now, r->switch_at_ms, timeout);
	return r->window_how > WINDOW_SIM ? window_run_timeout(&r->windows, timeout) : timeout;
}

static void commanded(struct recorder *r)
{
	if (!recorder_control(r))
		epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, r->control.in, NULL);
}

/* What called, apart from signals. */
struct woken {
	bool bursts;	/* the timer of windows */
	bool only_asks; /* nobody but the BPF program of --activity */
};

static int wait_for_events(struct recorder *r, struct woken *out)
{
	struct epoll_event events[BATCH];
	int n = epoll_wait(r->epoll_fd, events, BATCH, next_timeout(r));

	if (n < 0 && errno != EINTR)
		return notify_error(r->notify, ERR_IO, "cannot wait for events: %s", strerror(errno));
	*out = (struct woken){ .only_asks = n > 0 };
	for (int i = 0; i < n; i++) {
		out->only_asks &= events[i].data.u64 == ACTIVITY_ASKED;
		if (events[i].data.u64 == SIGNAL_EVENT)
			read_signals(r);
		else if (events[i].data.u64 == WINDOW_EVENT)
			out->bursts = true;
		else if (events[i].data.u64 == CONTROL_EVENT)
			commanded(r);
		else if (events[i].data.u64 == ACTIVITY_ASKED)
			activities_answer(r->activities);
		else if (events[i].events & EPOLLIN)
			r->result->woken++;
		else if (events[i].events & (EPOLLHUP | EPOLLERR))
			hung_up(r, events[i].data.u64);
	}
	/* What is cut off goes on, and ending it is not the recorder's business. */
	if (!r->live_rings && !r->sim && !r->cut_off)
		r->stop = true;
	return 0;
}

static bool switch_is_due(const struct recorder *r)
{
	switch (r->o->output.switch_on) {
	case SWITCH_SIZE:
		return writer_size(&r->writer) >= r->o->output.switch_size;
	case SWITCH_SIGNAL:
		return !r->switch_at_ms;
	case SWITCH_TIME:
		return clock_ms() >= r->switch_at_ms ||
		       (r->o->output.switch_size && writer_size(&r->writer) >= r->o->output.switch_size);
	default:
		return false;
	}
}

static void meet_deadlines(struct recorder *r)
{
	if (r->delayed && clock_ms() >= r->enable_at_ms) {
		recorder_enable(r);
		r->delayed = false;
	}
	if (r->o->output.max_size && writer_size(&r->writer) >= r->o->output.max_size)
		r->stop = r->result->size_reached = true;
}

static void watch_late(void *ctx, u32 ring)
{
	struct recorder *r = ctx;

	if (!watch(r, r->set.rings.v[ring].fds.v[0], ring))
		r->live_rings++;
}

static void turn_windows(struct recorder *r, bool bursts)
{
	const struct window_turn turn = { watch_late, recorder_put_lost, r };

	window_run_turn(&r->windows, &turn);
	if (bursts)
		window_run_tick(&r->windows);
}

/* Asks come a thousand times a second: a pass over the rings for each would make as many rounds in the file. */
static bool may_wait(const struct recorder *r, const struct woken *by, u64 drained_ms)
{
	u64 now = clock_ms();

	return by->only_asks && !r->stop && now - drained_ms < (u64)at_most(r, now);
}

int recorder_loop(struct recorder *r)
{
	u64 drained_ms = 0;
	struct woken woken;
	int err = 0;

	r->began_ms = clock_ms();
	while (!r->stop && !err) {
		err = wait_for_events(r, &woken);
		if (!err && !may_wait(r, &woken, drained_ms)) {
			err = recorder_drain(r, false);
			drained_ms = clock_ms();
		}
		if (!err && r->window_how > WINDOW_SIM)
			turn_windows(r, woken.bursts);
		recorder_look_at_cpus(r);
		meet_deadlines(r);
		if (!err && !r->stop && switch_is_due(r))
			err = recorder_switch_file(r, false);
	}
	return err;
}
