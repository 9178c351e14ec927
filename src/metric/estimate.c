/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the counts of a function from samples and from windows.
 *
 * Problem. A window is kept if both its ends are in one function. If the function's calls are shorter than the window,
 * a kept window may contain a visit to its caller or to a function that it calls, and then includes their counts: for
 * a function of 20 cycles in a hot loop, the kept windows have the metrics of the loop. More windows do not help, and
 * the interval, which includes only noise, becomes narrow around a wrong value.
 *
 * Two sources. (1) Samples. If an event is sampled with exact addresses, a function's share of the samples is its
 * share of the counts, no matter how short its calls are. This has no bias, and the noise of a number of samples: for
 * h samples about h^-1/2. (2) Windows. If calls are long, their noise is much smaller, and their bias is small. The
 * bias cannot be observed, but its size can be estimated: if q is the share of a function's windows that were not kept
 * because they began elsewhere, then about this share of the counts in its kept windows belongs to other functions. So
 * the bias is treated as a random number with the standard deviation 2 q d, where d is the distance of single windows
 * from the function's value (the root of the mean square over all short windows, because these include windows like
 * those of the function's neighbours). Over twelve programs, the factor that explains the biases is between 0.2 and
 * 1.1 (medians); it was not fitted to any of them.
 *
 * These are counts that kept windows have too much. They lack the function's own work in discarded windows: a function
 * that runs for a long time and then calls something short in a loop loses the loop, which may have a thousandth of
 * its cycles and a fortieth of its instructions. The counts of such windows are known, but not how they are divided
 * between the functions. If both halves of such a window were like the kept windows of the two functions in which it
 * begins and ends, nothing would be lost. The part that this does not explain is assumed to be the function's own
 * (agg/window_samples.c), and the distance by which it moves the value is the standard deviation of a second bias.
 * Comparison with exact counts shows that it explains the errors: for a function that builds a ring of pointers and
 * then calls two others, CPI was 2.6 % off with an interval of 0.3 %.
 *
 * The interval of samples. It is Jeffreys' (metric/share.h), which holds the truth in 95 % of the cases on average,
 * also where a handful of samples is to be expected. One that holds in at least 95 % of all cases is too wide there,
 * since the number of samples is whole: last-level misses per instruction were held in 99.7 %. This assumes that each
 * event of the program is as likely to be sampled as any other, whatever was sampled before. Of events in long runs it
 * is too careful: periods cut such a run into pieces, and the number of samples varies by less. Of events so rare that
 * a good part of them was sampled nothing is uncertain about that part, and the variance is that of a draw without
 * putting back: n of N events sampled leave 1 - n/N of it. What the counters may not have seen is part of N.
 *
 * Together. The two sources are practically independent, so they are averaged by their inverse variances. If they
 * differ by more than three of their joint standard deviations, the assumption about the bias is wrong, and only
 * samples are used.
 *
 * Code without a name is a function if .eh_frame says that there is one (resolver_opts.functions). A line, or an
 * address whose function is not known, is not a function: a window from an instruction to itself has been around a
 * loop, and the rest of the loop may be anywhere. Windows are not used for such a row, only samples.
 *
 * The leader's own total (cycles) comes from the weights of all its samples, long and short: half from the places of
 * the samples, half from the places where short windows end; both are unbiased. The effective number of samples
 * follows from their weights: n samples of weights w are worth (sum w)^2 / (sum w^2) samples of equal weight. How long
 * a period was that the recorder drew says nothing about where it ended: weights would add noise, a twelfth of the
 * variance if the jitter is full. So samples of such a member are counted instead, and such samples of the leader have
 * the mean weight of those after a long period, or of those after a short one.
 *
 * A sample may be so late, or a single operation so slow, that a short period has ended before the next sample: then
 * there is no sample of it. This happens in slow code above all, so where short windows end is no measure of its
 * share. If a tenth of them is missing, only the places of samples are used.
 *
 * For a member without its own samples, the count follows from the windows' ratio to the leader. The count of
 * everything ("total:" in formulas, and the row of all) is not an estimate: the counters have counted everything
 * between the first and the last sample of each thread, also in long and discarded windows.
 *
 * Of some code (--address-range, --source-line) there are no samples, which are of whole functions: windows that lie
 * in it are all that there is. Their possible error is in the intervals: of the windows that end in the code, those
 * that began elsewhere are the lost ones. Nothing says how many windows come back to it, so that all may.
 *
 * A value is marked if its interval is wider than a quarter of it to each side, unless that is little compared with
 * the value of the whole program; or if there are no exact samples of all that it needs, and its windows are lost as
 * if by chance.
 *
 * On Arm, samples of members may be operations that Arm SPE sampled: their addresses are exact where those of a PMU's
 * samples are late. What they stand for is compared with what the member counted. By which part the two differ, beyond
 * chance, is taken for the standard deviation of each function's share, because it may be of any function: an
 * instruction may consist of several operations, and in some functions more than in others. If it is more than a
 * quarter, operations are not used for this member. Nothing samples cycles exactly there.
 *
 * Where it fails. Addresses that are late by some instructions give short functions the counts of their callers, which
 * is why samples have to be exact. If the leader's addresses are late, its share of a function is assumed to be off by
 * the share of windows that are lost there. Sampling in step with the program (no jitter) makes shares wrong, and
 * short windows that are as long as some rounds of a loop begin and end in the same function, no matter what lies
 * between: then q is 0, and the loop's metrics are shown as the function's. The virtual PMU varies both periods at
 * random. Functions that are short, rarely called and unlike all others have too few samples, and are marked.
 */
