/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `reticle top`. Two threads: the recorder's, which empties rings into a live stream (pass/live.h), as into a file;
 * and this one, which makes a table of what came lately, shows it, and waits for a key or for the next time. A table
 * that takes long, or a terminal that is held, therefore loses no samples.
 *
 * Signals are the recorder's matter (record/recorder.c), as in `record`. Whatever ends it ends this; a key that quits
 * sends it the signal that would.
 */
#include "cmd/top.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agg/keys.h"
#include "base/clock.h"
#include "cmd/output.h"
#include "cmd/record_unwind.h"
#include "cmd/report_resolve.h"
#include "record/recorder.h"
#include "state/apart.h"

#define NOTE_NS (60ull * 1000000000)
#define MAX_BYTES (64ull << 20)
#define EXIT_USAGE 2
#define DEFAULT_ROWS 40	 /* where there is no terminal to say */
#define SCREEN_ROWS 1000 /* that a screen can be moved through: what is behind them weighs nothing, and takes time */

struct top {
	const struct command_ctx *ctx;
	struct top_config c;
	struct selected selected;
	struct report_opts report;
	struct window_use windows;
	struct event_specs specs;
	struct live *live;
	struct live_view view;
	struct top_state state;
	struct top_rows rows;	   /* of the table on the screen, whatever keys have asked for since */
	struct apart *parser;	   /* who reads line information; NULL: it is not asked for */
	struct top_screen *screen; /* NULL: tables one after the other */
	/* The recorder's thread: */
	pthread_t thread;
	int ended_fd;
	int err;
	struct record_result result;
	struct unwinding *unwinding;
	/* What is said while there is a screen, for afterwards. */
	pthread_mutex_t lock;
	struct bytes notes;
	u64 noted_ns; /* the last of them */
	struct notify notify;
	/* What it costs: */
	u64 cpu_ns, wall_ns;
	double cost;
};

static u64 cpu_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u64)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
	       (u64)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

/* While there is a screen, notes would spoil it. */
static void keep_note(void *ctx, const struct note *note)
{
	struct top *t = ctx;

	if (!t->screen && note->level != NOTE_INFO) {
		t->ctx->notify->fn(t->ctx->notify->ctx, note);
		return;
	}
	pthread_mutex_lock(&t->lock);
	if (note->level != NOTE_INFO && t->notes.len < BYTES_FLUSH) {
		bytes_str(&t->notes, "reticle top: ");
		bytes_plain(&t->notes, note->text, strlen(note->text));
		bytes_char(&t->notes, '\n');
		t->noted_ns = clock_ns();
	}
	pthread_mutex_unlock(&t->lock);
}

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };

static void ending_signals(sigset_t *set)
{
	sigemptyset(set);
	for (u32 i = 0; i < ARRAY_LEN(ending); i++)
		sigaddset(set, ending[i]);
}

static void take_stream(void *ctx, const struct iovec *part, int nr)
{
	live_put(ctx, part, nr);
}

static void take_round(void *ctx)
{
	live_round(ctx);
}

static void *record_thread(void *ctx)
{
	struct top *t = ctx;
	const struct sink sink = { take_stream, take_round, t->live, (u32)MIN(1000u, t->c.delay_s * 500) };
	const struct record_unwind unwind = record_unwind_by(t->unwinding);
	const struct recorder_events tell = { .sink = &sink, .unwind = &unwind };
	u64 one = 1;

	t->err = recorder_run(&t->c.record.o, &t->specs, &tell, false, &t->result, &t->notify);
	if (write(t->ended_fd, &one, sizeof(one)) != sizeof(one))
		abort();
	return NULL;
}

static const char *target_of(const struct top *t)
{
	const struct target_opts *o = &t->c.record.o.target;

	return o->command	  ? o->command[0] :
	       o->pids && o->tids ? "processes and threads" :
	       o->pids		  ? "processes" :
	       o->tids		  ? "threads" :
	       o->uid		  ? "a user's processes" :
	       o->cgroups	  ? "cgroups" :
	       o->cpus		  ? "some CPUs" :
				    "all CPUs";
}

