/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules: which periods follow each other, and that each is as long as it says.
 *
 * Periods are checked twice: by what the sample states (PERF_SAMPLE_PERIOD), and by the event's own count in it
 * (PERF_SAMPLE_READ), whose difference to the sample before is the length that the period had.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "guest.h"

bool is_burst(const struct event *e, struct turn t, u32 tid, bool periods_only, size_t *n, char *figures)
{
	u64 last = 0;

	*n = 0;
	if (e->lost)
		return failed(figures, "%llu samples lost", (unsigned long long)e->lost);
	for (size_t i = 0; i < e->n; i++) {
		const struct sample *s = &e->samples[i];
		u64 want = *n % (t.batch + 1) ? t.period_short : t.period_long;

		if (tid && s->tid != tid)
			continue;
		if (s->period != want || (!periods_only && s->count - last != want))
			return failed(figures, "sample %zu: period %llu, counted %llu instead of %llu", *n,
				      (unsigned long long)s->period, (unsigned long long)(s->count - last),
				      (unsigned long long)want);
		last = s->count;
		++*n;
	}
	return true;
}

/* Runs so many turns and compares each window. */
static bool exact(struct turn t, const struct attr *a, u32 turns, char *figures, size_t *n)
{
	u64 whole = t.period_long + t.batch * t.period_short;
	size_t want = (size_t)turns * (t.batch + 1);
	struct event e;
	int err = event_run(&e, a, whole * turns);

	if (err)
		return failed(figures, "open: %s", strerror(-err));
	bool ok = is_burst(&e, t, 0, false, n, figures);
	/* What is executed besides the work depends on the kernel. */
	if (ok && (*n < want || *n > want + want / 20 + 2))
		ok = failed(figures, "%zu windows instead of %zu", *n, want);
	event_close(&e);
	return ok;
}

static bool run_plain(char *figures)
{
	static const struct {
		u64 period;
		u32 n;
	} runs[] = {
		{ 1000000, 60 }, { 100000, 200 }, { 10000, 1000 }, { 3000, 1000 }, { 1000, 2000 }, { 300, 5000 }
	};
	size_t n, all = 0;

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		struct attr a = attr_cycles(runs[i].period);

		if (!exact((struct turn){ .period_long = runs[i].period }, &a, runs[i].n, figures, &n))
			return false;
		all += n;
	}
	return passed(figures, "periods 1000000 to 300: %zu of %zu windows exact", all, all);
}

static bool run_alternate(char *figures)
{
	struct attr a = attr_burst(1000000, 300, 1);
	size_t n;

	return exact((struct turn){ 999700, 300, 1 }, &a, 100, figures, &n) &&
	       passed(figures, "999700, 300: %zu of %zu windows exact, the first one long", n, n);
}

static bool run_batches(char *figures)
{
	size_t n, all = 0;

	for (u32 batch = 1; batch <= 16; batch++) {
		struct attr a = attr_burst(50000, 300, batch);

		if (!exact((struct turn){ 50000 - 300 * batch, 300, batch }, &a, 40, figures, &n))
			return false;
		all += n;
	}
	return passed(figures, "1 to 16 short ones of 300: %zu of %zu windows exact", all, all);
}

/* sample_period == batch * short: there is no long one. */
static bool run_only_short(char *figures)
{
	struct attr a = attr_burst(4 * 500, 500, 4);
	size_t n;

	return exact((struct turn){ 500, 500, 4 }, &a, 500, figures, &n) &&
	       passed(figures, "long period 0: %zu of %zu windows of 500", n, n);
}

/* ---- jitter */

/* Chi-square of so many windows against a uniform distribution over the bins. */
static double chi_square(const u32 *bins, u32 n_bins, size_t n)
{
	double expected = (double)n / n_bins, sum = 0;

	for (u32 i = 0; i < n_bins; i++)
		sum += (bins[i] - expected) * (bins[i] - expected) / expected;
	return sum;
}

/* Beyond this only one in 100,000 fair ones is (Wilson and Hilferty's approximation). */
static double chi_square_limit(u32 n_bins)
{
	double k = n_bins - 1, z = 4.265, a = 2 / (9 * k);

	return k * pow(1 - a + z * sqrt(a), 3);
}

/*
 * Are periods that may be odd as long as they say? An instruction is two cycles, so a sample is late by one at times,
 * and what is counted up to it is the sum of all periods, or one more. -> samples for which it isn't.
 */
