/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/select.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular.h"
#include "cmd/progress.h"

#define MAX_LIST 65536
#define MAX_THREADS 1024u /* each has caches of some MB */

struct name_list split_names(const char *text, struct arena *arena)
{
	VEC(const char *) names = { 0 };
	struct name_list list = { 0 };

	while (text && *text) {
		size_t len = strcspn(text, ",");

		if (len)
			vec_push(&names, arena_strndup(arena, text, len));
		text += len + (text[len] == ',');
	}
	if (names.n)
		list = (struct name_list){ arena_copy(arena, names.v, names.n * sizeof(*names.v)), (u32)names.n };
	vec_free(&names);
	return list;
}

/* "1,4-7"; false when it is no such list. */
static bool split_numbers(const char *text, bool ranges, struct arena *arena, struct u32_list *out)
{
	VEC(u32) v = { 0 };
	bool ok = text != NULL;

	while (ok && *text) {
		char *end;
		unsigned long long from = strtoull(text, &end, 10), until = from;

		ok = end != text && *text >= '0' && *text <= '9';
		if (ok && ranges && *end == '-') {
			text = end + 1;
			until = strtoull(text, &end, 10);
			ok = end != text && *text >= '0' && *text <= '9';
		}
		ok = ok && from <= until && until < ID_NONE && until - from < MAX_LIST && v.n < MAX_LIST &&
		     (!*end || *end == ',');
		for (; ok && from <= until; from++)
			vec_push(&v, (u32)from);
		text = *end ? end + 1 : end;
	}
	ok = ok && v.n;
	if (ok)
		*out = (struct u32_list){ arena_copy(arena, v.v, v.n * sizeof(*v.v)), (u32)v.n };
	vec_free(&v);
	return ok;
}

/* Of recordings, in either order of bytes. */
static bool is_magic(const char *eight)
{
	return !memcmp(eight, "PERFILE2", 8) || !memcmp(eight, "2ELIFREP", 8);
}

const char *input_path(const char *named)
{
	struct stat st;
	char magic[8];

	if (named || fstat(STDIN_FILENO, &st))
		return named ? named : "perf.data";
	if (S_ISFIFO(st.st_mode))
		return "-";
	/* A program that is started by another one has some file there that has nothing to do with it. */
	return S_ISREG(st.st_mode) && pread(STDIN_FILENO, magic, 8, 0) == 8 && is_magic(magic) ? "-" : "perf.data";
}

int input_word(const char **input, int argc, char **argv, const struct notify *to)
{
	if (!argc)
		return 0;
	if (argc > 1 || *input)
		return notify_error(to, ERR_USAGE, "'%s' and '%s': one recording is read at a time",
				    *input ? *input : argv[0], argv[argc > 1]);
	*input = argv[0];
	return 0;
}

const char *select_input(const struct select *s)
{
	return input_path(s->input);
}

bool select_is_recording(const char *word)
{
	char magic[8] = "";
	int fd = regular_open(word);
	bool is = fd >= 0 && read(fd, magic, 8) == 8 && is_magic(magic);

	if (fd >= 0)
		close(fd);
	return is;
}

/* A list without a name, such as that of a variable of the shell that is not set, would be no filter at all. */
static int split_filters(const struct select *s, struct selected *out, const struct notify *to)
{
	const struct {
		const char *option, *text;
		struct name_list *list;
	} rows[] = {
		{ "--comms", s->comms, &out->pipeline.samples.comms },
		{ "--dsos", s->dsos, &out->pipeline.rows.places.dsos },
		{ "--symbols", s->symbols, &out->pipeline.rows.places.symbols },
	};
	const char *part = s->symbol_part;

	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		*rows[i].list = split_names(rows[i].text, &out->arena);
		if (rows[i].text && !rows[i].list->n)
			return notify_error(to, ERR_USAGE, "option %s: there is no name in '%s'", rows[i].option,
					    rows[i].text);
	}
	if (part && !*part)
		return notify_error(to, ERR_USAGE, "option --symbol-filter: there is no name in '%s'", part);
	out->pipeline.rows.places.symbol_part = part;
	return 0;
}

