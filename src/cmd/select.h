/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What report, export and others have in common: which recording, which of its samples and rows, where symbols come
 * from. One set of option rows and one function that turns them into the pipeline's options.
 */
#ifndef CMD_SELECT_H
#define CMD_SELECT_H

#include "cmd/opt.h"
#include "pass/pipeline.h"

/* The options as given. */
struct select {
	const char *input;
	const char *comms, *dsos, *symbols, *symbol_part, *pids, *tids, *cpus, *time;
	const char *activity, *kallsyms, *vmlinux, *symfs, *buildid_dir, *itrace;
	bool hide_unresolved, no_demangle, no_inline, offline, debuginfod, no_stitch, stitch, no_cache;
	u32 threads;
};

#define SELECT_AT(letter, name, kind, config, path, field, arg, help)                                                 \
	{                                                                                                             \
		letter, name, kind, offsetof(config, path) + offsetof(struct select, field), arg, help                \
	}
#define SELECT_OPT(letter, name, kind, config, field, arg, help)                                                      \
	SELECT_AT(letter, name, kind, config, select, field, arg, help)

/* Rows for a command whose config has a member `struct select select`. */
#define SELECT_OPTS(config)                                                                                           \
	SELECT_OPT('i', "input", OPT_STRING, config, input, "FILE", "read this recording (- for standard input)"),    \
		SELECT_OPT('c', "comms", OPT_STRING, config, comms, "NAMES", "only threads with these names"),        \
		SELECT_OPT('C', "cpu", OPT_STRING, config, cpus, "CPUS", "only these CPUs, like 0-3,8"),              \
		SELECT_OTHER_OPTS(config)

/* Those whose letters mean the same in every command. */
#define SELECT_OTHER_OPTS(config)                                                                                     \
	SELECT_OPT(0, "pid", OPT_STRING, config, pids, "PIDS", "only these processes"),                               \
		SELECT_OPT(0, "tid", OPT_STRING, config, tids, "TIDS", "only these threads"),                         \
		SELECT_OPT(0, "time", OPT_STRING, config, time, "RANGE",                                              \
			   "only this time: start,stop or 10%-20% or 10%/2"),                                         \
		SELECT_OPT(0, "activity", OPT_STRING, config, activity, "KEY=VALUE",                                  \
			   "only what was done for such an activity (record --activity)"),                            \
		SELECT_OPT('k', "vmlinux", OPT_STRING, config, vmlinux, "FILE",                                       \
			   "take kernel symbols from this vmlinux"),                                                  \
		SELECT_OPT(0, "kallsyms", OPT_STRING, config, kallsyms, "FILE",                                       \
			   "take kernel symbols from this file"),                                                     \
		SELECT_OPT(0, "symfs", OPT_STRING, config, symfs, "DIR",                                              \
			   "look for all binaries below this directory"),                                             \
		SELECT_OPT(0, "buildid-dir", OPT_STRING, config, buildid_dir, "DIR",                                  \
			   "look for binaries by build id here"),                                                     \
		SELECT_OPT(0, "no-demangle", OPT_FLAG, config, no_demangle, NULL,                                     \
			   "do not demangle C++ and Rust names"),                                                     \
		SELECT_OPT(0, "no-inline", OPT_FLAG, config, no_inline, NULL, "do not expand inlined calls"),         \
		SELECT_OPT(0, "no-stitch-lbr", OPT_FLAG, config, no_stitch, NULL,                                     \
			   "do not complete LBR call stacks from earlier samples"),                                   \
		SELECT_OPT(0, "stitch-lbr", OPT_FLAG, config, stitch, NULL, "accepted; this is the default"),         \
		SELECT_OPT(0, "itrace", OPT_STRING, config, itrace, "EVENTS",                                         \
			   "events to make from Arm SPE: f, m, t, b, a, M, i1i (default: fmtbaM)"),                   \
		SELECT_OPT(0, "offline", OPT_FLAG, config, offline, NULL, "the recording is of another machine"),     \
		SELECT_OPT(0, "no-cache", OPT_FLAG, config, no_cache, NULL,                                           \
			   "do not use or keep symbols in ~/.cache/reticle"),                                         \
		SELECT_OPT(0, "debuginfod", OPT_FLAG, config, debuginfod, NULL,                                       \
			   "ask $DEBUGINFOD_URLS for missing symbols"),                                               \
		SELECT_OPT(0, "threads", OPT_U32, config, threads, "N", "use N threads (default: one per CPU)")

/* Those that choose code. path: where the config has its `struct select`; the letters are those that mean this in the
 * command, or 0; what: the rows or samples that are chosen, "rows of". */
#define SELECT_PLACE_OPTS(config, path, dsos_letter, symbols_letter, unresolved_letter, what)                         \
	SELECT_AT(dsos_letter, "dsos", OPT_STRING, config, path, dsos, "NAMES",                                       \
		  "only " what " these shared objects"),                                                              \
		SELECT_AT(symbols_letter, "symbols", OPT_STRING, config, path, symbols, "NAMES",                      \
			  "only " what " these functions"),                                                           \
		SELECT_AT(0, "symbol-filter", OPT_STRING, config, path, symbol_part, "TEXT",                          \
			  "only functions with TEXT in the name"),                                                    \
		SELECT_AT(unresolved_letter, "hide-unresolved", OPT_FLAG, config, path, hide_unresolved, NULL,        \
			  "only " what " code that has a symbol")
/* With report's letters. */
#define SELECT_ROW_OPTS(config) SELECT_PLACE_OPTS(config, select, 'd', 'S', 'U', "rows of")

/* What the pipeline's options point to. */
struct selected {
	struct pipeline_opts pipeline;
	struct arena arena;
};

/* ERR_USAGE, noted, for lists that are none. out is zeroed first; free it with selected_free after the pipeline's last
 * use. */
int select_resolve(const struct select *s, struct selected *out, const struct notify *to);
void selected_free(struct selected *s);

/* The first of the options that choose code which was given, or NULL. */
const char *select_place_option(const struct select *s);

/* Says which filters were given, as none of so many samples passed them. False: none was given, and nothing is said.
 */
bool select_note_nothing_left(const struct select *s, u64 samples, const struct notify *to);
/* The same for a profile, if it has no rows although there are samples. */
void select_note_empty(const struct select *s, const struct profile *p, const struct notify *to);

/* The profile of the chosen samples, as pipeline_profile makes it. bar: progress is shown on standard error. Returns
 * 0, or a negative enum err, which is noted. */
int selected_profile(struct selected *s, bool bar, struct session **session, struct profile **profile,
		     const struct notify *to);

/* The recording to read: what was named (or NULL), a pipe at standard input, or perf.data. */
const char *input_path(const char *named);
const char *select_input(const struct select *s);
/* The one word that is no option, if there is one, is the recording: it becomes *input. ERR_USAGE, noted, when that
 * was named already, or there are more. */
int input_word(const char **input, int argc, char **argv, const struct notify *to);
/* Is this word, which is no option, the name of a recording? */
bool select_is_recording(const char *word);

/* "a,b,c" as a list; empty parts are dropped. In arena. */
struct name_list split_names(const char *text, struct arena *arena);

#endif
