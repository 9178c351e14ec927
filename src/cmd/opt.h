/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options and commands as tables. Parsing, --help, completion and the man page check all read the same rows.
 *
 * An option's value goes into the command's config struct at `offset`. Long names may be shortened while unambiguous;
 * flags can be clustered (-ag); --no-NAME clears a flag; a value stands in the same word (--freq=99, -F99) or the
 * next.
 */
#ifndef CMD_OPT_H
#define CMD_OPT_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/err.h"

enum opt_kind {
	OPT_FLAG,  /* bool */
	OPT_COUNT, /* u32, incremented: -vv */
	OPT_U32,
	OPT_U64, /* decimal or 0x; K, M, G suffixes are powers of 1024 only where the help says bytes (OPT_BYTES) */
	OPT_BYTES,
	OPT_STRING, /* const char * into argv */
	OPT_LIST,   /* struct opt_list: every occurrence is kept, in order */
	OPT_CALL,   /* set() takes the text */
};

struct opt_list {
	const char **v;
	u32 n;
};
void opt_list_add(struct opt_list *l, const char *text); /* keeps the pointer */

struct opt {
	char letter;	  /* 0: none */
	const char *name; /* long name, or NULL */
	enum opt_kind kind;
	size_t offset;	  /* offsetof the field in the config; for OPT_CALL the field is handed to set() */
	const char *arg;  /* what help calls the value: "FILE"; NULL for flags. "[FILE]": may be absent, only with = or
			     glued */
	const char *help; /* one line, lower case, no full stop */
	/* OPT_CALL: text is NULL when an optional value is absent. Returns 0 or ERR_USAGE after noting why. */
	int (*set)(void *field, const char *text, const struct notify *to);
	bool no;	/* OPT_CALL only: --no-NAME exists, and calls set with "no" */
	bool next_word; /* an optional value may also be the next word, unless that begins with '-' */
};

struct command;

struct command_ctx {
	const struct command *const *commands; /* the table of all commands */
	u32 nr_commands;
	const struct notify *notify;
	bool tty_out, tty_err; /* standard output and error are terminals */
	u32 tty_columns;       /* of standard output; 0: no terminal, or it does not say */
	bool color;	       /* colour output: terminal and no NO_COLOR */
	u32 verbose;
};

struct command {
	const char *name;
	const char *summary; /* one line for `reticle --help` */
	const char *args;    /* "[options] [--] [command [args]]" */
	const struct opt *opts;
	u32 nr_opts;
	size_t config_size;
	bool mixed;			/* options may stand behind words, too */
	bool keeps_rights;		/* asks the kernel for events; others give up their capabilities */
	const char *verb;		/* the word behind which they may, or NULL: 'reticle mem -t load report -n' */
	void (*defaults)(void *config); /* fills the zeroed config; may be NULL */
	/* Exit status: 0 done, 1 failed, 2 usage (or the workload's, for record). argv holds what is not an option. */
	int (*run)(const struct command_ctx *ctx, const void *config, int argc, char **argv);
};

#define OPTS_HELP 1

/* Parses options in argv[0..argc) up to the first word that is no option, or "--". *rest becomes the index of the
 * first word that was not parsed. Returns 0, ERR_USAGE, which is noted, or OPTS_HELP at --help, and at -h if the
 * command has no such letter. */
int opts_parse(const struct command *c, void *config, int argc, char **argv, int *rest, const struct notify *to);
/* The same, but options may also stand behind other words. Those *n words are moved to the beginning of argv. */
int opts_parse_mixed(const struct command *c, void *config, int argc, char **argv, int *n, const struct notify *to);
/* Frees what both functions allocate in the config: the values of options that may be repeated. */
void opts_free_lists(const struct command *c, void *config);
void opts_help(const struct opt *opts, u32 n, struct bytes *out); /* "    -F, --freq N    sample N times per second" */

#endif
