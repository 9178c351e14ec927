/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of `reticle top`: the head, the table, a line of keys, in curses. What is drawn came through bytes_plain,
 * so names cannot steer the terminal. Nothing here knows the recording but for the row under the cursor, which top.c
 * looks up.
 */
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/top.h"

#define KEY_ESCAPE 27
#define HEAVY 5.0 /* percent, as perf colours them */
#define LIGHT 0.5
enum { PAIR_HEAVY = 1, PAIR_MIDDLE };

struct top_screen {
	SCREEN *terminal;
	bool color;
};

static const char *const help[] = {
	"h ?           this help; any key ends it",
	"q, Ctrl-C     quit",
	"Up, Down, PageUp, PageDown, Space, Home, End    move through the rows",
	"E, C          show and hide the call graphs of all rows (with -g)",
	"e, +, Enter   show and hide that of the row under the cursor",
	"d             only rows of the shared object under the cursor",
	"k             only rows of the kernel, without modules",
	"t             only threads of the name under the cursor",
	"/             only functions with a text in their names",
	"Esc, Left     all rows again",
	"z             each table covers the time since the one before, or the history",
	"f             hold the table, and let it go on",
	"F             shares of what the filters leave, or of everything",
	"L             leave out rows below a share",
	"V             whole paths of shared objects",
	"Tab           the table of the next event",
	"P             write the table into a file reticle.hist.N",
};

int top_screen_open(struct top_screen **out, bool color)
{
	struct top_screen *s;

	if (!top_terminal_known()) /* newterm, when it fails, leaves memory behind */
		return ERR_UNSUPPORTED;
	s = mem_zalloc(sizeof(*s));
	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8"))
		setlocale(LC_CTYPE, "C.UTF-8"); /* names are UTF-8 whatever the user's messages are */
	s->terminal = newterm(NULL, stdout, stdin);
	if (!s->terminal) {
		free(s);
		return ERR_UNSUPPORTED;
	}
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	s->color = color && has_colors() && start_color() == OK && use_default_colors() == OK;
	if (s->color) {
		init_pair(PAIR_HEAVY, COLOR_RED, -1);
		init_pair(PAIR_MIDDLE, COLOR_GREEN, -1);
	}
	*out = s;
	return 0;
}

void top_screen_close(struct top_screen *s)
{
	if (!s)
		return;
	endwin();
	delscreen(s->terminal);
	free(s);
}

u32 top_screen_columns(const struct top_screen *s)
{
	(void)s;
	return (u32)COLS;
}

