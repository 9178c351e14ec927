/* SPDX-License-Identifier: Apache-2.0 */
/* The lines above the tables of the report as text. */
#include <string.h>

#include "view/report.h"

/* What a table's shares are of. */
static void write_whole(const struct profile *p, u64 weight, struct bytes *out)
{
	bytes_printf(out, "\n# %s%llu\n",
		     p->costs ? "Total weight : " : "Event count (approx.): ", (unsigned long long)weight);
}

/* "402 ", "5K", "12M": as perf shortens the number of samples. */
static void write_short_number(u64 n, struct bytes *out)
{
	static const char units[] = " KMGT";
	u32 unit = 0;

	for (; n > 1000 && unit < 4; unit++)
		n /= 1000;
	bytes_printf(out, "%llu%c", (unsigned long long)n, units[unit]);
}

/* 'anon group { cycles, instructions }'; without braces when it is one only because all events are wanted in one
 * table. */
static void write_group_head(const struct profile *p, const struct group_rows *g, struct bytes *out)
{
	const struct event *leader = &p->evlist->events.v[g->leader];
	const char *name = leader->group_name ? leader->group_name : "anon group";
	bool group = leader->group_members > 1;
	u64 samples = 0, weight = 0;

	for (u32 i = 0; i < g->nr_members; i++) {
		samples += g->members[i] ? g->members[i]->samples : 0;
		weight += g->members[i] ? g->members[i]->weight : 0;
	}
	bytes_str(out, "# Samples: ");
	write_short_number(samples, out);
	bytes_str(out, " of events '");
	if (group) {
		bytes_plain(out, name, strlen(name));
		bytes_str(out, " { ");
	}
	for (u32 i = 0; i < g->nr_members; i++) {
		const char *each = leader[i].name;

		bytes_str(out, i ? ", " : "");
		bytes_plain(out, each, strlen(each));
	}
	bytes_str(out, group ? " }'" : "'");
	write_whole(p, weight, out);
}

void report_event_head(const struct profile *p, const struct profile_event *e, const struct group_rows *g,
		       struct bytes *out)
{
	const char *name = report_event_name(p, e);
	bool one_table = p->sort_keys >> SORT_EVENT & 1;

	if (g) {
		write_group_head(p, g, out);
		return;
	}
	bytes_str(out, p->branches ? "# Branches: " : "# Samples: ");
	write_short_number(e->samples, out);
	bytes_str(out, " of event");
	if (one_table && p->evlist->events.n > 1) {
		bytes_str(out, "s");
		for (size_t i = 0; i < p->evlist->events.n; i++) {
			const char *each = p->evlist->events.v[i].name;

			bytes_str(out, i ? ", '" : " '");
			bytes_plain(out, each, strlen(each));
			bytes_char(out, '\'');
		}
	} else {
		bytes_str(out, " '");
		bytes_plain(out, name, strlen(name));
		bytes_char(out, '\'');
	}
	write_whole(p, e->weight, out);
}

static void write_count(const char *what, u64 n, struct bytes *out)
{
	if (n)
		bytes_printf(out, ", %llu %s", (unsigned long long)n, what);
}

/* How far the numbers below can be trusted. The counts that are always there come first. */
static void write_tally(const struct profile *p, struct bytes *out)
{
	const char *no_kernel = p->dsos ? dsos_kernel_missing(p->dsos) : NULL;
	const struct tally *t = &p->tally;

	bytes_printf(out, "# Total Lost Samples: %llu\n", (unsigned long long)t->lost_samples);
	bytes_printf(out, "# Recording: %llu %s, %llu lost, %llu throttled", (unsigned long long)t->samples,
		     p->branches ? "branches" : "samples", (unsigned long long)tally_lost(t),
		     (unsigned long long)t->throttled);
	write_count("left out by filters", t->filtered, out);
	write_count("undecodable", t->undecodable, out);
	write_count("broken records", t->broken_records, out);
	write_count("records of unknown type", t->unknown_records, out);
	write_count("AUX records lost", t->aux_lost, out);
	write_count("AUX records truncated", t->aux_truncated, out);
	write_count("AUX records with collisions", t->aux_collisions, out);
	write_count("sampled operations", t->aux_operations, out);
	write_count("sampled operations left out because their packets are damaged", t->aux_broken, out);
	write_count("bytes of AUX data that are not a packet", t->aux_bad_bytes, out);
	write_count("packets of unknown kinds", t->aux_unknown_packets, out);
	if (t->aux_left_out)
		bytes_printf(out, ", %llu bytes of AUX data (%s) left out", (unsigned long long)t->aux_left_out,
			     t->aux_kind);
	write_count("bytes of the file not read", t->left_out_bytes, out);
	bytes_printf(out, "; %.1f%% unresolved", share_of(t->unresolved, t->frames));
	if (no_kernel)
		bytes_printf(out, "; no names of the kernel: %s", no_kernel);
	bytes_char(out, '\n');
}

/* Stacks of branch records, and what became of those that the hardware had no room for. */
static void write_lbr(const struct tally *t, struct bytes *out)
{
	if (!t->lbr_stacks)
		return;
	bytes_printf(out,
		     "# Branch records: %llu call stacks, %llu of them (%.1f%%) lengthened by %llu calls from earlier "
		     "samples",
		     (unsigned long long)t->lbr_stacks, (unsigned long long)t->lbr_stitched,
		     share_of(t->lbr_stitched, t->lbr_stacks), (unsigned long long)t->lbr_calls);
	write_count("not lengthened, as it was not certain by which calls", t->lbr_refused, out);
	write_count("cut where calls did not return", t->lbr_cut, out);
	bytes_char(out, '\n');
}

static void write_activities(const struct profile *p, struct bytes *out)
{
	const u64 *n = p->tally.activities;
	u64 known = n[ACTIVITY_KNOWN] + n[ACTIVITY_BARE];

	if (!p->timelines)
		return;
	bytes_printf(out, "# Activities: %llu samples (%.1f%%) belong to one, %llu to none", (unsigned long long)known,
		     share_of(known, p->tally.samples), (unsigned long long)n[ACTIVITY_NONE]);
	write_count("without attributes, which were not to be read", n[ACTIVITY_BARE], out);
	write_count("whose thread was not to be read", n[ACTIVITY_NO_THREAD], out);
	write_count("whose record was not to be read", n[ACTIVITY_NO_RECORD], out);
	write_count("of processes that were not looked at yet", n[ACTIVITY_NOT_YET], out);
	write_count("of processes that the recorder could not look at", n[ACTIVITY_REFUSED], out);
	write_count("of processes for which the kernel had no room", n[ACTIVITY_NO_ROOM], out);
	write_count("whose journal had lost what their thread did", n[ACTIVITY_LOST], out);
	write_count("of which nothing is known", n[NR_ACTIVITY_STATUS], out);
	write_count("entries of journals overwritten before they were read", p->tally.activities_overwritten, out);
	write_count("entries of journals that make no sense", p->tally.activities_refused, out);
	write_count("records of activities that make no sense", p->tally.broken_activities, out);
	bytes_char(out, '\n');
}

static void write_simulated(const struct profile *p, struct bytes *out)
{
	if (!p->simulated.len)
		return;
	bytes_str(out, "# Source: simulated (");
	bytes_plain(out, p->simulated.p, p->simulated.len);
	bytes_str(out, ")\n");
}

void report_recording_head(const struct profile *p, struct bytes *out)
{
	write_simulated(p, out);
	write_tally(p, out);
	write_lbr(&p->tally, out);
	report_stack_ends(p, out);
	write_activities(p, out);
}
