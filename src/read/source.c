/* SPDX-License-Identifier: Apache-2.0 */
#include "read/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular.h"
#include "codec/tracefmt.h"
#include "read/source_impl.h"
#include "read/spool.h"

#define SPOOL_CHUNK (256u << 10)
#define ANON_GROUP "{anon_group}" /* what perf calls a group that its user gave no name */

/* Events stand in EVENT_DESC in the order of their attrs. */
static void apply_names(struct source *s)
{
	size_t n = MIN(s->events.events.n, s->features.event_desc.n);

	for (size_t i = 0; i < n; i++) {
		const char *name = s->features.event_desc.v[i].name;

		if (*name)
			evlist_rename(&s->events, (u32)i, (struct str){ name, (u32)strlen(name) });
	}
}

/* EVENT_DESC need not name tracepoints: their formats do, where the recording has them. */
static void name_tracepoints(struct source *s)
{
	struct tracefmt formats = { 0 };
	bool nameless = false;

	for (size_t i = s->features.event_desc.n; i < s->events.events.n; i++)
		nameless |= s->events.events.v[i].attr.type == PERF_TYPE_TRACEPOINT;
	if (!nameless || !s->features.tracing_data_size)
		return;
	(void)tracefmt_decode(cursor_over(s->features.tracing_data, s->features.tracing_data_size, false), &formats);
	for (size_t i = s->features.event_desc.n; i < s->events.events.n; i++) {
		const struct attr *a = &s->events.events.v[i].attr;
		const struct trace_event *e = NULL;
		char *name;

		if (a->type == PERF_TYPE_TRACEPOINT && a->config <= UINT32_MAX)
			e = tracefmt_find(&formats, (u32)a->config);
		if (!e)
			continue;
		name = mem_printf("%.*s:%.*s", (int)e->system.len, e->system.p, (int)e->name.len, e->name.p);
		evlist_rename(&s->events, (u32)i, (struct str){ name, (u32)strlen(name) });
		free(name);
	}
	tracefmt_free(&formats);
}

/* A line of simpleperf's "event_type_info": NAME,TYPE,CONFIG. An empty name: it is none. */
static struct str read_event_type(struct str line, u64 *type, u64 *config)
{
	const char *comma = memchr(line.p, ',', line.len);
	char text[64], *end;
	size_t n = comma ? (size_t)(line.p + line.len - comma) - 1 : 0;

	if (!n || n >= sizeof(text))
		return (struct str){ "", 0 };
	memcpy(text, comma + 1, n);
	text[n] = 0;
	*type = strtoull(text, &end, 10);
	if (*end != ',')
		return (struct str){ "", 0 };
	*config = strtoull(end + 1, &end, 10);
	return (struct str){ line.p, *end ? 0 : (u32)(comma - line.p) };
}

static void name_simpleperf_event(struct source *s, struct str name, u64 type, u64 config)
{
	for (size_t i = s->features.event_desc.n; i < s->events.events.n; i++)
		if (s->events.events.v[i].attr.type == type && s->events.events.v[i].attr.config == config)
			evlist_rename(&s->events, (u32)i, name);
}

/*
 * simpleperf writes no EVENT_DESC, but says what it calls the events: all that is known of those whose numbers are the
 * CPU's own. There are no more lines than events.
 */
static void name_simpleperf_events(struct source *s)
{
	size_t lines = s->events.events.n;
	struct str info = { "", 0 };

	for (size_t i = 0; i < s->features.meta.n; i++) {
		const struct feat_meta *m = &s->features.meta.v[i];

		if (m->key.len == 15 && !memcmp(m->key.p, "event_type_info", 15))
			info = m->value;
	}
	while (info.len && lines--) {
		const char *end = memchr(info.p, '\n', info.len);
		struct str line = { info.p, end ? (u32)(end - info.p) : info.len };
		u64 type, config;
		struct str name = read_event_type(line, &type, &config);

		if (name.len && type >= PERF_TYPE_RAW && type != PERF_TYPE_BREAKPOINT)
			name_simpleperf_event(s, name, type, config);
		info.p += line.len + !!end;
		info.len -= line.len + !!end;
	}
}