static size_t inexact(const struct event *e)
{
	size_t n = 0;
	u64 sum = 0;

	for (size_t i = 0; i < e->n; i++) {
		sum += e->samples[i].period;
		n += e->samples[i].count - sum > 1;
	}
	return n;
}

/* Counts the samples [from], [from + step] ... by period, which has to be within range. */
static bool count_lengths(const struct event *e, size_t from, size_t step, u64 low, u32 n_bins, u32 *bins, size_t *n,
			  char *figures)
{
	*n = 0;
	for (size_t i = from; i < e->n; i += step) {
		u64 period = e->samples[i].period;

		if (period < low || period >= low + n_bins)
			return failed(figures, "sample %zu: period %llu is out of %llu to %llu", i,
				      (unsigned long long)period, (unsigned long long)low,
				      (unsigned long long)(low + n_bins - 1));
		bins[period - low]++;
		++*n;
	}
	size_t bad = inexact(e);
	return !bad || failed(figures, "%zu of %zu windows are not what the sample says", bad, e->n);
}

enum { JITTER = 100, JITTER_BINS = JITTER + 1 };

static bool run_jitter(char *figures)
{
	struct attr a = attr_burst(3000, 300, 1);
	u32 bins[2][JITTER_BINS] = { 0 };
	double limit = chi_square_limit(JITTER_BINS), chi[2];
	struct event e;
	size_t n[2];
	bool ok = true;

	a.jitter = JITTER;
	int err = event_run(&e, &a, 3000 * 12000);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	for (int i = 0; i < 2 && ok; i++) {
		ok = count_lengths(&e, i, 2, (i ? 300 : 2700) - JITTER / 2, JITTER_BINS, bins[i], &n[i], figures);
		chi[i] = ok ? chi_square(bins[i], JITTER_BINS, n[i]) : 0;
	}
	event_close(&e);
	if (!ok)
		return false;
	ok = n[0] >= 10000 && n[1] >= 10000 && chi[0] < limit && chi[1] < limit;
	snprintf(figures, FIGURES_MAX, "chi-square of %zu long %.1f, of %zu short %.1f (100 degrees; limit %.1f)",
		 n[0], chi[0], n[1], chi[1], limit);
	return ok;
}

static bool run_jitter_plain(char *figures)
{
	struct attr a = attr_burst(2000, 0, 0);
	u32 bins[JITTER_BINS] = { 0 };
	double limit = chi_square_limit(JITTER_BINS);
	struct event e;
	size_t n;

	a.jitter = JITTER;
	int err = event_run(&e, &a, 2000 * 10500);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	bool ok = count_lengths(&e, 0, 1, 2000 - JITTER / 2, JITTER_BINS, bins, &n, figures);
	double mean = e.n ? (double)e.samples[e.n - 1].count / e.n : 0;
	event_close(&e);
	if (!ok)
		return false;
	double chi = chi_square(bins, JITTER_BINS, n);
	snprintf(figures, FIGURES_MAX, "chi-square of %zu: %.1f (limit %.1f); mean period %.2f of 2000", n, chi, limit,
		 mean);
	return n >= 10000 && chi < limit && fabs(mean - 2000) < 2;
}

struct range {
	u64 least, most;
};

static bool is_from(struct range r, u64 least, u64 most)
{
	u64 margin = (most - least) / 25;

	return r.least >= least && r.least <= least + margin && r.most <= most && r.most >= most - margin;
}

/* The widest jitter there can be: each period from half to one and a half of its length. */
static bool run_jitter_widest(char *figures)
{
	struct attr a = attr_burst(2000, 100, 8);
	struct range of[2] = { { ~0ull, 0 }, { ~0ull, 0 } };
	struct event e;

	a.jitter = UINT32_MAX;
	int err = event_run(&e, &a, 2000 * 1000);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	for (size_t i = 0; i < e.n; i++) {
		struct range *r = &of[i % 9 != 0];
		u64 period = e.samples[i].period;

		r->least = period < r->least ? period : r->least;
		r->most = period > r->most ? period : r->most;
	}
	size_t n = e.n, bad = inexact(&e);
	event_close(&e);
	snprintf(figures, FIGURES_MAX,
		 "%zu windows, %zu not exact; long ones of %llu to %llu, short ones of %llu to %llu", n, bad,
		 (unsigned long long)of[0].least, (unsigned long long)of[0].most, (unsigned long long)of[1].least,
		 (unsigned long long)of[1].most);
	return n > 8000 && !bad && is_from(of[0], 600, 1800) && is_from(of[1], 50, 150);
}

