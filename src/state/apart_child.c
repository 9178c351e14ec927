/* SPDX-License-Identifier: Apache-2.0 */
/* The children of state/apart.h: the keeper, and the parser's questions and answers. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"
#include "state/apart.h"
#include "state/apart_impl.h"
#include "state/data_types.h"
#include "state/demangle.h"
#include "state/dwarf.h"
#include "state/unxz.h"

#define KEPT_ROOM (1u << 20)
#define LONG_ANSWER (1u << 20) /* of functions: no further one is added */
_Static_assert(1 + UNXZ_MOST <= APART_LARGEST, "what is unpacked fits into an answer");

static void close_others(int keep)
{
	if (keep != APART_SOCKET)
		dup3(keep, APART_SOCKET, O_CLOEXEC);
	if (close_range(APART_SOCKET + 1, ~0u, 0))
		for (int fd = APART_SOCKET + 1; fd < 1024; fd++)
			close(fd);
}

/* Ends when there is nobody to ask any more. The keys of a terminal are for those who work there. */
_Noreturn void apart_keep(int sock)
{
	static const int ours[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP };
	struct bytes in = { 0 };
	struct apart_head h;
	pid_t parser = 0;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;

	for (u32 i = 0; i < ARRAY_LEN(ours); i++)
		signal(ours[i], SIG_IGN);
	signal(SIGBUS, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	for (int i = 0; i < APART_SOCKET && null >= 0 && null != sock; i++)
		if (i != sock)
			dup2(null, i);
	close_others(sock);
	while (apart_receive(APART_SOCKET, &h, &in, &fd) && fd >= 0) {
		if (parser > 0) {
			kill(parser, SIGKILL);
			waitpid(parser, NULL, 0);
		}
		parser = fork();
		if (!parser) {
			close_others(fd);
			apart_parse();
		}
		close(fd);
		if (!apart_send(APART_SOCKET, APART_ANSWER, &parser, sizeof(parser), -1))
			break;
	}
	if (parser > 0) {
		kill(parser, SIGKILL);
		waitpid(parser, NULL, 0);
	}
	_exit(0);
}

/* --- the parser --- */

struct parser {
	VEC(struct dwarf_file *) files;
	struct map by_id; /* the other side's number of a file -> files */
	struct bytes out;
	bool filtered;
};

static enum dwarf_part part_of(u32 how)
{
	return (enum dwarf_part)MIN(how / APART_PART, (u32)DWARF_TYPES);
}

static void on_open(struct parser *p, struct cursor c, int fd)
{
	u32 id = cursor_u32(&c), how = cursor_u32(&c);
	const struct str path = { (const char *)c.p, (u32)cursor_left(&c) };
	bool alone = how & APART_ALONE || !p->filtered;
	struct dwarf_file *f = dwarf_file_open(fd, &path, alone || how & APART_AHEAD, part_of(how));

	if (how & APART_AHEAD && !alone && (!f || dwarf_file_is_split(f))) {
		dwarf_file_close(f);
		bytes_u32(&p->out, APART_LATER);
		return;
	}
	map_set(&p->by_id, id, (u32)p->files.n);
	vec_push(&p->files, f);
	bytes_u32(&p->out, f ? APART_USABLE | (dwarf_file_is_split(f) ? APART_SPLIT : 0) : 0);
}

static void on_close(struct parser *p, struct cursor c)
{
	u32 at = map_get(&p->by_id, cursor_u32(&c));

	if (at == ID_NONE)
		return;
	dwarf_file_close(p->files.v[at]);
	p->files.v[at] = NULL;
}

static void put_text(const char *s, struct bytes *out)
{
	if (s)
		bytes_put(out, s, strlen(s) + 1);
}

static void on_lines(struct parser *p, struct cursor c)
{
	u32 at = map_get(&p->by_id, cursor_u32(&c));
	struct source_frame frames[APART_FRAMES];

	while (at != ID_NONE && p->files.v[at] && cursor_left(&c) >= sizeof(u64)) {
		u32 n = dwarf_file_at(p->files.v[at], cursor_u64(&c), frames, APART_FRAMES);

		bytes_u32(&p->out, n);
		for (u32 i = 0; i < n; i++) {
			bytes_u32(&p->out, frames[i].line);
			bytes_u8(&p->out, (u8)((frames[i].function ? APART_HAS_FUNCTION : 0) |
					       (frames[i].file ? APART_HAS_FILE : 0)));
			put_text(frames[i].function, &p->out);
			put_text(frames[i].file, &p->out);
		}
	}
}

static void on_functions(struct parser *p, struct cursor c)
{
	u32 at = map_get(&p->by_id, cursor_u32(&c));
	u64 known = 0; /* up to here */

	while (at != ID_NONE && p->files.v[at] && cursor_left(&c) >= sizeof(u64) && p->out.len < LONG_ANSWER) {
		u64 addr = cursor_u64(&c);

		if (addr >= known)
			known = dwarf_file_function(p->files.v[at], addr, &p->out);
	}
}

static void on_types(struct parser *p, struct cursor c)
{
	u32 at = map_get(&p->by_id, cursor_u32(&c)), n = cursor_u32(&c), machine = cursor_u32(&c);
	struct dwarf_file *f = at == ID_NONE ? NULL : p->files.v[at];
	struct data_code code = { .machine = (u16)machine, .start = cursor_u64(&c), .n = n };

	code.p = cursor_bytes(&c, n);
	while (f && !c.bad && cursor_left(&c) >= sizeof(u64)) {
		struct typed_place place;
		u64 addr = cursor_u64(&c);
		bool known = n ? data_types_of_code(dwarf_file_types(f), &code, addr, &place) :
				 data_types_at(dwarf_file_types(f), addr, &place);

		bytes_u32(&p->out, known);
		if (!known)
			continue;
		bytes_u64(&p->out, place.offset);
		put_text(place.type, &p->out);
		put_text(place.members, &p->out);
	}
}

static void on_names(struct parser *p, struct cursor c)
{
	const u8 *end;

	for (; cursor_left(&c) && (end = memchr(c.p, 0, cursor_left(&c))); c.p = end + 1) {
		char *shown = demangle((const char *)c.p);

		put_text(shown ? shown : "", &p->out);
		free(shown);
	}
}

static void on_unxz(struct parser *p, struct cursor c)
{
	bytes_u8(&p->out, 1);
	if (unxz(c.p, cursor_left(&c), &p->out))
		return;
	p->out.len = 0;
	bytes_u8(&p->out, 0);
}

/* Large messages come and go; memory is granted for one at a time. */
static void let_go(struct bytes *b)
{
	if (b->cap > KEPT_ROOM)
		bytes_free(b);
}

_Noreturn void apart_parse(void)
{
	struct parser p = { .filtered = apart_confine() };
	struct bytes in = { 0 };
	struct apart_head h;
	int fd;

	while (apart_receive(APART_SOCKET, &h, &in, &fd)) {
		struct cursor c = cursor_over(in.p, in.len, false);

		p.out.len = 0;
		if (h.kind == APART_CLOSE) {
			on_close(&p, c);
			continue;
		}
		if (h.kind == APART_OPEN)
			on_open(&p, c, fd);
		else if (h.kind == APART_LINES)
			on_lines(&p, c);
		else if (h.kind == APART_FUNCTIONS)
			on_functions(&p, c);
		else if (h.kind == APART_TYPES)
			on_types(&p, c);
		else if (h.kind == APART_NAMES)
			on_names(&p, c);
		else if (h.kind == APART_UNXZ)
			on_unxz(&p, c);
		if (p.out.len > APART_LARGEST)
			p.out.len = 0; /* which no answer is */
		if (!apart_send(APART_SOCKET, APART_ANSWER, p.out.p, (u32)p.out.len, -1))
			break;
		let_go(&p.out);
		let_go(&in);
	}
	_exit(0);
}