static void put_event(const struct top *t, const struct profile_event *e, struct bytes *out)
{
	double seconds = (double)MAX(t->view.ms, (u64)1) / 1000;
	const char *name = report_event_name(t->view.profile, e);

	bytes_printf(out, "%.0f samples/s of ", (double)e->samples / seconds);
	bytes_plain(out, name, strlen(name));
}

/* As report's head has it, where there are call chains. */
static void put_stacks(const struct profile *p, struct bytes *out)
{
	struct bytes line = { 0 };

	report_stack_ends(p, &line);
	if (line.len > 2)
		bytes_put(out, line.p + 2, line.len - 2); /* without the "# " */
	bytes_free(&line);
}

/* What was said last while there is a screen, for a minute: all of it comes when the screen has gone. */
static void put_note(struct top *t, struct bytes *out)
{
	const struct bytes *b = &t->notes;
	size_t from;

	pthread_mutex_lock(&t->lock);
	for (from = b->len; from > 1 && b->p[from - 2] != '\n';)
		from--;
	if (t->screen && b->len && clock_ns() - t->noted_ns < NOTE_NS)
		bytes_put(out, b->p + from - 1, b->len - from + 1);
	pthread_mutex_unlock(&t->lock);
}

/* The lines above the table. */
static void put_head(struct top *t, struct bytes *out)
{
	const struct live_view *v = &t->view;
	const struct profile_event *e = NULL;

	if (v->profile && t->state.event < v->profile->events.n)
		e = &v->profile->events.v[t->state.event];
	if (e)
		put_event(t, e, out);
	else
		bytes_str(out, "no samples");
	bytes_str(out, "; ");
	bytes_plain(out, target_of(t), strlen(target_of(t)));
	bytes_printf(out, ", last %.1f s\nlost %llu, throttled %llu; reticle itself takes %.1f %% of a CPU\n",
		     (double)v->ms / 1000, (unsigned long long)v->lost, (unsigned long long)v->throttled, t->cost);
	if (v->left_out)
		bytes_printf(out, "%llu bytes came faster than tables were made, and are left out\n",
			     (unsigned long long)v->left_out);
	if (v->profile)
		put_stacks(v->profile, out);
	if (v->profile && v->profile->simulated.len) {
		bytes_str(out, "on a simulated core: ");
		bytes_plain(out, v->profile->simulated.p, v->profile->simulated.len);
		bytes_char(out, '\n');
	}
	put_note(t, out);
}

/* Events whose samples serve a table of metrics have none of their own. */
static void choose_event(struct top *t)
{
	const struct profile *p = t->view.profile;

	for (size_t i = 0;
	     p && i < p->events.n && (t->state.event >= p->events.n || p->events.v[t->state.event].helper); i++)
		t->state.event = t->state.event + 1 < p->events.n ? t->state.event + 1 : 0;
}

/* How many rows are printed, or can be moved to. */
static u32 rows_wanted(const struct top *t)
{
	u32 rows, columns;

	if (t->c.entries || t->screen)
		return t->c.entries ? t->c.entries : SCREEN_ROWS;
	terminal_size(STDOUT_FILENO, &rows, &columns);
	return MAX(rows, (u32)DEFAULT_ROWS);
}

/* How many lines the names of the columns are. */
static u32 heading_of(const struct bytes *table)
{
	struct str line;
	size_t at = 0;
	u32 n = 0;

	while (bytes_line(table, &at, &line) && line.len && *line.p == '#')
		n++;
	return n;
}

/* What the row under the cursor is has to be known until the next table. */
static void keep_order(struct top *t, const u32 *order)
{
	size_t n = t->view.profile->events.v[t->state.event].rows.n;

	free(t->rows.order);
	t->rows.order = order ? mem_alloc((n + 1) * sizeof(*order)) : NULL;
	if (order)
		memcpy(t->rows.order, order, n * sizeof(*order));
}

