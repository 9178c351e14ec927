/* SPDX-License-Identifier: Apache-2.0 */
#include "view/branch_notes.h"

#include "agg/branch_notes.h"

/* Words of one pair of brackets. */
struct words {
	struct bytes *out;
	bool arm64, open;
};

static struct bytes *next_word(struct words *w)
{
	bytes_str(w->out, w->open ? " " : " (");
	w->open = true;
	return w->out;
}

/* In perf's order: conditional ones come first. */
static void put_kinds(struct words *w, u32 kinds)
{
	if (kinds & BRANCH_KIND_FORWARD)
		bytes_str(next_word(w), "COND_FWD");
	if (kinds & BRANCH_KIND_BACKWARD)
		bytes_str(next_word(w), "COND_BWD");
	for (u32 type = BRANCH_COND + 1; type < NR_BRANCH_KINDS; type++)
		if (kinds & BRANCH_KIND(type) && *branch_type_name(type, w->arm64))
			bytes_str(next_word(w), branch_type_name(type, w->arm64));
	if (kinds & BRANCH_KIND_CROSS_4K)
		bytes_str(next_word(w), "CROSS_4K");
	if (kinds & BRANCH_KIND_CROSS_2M)
		bytes_str(next_word(w), "CROSS_2M");
}

static void put_to(struct words *w, const struct graph_branches *b)
{
	put_kinds(w, b->kinds);
	if (b->predicted < b->told)
		bytes_printf(next_word(w), "predicted:%.1f%%", b->predicted * 100.0 / b->told);
	if (b->aborted)
		bytes_printf(next_word(w), "abort:%.1f%%", b->aborted * 100.0 / b->to);
}

static void put_mean(struct words *w, const char *name, u64 sum, u64 n)
{
	if (!n || !(sum / n))
		return;
	bytes_printf(next_word(w), "%s:", name);
	bytes_dec(w->out, sum / n);
}

/* One frame may be several of these, with callers above what they called: what it mostly is stands there. */
void branch_notes_text(const struct graph_branches *b, bool arm64, struct bytes *out)
{
	struct words w = { .out = out, .arm64 = arm64 };

	if (!b)
		return;
	if (b->callers > b->to && b->callers > b->from) {
		bytes_str(next_word(&w), "calltrace");
	} else if (b->to >= b->from) {
		put_to(&w, b);
	} else {
		put_mean(&w, "cycles", b->cycles, b->from);
		put_mean(&w, "iter", b->rounds, b->from);
		if (b->rounds >= b->from)
			put_mean(&w, "avg_cycles", b->round_cycles, b->rounds);
	}
	if (w.open)
		bytes_char(out, ')');
}

static void put_types(const struct graph_branches *b, bool arm64, struct json *j)
{
	struct bytes text = { 0 };
	struct words w = { .out = &text, .arm64 = arm64 };

	put_kinds(&w, b->kinds);
	if (w.open)
		json_set_str(j, "types", (const char *)text.p + 2, text.len - 2);
	bytes_free(&text);
}

void branch_notes_json(const struct graph_branches *b, bool arm64, struct json *j)
{
	if (b && b->to) {
		json_set_object(j, "to");
		json_set_u64(j, "branches", b->to);
		json_set_u64(j, "told", b->told);
		json_set_u64(j, "predicted", b->predicted);
		json_set_u64(j, "aborted", b->aborted);
		put_types(b, arm64, j);
		json_object_end(j);
	}
	if (b && b->from) {
		json_set_object(j, "from");
		json_set_u64(j, "branches", b->from);
		json_set_u64(j, "cycles", b->cycles);
		json_set_u64(j, "iterations", b->rounds);
		json_set_u64(j, "iteration_cycles", b->round_cycles);
		json_object_end(j);
	}
	if (b && b->callers)
		json_set_u64(j, "callers", b->callers);
}