/* An event is in one group at most: what all groups claim together is bounded by that. */
static void apply_groups(struct source *s)
{
	size_t n = s->events.events.n, left = n;

	for (size_t i = 0; i < s->features.groups.n; i++) {
		const struct feat_group *g = &s->features.groups.v[i];
		struct event *leader;

		if (g->leader >= n || g->members > n - g->leader || g->members > left) {
			(void)notify_at(s->notify, NOTE_WARNING, ERR_FORMAT, s->path, NO_OFFSET,
					"group %zu and those after it are left out: they have members that are "
					"not events, or that are in two groups",
					i);
			return;
		}
		left -= g->members;
		leader = &s->events.events.v[g->leader];
		for (u32 k = 0; k < g->members; k++)
			leader[k].leader = g->leader;
		leader->group_members = MAX(g->members, 1u);
		free(leader->group_name);
		leader->group_name = strcmp(g->name, ANON_GROUP) ? mem_strdup(g->name) : NULL;
	}
}

static int note_bad_header(const struct source *s, int err)
{
	return notify_at(s->notify, NOTE_ERROR, err, s->path, 0, "%s",
			 err == ERR_TRUNCATED ? "the file ends inside its header" : "not a perf.data file");
}

/* The stream's first bytes, as they come: one that begins as no recording does may have no end, and is not copied. */
struct stream_head {
	u8 p[PERFDATA_PIPE_HEADER_SIZE];
	u64 len;
};

static int check_head(const struct source *s, struct stream_head *head, const u8 *p, u64 n)
{
	u64 more = MIN(sizeof(head->p) - head->len, n);
	struct perfdata_header h;

	if (!more)
		return 0;
	memcpy(head->p + head->len, p, more);
	head->len += more;
	if (perfdata_header_decode(cursor_over(head->p, head->len, false), &h) != ERR_FORMAT)
		return 0;
	return note_bad_header(s, ERR_FORMAT);
}

/* What cannot be mapped (a pipe, a socket) is copied first. */
static int spool_input(struct source *s, int fd)
{
	struct stream_head head = { 0 };
	struct spool spool;
	u8 *chunk;
	ssize_t n = 1;
	int err = spool_open(&spool, s->path, s->notify);

	if (err)
		return err;
	chunk = mem_alloc(SPOOL_CHUNK);
	while (!err && n) {
		n = read(fd, chunk, SPOOL_CHUNK);
		if (n > 0) {
			err = check_head(s, &head, chunk, (u64)n);
			if (err)
				break;
			spool_put(&spool, chunk, (size_t)n);
			err = spool_check(&spool, s->notify);
		} else if (n < 0 && errno != EINTR) {
			err = notify_at(s->notify, NOTE_ERROR, ERR_IO, s->path, NO_OFFSET, "cannot read: %s",
					strerror(errno));
		}
	}
	free(chunk);
	if (err) {
		spool_close(&spool);
		return err;
	}
	err = spool_map(&spool, &s->maps[0].p, s->notify);
	s->file_size = spool.size;
	return err;
}

static int map_file(struct source *s, int fd, u64 size)
{
	void *p = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;

	if (p == MAP_FAILED)
		return notify_at(s->notify, NOTE_ERROR, ERR_IO, s->path, NO_OFFSET, "cannot map: %s", strerror(errno));
	s->maps[0].p = p;
	s->file_size = size;
	return 0;
}

