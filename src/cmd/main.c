/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the command, parses its options, runs it. Everything else is in the command's own file. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mistake.h"
#include "cmd/commands.h"
#include "cmd/opt.h"
#include "cmd/output.h"
#include "cmd/peer.h"
#include "cmd/rights.h"

#define EXIT_USAGE 2

/* A note may have several lines (an event with carets under it), if we made them: a name cannot begin another one. */
static void put_lines(struct bytes *out, const char *text, bool lines)
{
	for (const char *end; lines && (end = strchr(text, '\n')); text = end + 1) {
		bytes_plain(out, text, end - text);
		bytes_char(out, '\n');
	}
	bytes_plain(out, text, strlen(text));
}

/* One line per note: "reticle record: text", with file and offset where they are known. */
static void print_note(void *ctx, const struct note *note)
{
	const char *command = ctx;
	struct bytes line = { 0 };

	bytes_printf(&line, "reticle%s%s: ", *command ? " " : "", command);
	if (note->level == NOTE_WARNING)
		bytes_str(&line, "warning: ");
	if (note->file)
		bytes_plain(&line, note->file, strlen(note->file));
	if (note->file && note->offset != NO_OFFSET)
		bytes_printf(&line, ": offset %#llx", (unsigned long long)note->offset);
	if (note->file)
		bytes_str(&line, ": ");
	put_lines(&line, note->text, note->lines);
	bytes_char(&line, '\n');
	fwrite(line.p, 1, line.len, stderr);
	bytes_free(&line);
}

static void put_usage(struct bytes *out)
{
	bytes_str(out, "usage: reticle [--version] [--help] COMMAND [options]\n\ncommands:\n");
	for (u32 i = 0; i < nr_commands; i++)
		bytes_printf(out, "    %-14s %s\n", commands[i]->name, commands[i]->summary);
	bytes_str(out, "\n'reticle COMMAND --help' lists a command's options; 'man reticle-COMMAND' explains them.\n");
}

static void put_command_help(const struct command *c, struct bytes *out)
{
	bytes_printf(out, "usage: reticle %s %s\n\n%s\n\n", c->name, c->args, c->summary);
	opts_help(c->opts, c->nr_opts, out);
}

/* The help of a command, or of all when c is NULL. */
static int print_help(const struct command *c, const struct notify *to)
{
	struct output out;

	(void)output_open(&out, NULL, to);
	if (c)
		put_command_help(c, &out.bytes);
	else
		put_usage(&out.bytes);
	return output_close(&out, to) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int print_version(const struct notify *to)
{
	struct output out;

	(void)output_open(&out, NULL, to);
	bytes_str(&out.bytes, "reticle " RETICLE_VERSION "\n");
	return output_close(&out, to) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int refuse_no_command(void)
{
	struct bytes text = { 0 };

	put_usage(&text);
	fwrite(text.p, 1, text.len, stderr);
	bytes_free(&text);
	return EXIT_USAGE;
}

static const struct command *find_command(const char *name)
{
	for (u32 i = 0; i < nr_commands; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static int refuse_command(const char *name, const struct notify *to)
{
	struct near near = { .want = { name, (u32)MIN(strlen(name), (size_t)UINT32_MAX) } };
	struct mistake m = { .near = &near, .hint = peer_command_hint(name) };
	char head[128];

	for (u32 i = 0; !m.hint && i < nr_commands; i++)
		near_offer(&near, commands[i]->name);
	snprintf(head, sizeof(head), "'%.60s' is not a command%s", name, m.hint ? "" : " (see reticle --help)");
	mistake_note(&m, ERR_USAGE, head, to);
	return EXIT_USAGE;
}

/* At once, whatever the letter means to the command. Behind other options, opts_parse finds it. */
static bool wants_help(int argc, char **argv)
{
	return argc > 0 && (!strcmp(argv[0], "--help") || !strcmp(argv[0], "-h"));
}

/* The words that are no options are argv[*rest] up to argv[*end]. */
static int parse(const struct command *c, void *config, int argc, char **argv, int *rest, int *end,
		 const struct notify *to)
{
	int err, words;

	if (c->mixed)
		return opts_parse_mixed(c, config, argc, argv, end, to);
	err = opts_parse(c, config, argc, argv, rest, to);
	if (err || !c->verb || *rest == argc || strcmp(argv[*rest], c->verb))
		return err;
	err = opts_parse_mixed(c, config, argc - *rest - 1, argv + *rest + 1, &words, to);
	*end = *rest + 1 + words;
	return err;
}

static int run_command(const struct command *c, int argc, char **argv)
{
	struct notify notify = { print_note, (void *)c->name };
	struct command_ctx ctx = { .commands = commands,
				   .nr_commands = nr_commands,
				   .notify = &notify,
				   .tty_out = isatty(STDOUT_FILENO),
				   .tty_err = isatty(STDERR_FILENO) };
	void *config;
	u32 rows;
	int rest = 0, status;

	if (wants_help(argc, argv))
		return print_help(c, &notify);
	terminal_size(STDOUT_FILENO, &rows, &ctx.tty_columns);
	ctx.color = ctx.tty_out && !getenv("NO_COLOR");
	if (!c->keeps_rights)
		rights_drop();
	config = mem_zalloc(c->config_size);
	if (c->defaults)
		c->defaults(config);
	status = parse(c, config, argc, argv, &rest, &argc, &notify);
	if (status == OPTS_HELP)
		status = print_help(c, &notify);
	else
		status = status ? EXIT_USAGE : c->run(&ctx, config, argc - rest, argv + rest);
	opts_free_lists(c, config);
	free(config);
	return status;
}

/* Recordings are mapped: what was there when it was opened may be gone when it is read. Any other such signal is a
 * fault of ours, and ends the program as it does without this. */
static void on_sigbus(int number, siginfo_t *info, void *context)
{
	static const char text[] = "reticle: a file was shortened while it was being read\n";
	ssize_t written;

	(void)context;
	if (info->si_code == BUS_ADRERR) {
		written = write(STDERR_FILENO, text, sizeof(text) - 1);
		(void)written; /* nobody may be listening */
		_exit(EXIT_FAILURE);
	}
	signal(number, SIG_DFL);
	raise(number);
}

/*
 * Large blocks are mapped, whatever was freed before: they then grow without being copied and go back to the kernel at
 * once. Left alone, glibc raises this bound with each block freed.
 */
#define MAP_FROM (256 << 10)

int main(int argc, char **argv)
{
	struct notify notify = { print_note, (void *)"" };
	const struct command *c;
	const char *name;
	bool help;

	mallopt(M_MMAP_THRESHOLD, MAP_FROM);
	sigaction(SIGBUS, &(struct sigaction){ .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO }, NULL);
	if (argc < 2)
		return refuse_no_command();
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-v") || !strcmp(argv[1], "-vv") ||
	    !strcmp(argv[1], "version"))
		return print_version(&notify);
	help = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help");
	if (help && argc < 3)
		return print_help(NULL, &notify);
	name = argv[help ? 2 : 1];
	c = find_command(name);
	if (!c)
		return refuse_command(name, &notify);
	if (help)
		return print_help(c, &notify);
	return run_command(c, argc - 2, argv + 2);
}