/* ---- frequency */

static bool run_frequency(char *figures)
{
	enum { HZ = 2000, MS = 400 };
	struct attr a = attr_burst(HZ, 300, 3);
	size_t longs = 0, shorts = 0;
	struct event e;

	a.perf.freq = 1;
	int err = event_run(&e, &a, MS * 1000000ull);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	u64 half = e.n ? (e.samples[0].time + e.samples[e.n - 1].time) / 2 : 0;
	for (size_t i = 1; i < e.n; i++) {
		const struct sample *s = &e.samples[i];

		if (s->time < half)
			continue;
		shorts += s->period == 300;
		longs += s->period > 300;
	}
	double seconds = e.n ? (e.samples[e.n - 1].time - half) / 1e9 : 1;
	size_t n = e.n, others = inexact(&e);
	event_close(&e);
	double rate = longs / seconds;
	snprintf(figures, FIGURES_MAX, "asked %d Hz, got %.1f long and %.1f short ones per second; %zu of %zu inexact",
		 HZ, rate, shorts / seconds, others, n);
	return fabs(rate - HZ) < 0.03 * HZ && fabs(shorts / seconds - 3 * rate) < 10 && !others;
}

/* ---- timers */

/* Periods so many times as long as what a kernel manages that does not watch itself. */
static bool clock_turns(u64 times, char *figures)
{
	struct turn t = { 800000 * times, 50000 * times, 4 };
	struct attr a = attr_burst(1000000 * times, t.period_short, t.batch);
	u64 worst = 0;
	struct event e;
	size_t n;

	a.perf.type = PERF_TYPE_SOFTWARE;
	a.perf.config = PERF_COUNT_SW_CPU_CLOCK;
	a.perf.exclude_kernel = 0;
	int err = event_run(&e, &a, 100000000 * times);
	if (err)
		return failed(figures, "open: %s", strerror(-err));
	bool ok = is_burst(&e, t, 0, true, &n, figures);
	for (size_t i = 1; i < e.n && ok; i++) {
		long long late = e.samples[i].time - e.samples[i - 1].time - e.samples[i].period;

		worst = (u64)llabs(late) > worst ? (u64)llabs(late) : worst;
	}
	event_close(&e);
	if (!ok)
		return false;
	snprintf(figures, FIGURES_MAX, "cpu-clock %llu, 4 * %llu: %zu periods in turn, off by %llu ns at most",
		 (unsigned long long)t.period_long, (unsigned long long)t.period_short, n, (unsigned long long)worst);
	return n > 400 && worst < 20000 * times;
}

static bool run_clock(char *figures)
{
	return clock_turns(1, figures);
}

static bool run_clock_slow(char *figures)
{
	return clock_turns(16, figures);
}

/* ---- what can't be had */

/* A new period that jitter could make negative. */
static bool ioctl_refuses(char *figures)
{
	struct attr a = attr_burst(1000, 0, 0);
	u64 bad[] = { 0, INT64_MAX - 49, INT64_MAX }, good[] = { 50, INT64_MAX - 50, 1000 };
	bool ok = true;

	a.jitter = 100;
	int fd = perf_open(&a, 0, -1, -1);
	for (int i = 0; i < 3; i++)
		ok = ok && ioctl(fd, PERF_EVENT_IOC_PERIOD, &bad[i]) < 0 && errno == EINVAL &&
		     !ioctl(fd, PERF_EVENT_IOC_PERIOD, &good[i]);
	if (fd >= 0)
		close(fd);
	return ok || failed(figures, "PERF_EVENT_IOC_PERIOD takes what jitter must not change");
}