static int columns_of(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

/* As much of the line as the screen has columns. */
static void draw_line(int y, struct str line)
{
	size_t n = 0;
	int columns = 0;

	for (; n < line.len; n++) {
		columns += (line.p[n] & 0xc0) != 0x80;
		if (columns > COLS)
			break;
	}
	mvaddnstr(y, 0, line.p, (int)n);
}

/* How heavy the row is that begins with its share. */
static int weight_of(const struct top_screen *s, struct str line)
{
	char text[16] = "", *end;
	double share;

	memcpy(text, line.p, MIN(line.len, sizeof(text) - 1));
	share = strtod(text, &end);
	if (!s->color || end == text || *end != '%')
		return A_NORMAL;
	return share >= HEAVY ? COLOR_PAIR(PAIR_HEAVY) : share >= LIGHT ? COLOR_PAIR(PAIR_MIDDLE) : A_NORMAL;
}

static u32 lines_in(const struct bytes *b)
{
	struct str line;
	size_t at = 0;
	u32 n = 0;

	while (bytes_line(b, &at, &line))
		n++;
	return n;
}

static u32 nr_rows(const struct top_frame *f)
{
	u32 n = lines_in(&f->table);

	return n > f->heading ? n - f->heading : 0;
}

/* Between the lines of the heads and the last one. */
static u32 room_for_rows(const struct top_frame *f)
{
	u32 heads = lines_in(&f->head) + f->heading + 1;

	return (u32)LINES > heads ? (u32)LINES - heads : 1;
}

static void keep_in_view(const struct top_frame *f, struct top_state *t)
{
	u32 rows = nr_rows(f), room = room_for_rows(f);

	t->cursor = rows ? MIN(t->cursor, rows - 1) : 0;
	if (t->cursor < t->first)
		t->first = t->cursor;
	if (t->cursor >= t->first + room)
		t->first = t->cursor - room + 1;
	if (t->first + room > rows)
		t->first = rows > room ? rows - room : 0;
}

static void draw_help(void)
{
	erase();
	for (u32 i = 0; i < ARRAY_LEN(help) && (int)i < LINES; i++)
		mvaddnstr((int)i, 1, help[i], MAX(COLS - 1, 0));
	refresh();
}

/* Takes what was typed, which is text. */
static enum top_wish take_filter(struct top_state *t)
{
	snprintf(t->filter, sizeof(t->filter), "%s", t->answer);
	return TOP_REFRESH;
}

static enum top_wish take_limit(struct top_state *t)
{
	char *end;
	double limit = strtod(t->answer, &end);

	if (end == t->answer || *end || !(limit >= 0 && limit <= 100)) {
		snprintf(t->said, sizeof(t->said), "that is no share: 0 to 100");
		return TOP_REDRAW;
	}
	t->percent_limit = limit;
	return TOP_REFRESH;
}

static const struct {
	int key;
	const char *text;
	enum top_wish (*take)(struct top_state *t);
} questions[] = {
	{ '/', "functions with this in their names: ", take_filter },
	{ 'L', "leave out rows below this share, in percent: ", take_limit },
};

static enum top_wish ask(struct top_state *t, int key)
{
	while (questions[t->question++].key != key)
		;
	*t->answer = 0;
	return TOP_REDRAW;
}

/* Takes the last character off, of which all bytes but the first are marked. */
static void rub_out(char *text)
{
	size_t n = strlen(text);

	while (n && (text[n - 1] & 0xc0) == 0x80)
		n--;
	text[n ? n - 1 : 0] = 0;
}

/* Tables and signals come meanwhile, so an answer comes key by key. */
static enum top_wish answer_with(struct top_state *t, int key)
{
	size_t n = strlen(t->answer);

	switch (key) {
	case '\n':
	case '\r':
	case KEY_ENTER:
		key = (int)t->question;
		t->question = 0;
		return questions[key - 1].take(t);
	case KEY_ESCAPE:
		t->question = 0;
		break;
	case KEY_BACKSPACE:
	case '\b':
	case 0x7f:
		rub_out(t->answer);
		break;
	default:
		if (key >= ' ' && key <= 0xff && n + 1 < sizeof(t->answer)) {
			t->answer[n] = (char)key;
			t->answer[n + 1] = 0;
		}
	}
	return TOP_REDRAW;
}

static void draw_foot(const struct top_frame *f, const struct top_state *t)
{
	struct bytes plain = { 0 }; /* names are what processes chose */
	char line[512];

	if (t->question)
		snprintf(line, sizeof(line), "%s%s", questions[t->question - 1].text, t->answer);
	else if (*t->said)
		snprintf(line, sizeof(line), "%s", t->said);
	else if (f->ended)
		snprintf(line, sizeof(line), "it has ended; this is the last table   q quit   h help");
	else
		snprintf(line, sizeof(line), "q quit   h help   / find%s%s%s%s%s%s%s%s",
			 *t->only_dso ? "   only " : "", t->only_dso, *t->only_comm ? "   only " : "", t->only_comm,
			 *t->filter ? "   with " : "", t->filter, t->zero ? "   zero" : "",
			 t->frozen ? "   held" : "");
	bytes_plain(&plain, line, strlen(line));
	attron(A_REVERSE);
	mvhline(LINES - 1, 0, ' ', COLS);
	draw_line(LINES - 1, (struct str){ (const char *)plain.p, (u32)plain.len });
	attroff(A_REVERSE);
	bytes_free(&plain);
	if (t->question)
		move(LINES - 1, MIN(columns_of(line), COLS - 1));
	curs_set(t->question != 0);
}

void top_screen_draw(struct top_screen *s, const struct top_frame *f, struct top_state *t)
{
	struct str line;
	size_t at = 0;
	int y = 0;

	if (t->help) {
		draw_help();
		return;
	}
	keep_in_view(f, t);
	erase();
	attron(A_BOLD);
	while (y < LINES - 1 && bytes_line(&f->head, &at, &line))
		draw_line(y++, line);
	at = 0;
	for (u32 i = 0; i < f->heading && y < LINES - 1 && bytes_line(&f->table, &at, &line); i++)
		draw_line(y++, line);
	attroff(A_BOLD);
	for (u32 i = 0; y < LINES - 1 && bytes_line(&f->table, &at, &line); i++) {
		int look = i == t->cursor ? A_REVERSE : weight_of(s, line);

		if (i < t->first)
			continue;
		attron(look);
		if (i == t->cursor)
			mvhline(y, 0, ' ', COLS);
		draw_line(y++, line);
		attroff(look);
	}
	draw_foot(f, t);
	refresh();
}

static enum top_wish all_rows(struct top_state *t)
{
	*t->filter = *t->only_dso = *t->only_comm = 0;
	return TOP_REFRESH;
}

static enum top_wish only_kernel(struct top_state *t)
{
	snprintf(t->only_dso, sizeof(t->only_dso), "[kernel.kallsyms]");
	t->cursor = 0;
	return TOP_REFRESH;
}

/* The table as it is, into the first file of that name that there is not. */
static enum top_wish print_table(const struct top_frame *f, struct top_state *t)
{
	char path[32];
	FILE *file = NULL;

	for (u32 i = 0; !file && i < 1000; i++) {
		snprintf(path, sizeof(path), "reticle.hist.%u", i);
		file = fopen(path, "wxe");
	}
	if (!file || !top_write(&f->head, f->head.len, file) || !top_write(&f->table, f->table.len, file) ||
	    fflush(file))
		snprintf(t->said, sizeof(t->said), "the table cannot be written here");
	else
		snprintf(t->said, sizeof(t->said), "the table is in %s", path);
	if (file)
		fclose(file);
	return TOP_REDRAW;
}

static enum top_wish move_by(const struct top_frame *f, struct top_state *t, s64 by)
{
	s64 to = (s64)t->cursor + by, last = (s64)nr_rows(f) - 1;

	t->cursor = (u32)MAX((s64)0, MIN(to, last));
	return TOP_REDRAW;
}

static enum top_wish flip(bool *what)
{
	*what = !*what;
	return TOP_REFRESH;
}

static enum top_wish change_view(const struct top_frame *f, struct top_state *t, int key)
{
	switch (key) {
	case 'E':
	case 'C':
		top_open_all(&t->open, key == 'E');
		return TOP_REFRESH;
	case 'e':
	case '+':
	case '\n':
	case '\r':
	case KEY_ENTER:
		return TOP_EXPAND;
	case 'z':
		return flip(&t->zero);
	case 'f':
		return flip(&t->frozen);
	case 'F':
		return flip(&t->other_base);
	case 'V':
		return flip(&t->long_names);
	case '\t':
		t->event++;
		return TOP_REFRESH;
	case 'd':
		return TOP_ONLY_DSO;
	case 'k':
		return only_kernel(t);
	case 't':
		return TOP_ONLY_COMM;
	case '/':
	case 'L':
		return ask(t, key);
	case 'P':
		return print_table(f, t);
	case KEY_LEFT:
	case KEY_ESCAPE:
		return all_rows(t);
	case KEY_RESIZE:
		return TOP_REFRESH;
	default:
		return TOP_REDRAW;
	}
}

enum top_wish top_screen_key(struct top_screen *s, const struct top_frame *f, struct top_state *t)
{
	int key = getch(), page = (int)room_for_rows(f);

	(void)s;
	if (key == ERR)
		return TOP_NONE;
	*t->said = 0;
	if (t->help && key != KEY_RESIZE && key != 'q') {
		t->help = false;
		return TOP_REDRAW;
	}
	if (t->question && key != KEY_RESIZE)
		return answer_with(t, key);
	switch (key) {
	case 'q':
	case 'Q':
		return TOP_QUIT;
	case 'h':
	case '?':
	case KEY_F(1):
		t->help = true;
		return TOP_REDRAW;
	case KEY_UP:
		return move_by(f, t, -1);
	case KEY_DOWN:
		return move_by(f, t, 1);
	case KEY_PPAGE:
		return move_by(f, t, -page);
	case KEY_NPAGE:
	case ' ':
		return move_by(f, t, page);
	case KEY_HOME:
		return move_by(f, t, -(s64)UINT32_MAX);
	case KEY_END:
		return move_by(f, t, UINT32_MAX);
	default:
		return change_view(f, t, key);
	}
}