int select_resolve(const struct select *s, struct selected *out, const struct notify *to)
{
	struct pipeline_opts *o = &out->pipeline;
	const struct {
		const char *option, *text;
		bool ranges;
		struct u32_list *list;
	} numbers[] = {
		{ "--pid", s->pids, false, &o->samples.pids },
		{ "--tid", s->tids, false, &o->samples.tids },
		{ "--cpu", s->cpus, true, &o->samples.cpus },
	};

	*out = (struct selected){ 0 };
	for (u32 i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].text &&
		    !split_numbers(numbers[i].text, numbers[i].ranges, &out->arena, numbers[i].list)) {
			selected_free(out);
			return notify_error(to, ERR_USAGE, "option %s: '%s' is not a list of numbers (like %s)",
					    numbers[i].option, numbers[i].text, numbers[i].ranges ? "0-3,8" : "12,34");
		}
	if (s->threads > MAX_THREADS) {
		selected_free(out);
		return notify_error(to, ERR_USAGE, "option --threads: %u is more than %u", s->threads, MAX_THREADS);
	}
	if (split_filters(s, out, to) || (s->itrace && spe_events_parse(s->itrace, &o->session.aux_events, to))) {
		selected_free(out);
		return ERR_USAGE;
	}
	o->session.aux_events_given = s->itrace;
	o->input = select_input(s);
	o->no_inline = s->no_inline;
	o->no_stitch = s->no_stitch;
	o->time = s->time;
	o->samples.activity = s->activity;
	o->rows.places.hide_unresolved = s->hide_unresolved;
	o->session.workers = s->threads;
	o->session.symbols = (struct symbol_opts){
		.kallsyms = s->kallsyms,
		.vmlinux = s->vmlinux,
		.symfs = s->symfs,
		.buildid_dir = s->buildid_dir,
		.demangle = !s->no_demangle,
		.debuginfod = s->debuginfod,
		.offline = s->offline,
		.cache = !s->no_cache && !s->offline,
	};
	return 0;
}

void selected_free(struct selected *s)
{
	arena_free(&s->arena);
}

const char *select_place_option(const struct select *s)
{
	return s->dsos		  ? "--dsos" :
	       s->symbols	  ? "--symbols" :
	       s->symbol_part	  ? "--symbol-filter" :
	       s->hide_unresolved ? "--hide-unresolved" :
				    NULL;
}

bool select_note_nothing_left(const struct select *s, u64 samples, const struct notify *to)
{
	const struct {
		const char *option, *text;
	} filters[] = {
		{ "--dsos", s->dsos },
		{ "--symbols", s->symbols },
		{ "--symbol-filter", s->symbol_part },
		{ "--comms", s->comms },
		{ "--pid", s->pids },
		{ "--tid", s->tids },
		{ "--cpu", s->cpus },
		{ "--time", s->time },
		{ "--activity", s->activity },
		{ "--hide-unresolved", s->hide_unresolved ? "" : NULL },
	};
	struct bytes said = { 0 };
	bool any;

	for (u32 i = 0; i < ARRAY_LEN(filters); i++)
		if (filters[i].text)
			bytes_printf(&said, "%s%s%s%s", said.len ? ", " : "", filters[i].option,
				     *filters[i].text ? " " : "", filters[i].text);
	bytes_char(&said, 0);
	any = said.len > 1;
	if (any)
		notify_warn(to, "nothing is left of %llu sample%s by %s", (unsigned long long)samples, plural(samples),
			    (char *)said.p);
	bytes_free(&said);
	return any;
}

void select_note_empty(const struct select *s, const struct profile *p, const struct notify *to)
{
	for (size_t i = 0; i < p->events.n; i++)
		if (p->events.v[i].rows.n)
			return;
	if (p->tally.samples)
		(void)select_note_nothing_left(s, p->tally.samples, to);
}

int selected_profile(struct selected *s, bool bar, struct session **session, struct profile **profile,
		     const struct notify *to)
{
	struct progress progress;
	int err;

	progress_start(&progress, bar, to);
	s->pipeline.session.progress = progress_report;
	s->pipeline.session.progress_ctx = &progress;
	err = pipeline_profile(&s->pipeline, session, profile, &progress.notify);
	progress_stop(&progress);
	return err;
}
