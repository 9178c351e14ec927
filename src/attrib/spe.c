/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/spe.h"

#include "codec/perf_abi.h"
#include "codec/spe_source.h"

#define SAMPLE_FIELDS                                                                                                 \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |                 \
	 PERF_SAMPLE_ADDR | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR)

/* In perf's order, which is also that of an operation's samples. */
static const struct row {
	const char *name;
	char letter; /* of --itrace */
	u32 events;  /* of which one has to have happened; 0: see spe_counts */
} rows[SPE_NR_EVENTS] = {
	[SPE_EVENT_L1D_MISS] = { "l1d-miss", 'f', SPE_EV_L1D_REFILL },
	[SPE_EVENT_L1D_ACCESS] = { "l1d-access", 'f', SPE_EV_L1D_ACCESS },
	[SPE_EVENT_LLC_MISS] = { "llc-miss", 'm', SPE_EV_LLC_REFILL },
	[SPE_EVENT_LLC_ACCESS] = { "llc-access", 'm', SPE_EV_LLC_ACCESS },
	[SPE_EVENT_TLB_MISS] = { "tlb-miss", 't', SPE_EV_TLB_WALK },
	[SPE_EVENT_TLB_ACCESS] = { "tlb-access", 't', SPE_EV_TLB_ACCESS },
	[SPE_EVENT_BRANCH_MISS] = { "branch-miss", 'b', SPE_EV_MISPREDICTED },
	[SPE_EVENT_REMOTE_ACCESS] = { "remote-access", 'a', SPE_EV_REMOTE_ACCESS },
	[SPE_EVENT_MEMORY] = { "memory", 'M', 0 },
	[SPE_EVENT_INSTRUCTIONS] = { "instructions", 'i', 0 },
};

/* i1i: each one. Other distances would have to be counted across buffers, and hardware has done that already. */
static int parse_period(const char **text, const struct notify *to)
{
	const char *t = *text;
	size_t digits = strspn(t, "0123456789");

	if (digits && (digits != 1 || *t != '1' || t[1] != 'i'))
		return notify_error(
			to, ERR_USAGE,
			"--itrace: i takes every sampled operation here: write i1i (-c at record time sets how "
			"many are sampled)");
	*text = t + (digits ? 2 : 0);
	return 0;
}

int spe_events_parse(const char *text, u32 *events, const struct notify *to)
{
	static const char others[] = "crxwopedgGlLsqAZ"; /* calls, returns, errors, ... : of branch traces */

	*events = 0;
	for (const char *t = text; *t;) {
		char letter = *t++;
		u32 found = 0;

		for (u32 i = 0; i < SPE_NR_EVENTS; i++)
			found |= (u32)(rows[i].letter == letter) << i;
		if (!found && !strchr(others, letter))
			return notify_error(
				to, ERR_USAGE,
				"--itrace: '%c' is not an event made from AUX data; these are f (L1D), m "
				"(LLC), t (TLB), b (branch misses), a (remote accesses), M (memory) and i1i "
				"(every operation)",
				letter);
		*events |= found;
		if (letter == 'i' && parse_period(&t, to))
			return ERR_USAGE;
		if (!found)
			t += strspn(t, "0123456789+-");
	}
	return 0;
}

static bool fills(const struct aux *aux, u32 type)
{
	bool yes = type == aux->pmu_type;

	for (size_t i = 0; i < aux->pmu_types.n; i++)
		yes |= type == aux->pmu_types.v[i];
	return yes;
}

void spe_add_events(struct spe *s, u32 events, const struct aux *aux, struct evlist *l)
{
	struct attr a = { .type = aux->pmu_type, .sample_type = SAMPLE_FIELDS, .sample_period = 1 };

	s->aux = aux;
	s->nr_made = 0;
	for (size_t i = 0; i < l->events.n; i++)
		l->events.v[i].silent |= fills(aux, l->events.v[i].attr.type);
	for (u32 i = 0; i < SPE_NR_EVENTS; i++) {
		a.config = rows[i].events;
		s->of[i] = events >> i & 1 ? evlist_add(l, &a, rows[i].name, NULL) : ID_NONE;
		if (s->of[i] != ID_NONE)
			s->made[s->nr_made++] = (struct spe_made){ .event = s->of[i], .what = (u8)i };
	}
}