/* The frame's text, of the view that there is. */
static int make_frame(struct top *t, u32 columns, struct top_frame *f)
{
	struct profile *p = t->view.profile;
	struct report_opts *o = &t->rows.shown;
	int err = 0;

	*o = t->report;
	f->head.len = f->table.len = 0;
	choose_event(t);
	put_head(t, &f->head);
	if (!p || !p->events.n)
		return 0;
	report_choose_columns(&t->c.report, p, o);
	o->metrics = report_metrics_make(p, o, &t->notify, &err);
	if (err)
		return err;
	o->color = !t->screen && t->ctx->color;
	o->room = columns;
	o->most_rows = rows_wanted(t);
	o->only_table = true;
	o->only_event = t->state.event + 1;
	o->long_names |= t->state.long_names;
	o->relative ^= t->state.other_base;
	o->percent_limit = MAX(o->percent_limit, t->state.percent_limit);
	top_open_copy(&t->rows.open, &t->state.open);
	top_rows_choose_graphs(&t->rows);
	report_text(p, o, &f->table);
	keep_order(t, o->metrics ? o->metrics[t->state.event].order : NULL);
	f->heading = heading_of(&f->table);
	report_metrics_free((struct report_metrics *)o->metrics, p);
	o->metrics = NULL;
	return 0;
}

/* What the keys have chosen, for the next profile. */
static void apply_state(struct top *t, struct pipeline_opts *o, const char *names[2])
{
	*o = t->selected.pipeline;
	o->first_rows = rows_wanted(t);
	if (*t->state.filter)
		o->rows.places.symbol_part = t->state.filter;
	names[0] = t->state.only_dso;
	names[1] = t->state.only_comm;
	if (*names[0])
		o->rows.places.dsos = (struct name_list){ &names[0], 1 };
	if (*names[1])
		o->samples.comms = (struct name_list){ &names[1], 1 };
}

/* take: what has come since is wanted, too, unless the table is held. */
static int refresh(struct top *t, bool take, struct top_frame *f)
{
	struct pipeline_opts o;
	const char *names[2];
	u32 rows, columns;
	u64 cpu = cpu_ns(), wall = clock_ns();
	int err;

	if (t->wall_ns)
		t->cost = 100.0 * (double)(cpu - t->cpu_ns) / (double)MAX(wall - t->wall_ns, (u64)1);
	t->cpu_ns = cpu;
	t->wall_ns = wall;
	apply_state(t, &o, names);
	take &= !t->state.frozen;
	if (take && t->state.zero)
		live_zero(t->live);
	err = live_refresh(t->live, &o, take, &t->view);
	terminal_size(STDOUT_FILENO, &rows, &columns);
	if (t->screen)
		columns = top_screen_columns(t->screen);
	return err ? err : make_frame(t, columns, f);
}

/* So many lines of b, and no more. */
static void write_lines(const struct bytes *b, u32 most)
{
	struct str line;
	size_t at = 0;

	for (u32 n = 0; n < most && bytes_line(b, &at, &line); n++)
		;
	top_write(b, MIN(at, b->len), stdout);
}

/* ERR_IO, noted unless it is a pipe that nobody reads any more. */
static int print_frame(const struct top *t, const struct top_frame *f)
{
	u32 rows, columns, room;

	terminal_size(STDOUT_FILENO, &rows, &columns);
	if (t->ctx->tty_out)
		fputs("\033[H\033[2J", stdout);
	write_lines(&f->head, UINT32_MAX);
	fputc('\n', stdout);
	room = rows > 4 ? rows - 4 : DEFAULT_ROWS;
	if (t->c.entries)
		room = MIN(t->ctx->tty_out ? room : UINT32_MAX, t->c.entries + f->heading);
	write_lines(&f->table, room);
	if (!t->ctx->tty_out)
		fputc('\n', stdout);
	errno = 0;
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return errno == EPIPE ?
		       ERR_IO :
		       notify_error(t->ctx->notify, ERR_IO, "standard output: cannot write: %s", strerror(errno));
}