#include <math.h>
#include <string.h>

#include "metric/metric_impl.h"
#include "metric/share.h"
#include "metric/student.h"

#define Z95 1.96
#define BIAS_FACTOR 2.0
#define ENOUGH_SAMPLES 10 /* of each event that takes part, before an average with windows makes sense */
#define ENOUGH_EVENTS 5	  /* in the numerator of kept windows */
#define MARK_RELATIVE 0.25
#define MARK_OF_ALL 0.05    /* of the whole program's value: what is no wider than that needs no mark */
#define MARK_OF_SHARE 0.005 /* likewise of a share */
#define LEAST_SHORT 0.9	    /* of the windows that there should be; else it matters where they are missing */
#define MARK_LOST 0.5	    /* without exact samples: more than this part of the windows that chance would not keep */

/* A number with its 95 % interval: from value - down to value + up. */
struct number {
	double value, down, up;
	double samples; /* that it rests on */
	bool known;
};

/* The share of a function that has h of n samples. The sides of its interval are multiplied by stretch. */
static struct number share_of_samples(double h, double n, double stretch)
{
	double p;

	if (!(n > 0))
		return (struct number){ 0 };
	p = h / n;
	return (struct number){ p, (p - share_low(h, n)) * stretch, (share_high(h, n) - p) * stretch, h, true };
}

static void scale(struct number *x, double by)
{
	x->value *= by;
	x->down *= by;
	x->up *= by;
}

/* The part of the row's windows that was not kept, with a little more where there are few. */
static double part_lost(const double *block)
{
	double n = windows_ended(block);

	return fmin(1, fmax(0, (n - block[WINDOWS_KEPT] + 0.5) / (n + 1)));
}

/*
 * The row's windows are lost as if where they begin had nothing to do with where they end, or more than half as often:
 * then kept ones are as good as any others, and have the metrics of them all. Not where few are lost all the same.
 */
static bool is_lost_by_chance(const struct profile_windows *w, const double *block)
{
	double elsewhere = 1 - windows_ended(block) / fmax(1, w->total[WINDOWS_SHORT]), lost = part_lost(block);

	return lost > MARK_RELATIVE && lost > MARK_LOST * elsewhere;
}

/* It may be off by this part of itself, as a standard deviation. */
static void be_off(double part, struct number *x)
{
	double off = Z95 * part * x->value;

	x->down = hypot(x->down, off);
	x->up = hypot(x->up, off);
}

/* Are there about as many short windows as long ones, for each of a burst? A sample that is so late that a short
 * period ends before it is taken is also that of the short one. This happens in slow code, whose windows are missing
 * then. */
static bool has_all_short(const struct window_group *g)
{
	return (double)g->nr_short >= LEAST_SHORT * fmax(1, g->schedule.batch_count) * (double)g->nr_long;
}

