/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branches of one binary for optimisers. LLVM's sample profile: view/export/autofdo.h.
 *
 * BOLT's pre-aggregated form, a line each:
 *
 *	B FROM TO COUNT MISPREDICTED	a branch; an end that is not in the binary is 0
 *	F FROM TO COUNT			code that ran through, entered by a branch of its function,
 *	f FROM TO COUNT			entered from outside
 *
 * Addresses are those that the binary is linked at, in hexadecimal, whatever address each process had it at.
 */
#include "cmd/export_branches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agg/branch_traces.h"
#include "base/mem.h"
#include "cmd/output.h"
#include "pass/branch_walk.h"
#include "view/export/autofdo.h"
#include "view/export/branches.h"
#include "view/export/fdata.h"

static bool has_build_id(const struct dso *d, const char *begins)
{
	char text[2 * sizeof(d->build_id) + 1] = "";
	size_t n = strlen(begins);

	for (u32 i = 0; i < d->build_id_size; i++)
		snprintf(text + 2 * (size_t)i, 3, "%02x", d->build_id[i]);
	return n >= 4 && !strncmp(text, begins, n);
}

static bool is_wanted(const struct dso *d, const char *binary)
{
	return !binary || !strcmp(d->path, binary) || !strcmp(d->short_name, binary) || has_build_id(d, binary);
}

/* The wanted one with the most branches; ID_NONE. */
static u32 most_branches(const struct branch_traces *t, const u64 *branches, const char *binary)
{
	u32 best = ID_NONE;

	for (u32 i = 0; i < dsos_count(t->dsos); i++) {
		const struct dso *d = dsos_at(t->dsos, i);

		if (d->kind == DSO_FILE && branches[i] && is_wanted(d, binary) &&
		    (best == ID_NONE || branches[i] > branches[best]))
			best = i;
	}
	return best;
}

/* As it was recorded, or else where it leads to as a path today: files are recorded by their whole paths. */
static u32 choose(const struct branch_traces *t, const char *binary)
{
	u64 *branches = mem_zalloc((dsos_count(t->dsos) + 1u) * sizeof(*branches));
	char *real = NULL;
	u32 best;

	for (size_t i = 0; i < t->v.n; i++)
		branches[t->v.v[i].dso] += t->v.v[i].kind == TRACE_BRANCH ? t->v.v[i].count : 0;
	best = most_branches(t, branches, binary);
	if (best == ID_NONE && binary && strchr(binary, '/'))
		real = realpath(binary, NULL);
	if (real)
		best = most_branches(t, branches, real);
	free(branches);
	free(real);
	return best;
}

struct written {
	u64 branches, taken, through;
};

static void write_traces(const struct branch_traces *t, const struct dso_linked *at, u32 dso, struct bytes *out,
			 struct written *w)
{
	static const char kinds[] = { [TRACE_BRANCH] = 'B', [TRACE_THROUGH] = 'F', [TRACE_THROUGH_ENTRY] = 'f' };

	for (size_t i = 0; i < t->v.n; i++) {
		const struct branch_trace *b = &t->v.v[i];
		u64 from = b->from == TRACE_OUTSIDE ? 0 : dso_linked_address(at, b->from);
		u64 to = b->to == TRACE_OUTSIDE ? 0 : dso_linked_address(at, b->to);

		/* It may have run where the file has no code: in data that were made code. */
		if (b->dso != dso || !(b->kind == TRACE_BRANCH ? from || to : from && to))
			continue;
		bytes_printf(out, "%c %llx %llx %llu", kinds[b->kind], (unsigned long long)from,
			     (unsigned long long)to, (unsigned long long)b->count);
		if (b->kind == TRACE_BRANCH)
			bytes_printf(out, " %llu", (unsigned long long)b->mispredicted);
		bytes_char(out, '\n');
		w->branches += b->kind == TRACE_BRANCH;
		w->taken += b->kind == TRACE_BRANCH ? b->count : 0;
		w->through += b->kind != TRACE_BRANCH ? b->count : 0;
	}
}

static void write_bolt(const struct branch_traces *t, const struct dso_linked *at, u32 dso, struct bytes *out,
		       const struct notify *to)
{
	struct written w = { 0 };

	write_traces(t, at, dso, out, &w);
	notify_at(to, NOTE_INFO, 0, NULL, NO_OFFSET,
		  "%s: %llu branches, taken %llu times, %llu passages between them, of %llu samples",
		  dsos_at(t->dsos, dso)->path, (unsigned long long)w.branches, (unsigned long long)w.taken,
		  (unsigned long long)w.through, (unsigned long long)t->samples);
}

static void note_odd(const struct branch_traces *t, u32 dso, u64 names, const struct notify *to)
{
	if (names)
		notify_at(to, NOTE_WARNING, ERR_FORMAT, dsos_at(t->dsos, dso)->path, NO_OFFSET,
			  "functions left out, because their names do not fit into the lines of a profile: %llu",
			  (unsigned long long)names);
}