static bool run_refused(char *figures)
{
	static const struct {
		u64 period, period_short;
		u32 jitter, batch;
		u64 config4;
		int freq, want;
	} runs[] = {
		{ 1000, 300, 0, 0, 0, 0, EINVAL }, /* a short period without a batch */
		{ 1000, 0, 0, 1, 0, 0, EINVAL },
		{ 0, 300, 0, 1, 0, 0, EINVAL }, /* counts only */
		{ 0, 0, 10, 0, 0, 0, EINVAL },
		{ 1000, 300, 0, 3, 0, 0, EINVAL }, /* long one shorter than short */
		{ 1000, 300, 0, 4, 0, 0, EINVAL },
		{ 1000, 1ull << 62, 0, 4, 0, 0, EINVAL }, /* the product overflows to 0 */
		{ 4000, 1ull << 62, 0, 4, 0, 1, EINVAL },
		{ INT64_MAX, 0, 2, 0, 0, 0, EINVAL }, /* it could become negative */
		{ INT64_MAX, 300, 2, 1, 0, 0, EINVAL },
		{ 4000, 300, 0, 1, 1, 0, EINVAL }, /* not ours */
		{ 4000, 300, 600, 1, 0, 0, 0 },	   /* wider than they may vary: so much then */
		{ 4000, 0, 8000, 0, 0, 0, 0 },
		{ 4000, 300, UINT32_MAX, 1, 0, 1, 0 },
		{ INT64_MAX - 1, 0, 2, 0, 0, 0, 0 },
		{ INT64_MAX, 300, 1, 1, 0, 0, 0 },
	};
	size_t n = sizeof(runs) / sizeof(*runs);

	for (size_t i = 0; i < n; i++) {
		struct attr a = attr_burst(runs[i].period, runs[i].period_short, runs[i].batch);

		a.jitter = runs[i].jitter;
		a.config4 = runs[i].config4;
		a.perf.freq = runs[i].freq;
		int fd = perf_open(&a, 0, -1, -1);
		int got = fd < 0 ? -fd : 0;
		if (fd >= 0)
			close(fd);
		if (got != runs[i].want)
			return failed(figures, "combination %zu: %s instead of %s", i, strerror(got),
				      strerror(runs[i].want));
	}
	struct attr a = attr_burst(1000, 100, 4);
	a.perf.type = PERF_TYPE_SOFTWARE;
	a.perf.config = PERF_COUNT_SW_PAGE_FAULTS;
	if (perf_open(&a, 0, -1, -1) != -EOPNOTSUPP)
		return failed(figures, "page faults in bursts are not refused");
	if (!ioctl_refuses(figures))
		return false;
	return passed(figures, "%zu combinations as documented; page faults: not supported", n);
}

/* Samples of a turn are batch + 1: that many times the frequency is what may not exceed the limit. */
static bool run_rate(char *figures)
{
	enum { LIMIT = 100000, BATCH = 4 };
	struct attr a = attr_burst(LIMIT / (BATCH + 1), 100, BATCH), above = a, alone = attr_cycles(LIMIT);
	u64 good = a.perf.sample_period, bad = good + 1;
	bool ok = set_sample_rate("100000");

	a.perf.freq = above.perf.freq = alone.perf.freq = 1;
	above.perf.sample_period++;
	int fd = perf_open(&a, 0, -1, -1), refused = perf_open(&above, 0, -1, -1),
	    plain = perf_open(&alone, 0, -1, -1);
	ok = ok && fd >= 0 && plain >= 0;
	bool period = ok && ioctl(fd, PERF_EVENT_IOC_PERIOD, &bad) && errno == EINVAL &&
		      !ioctl(fd, PERF_EVENT_IOC_PERIOD, &good) &&
		      !ioctl(plain, PERF_EVENT_IOC_PERIOD, &alone.perf.sample_period);
	for (int i = 0; i < 3; i++)
		if ((int[]){ fd, refused, plain }[i] >= 0)
			close((int[]){ fd, refused, plain }[i]);
	set_sample_rate("10000000");
	snprintf(figures, FIGURES_MAX, "limit 100000, 4 short ones: 20000 Hz open, 20001 %s; PERF_EVENT_IOC_PERIOD %s",
		 refused < 0 ? strerror(-refused) : "open", period ? "the same" : "differs");
	return ok && refused == -EINVAL && period;
}