/* The leader's share. Both ends of a short window are samples, which are not independent of each other. */
static struct number leader_share(const struct profile_windows *w, const double *block)
{
	const double *total = w->total;
	double batch = fmax(1, w->group.schedule.batch_count), all = total[WINDOWS_SHORT];
	double turns = w->samples[window_member_of(&w->group, w->group.leader)],
	       p = block[WINDOWS_SELF] / total[WINDOWS_SELF], stretch = 1, both;
	struct number x;

	if (!(total[WINDOWS_SELF] > 0) || !(block[WINDOWS_SELF] > 0) || !(turns > 0))
		return (struct number){ 0 };
	if (!w->group.nr_long)
		return share_of_samples(p * turns / batch, turns / batch, 1); /* each sample ends a window */
	if (has_all_short(&w->group)) {
		p = fmin(1, (p + (block[WINDOWS_SHORT] + 0.25) / (all + 0.5)) / 2);
		both = all > 0 ? block[WINDOWS_KEPT] / all : 0;
		if (batch <= 1 && p < 1)
			stretch = sqrt(fmin(1, (1 + fmax(0, both - p * p) / (p * (1 - p))) / 2));
	}
	x = share_of_samples(p * turns, turns, stretch);
	/* Addresses that are late by some instructions lie in the next function as often as windows do not begin where
	 * they end. */
	if (!w->exact)
		be_off(part_lost(block), &x);
	return x;
}

/*
 * Of rare events most may have been sampled, or all, and of those nothing is uncertain: what is left is the noise of
 * the others, as in any draw without putting back. Events that were not counted are among those; there may be as many
 * as of_all() allows for.
 */
static double part_not_sampled(const struct profile_windows *w, u32 m)
{
	double counted = w->nodes.counted[m];
	double most = counted * (1 + fmin(1, profile_windows_missing(w))) + Z95 * sqrt(counted);

	return most > 0 ? fmax(0, 1 - w->samples[m] / most) : 1;
}

/* What the row counted of each member, as far as samples tell. */
static void numbers_of(const struct profile_windows *w, const double *block, struct number *out)
{
	u32 nr = w->group.nr, leader = window_member_of(&w->group, w->group.leader);

	for (u32 m = 0; m < nr; m++) {
		out[m] = (struct number){ 0 };
		if (m == leader)
			out[m] = leader_share(w, block);
		else if (w->samples[m] > 0 && block[WINDOWS_SELF] > 0)
			out[m] = share_of_samples(fmin(block[window_samples_at(nr, m)], w->samples[m]), w->samples[m],
						  sqrt(part_not_sampled(w, m)));
		be_off(w->unlike[m], &out[m]);
		scale(&out[m], w->nodes.counted[m]);
	}
}

/* Which members' sums over the row an expression reads. */
static u64 sums_read(const struct metric_expr *x)
{
	u64 members = 0;

	for (u32 i = 0; i < x->n; i++)
		if (x->nodes[i].op == EXPR_SUM)
			members |= 1ull << x->nodes[i].left;
	return members;
}

/* The expression of these numbers: each is moved to its ends alone, and what that changes is added in squares. */
static struct number evaluate(const struct metric_table *t, const struct metric_expr *x, const struct number *of)
{
	const double *all = t->windows->nodes.counted;
	u64 members = sums_read(x);
	struct number out = { .samples = INFINITY, .known = members != 0 };
	double sums[WINDOW_MEMBERS], down = 0, up = 0;

	for (u32 m = 0; m < t->windows->group.nr; m++) {
		sums[m] = of[m].value;
		if (members >> m & 1 && !of[m].known)
			out.known = false;
	}
	if (!out.known)
		return out;
	out.value = metric_expr_value(x, x->root, sums, all, NULL);
	for (u32 m = 0; m < t->windows->group.nr; m++) {
		double ends[2];

		if (!(members >> m & 1))
			continue;
		out.samples = fmin(out.samples, of[m].samples);
		sums[m] = of[m].value - of[m].down;
		ends[0] = metric_expr_value(x, x->root, sums, all, NULL) - out.value;
		sums[m] = of[m].value + of[m].up;
		ends[1] = metric_expr_value(x, x->root, sums, all, NULL) - out.value;
		sums[m] = of[m].value;
		up += pow(fmax(0, fmax(ends[0], ends[1])), 2);
		down += pow(fmin(0, fmin(ends[0], ends[1])), 2);
	}
	out.up = sqrt(up);
	out.down = sqrt(down);
	out.known = isfinite(out.value) && isfinite(out.up + out.down);
	return out;
}

