/* SPDX-License-Identifier: Apache-2.0 */
/* perf's words for what the branch buffer shall hold (-j, branch_type=). */
#include "events/spec.h"

#include <string.h>

#define LEVELS (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)

static const struct {
	const char *name;
	u64 bit;
} words[] = {
	{ "u", PERF_SAMPLE_BRANCH_USER },
	{ "k", PERF_SAMPLE_BRANCH_KERNEL },
	{ "hv", PERF_SAMPLE_BRANCH_HV },
	{ "any", PERF_SAMPLE_BRANCH_ANY },
	{ "any_call", PERF_SAMPLE_BRANCH_ANY_CALL },
	{ "any_ret", PERF_SAMPLE_BRANCH_ANY_RETURN },
	{ "ind_call", PERF_SAMPLE_BRANCH_IND_CALL },
	{ "ind_jmp", PERF_SAMPLE_BRANCH_IND_JUMP },
	{ "abort_tx", PERF_SAMPLE_BRANCH_ABORT_TX },
	{ "in_tx", PERF_SAMPLE_BRANCH_IN_TX },
	{ "no_tx", PERF_SAMPLE_BRANCH_NO_TX },
	{ "cond", PERF_SAMPLE_BRANCH_COND },
	{ "call", PERF_SAMPLE_BRANCH_CALL },
	{ "stack", PERF_SAMPLE_BRANCH_CALL_STACK },
	{ "no_flags", PERF_SAMPLE_BRANCH_NO_FLAGS },
	{ "no_cycles", PERF_SAMPLE_BRANCH_NO_CYCLES },
	{ "save_type", PERF_SAMPLE_BRANCH_TYPE_SAVE },
	{ "hw_index", PERF_SAMPLE_BRANCH_HW_INDEX },
	{ "priv", PERF_SAMPLE_BRANCH_PRIV_SAVE },
	{ "counter", BRANCH_COUNTERS },
};

static u64 find_word(const char *p, size_t len)
{
	for (u32 i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i].name) == len && !memcmp(words[i].name, p, len))
			return words[i].bit;
	return 0;
}

const char *event_branch_type(u32 i)
{
	return i < ARRAY_LEN(words) ? words[i].name : NULL;
}

int event_branch_types(const char *text, u64 *mask, const struct notify *to)
{
	u64 bits = 0;

	for (const char *p = text;; p++) {
		size_t len = strcspn(p, ",|");
		u64 bit = find_word(p, len);

		if (!bit)
			return notify_error(
				to, ERR_USAGE,
				"unknown branch type '%.*s' (any, any_call, any_ret, ind_call, ind_jmp, "
				"call, cond, stack, in_tx, no_tx, abort_tx, no_flags, no_cycles, save_type, "
				"hw_index, priv, counter, and the levels u, k, hv)",
				(int)MIN(len, (size_t)64), p);
		bits |= bit;
		p += len;
		if (!*p)
			break;
	}
	if (!(bits & ~LEVELS))
		bits |= PERF_SAMPLE_BRANCH_ANY;
	*mask = bits;
	return 0;
}