static int load(struct source *s, int fd)
{
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return notify_at(s->notify, NOTE_ERROR, ERR_IO, s->path, NO_OFFSET, "cannot stat: %s",
				 strerror(errno));
	if (isatty(fd))
		return notify_at(s->notify, NOTE_ERROR, ERR_USAGE, s->path, NO_OFFSET,
				 "a terminal, not a recording (pipe one in, or name a file with -i)");
	if (S_ISREG(st.st_mode) && st.st_mtim.tv_sec > 0 && strcmp(s->path, "-") != 0)
		s->changed_ns = (u64)st.st_mtim.tv_sec * 1000000000 + (u64)st.st_mtim.tv_nsec;
	err = S_ISREG(st.st_mode) ? map_file(s, fd, (u64)st.st_size) : spool_input(s, fd);
	if (err)
		return err;
	s->maps[0].size = s->map_bytes = s->file_size;
	if (!s->file_size)
		return notify_at(s->notify, NOTE_ERROR, ERR_TRUNCATED, s->path, 0, "empty: not a perf.data file");
	return 0;
}

static int cannot_open(const struct source *s)
{
	return notify_at(s->notify, NOTE_ERROR, errno == EACCES ? ERR_PERM : ERR_IO, s->path, NO_OFFSET,
			 "cannot open: %s%s", strerror(errno),
			 errno == ENOENT ? " (make one with 'reticle record')" : "");
}

/* *dir is the directory that the recording is, or -1. */
static int open_input(struct source *s, int *dir)
{
	bool is_stdin = !strcmp(s->path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(s->path, O_RDONLY | O_CLOEXEC), err;
	struct stat st;

	if (fd < 0)
		return cannot_open(s);
	if (!is_stdin && !fstat(fd, &st) && S_ISDIR(st.st_mode)) {
		char *data = mem_printf("%s/data", s->path);

		*dir = fd;
		fd = regular_open(data);
		free(data);
		if (fd < 0)
			return notify_at(s->notify, NOTE_ERROR, ERR_FORMAT, s->path, NO_OFFSET,
					 "a directory, but not a recording: it has no file 'data'");
	}
	err = load(s, fd);
	if (!is_stdin)
		close(fd);
	return err;
}

static int read_header(struct source *s)
{
	int err = perfdata_header_decode(cursor_over(s->maps[0].p, s->file_size, false), &s->header);

	s->swap = s->header.swap;
	s->pipe = s->header.pipe;
	if (!err)
		return 0;
	return note_bad_header(s, err);
}

static int settle_events(struct source *s)
{
	if (!s->events.events.n)
		return notify_at(s->notify, NOTE_ERROR, ERR_FORMAT, s->path, NO_OFFSET,
				 "the recording describes no event");
	name_tracepoints(s);
	name_simpleperf_events(s);
	apply_names(s);
	apply_groups(s);
	return evlist_seal(&s->events, s->notify, s->path);
}

static int read_all(struct source *s)
{
	int dir = -1, err = open_input(s, &dir);

	if (!err)
		err = read_header(s);
	if (!err)
		err = s->pipe ? source_read_pipe(s) : source_read_file(s, dir);
	if (dir >= 0)
		close(dir);
	return err ? err : settle_events(s);
}

int source_open(struct source **out, const char *path, const struct notify *notify)
{
	struct source *s = mem_zalloc(sizeof(*s));
	int err;

	s->path = arena_strndup(&s->arena, path, strlen(path));
	s->notify = notify;
	err = read_all(s);
	if (err) {
		source_close(s);
		s = NULL;
	}
	*out = s;
	return err;
}

int source_of_stream(struct source **out, const u8 *head, u64 size, const struct notify *notify)
{
	struct source *s = mem_zalloc(sizeof(*s));
	int err;

	s->path = "the events";
	s->notify = notify;
	s->maps[0].p = (void *)head;
	s->file_size = size;
	err = read_header(s);
	if (!err)
		err = s->pipe ? source_read_pipe(s) : note_bad_header(s, ERR_FORMAT);
	s->maps[0].p = NULL; /* it is not ours */
	if (!err)
		err = settle_events(s);
	if (err) {
		source_close(s);
		s = NULL;
	}
	*out = s;
	return err;
}

void source_close(struct source *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < ARRAY_LEN(s->maps); i++)
		if (s->maps[i].p)
			munmap(s->maps[i].p, s->maps[i].size);
	evlist_free(&s->events);
	features_free(&s->features);
	arena_free(&s->arena);
	free(s);
}