/*
 * The part of what the kept windows counted that may be foreign. Let code be left and come back to at random: over a
 * window's length q of the windows leave, and of those that begin where they lead to r come back. When q + r is near
 * 1, a window sees many turns, and a kept one is as much outside as any other, q. When both are small, it takes a
 * leave and a return in one window, about q r. "Where they lead to" is a place of 64 bytes, not a function: what lies
 * between two calls of f in its caller leads back to f, though the caller may be elsewhere most of the time.
 */
static double part_foreign(const struct profile_windows *w, const double *block)
{
	bool known = block[WINDOWS_BACK] > 0 && !code_range_given(&w->range);
	double q = part_lost(block), back = known ? block[WINDOWS_BACK] - 1 : 1;

	return q * fmin(1, q + back);
}

/* How far single windows lie from what g is the gradient of: see the essay. */
static double mean_square(const struct profile_windows *w, const double *g)
{
	const double *every = w->nodes.every;
	u32 nr = w->group.nr;
	double sum = 0;

	for (u32 a = 0; every && a < nr; a++)
		for (u32 b = 0; b < nr && g[a] != 0; b++)
			sum += g[a] * g[b] * window_moment(every, nr, a, b);
	return every && every[WINDOWS_KEPT] > 0 ? fmax(0, sum) / every[WINDOWS_KEPT] : 0;
}

/* With what nothing explains of the discarded windows. Of some code these hold what is outside of it, too, so they
 * say nothing. */
static double sum_with_discarded(const struct profile_windows *w, const double *block, u32 m)
{
	double sum = window_sum(block, m);

	return code_range_given(&w->range) ? sum : sum + block[window_discarded_at(w->group.nr, m)];
}

/* How far the ratio would move if what nothing explains of the discarded windows were the row's own. */
static double moved_by_discarded(const struct metric_table *t, const struct metric_expr *x, const double *block,
				 double value)
{
	double sums[WINDOW_MEMBERS], moved;

	for (u32 m = 0; m < t->windows->group.nr; m++)
		sums[m] = sum_with_discarded(t->windows, block, m);
	moved = metric_expr_value(x, x->root, sums, t->windows->nodes.counted, NULL);
	return isfinite(moved) ? fabs(moved - value) : 0;
}

/* A ratio of the kept windows' sums. */
static struct number ratio_of_windows(const struct metric_table *t, const struct metric_expr *x, const double *block)
{
	double gradient[EXPR_VARS], kept = block[WINDOWS_KEPT], bias;
	struct metric_value v;

	metric_by_windows(t, x, block, &v);
	if (!isfinite(v.value))
		return (struct number){ 0 };
	if (!isfinite(v.variance)) /* of one window nothing is known but its value */
		return (struct number){ v.value, INFINITY, INFINITY, v.num, true };
	metric_expr_value(x, x->root, block + WINDOW_COUNTS, t->windows->nodes.counted, gradient);
	bias = BIAS_FACTOR * part_foreign(t->windows, block) * kept * sqrt(mean_square(t->windows, gradient));
	bias = hypot(student_95(block[WINDOWS_CLUSTERS] - 1) * sqrt(v.variance), Z95 * bias);
	bias = hypot(bias, Z95 * moved_by_discarded(t, x, block, v.value));
	return (struct number){ v.value, bias, bias, v.num, true };
}

static double ratio_with_discarded(const struct profile_windows *w, const double *block, u32 a, u32 b)
{
	return sum_with_discarded(w, block, a) / sum_with_discarded(w, block, b);
}

/*
 * Of a member without samples of its own: the row's windows, each standing for as many as the leader's share says. g
 * is the gradient of the member's ratio to the leader.
 */
