/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/progress.h"

#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "cmd/output.h"

#define SHOW_AFTER_NS 500000000u
#define REDRAW_NS 100000000u

static void wipe(struct progress *p)
{
	static const char blank[] = "\r\033[K";

	if (p->drawn && write(STDERR_FILENO, blank, sizeof(blank) - 1) < 0)
		p->on = false;
	p->drawn = false;
}

static void pass_note(void *ctx, const struct note *note)
{
	struct progress *p = ctx;

	pthread_mutex_lock(&p->lock);
	wipe(p);
	if (p->behind && p->behind->fn)
		p->behind->fn(p->behind->ctx, note);
	pthread_mutex_unlock(&p->lock);
}

void progress_start(struct progress *p, bool terminal, const struct notify *notify)
{
	u32 rows, columns;

	*p = (struct progress){ .on = terminal, .start_ns = clock_ns(), .behind = notify, .columns = 80 };
	pthread_mutex_init(&p->lock, NULL);
	terminal_size(STDERR_FILENO, &rows, &columns);
	if (terminal && columns)
		p->columns = (int)columns;
	p->notify = (struct notify){ pass_note, p };
}

/* "processing  [#########           ]  43%", in one write so that lines do not tear. */
static void draw(struct progress *p, const char *what, u64 done, u64 total)
{
	u64 percent = total ? MIN((u64)100, (u64)(100.0 * (double)done / (double)total)) : 0;
	int bar = MIN(40, p->columns - (int)strlen(what) - 12), full;
	struct bytes line = { 0 };

	bytes_char(&line, '\r');
	bytes_str(&line, what);
	if (bar > 4) {
		full = (int)(percent * (u64)bar / 100);
		bytes_str(&line, "  [");
		bytes_repeat(&line, '#', full);
		bytes_repeat(&line, ' ', bar - full);
		bytes_char(&line, ']');
	}
	bytes_printf(&line, " %3u%%\033[K", (u32)percent);
	p->drawn = true;
	if (write(STDERR_FILENO, line.p, line.len) < 0)
		p->on = false;
	bytes_free(&line);
}

void progress_report(void *ctx, const char *what, u64 done, u64 total)
{
	struct progress *p = ctx;
	u64 now = clock_ns();

	pthread_mutex_lock(&p->lock);
	if (p->on && now - p->start_ns > SHOW_AFTER_NS && now - p->drawn_ns > REDRAW_NS) {
		draw(p, what, done, total);
		p->drawn_ns = now;
	}
	pthread_mutex_unlock(&p->lock);
}

void progress_stop(struct progress *p)
{
	pthread_mutex_lock(&p->lock);
	wipe(p);
	p->on = false;
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_destroy(&p->lock);
}
