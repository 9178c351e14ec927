/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/branches.h"

#include <math.h>
#include <string.h>

#define INLINED_MOST 64

/* In percent. */
static void put_ratio(struct bytes *out, const struct proportion *r)
{
	const double v[] = { r->value, r->low, r->high };

	for (u32 i = 0; i < ARRAY_LEN(v); i++) {
		bytes_char(out, ',');
		if (!isnan(v[i]))
			bytes_printf(out, "%.2f", 100 * v[i]);
	}
}

/* "function+0x1f" */
static void put_place(struct bytes *out, struct dsos *dsos, u32 dso, u64 addr)
{
	u32 sym = addr == TRACE_OUTSIDE ? ID_NONE : dsos_symbol_at(dsos, dso, addr);
	struct bytes text = { 0 };

	if (sym != ID_NONE) {
		bytes_str(&text, dsos_symbol_name(dsos, dso, sym));
		bytes_printf(&text, "+0x%llx", (unsigned long long)(addr - dsos_symbol(dsos, dso, sym)->start));
		bytes_csv(out, (const char *)text.p, text.len);
	}
	bytes_char(out, ',');
	bytes_free(&text);
}

static void put_line(struct bytes *out, struct dsos *dsos, u32 dso, u64 addr)
{
	struct source_frame frames[INLINED_MOST];
	struct bytes text = { 0 };

	if (dsos_source_at(dsos, dso, addr, frames, INLINED_MOST) && frames[0].file) {
		bytes_str(&text, frames[0].file);
		bytes_printf(&text, ":%u", frames[0].line);
		bytes_csv(out, (const char *)text.p, text.len);
	}
	bytes_char(out, ',');
	bytes_free(&text);
}

void view_branches(const struct branch_ratios *r, struct dsos *dsos, u32 dso, const struct dso_linked *at,
		   struct bytes *out)
{
	u64 *addrs = mem_alloc((r->v.n + 1) * sizeof(*addrs));

	for (size_t i = 0; i < r->v.n; i++)
		addrs[i] = r->v.v[i].from;
	dsos_source_ahead(dsos, dso, addrs, (u32)r->v.n);
	free(addrs);
	bytes_str(out, "address,branch,line,target,targets,taken,not_taken,mispredicted,taken_percent,"
		       "taken_low,taken_high,mispredict_percent,mispredict_low,mispredict_high\n");
	for (size_t i = 0; i < r->v.n; i++) {
		const struct branch_ratio *b = &r->v.v[i];

		bytes_printf(out, "0x%llx,", (unsigned long long)dso_linked_address(at, b->from));
		put_place(out, dsos, dso, b->from);
		put_line(out, dsos, dso, b->from);
		put_place(out, dsos, dso, b->to);
		bytes_printf(out, "%u,%llu,%llu,%llu", b->targets, (unsigned long long)b->taken,
			     (unsigned long long)b->passed, (unsigned long long)b->mispredicted);
		put_ratio(out, &b->taken_ratio);
		put_ratio(out, &b->mispredict_ratio);
		bytes_char(out, '\n');
	}
}
