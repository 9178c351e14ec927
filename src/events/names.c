/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's generic events under the names that perf gives them. */
#include <stdio.h>
#include <strings.h>

#include "events/parse.h"

#define HW(name, alias, config)                                                                                       \
	{                                                                                                             \
		name, alias, PERF_TYPE_HARDWARE, PERF_COUNT_HW_##config                                               \
	}
#define SW(name, alias, config)                                                                                       \
	{                                                                                                             \
		name, alias, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##config                                               \
	}

/* Both spellings are perf's; the first is the one it lists first. */
const struct event_name event_names[] = {
	HW("cpu-cycles", "cycles", CPU_CYCLES),
	HW("instructions", NULL, INSTRUCTIONS),
	HW("cache-references", NULL, CACHE_REFERENCES),
	HW("cache-misses", NULL, CACHE_MISSES),
	HW("branch-instructions", "branches", BRANCH_INSTRUCTIONS),
	HW("branch-misses", NULL, BRANCH_MISSES),
	HW("bus-cycles", NULL, BUS_CYCLES),
	HW("stalled-cycles-frontend", "idle-cycles-frontend", STALLED_CYCLES_FRONTEND),
	HW("stalled-cycles-backend", "idle-cycles-backend", STALLED_CYCLES_BACKEND),
	HW("ref-cycles", NULL, REF_CPU_CYCLES),
	SW("cpu-clock", NULL, CPU_CLOCK),
	SW("task-clock", NULL, TASK_CLOCK),
	SW("page-faults", "faults", PAGE_FAULTS),
	SW("context-switches", "cs", CONTEXT_SWITCHES),
	SW("cpu-migrations", "migrations", CPU_MIGRATIONS),
	SW("minor-faults", NULL, PAGE_FAULTS_MIN),
	SW("major-faults", NULL, PAGE_FAULTS_MAJ),
	SW("alignment-faults", NULL, ALIGNMENT_FAULTS),
	SW("emulation-faults", NULL, EMULATION_FAULTS),
	SW("dummy", NULL, DUMMY),
	SW("bpf-output", NULL, BPF_OUTPUT),
	SW("cgroup-switches", NULL, CGROUP_SWITCHES),
};
const u32 nr_event_names = ARRAY_LEN(event_names);

#define OP_R (1u << PERF_COUNT_HW_CACHE_OP_READ)
#define OP_W (1u << PERF_COUNT_HW_CACHE_OP_WRITE)
#define OP_P (1u << PERF_COUNT_HW_CACHE_OP_PREFETCH)

/* The first spelling is perf's own; ops: what the kernel's generic tables can express for that cache. */
static const struct cache_kind {
	const char *names[6];
	u32 ops;
} caches[] = {
	[PERF_COUNT_HW_CACHE_L1D] = { { "L1-dcache", "l1-d", "l1d", "L1-data" }, OP_R | OP_W | OP_P },
	[PERF_COUNT_HW_CACHE_L1I] = { { "L1-icache", "l1-i", "l1i", "L1-instruction" }, OP_R | OP_P },
	[PERF_COUNT_HW_CACHE_LL] = { { "LLC", "L2" }, OP_R | OP_W | OP_P },
	[PERF_COUNT_HW_CACHE_DTLB] = { { "dTLB", "d-tlb", "Data-TLB" }, OP_R | OP_W | OP_P },
	[PERF_COUNT_HW_CACHE_ITLB] = { { "iTLB", "i-tlb", "Instruction-TLB" }, OP_R },
	[PERF_COUNT_HW_CACHE_BPU] = { { "branch", "branches", "bpu", "btb", "bpc" }, OP_R },
	[PERF_COUNT_HW_CACHE_NODE] = { { "node" }, OP_R | OP_W | OP_P },
};

static const char *const cache_ops[][6] = {
	[PERF_COUNT_HW_CACHE_OP_READ] = { "load", "loads", "read" },
	[PERF_COUNT_HW_CACHE_OP_WRITE] = { "store", "stores", "write" },
	[PERF_COUNT_HW_CACHE_OP_PREFETCH] = { "prefetch", "prefetches", "speculative-read", "speculative-load" },
};