bool spe_counts(const struct spe_record *r, enum spe_event event)
{
	switch (event) {
	case SPE_EVENT_MEMORY:
		return spe_is_load(r) || spe_is_store(r);
	case SPE_EVENT_INSTRUCTIONS:
		return true;
	default:
		return r->events & rows[event].events;
	}
}

static u8 kind_of(const struct spe_record *r)
{
	if (!(r->has & SPE_HAS(SPE_OPERATION)))
		return SPE_KIND_ANY & ~(SPE_KIND_LOAD | SPE_KIND_STORE | SPE_KIND_BRANCH);
	switch (r->operation_class) {
	case SPE_LOAD_STORE:
		return r->operation & 1 ? SPE_KIND_STORE : SPE_KIND_LOAD;
	case SPE_BRANCH:
		return SPE_KIND_BRANCH;
	default:
		return SPE_KIND_ANY & ~(SPE_KIND_LOAD | SPE_KIND_STORE | SPE_KIND_BRANCH);
	}
}

bool spe_made_counts(const struct spe_record *r, const struct spe_made *made)
{
	if (made->what < SPE_NR_EVENTS)
		return spe_counts(r, made->what);
	return (r->events & made->events) == made->events && kind_of(r) & made->kinds && !(made->user && r->pc >> 63);
}

struct spe_wanted spe_wanted(const struct spe *s)
{
	struct spe_wanted w = { .accesses = s->of[SPE_EVENT_MEMORY] != ID_NONE,
				.all = s->of[SPE_EVENT_INSTRUCTIONS] != ID_NONE };

	for (u32 i = 0; i < SPE_NR_EVENTS; i++)
		w.events |= s->of[i] == ID_NONE ? 0 : rows[i].events;
	for (u32 i = 0; i < s->nr_made; i++) {
		w.events |= s->made[i].events;
		w.all |= s->made[i].what == SPE_NR_EVENTS && !s->made[i].events;
	}
	return w;
}

void spe_thread(const struct spe *s, const struct aux_buffer *b, u64 time, u32 *pid, u32 *tid)
{
	if (aux_thread(s->aux, b->cpu, time, pid, tid))
		return;
	*tid = b->tid;
	*pid = aux_process(s->aux, *tid);
}

/* The fields that operations have; others stay 0. */
static void whole_sample(const struct hit *h, const struct spe_record *r, u64 midr, struct sample *out)
{
	out->has = SAMPLE_FIELDS;
	out->ip = h->s.ip;
	out->pid = h->s.pid;
	out->tid = h->s.tid;
	out->cpu = h->s.cpu;
	out->time = h->s.time;
	out->period = h->s.period;
	out->weight = r->latency[SPE_TOTAL];
	out->addr = r->operation_class == SPE_BRANCH ? r->target : r->virtual;
	out->phys_addr = r->physical;
	out->data_src = spe_data_src(r, midr);
}

u64 spe_time(const struct spe *s, const struct spe_record *r, u64 before)
{
	return r->has & SPE_HAS(SPE_TIMESTAMP) && s->aux->has_conversion ? aux_time(s->aux, r->time) : before;
}

void spe_hit_of(const struct spe_operation *o, u64 offset, const struct sample_core *s, struct hit *h,
		struct sample *full)
{
	const struct spe_record *r = o->record;

	*h = (struct hit){
		.cpumode = r->pc >> 63 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
		.offset = offset,
		.clock = s->time,
		.made = HIT_SYNTHESISED,
		.exact = true,
		.s = *s,
		.full = full,
		.operation = o,
	};
	h->s.ip = r->pc;
	h->s.period = 1;
	if (full)
		whole_sample(h, r, o->midr, full);
}

void spe_hit(const struct spe *s, const struct aux_buffer *b, struct spe_operation *o, u64 *time, struct hit *h,
	     struct sample *full)
{
	const struct spe_record *r = o->record;
	struct sample_core core = { .cpu = b->cpu };

	o->midr = aux_midr(s->aux, b->cpu);
	*time = spe_time(s, r, *time);
	core.time = *time;
	if (r->has & SPE_HAS(SPE_CONTEXT)) {
		core.tid = r->context;
		core.pid = aux_process(s->aux, core.tid);
	} else {
		spe_thread(s, b, *time, &core.pid, &core.tid);
	}
	spe_hit_of(o, b->at + r->at, &core, h, full);
}