static void write_autofdo(const struct branch_traces *t, const struct dso_linked *at, u32 dso, struct bytes *out,
			  const struct notify *to)
{
	struct sample_profile p = { 0 };
	u64 outer = 0;

	sample_profile_make(&p, t, dso, at);
	view_autofdo(&p, out);
	for (size_t i = 0; i < p.functions.n; i++)
		outer += p.functions.v[i].parent == ID_NONE;
	notify_at(to, NOTE_INFO, 0, NULL, NO_OFFSET,
		  "%s: %llu functions, %llu passages between branches, %llu of them in code that no DWARF describes, "
		  "of %llu samples",
		  dsos_at(t->dsos, dso)->path, (unsigned long long)outer, (unsigned long long)p.passages,
		  (unsigned long long)p.unknown, (unsigned long long)t->samples);
	note_odd(t, dso, p.odd, to);
	if (p.full)
		notify_at(
			to, NOTE_WARNING, ERR_LIMIT, dsos_at(t->dsos, dso)->path, NO_OFFSET,
			"functions at high addresses are left out: what its DWARF says of them takes too much memory");
	sample_profile_free(&p);
}

static void write_csv(const struct branch_traces *t, const struct dso_linked *at, u32 dso, struct bytes *out,
		      const struct notify *to)
{
	struct branch_ratios r = { 0 };

	branch_ratios_make(&r, t, dso);
	view_branches(&r, t->dsos, dso, at, out);
	notify_at(to, NOTE_INFO, 0, NULL, NO_OFFSET, "%s: %llu branches of %llu samples", dsos_at(t->dsos, dso)->path,
		  (unsigned long long)r.v.n, (unsigned long long)t->samples);
	branch_ratios_free(&r);
}

static int write_fdata(const struct branch_traces *t, const struct dso_linked *at, u32 dso, struct bytes *out,
		       const struct notify *to)
{
	struct fdata_counts n;
	int err = view_fdata(t, at, dso, out, &n, to);

	if (!err) {
		notify_at(to, NOTE_INFO, 0, NULL, NO_OFFSET,
			  "%s: %llu lines; %llu passages between branches, %llu of which do not fit the code, of %llu "
			  "samples",
			  dsos_at(t->dsos, dso)->path, (unsigned long long)n.lines, (unsigned long long)n.passages,
			  (unsigned long long)n.refused, (unsigned long long)t->samples);
		note_odd(t, dso, n.odd, to);
	}
	if (!err && n.cut)
		notify_at(to, NOTE_WARNING, ERR_LIMIT, dsos_at(t->dsos, dso)->path, NO_OFFSET,
			  "passages are left out: it has more code than is read for so few branches");
	return err;
}

static int write_binary(const struct branch_traces *t, enum branch_form form, const char *binary, const char *output,
			const char *input, const struct notify *to)
{
	u32 dso = choose(t, binary);
	struct dso_linked at;
	struct bytes text = { 0 };
	struct output file;
	int err = 0;

	if (dso == ID_NONE)
		return notify_at(to, NOTE_ERROR, ERR_NOTFOUND, input, NO_OFFSET,
				 binary ? "no branches in '%s' (reticle report --sort dso_to shows where they are)" :
					  "no branches in any file that was mapped%s",
				 binary ? binary : "");
	if (!dsos_linked(t->dsos, dso, &at))
		return notify_at(to, NOTE_ERROR, ERR_NOTFOUND, input, NO_OFFSET,
				 "%s is missing, or is not the recorded file any more, so addresses in it are "
				 "not known",
				 dsos_at(t->dsos, dso)->path);
	if (form == BRANCHES_AUTOFDO && !dsos_has_lines(t->dsos, dso))
		return notify_at(to, NOTE_ERROR, ERR_NOTFOUND, input, NO_OFFSET,
				 "%s has no DWARF, which tells where its code comes from (compile it with -g)",
				 dsos_at(t->dsos, dso)->path);
	if (form == BRANCHES_AUTOFDO)
		write_autofdo(t, &at, dso, &text, to);
	else if (form == BRANCHES_CSV)
		write_csv(t, &at, dso, &text, to);
	else if (form == BRANCHES_FDATA)
		err = write_fdata(t, &at, dso, &text, to);
	else
		write_bolt(t, &at, dso, &text, to);
	if (!err)
		err = output_open(&file, output, to);
	if (!err) {
		bytes_put(&file.bytes, text.p, text.len);
		err = output_close(&file, to);
	}
	bytes_free(&text);
	return err;
}

int export_branches(const struct pipeline_opts *o, enum branch_form form, const char *binary, const char *output,
		    const struct select *select, const struct notify *to)
{
	struct branch_traces traces = { .by_sample = form == BRANCHES_CSV };
	struct session *s;
	int err = session_open(&s, o->input, &o->session, to);

	if (err)
		return err;
	err = branch_walk(s, o, &traces, to);
	if (!err && !traces.samples && traces.filtered && select_note_nothing_left(select, traces.filtered, to))
		err = ERR_NOTFOUND;
	if (!err)
		err = write_binary(&traces, form, binary, output, o->input, to);
	branch_traces_free(&traces);
	session_close(s);
	return err;
}