/* Timers would make 10 us of it, and the whole longer than what was asked for. */
static bool run_short_timer(char *figures)
{
	int got[4];

	for (int i = 0; i < 4; i++) {
		struct attr a = attr_burst(1000000, i ? 10000 : 9999, 4);

		a.perf.type = PERF_TYPE_SOFTWARE;
		a.perf.config = i == 3 ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_CPU_CLOCK;
		a.jitter = i == 2 ? 2 : 0;
		got[i] = perf_open(&a, 0, -1, -1);
		if (got[i] >= 0)
			close(got[i]);
	}
	snprintf(figures, FIGURES_MAX, "cpu-clock: 9999 ns %s, 10000 %s, 10000 with jitter %s; task-clock: 10000 %s",
		 got[0] < 0 ? strerror(-got[0]) : "open", got[1] < 0 ? strerror(-got[1]) : "open",
		 got[2] < 0 ? strerror(-got[2]) : "open", got[3] < 0 ? strerror(-got[3]) : "open");
	return got[0] == -ERANGE && got[1] >= 0 && got[2] == -ERANGE && got[3] >= 0;
}

struct empty_stacks {
	size_t samples, right;
	size_t late; /* a word that isn't accounted for is before the registers: these are one word late */
};

static struct empty_stacks empty_stacks(void)
{
	struct attr a = attr_cycles(2000);
	static u64 record[8192];
	struct empty_stacks s = { 0 };
	struct event e;

	a.perf.sample_type |= PERF_SAMPLE_STACK_USER | PERF_SAMPLE_REGS_INTR;
	a.perf.sample_stack_user = 0;
	a.perf.sample_regs_intr = 1ull << 32; /* the program counter */
	if (event_open(&e, &a, 0, -1))
		return s;
	event_enable(&e);
	work(200000);
	event_disable(&e);
	for (u64 at = 0, head = e.ring->data_head; at < head;) {
		size_t size = event_record(&e, at, record);

		if ((u32)record[0] == PERF_RECORD_SAMPLE) {
			/* id and time 4 words, count, size of the stack, ABI (2: 64-bit), pc */
			bool empty = size == 9 * 8 && !record[6];

			s.samples++;
			s.right += empty && record[7] == 2;
			s.late += empty && !record[7] && record[8] == 2;
		}
		if (!size)
			break;
		at += size;
	}
	event_close(&e);
	return s;
}

static bool run_empty_stack(char *figures)
{
	struct empty_stacks s = empty_stacks();

	snprintf(figures, FIGURES_MAX, "stack dumps of size 0: %zu samples, what follows is right in %zu", s.samples,
		 s.right);
	return s.samples > 90 && s.right == s.samples;
}

/* Passes where the defect is: a kernel that has been mended needs 0001 no more. */
static bool run_empty_stack_defect(char *figures)
{
	struct empty_stacks s = empty_stacks();

	snprintf(figures, FIGURES_MAX, "stack dumps of size 0: %zu samples, what follows is a word late in %zu: %s",
		 s.samples, s.late,
		 s.late == s.samples ? "the defect that 0001 mends" : "not the defect that 0001 mends");
	return s.samples > 90 && s.late == s.samples;
}

/* A kernel without the patches. */
static bool run_unknown(char *figures)
{
	struct attr a = attr_burst(1000000, 300, 1);
	int fd = perf_open(&a, 0, -1, -1);

	if (fd != -E2BIG)
		return failed(figures, "open: %d instead of E2BIG", fd);
	if (a.perf.size >= 160)
		return failed(figures, "the kernel says that it knows an attr of %u bytes", a.perf.size);
	return passed(figures, "E2BIG; this kernel's attr has %u bytes", a.perf.size);
}

const struct scenario burst_scenarios[] = {
	{ "plain", run_plain, ANY | COUNTS | ALONE },
	{ "unknown", run_unknown, UNPATCHED },
	{ "refused", run_refused, PATCHED },
	{ "alternate", run_alternate, PATCHED | COUNTS | ALONE },
	{ "batches", run_batches, PATCHED | COUNTS | ALONE },
	{ "only-short", run_only_short, PATCHED | COUNTS | ALONE },
	{ "jitter", run_jitter, PATCHED },
	{ "jitter-plain", run_jitter_plain, PATCHED },
	{ "jitter-widest", run_jitter_widest, PATCHED },
	{ "frequency", run_frequency, PATCHED },
	{ "clock", run_clock, PATCHED | COUNTS | ALONE },
	{ "clock-slow", run_clock_slow, PATCHED | ALONE },
	{ "rate", run_rate, PATCHED },
	{ "short-timer", run_short_timer, PATCHED },
	{ "empty-stack", run_empty_stack, PATCHED },
	{ "empty-stack", run_empty_stack_defect, UNPATCHED },
	{ 0 },
};