/* Waits for a key, the recorder's end, or until it is time. False: it has ended. */
static bool wait_until(struct top *t, u64 until)
{
	struct pollfd fds[] = { { .fd = t->ended_fd, .events = POLLIN },
				{ .fd = t->screen ? STDIN_FILENO : -1, .events = POLLIN } };
	u64 now = clock_ns(), ended;
	int ms = until > now ? (int)MIN((until - now + 999999) / 1000000, (u64)3600000) : 0;

	if (poll(fds, 2, ms) < 0 && errno != EINTR)
		return false;
	/* A terminal that has gone. */
	if (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
		kill(getpid(), SIGTERM);
	/* What the thread has left is ours from here on. */
	return !(fds[0].revents & POLLIN) || read(t->ended_fd, &ended, sizeof(ended)) != sizeof(ended);
}

/* What the row under the cursor has in a column; "" where the lines are no rows. */
static void name_under_cursor(const struct top *t, u32 column, char *name, size_t size)
{
	const struct profile *p = t->view.profile;
	struct bytes text = { 0 };
	struct row_view v;
	u32 first;

	if (!p || !(p->sort_keys >> column_key(column) & 1) || !top_row_at(&t->rows, p, t->state.cursor, &v, &first))
		return;
	column_label(column, &v, &text);
	snprintf(name, size, "%.*s", (int)MIN(text.len, size - 1), (const char *)text.p);
	bytes_free(&text);
}

/* NULL: rows of the table on the screen have call graphs. */
static const char *why_no_graphs(const struct top *t)
{
	const struct profile *p = t->view.profile;

	return t->report.graph == GRAPH_NONE || (p && !p->has_chains) ? "no call chains are recorded (-g)" :
	       t->rows.order					      ? "below rows with metrics are no call graphs" :
	       t->rows.shown.hierarchy ? "in a tree, E shows the call graphs of all rows" :
	       t->rows.shown.grouped   ? "of a group of events, E shows the call graphs of all rows" :
					 NULL;
}

/* The cursor goes to the row itself, as the line that it was in may not be there any more. */
static enum top_wish expand_row(struct top *t)
{
	const char *why_not = why_no_graphs(t);
	struct row_view v;
	u32 first;

	if (why_not)
		snprintf(t->state.said, sizeof(t->state.said), "%s", why_not);
	if (why_not || !top_row_at(&t->rows, t->view.profile, t->state.cursor, &v, &first))
		return TOP_REDRAW;
	top_open_flip(&t->state.open, &t->rows, &v);
	t->state.cursor = first;
	return TOP_REFRESH;
}

static enum top_wish choose_row(struct top *t, enum top_wish wish)
{
	if (wish == TOP_EXPAND)
		return expand_row(t);
	if (wish == TOP_ONLY_DSO)
		name_under_cursor(t, COLUMN_DSO, t->state.only_dso, sizeof(t->state.only_dso));
	else if (wish == TOP_ONLY_COMM)
		name_under_cursor(t, COLUMN_COMM, t->state.only_comm, sizeof(t->state.only_comm));
	else
		return wish;
	t->state.cursor = 0;
	return TOP_REFRESH;
}

/* All keys that there are: the wish that has most in it. */
static enum top_wish take_keys(struct top *t, const struct top_frame *f)
{
	enum top_wish wish = TOP_NONE, next;

	while (t->screen && (next = top_screen_key(t->screen, f, &t->state)) != TOP_NONE) {
		next = choose_row(t, next);
		wish = MAX(wish, next);
	}
	return wish;
}

static int show(struct top *t, const struct top_frame *f)
{
	if (!t->screen)
		return print_frame(t, f);
	top_screen_draw(t->screen, f, &t->state);
	return 0;
}

/* The recording has ended, and the last table stands on the screen until it is left. The recorder does not look for
 * signals any more. */
static void linger(struct top *t, struct top_frame *f)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .events = POLLIN } };
	enum top_wish wish = TOP_NONE;
	sigset_t set;

	if (!t->screen || t->result.interrupted || t->err)
		return;
	ending_signals(&set);
	fds[1].fd = signalfd(-1, &set, SFD_CLOEXEC);
	while (wish != TOP_QUIT && !fds[1].revents && !(fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		wish = take_keys(t, f);
		if (wish == TOP_REFRESH && refresh(t, false, f))
			break;
		if (wish != TOP_NONE)
			(void)show(t, f);
	}
	if (fds[1].fd >= 0)
		close(fds[1].fd);
}