static void fill_from_windows(const struct metric_table *t, const double *block, struct number *of)
{
	const struct profile_windows *w = t->windows;
	u32 leader = window_member_of(&w->group, w->group.leader);
	double of_leader = window_sum(block, leader), kept = block[WINDOWS_KEPT];

	for (u32 m = 0; m < w->group.nr; m++) {
		double g[WINDOW_MEMBERS] = { 0 }, ratio = window_sum(block, m) / of_leader, noise, bias, dev;

		if (of[m].known || !of[leader].known || block[WINDOWS_CLUSTERS] < 2 || !(of_leader > 0))
			continue;
		g[m] = 1 / of_leader;
		g[leader] = -ratio / of_leader;
		noise = student_95(block[WINDOWS_CLUSTERS] - 1) *
			sqrt(metric_spread(t, block, g, block[WINDOWS_CLUSTERS]));
		bias = BIAS_FACTOR * part_foreign(w, block) * kept * sqrt(mean_square(w, g));
		bias = hypot(bias, ratio_with_discarded(w, block, m, leader) - ratio);
		/* Two more events may be seen. */
		dev = hypot(hypot(noise, Z95 * bias), 2 / of_leader);
		of[m] = (struct number){ .value = fmin(ratio * of[leader].value, w->nodes.counted[m]),
					 .samples = window_sum(block, m),
					 .known = true };
		of[m].up =
			fmin(hypot(dev * of[leader].value, ratio * of[leader].up), w->nodes.counted[m] - of[m].value);
		of[m].down = fmin(of[m].value, hypot(dev * of[leader].value, ratio * of[leader].down));
	}
}

static struct number average(const struct number *samples, const struct number *windows)
{
	double a = (samples->up + samples->down) / 2, b = windows->up, off = samples->value - windows->value;
	double wa = 1 / (a * a), wb = 1 / (b * b);
	struct number out = { .known = true, .samples = samples->samples + windows->samples };

	if (samples->samples < ENOUGH_SAMPLES || windows->samples < ENOUGH_EVENTS || !(a > 0) || !(b > 0))
		return *samples;
	if (off * off > 9 / (Z95 * Z95) * (a * a + b * b))
		return *samples;
	out.value = (samples->value * wa + windows->value * wb) / (wa + wb);
	out.up = out.down = sqrt(1 / (wa + wb));
	return out;
}

/*
 * All that ran has been counted but for what came after each thread's last sample, half a long window on average. What
 * is rare may come in such places above all (a program's end meets cold caches): that much is taken to be off by the
 * root of its count.
 */
static struct number of_all(const struct metric_table *t, const struct metric_expr *x)
{
	const struct profile_windows *w = t->windows;
	struct number out = { .known = true, .samples = INFINITY };

	out.value = metric_expr_value(x, x->root, w->nodes.counted, w->nodes.counted, NULL);
	out.known = isfinite(out.value);
	if (!x->totals) {
		double events = metric_expr_value(x, x->num, w->nodes.counted, w->nodes.counted, NULL);

		out.up = out.down =
			fabs(out.value) * hypot(fmin(1, profile_windows_missing(w)), Z95 / sqrt(fmax(1, events)));
	}
	return out;
}

/* Does it rest on samples of the leader whose addresses are late? */
static bool is_late(const struct profile_windows *w, const struct metric_expr *x)
{
	return !w->exact && sums_read(x) >> window_member_of(&w->group, w->group.leader) & 1;
}

static bool is_doubtful(const struct metric_table *t, const struct metric_expr *x, const double *block,
			const struct number *n, bool sampled)
{
	const double *all = t->windows->nodes.counted;
	double half = fmax(n->up, n->down), whole = metric_expr_value(x, x->root, all, all, NULL);

	if ((!sampled || is_late(t->windows, x)) && is_lost_by_chance(t->windows, block))
		return true;
	if (half <= MARK_RELATIVE * fabs(n->value))
		return false;
	return !(half <= (x->totals ? MARK_OF_SHARE : MARK_OF_ALL) * fabs(whole));
}

static void put(const struct metric_expr *x, const double *sums, const double *all, const struct number *n,
		struct metric_value *out)
{
	out->value = n->known ? n->value : NAN;
	out->num = metric_expr_value(x, x->num, sums, all, NULL);
	out->den = x->den == EXPR_NODES ? 1 : metric_expr_value(x, x->den, sums, all, NULL);
	out->low = out->high = out->half = out->variance = NAN;
	if (!n->known || !isfinite(n->up + n->down))
		return;
	out->low = n->value - n->down;
	out->high = n->value + n->up;
	out->half = fmax(n->up, n->down);
	out->variance = pow((n->up + n->down) / 2 / Z95, 2);
}

