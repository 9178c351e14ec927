/* SPDX-License-Identifier: Apache-2.0 */
/* The names that perf gives to events whose recording names none. */
#include "codec/evlist.h"

static const char *const hw_names[] = {
	"cycles",	 "instructions", "cache-references",	    "cache-misses",	      "branches",
	"branch-misses", "bus-cycles",	 "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles",
};

static const char *const sw_names[] = {
	"cpu-clock",	    "task-clock",   "page-faults",  "context-switches",
	"cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
	"emulation-faults", "dummy",	    "bpf-output",   "cgroup-switches",
};

static const char *const cache_names[] = { "L1-dcache", "L1-icache", "LLC", "dTLB", "iTLB", "branch", "node" };
static const u8 cache_has_ops[] = { 7, 5, 7, 7, 1, 1, 7 }; /* bits by operation: nobody stores to branches */
static const char *const cache_ops[] = { "load", "store", "prefetch" };
static const char *const cache_ops_plural[] = { "loads", "stores", "prefetches" };

static void put_cache_name(struct bytes *b, u64 config)
{
	u32 cache = config & 0xff, op = config >> 8 & 0xff, result = config >> 16 & 0xff;

	if (cache >= ARRAY_LEN(cache_names))
		bytes_str(b, "unknown-ext-hardware-cache-type");
	else if (op >= ARRAY_LEN(cache_ops))
		bytes_str(b, "unknown-ext-hardware-cache-op");
	else if (result > 1)
		bytes_str(b, "unknown-ext-hardware-cache-result");
	else if (!(cache_has_ops[cache] >> op & 1))
		bytes_str(b, "invalid-cache");
	else if (result)
		bytes_printf(b, "%s-%s-misses", cache_names[cache], cache_ops[op]);
	else
		bytes_printf(b, "%s-%s", cache_names[cache], cache_ops_plural[op]);
}

static void put_breakpoint_name(struct bytes *b, const struct attr *a)
{
	bytes_printf(b, "mem:%#llx:", (unsigned long long)a->config1);
	if (a->bp_type & 1)
		bytes_char(b, 'r');
	if (a->bp_type & 2)
		bytes_char(b, 'w');
	if (a->bp_type & 4)
		bytes_char(b, 'x');
}

/* ":u", ":kppp", ...: the modes that are left when some are excluded, then precision, then host and guest. */
static void put_modifiers(struct bytes *b, const struct attr *a)
{
	u64 modes = a->flags & (ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_USER | ATTR_EXCLUDE_HV);
	u32 precise = attr_precise_ip(a);
	bool guest_excluded = a->flags & ATTR_EXCLUDE_GUEST, host_excluded = a->flags & ATTR_EXCLUDE_HOST;
	bool guest_default = modes || precise; /* what perf sets by itself together with these */
	char text[16];
	u32 n = 0;

	if (modes) {
		if (!(modes & ATTR_EXCLUDE_KERNEL))
			text[n++] = 'k';
		if (!(modes & ATTR_EXCLUDE_USER))
			text[n++] = 'u';
		if (!(modes & ATTR_EXCLUDE_HV))
			text[n++] = 'h';
	}
	while (precise--)
		text[n++] = 'p';
	if (host_excluded || guest_excluded == guest_default) {
		if (!host_excluded)
			text[n++] = 'H';
		if (!guest_excluded)
			text[n++] = 'G';
	}
	if (n)
		bytes_char(b, ':');
	bytes_put(b, text, n);
}

char *attr_name(const struct attr *a)
{
	struct bytes b = { 0 };
	u32 generic = a->config & UINT32_MAX; /* the upper half picks a PMU on machines with several kinds of core */

	switch (a->type) {
	case PERF_TYPE_HARDWARE:
		bytes_str(&b, generic < ARRAY_LEN(hw_names) ? hw_names[generic] : "unknown-hardware");
		break;
	case PERF_TYPE_SOFTWARE:
		bytes_str(&b, a->config < ARRAY_LEN(sw_names) ? sw_names[a->config] : "unknown-software");
		break;
	case PERF_TYPE_HW_CACHE:
		put_cache_name(&b, a->config);
		break;
	case PERF_TYPE_RAW:
		bytes_printf(&b, "raw %#llx", (unsigned long long)a->config);
		break;
	case PERF_TYPE_BREAKPOINT:
		put_breakpoint_name(&b, a);
		break;
	case PERF_TYPE_TRACEPOINT:
		bytes_str(&b, "unknown tracepoint");
		break;
	default:
		bytes_printf(&b, "unknown attr type: %u", a->type);
	}
	if (a->type <= PERF_TYPE_BREAKPOINT && a->type != PERF_TYPE_TRACEPOINT)
		put_modifiers(&b, a);
	bytes_u8(&b, 0);
	return (char *)b.p; /* the buffer itself: one heap block that the caller frees */
}