static int watch(struct top *t)
{
	struct top_frame f = { 0 };
	u64 step = t->c.delay_s * 1000000000, next = clock_ns() + MIN(step, (u64)1000000000);
	u32 shown = 0;
	bool goes_on = true, due;
	int err = 0;

	while (goes_on && !err) {
		enum top_wish wish;

		goes_on = wait_until(t, next);
		wish = take_keys(t, &f);
		if (wish == TOP_QUIT)
			break;
		if (goes_on && clock_ns() < next && wish != TOP_REFRESH) {
			if (wish == TOP_REDRAW)
				(void)show(t, &f);
			continue;
		}
		f.ended = !goes_on;
		due = clock_ns() >= next;
		if (due)
			next = clock_ns() + step;
		if (!goes_on && t->err)
			break;
		err = refresh(t, due || !goes_on, &f);
		if (!err)
			err = show(t, &f);
		shown += f.table.len != 0; /* nothing may have come yet */
		if (t->c.refreshes && shown >= t->c.refreshes)
			break;
	}
	if (!goes_on && !err)
		linger(t, &f);
	bytes_free(&f.head);
	bytes_free(&f.table);
	return err;
}

static bool names_target(const struct target_opts *o)
{
	return o->pids || o->tids || o->uid || o->cpus || o->cgroups || o->command || o->system_wide;
}

/* Tables are made once a second at most: a round of the recorder takes half of that. */
static int set_delay(struct top_config *c, const struct notify *to)
{
	unsigned long long seconds;
	char *end;

	if (!c->delay)
		return 0;
	errno = 0;
	seconds = strtoull(c->delay, &end, 10);
	if (errno || *end || !isdigit((unsigned char)c->delay[0]) || !seconds)
		return notify_error(to, ERR_USAGE,
				    "option --delay: '%s' is not a number of whole seconds, 1 or more, which is the "
				    "shortest time between two tables",
				    c->delay);
	c->delay_s = MIN(seconds, (unsigned long long)UINT32_MAX);
	return 0;
}

/* From what was asked for to options of a recording and of a table. */
static int prepare(struct top *t, int argc, char **argv)
{
	struct report_config *r = &t->c.report;
	struct record_opts *o = &t->c.record.o;
	int err;

	r->select.input = "-"; /* nothing is looked for in a file */
	r->select.no_inline = !r->inlines;
	if (!r->select.threads)
		r->select.threads = 1;
	if (argc)
		o->target.command = argv;
	if (!names_target(&o->target))
		o->target.system_wide = true;
	o->attr.all_user |= t->c.hide_kernel;
	o->attr.all_kernel |= t->c.hide_user;
	o->output.build_ids = BUILDID_NONE;
	t->c.record.no_build_ids = true;
	err = set_delay(&t->c, t->ctx->notify);
	if (err)
		return err;
	t->state.zero = t->c.zero;
	if (t->c.hide_kernel && t->c.hide_user)
		return notify_error(t->ctx->notify, ERR_USAGE, "-K and -U exclude each other");
	err = report_resolve(r, &t->selected, &t->report, &t->windows, t->ctx->notify);
	return err ? err : record_prepare(&t->c.record, &t->specs, t->ctx->notify);
}

static void note_signal(int number)
{
	(void)number;
}

/* One that comes when the recorder does not look for it any more must not end the program before its screen. The
 * command gets them as they were. */