/* Of code that was asked about: the leader's share is that of the windows that end there, whatever is in them. */
static void estimate_range(const struct metric_table *t, const struct metric_expr *x, const double *block,
			   struct metric_value *out)
{
	const struct profile_windows *w = t->windows;
	u32 leader = window_member_of(&w->group, w->group.leader);
	struct number of[WINDOW_MEMBERS] = { 0 }, n;
	double sums[WINDOW_MEMBERS], batch = fmax(1, w->group.schedule.batch_count);

	if (!x->totals) {
		n = ratio_of_windows(t, x, block);
		put(x, block + WINDOW_COUNTS, w->nodes.counted, &n, out);
		out->doubtful = !n.known || is_doubtful(t, x, block, &n, false);
		return;
	}
	/* Windows of one burst end near each other. */
	of[leader] = share_of_samples(windows_ended(block) / batch, w->total[WINDOWS_SHORT] / batch, 1);
	scale(&of[leader], w->nodes.counted[leader]);
	fill_from_windows(t, block, of);
	n = evaluate(t, x, of);
	for (u32 m = 0; m < w->group.nr; m++)
		sums[m] = of[m].known ? of[m].value : window_sum(block, m);
	put(x, sums, w->nodes.counted, &n, out);
	out->doubtful = !n.known || is_doubtful(t, x, block, &n, sums_read(x) == 1ull << leader);
}

static void estimate(const struct metric_table *t, const struct metric_expr *x, const double *block,
		     struct metric_value *out)
{
	const struct profile_windows *w = t->windows;
	struct number of[WINDOW_MEMBERS], n, by_windows = { 0 };
	double sums[WINDOW_MEMBERS];
	bool sampled;

	*out = (struct metric_value){ NAN, 0, 0, NAN, NAN, NAN, NAN, false };
	if (block == w->total) {
		n = of_all(t, x);
		put(x, w->nodes.counted, w->nodes.counted, &n, out);
		return;
	}
	if (code_range_given(&w->range)) {
		estimate_range(t, x, block, out);
		return;
	}
	numbers_of(w, block, of);
	n = evaluate(t, x, of);
	sampled = n.known;
	if (!x->totals)
		by_windows = ratio_of_windows(t, x, block);
	if (sampled && by_windows.known)
		n = average(&n, &by_windows);
	else if (by_windows.known)
		n = by_windows;
	if (!n.known) {
		fill_from_windows(t, block, of);
		n = evaluate(t, x, of);
	}
	for (u32 m = 0; m < w->group.nr; m++)
		sums[m] = of[m].known ? of[m].value : window_sum(block, m);
	put(x, sums, w->nodes.counted, &n, out);
	out->doubtful = !n.known || is_doubtful(t, x, block, &n, sampled);
}

void metric_value(const struct metric_table *t, u32 metric, const double *block, struct metric_value *out)
{
	const struct metric_expr *x = &t->metrics[metric].expr;

	if (t->metrics[metric].per_call)
		metric_per_call(block, out);
	else if (t->windows->attribution == ATTRIBUTION_ESTIMATE)
		estimate(t, x, block, out);
	else
		metric_by_windows(t, x, block, out);
}

/* How many times as many samples a value needs so that it is not marked: intervals shrink with the root of them. That
 * of a narrow interval is marked because windows were lost, which they do not mend. */
static double lacking(const struct metric_value *v, double whole)
{
	double allowed = fmax(MARK_RELATIVE * fabs(v->value), MARK_OF_ALL * fabs(whole));

	if (!v->doubtful)
		return 1;
	return v->half > allowed ? pow(v->half / allowed, 2) : INFINITY;
}

void metric_certain_parts(const struct metric_table *t, u32 metric, size_t rows, const double *times, u32 n,
			  double *parts)
{
	const struct profile_windows *w = t->windows;
	struct metric_value v, whole;

	memset(parts, 0, n * sizeof(*parts));
	metric_value(t, metric, w->total, &whole);
	for (size_t i = 0; i < rows; i++) {
		const double *block = profile_window_row(w, i);
		double needed;

		metric_value(t, metric, block, &v);
		needed = lacking(&v, whole.value);
		for (u32 k = 0; k < n; k++)
			parts[k] += needed <= times[k] ? block[WINDOWS_SELF] / w->total[WINDOWS_SELF] : 0;
	}
}
