/* SPDX-License-Identifier: Apache-2.0 */
#include "stitch_world.h"

#include "no_functions.h"

/* --- functions, instead of those of files --- */

struct code code;

struct maps functions_maps(struct functions *f, const struct asker *who)
{
	(void)f;
	return (struct maps){ .n = who->clock >= MOVED };
}

bool function_may_jump(struct functions *f, const struct asker *who, u64 to, u64 in)
{
	(void)f;
	(void)who;
	(void)to;
	(void)in;
	return !code.cannot_jump;
}

bool function_calls_itself(struct functions *f, const struct asker *who, u64 addr)
{
	(void)f;
	(void)who;
	return code.calls_itself && addr / SIZE == code.calls_itself;
}

bool function_comes_back(struct functions *f, const struct asker *who, u64 addr)
{
	(void)f;
	(void)who;
	(void)addr;
	return false;
}

enum called function_called_at(struct functions *f, const struct asker *who, u64 in, u64 site)
{
	(void)f;
	(void)who;
	(void)site;
	return code.called[in / SIZE % ARRAY_LEN(code.called)];
}

struct function function_at(struct functions *f, const struct asker *who, u64 addr)
{
	u64 n = addr / SIZE;

	(void)f;
	if (addr >= LINKER)
		return (struct function){ .binds = true, .dso = 3 };
	if (addr >= UNNAMED)
		return (struct function){ .dso = 2 };
	if (addr >= PLT(0))
		return (struct function){ .name = n - PLT(0) / SIZE, .named = true, .dso = 1 };
	if (who->clock >= MOVED && n == 8)
		n = 7;
	return (struct function){ .name = n, .entry = n, .named = true, .dso = 1 };
}

/* --- samples --- */

static struct sample sample_of(const struct made *m)
{
	return (struct sample){ .pid = PID,
				.tid = m->tid ? m->tid : TID,
				.ip = m->ip,
				.nr_branches = m->n,
				.has_hw_idx = m->reg >= 0,
				.hw_idx = m->reg < 0 ? 0 : (u64)m->reg,
				.branches = { (const u8 *)m->words, m->n * 3, false } };
}

struct made stack(u32 to, u32 n, bool told)
{
	struct made m = { .ip = IN(to), .n = n, .reg = told ? (s32)((to + DEPTH - 2) % DEPTH) : -1 };

	for (u32 i = 0; i < n; i++) {
		const u64 call[] = { CALL(to - 1 - i, to - i) };

		memcpy(m.words + 3 * i, call, sizeof(call));
	}
	return m;
}

void begin(struct run *r)
{
	*r = (struct run){ .callers = callers_new(1, DEPTH, true) };
	r->reader = caller_reader_new(r->callers, NULL, NULL);
	r->lbr = lbr_new(DEPTH, r->callers, NULL, NULL);
}

void end(struct run *r)
{
	caller_reader_free(r->reader);
	lbr_free(r->lbr);
	callers_free(r->callers);
}

void read_one(struct run *r, const struct made *m)
{
	const struct sample whole = sample_of(m);
	const struct sample_stack s = { .ip = whole.ip,
					.pid = whole.pid,
					.tid = whole.tid,
					.has_hw_idx = whole.has_hw_idx,
					.hw_idx = whole.hw_idx,
					.nr_branches = whole.nr_branches,
					.branches = whole.branches };

	callers_read(r->reader, &s, m->clock, !m->kernel);
}

bool take(struct run *r, const struct made *m)
{
	const struct sample s = sample_of(m);
	const struct hit h = { .cpumode = m->kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER,
			       .clock = m->clock,
			       .s = { .ip = m->ip, .pid = PID, .tid = s.tid },
			       .full = &s };

	return lbr_take(r->lbr, &h, &r->out);
}

void takes(struct run *r, const struct made *m, u32 n, u32 own)
{
	assert_true(take(r, m));
	assert_int_equal(r->out.n, n);
	assert_int_equal(r->out.own, own);
	for (u32 i = own; i < n; i++) {
		const u64 call[] = { CALL(n - i, n - i + 1) };

		assert_int_equal(r->out.v[i].from, call[0]);
		assert_int_equal(r->out.v[i].to, call[1]);
	}
}