static void catch_late_signals(void)
{
	struct sigaction late = { .sa_handler = note_signal }, before;

	for (u32 i = 0; i < ARRAY_LEN(ending); i++)
		if (!sigaction(ending[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(ending[i], &late, NULL);
}

static void block_signals(void)
{
	sigset_t set;

	ending_signals(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static int start_recorder(struct top *t)
{
	int failed;

	t->ended_fd = eventfd(0, EFD_CLOEXEC);
	if (t->ended_fd < 0)
		return notify_error(t->ctx->notify, ERR_IO, "cannot make an eventfd: %s", strerror(errno));
	failed = pthread_create(&t->thread, NULL, record_thread, t);
	return failed ? notify_error(t->ctx->notify, ERR_IO, "cannot start a thread: %s", strerror(failed)) : 0;
}

/* Do the options need line information? */
static bool wants_lines(const struct top *t)
{
	const struct pipeline_opts *o = &t->selected.pipeline;
	bool lines = !o->no_inline || o->graph_key != GRAPH_KEY_FUNCTION || t->windows.range.file;

	for (u32 i = 0; i < o->nr_sort; i++)
		lines |= (KEYS_LINES | KEYS_BRANCH_LINES) >> MIN(o->sort_order[i], SORT_FIELD) & 1;
	return lines;
}

static int run(struct top *t)
{
	const struct live_opts lo = { .history_ms = (u32)MIN(t->c.history_s, (u64)86400) * 1000,
				      .max_bytes = MAX_BYTES };
	struct symbol_opts *symbols = &t->selected.pipeline.session.symbols;
	int err;

	/* Forked while there is one thread, and once, though DSOs are made anew now and then. */
	symbols->no_lines |= !wants_lines(t);
	t->parser = symbols->no_lines && !symbols->demangle ? NULL : apart_new();
	symbols->apart = t->parser;
	symbols->no_lines |= !t->parser;
	t->live = live_new(&lo, &t->notify);
	catch_late_signals();
	/* The screen is opened before the thread starts and closed after it ends, because what the thread notes
	 * depends on whether there is one. */
	if (!t->c.stdio && t->ctx->tty_out && isatty(STDIN_FILENO))
		(void)top_screen_open(&t->screen, t->ctx->color);
	err = start_recorder(t);
	if (!err) {
		/* The thread has the signals as they were, for the command that it starts; this one leaves them to it.
		 */
		block_signals();
		err = watch(t);
		kill(getpid(), SIGTERM);
		pthread_join(t->thread, NULL);
	}
	top_screen_close(t->screen);
	t->screen = NULL;
	return err ? err : t->err;
}

static int exit_status(const struct top *t, int err)
{
	if (err == ERR_USAGE)
		return EXIT_USAGE;
	if (err)
		return t->result.has_status && t->result.status ? t->result.status : EXIT_FAILURE;
	return t->result.has_status && !t->result.interrupted ? t->result.status : EXIT_SUCCESS;
}

int top_run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct top t = { .ctx = ctx, .c = *(const struct top_config *)config, .ended_fd = -1 };
	int err;

	mem_keep_freed();
	pthread_mutex_init(&t.lock, NULL);
	t.notify = (struct notify){ keep_note, &t };
	t.unwinding = unwinding_new(&t.notify);
	err = prepare(&t, argc, argv);
	if (!err)
		err = run(&t);
	live_free(t.live);
	apart_free(t.parser);
	top_rows_free(&t.rows);
	top_open_free(&t.state.open);
	if (t.notes.len)
		fwrite(t.notes.p, 1, t.notes.len, stderr);
	record_print_unwound("top", t.unwinding, t.c.record.o.attr.stack_dump);
	unwinding_free(t.unwinding);
	bytes_free(&t.notes);
	if (t.ended_fd >= 0)
		close(t.ended_fd);
	event_specs_free(&t.specs);
	free(t.c.record.events.v);
	free(t.result.path);
	selected_free(&t.selected);
	pthread_mutex_destroy(&t.lock);
	return exit_status(&t, err);
}