static const char *const cache_results[][6] = {
	[PERF_COUNT_HW_CACHE_RESULT_ACCESS] = { "refs", "Reference", "ops", "access" },
	[PERF_COUNT_HW_CACHE_RESULT_MISS] = { "misses", "miss" },
};

const struct event_name *event_name_find(span s)
{
	for (u32 i = 0; i < nr_event_names; i++) {
		const struct event_name *e = &event_names[i];

		if (span_is(s, e->name) || (e->alias && span_is(s, e->alias)))
			return e;
	}
	return NULL;
}

/* The length of the longest of names that s starts with as a whole word (up to '-' or the end), or 0. */
static u32 word_prefix(span s, const char *const names[6])
{
	u32 best = 0;

	for (u32 i = 0; i < 6 && names[i]; i++) {
		u32 n = strlen(names[i]);

		if (n > best && n <= s.len && !strncasecmp(s.p, names[i], n) && (n == s.len || s.p[n] == '-'))
			best = n;
	}
	return best;
}

/* Takes "-word" off the front of s when word is one of the n alternatives; returns which, or -1. */
static int take_word(span *s, const char *const (*alternatives)[6], u32 n)
{
	span rest = { s->p + 1, s->len - 1 };
	u32 len;

	if (!s->len || s->p[0] != '-')
		return -1;
	for (u32 i = 0; i < n; i++) {
		len = word_prefix(rest, alternatives[i]);
		if (len) {
			*s = (span){ rest.p + len, rest.len - len };
			return (int)i;
		}
	}
	return -1;
}

int event_cache_find(span s, u64 *config)
{
	int op = -1, result = -1;
	u32 kind, len = 0;

	for (kind = 0; kind < ARRAY_LEN(caches); kind++) {
		len = word_prefix(s, caches[kind].names);
		if (len)
			break;
	}
	if (!len)
		return ERR_NOTFOUND;
	s = (span){ s.p + len, s.len - len };
	for (u32 i = 0; i < 2 && s.len; i++) {
		if (op < 0 && (op = take_word(&s, cache_ops, ARRAY_LEN(cache_ops))) >= 0)
			continue;
		if (result < 0 && (result = take_word(&s, cache_results, ARRAY_LEN(cache_results))) >= 0)
			continue;
		return ERR_NOTFOUND;
	}
	if (s.len)
		return ERR_NOTFOUND;
	op = MAX(op, 0);
	result = MAX(result, 0);
	*config = kind | (u64)op << 8 | (u64)result << 16;
	return caches[kind].ops & 1u << op ? 0 : ERR_USAGE;
}

void event_cache_each(void (*fn)(void *ctx, const char *name, u64 config), void *ctx)
{
	static const char *const suffix[][2] = {
		[PERF_COUNT_HW_CACHE_OP_READ] = { "loads", "load-misses" },
		[PERF_COUNT_HW_CACHE_OP_WRITE] = { "stores", "store-misses" },
		[PERF_COUNT_HW_CACHE_OP_PREFETCH] = { "prefetches", "prefetch-misses" },
	};
	char name[64];

	for (u32 kind = 0; kind < ARRAY_LEN(caches); kind++)
		for (u32 op = 0; op < ARRAY_LEN(suffix); op++)
			for (u32 miss = 0; miss < 2; miss++) {
				if (!(caches[kind].ops & 1u << op))
					continue;
				snprintf(name, sizeof(name), "%s-%s", caches[kind].names[0], suffix[op][miss]);
				fn(ctx, name, kind | op << 8 | miss << 16);
			}
}

static void offer_cache(void *ctx, const char *name, u64 config)
{
	(void)config;
	near_offer(ctx, name);
}

void event_names_near(struct near *n)
{
	for (u32 i = 0; i < nr_event_names; i++) {
		near_offer(n, event_names[i].name);
		if (event_names[i].alias)
			near_offer(n, event_names[i].alias);
	}
	event_cache_each(offer_cache, n);
}
