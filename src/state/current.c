/* SPDX-License-Identifier: Apache-2.0 */
#include "state/current.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/cfi.h"
#include "state/no_file.h"

#define PROT_EXECUTE 4u
/* Of all unwind information together, and of what is read for one process: files are anybody's. */
#define MOST_BYTES (1ull << 30)
#define MOST_BYTES_OF_ONE (256ull << 20)
/* The kernel does not report unmapping, so the known mappings of a process can grow without bound, and each new one
 * moves those above it. If there are too many, all are forgotten and read again. */
#define MOST_MAPPINGS 16384
#define MOST_TOGETHER (1u << 22)
#define DEAD_KEPT 4096	/* entries of processes that are gone, before they are cleared away */
#define ENDED_KEPT 1024 /* processes whose first thread has ended, and perhaps all others */

struct mapping {
	u64 start, end; /* end exclusive */
	u64 pgoff;
	u32 file; /* in files */
};

/* A process shares them with its parent until one of both changes them. */
struct mappings {
	u32 refs;
	VEC(struct mapping) v; /* by address; none overlap */
};

struct current_space {
	u32 pid;
	u32 losses;  /* as current.losses when its mappings were known */
	u32 threads; /* besides the first one, as far as known */
	bool leaderless;
	bool ended;	    /* no thread of it is known any more: it is in current.ended */
	bool replaced;	    /* by exec: what is mapped next is the first of the new program */
	bool forgotten;	    /* mappings were too many */
	u64 read;	    /* bytes of unwind information that were read, and run, for it */
	struct mappings *m; /* NULL: none */
};

enum file_state {
	FILE_UNTRIED, /* nobody has asked for it yet, or who asked could not find it */
	FILE_USED,
	FILE_NONE, /* memory without a file */
};

struct file {
	char *path;		 /* owned */
	u64 inode;		 /* 0: not known */
	u64 bytes;		 /* FILE_USED: as counted in current.bytes */
	u32 users;		 /* number of mappings, over all struct mappings */
	u32 refused;		 /* a process in whose place it was not there, or too large; 0: none */
	struct cfi_index *index; /* FILE_USED */
	u8 state;
	u8 build_id_size;
	u8 build_id[20];
};

struct current {
	struct dsos *dsos;
	const struct notify *notify;
	u32 losses;	 /* number of records that say that others were lost */
	struct map pids; /* -> place in spaces, or FREE */
	VEC(struct current_space *) spaces;
	VEC(u32) unused; /* places in it */
	u32 dead;	 /* entries of pids that are FREE */
	u64 bytes;	 /* of what files hold */
	u32 idle;	 /* files that hold some, and that nobody maps any more */
	u32 generation;
	bool told_full, told_one;
	size_t mappings;		   /* over all struct mappings */
	u32 ended[ENDED_KEPT], next_ended; /* pids, 0: none; the place of the oldest one */
	struct map known_files;		   /* hash of what names a file -> place in: */
	VEC(struct file) files;		   /* the first one is none */
};

#define FREE (ID_NONE - 1)

struct current *current_new(struct dsos *dsos, const struct notify *notify)
{
	struct current *c = mem_zalloc(sizeof(*c));

	c->dsos = dsos;
	c->notify = notify;
	vec_push(&c->files, (struct file){ .state = FILE_NONE });
	return c;
}

/* --- mappings, and how many there are of each file */

static void use_file(struct current *c, u32 file)
{
	struct file *f = &c->files.v[file];

	c->idle -= !f->users++ && f->state == FILE_USED;
	c->mappings++;
}

static void leave_file(struct current *c, u32 file)
{
	struct file *f = &c->files.v[file];

	c->idle += !--f->users && f->state == FILE_USED;
	c->mappings--;
}

/* Its space has none any more. */
static void drop_mappings(struct current *c, struct current_space *s)
{
	struct mappings *m = s->m;

	s->m = NULL;
	if (!m || --m->refs)
		return;
	for (size_t i = 0; i < m->v.n; i++)
		leave_file(c, m->v.v[i].file);
	vec_free(&m->v);
	free(m);
}

/* Before they are changed. */
static struct mappings *own_mappings(struct current *c, struct current_space *s)
{
	struct mappings *shared = s->m, *m = shared;

	if (m && m->refs == 1)
		return m;
	m = mem_zalloc(sizeof(*m));
	m->refs = 1;
	for (size_t i = 0; shared && i < shared->v.n; i++) {
		vec_push(&m->v, shared->v.v[i]);
		use_file(c, shared->v.v[i].file);
	}
	if (shared)
		shared->refs--;
	s->m = m;
	return m;
}

static void forget_mappings(struct current *c, struct current_space *s)
{
	drop_mappings(c, s);
	s->forgotten = true;
}

/* Of the process that has most, and of who shares them. */
static void forget_most(struct current *c)
{
	const struct mappings *most = NULL;

	for (size_t i = 0; i < c->spaces.n; i++)
		if (c->spaces.v[i]->m && (!most || c->spaces.v[i]->m->v.n > most->v.n))
			most = c->spaces.v[i]->m;
	for (size_t i = 0; most && i < c->spaces.n; i++)
		if (c->spaces.v[i]->m == most)
			forget_mappings(c, c->spaces.v[i]);
}

void current_free(struct current *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->spaces.n; i++) {
		drop_mappings(c, c->spaces.v[i]);
		free(c->spaces.v[i]);
	}
	vec_free(&c->spaces);
	for (size_t i = 0; i < c->files.n; i++) {
		if (c->files.v[i].index)
			cfi_index_free(c->files.v[i].index);
		free(c->files.v[i].index);
		free(c->files.v[i].path);
	}
	vec_free(&c->files);
	vec_free(&c->unused);
	map_free(&c->pids);
	map_free(&c->known_files);
	free(c);
}

/* --- processes */

struct current_space *current_space(struct current *c, u32 pid)
{
	u32 at = map_get(&c->pids, pid);

	return at == ID_NONE || at == FREE ? NULL : c->spaces.v[at];
}

/* The map has no way to take an entry out. */
static void clear_dead(struct current *c)
{
	struct map pids = { 0 };

	for (u32 i = 0; i <= c->pids.mask; i++)
		if (c->pids.slots[i].value != ID_NONE && c->pids.slots[i].value != FREE)
			map_set(&pids, c->pids.slots[i].key, c->pids.slots[i].value);
	map_free(&c->pids);
	c->pids = pids;
	c->dead = 0;
}

/* One that is empty, in place of any that this process had. */
static struct current_space *new_space(struct current *c, u32 pid)
{
	struct current_space *s = current_space(c, pid);
	u32 at;

	if (!s) {
		if (c->unused.n) {
			at = c->unused.v[--c->unused.n];
		} else {
			at = (u32)c->spaces.n;
			vec_push(&c->spaces, mem_zalloc(sizeof(struct current_space)));
		}
		s = c->spaces.v[at];
		c->dead -= map_get(&c->pids, pid) == FREE;
		map_set(&c->pids, pid, at);
	}
	drop_mappings(c, s);
	*s = (struct current_space){ .pid = pid, .losses = c->losses };
	return s;
}

bool current_doubtful(struct current *c, u32 pid)
{
	const struct current_space *s = current_space(c, pid);

	return c->losses != (s ? s->losses : 0) || (s && s->forgotten);
}

void current_again(struct current *c, u32 pid)
{
	struct current_space *s = current_space(c, pid);

	if (!s) {
		new_space(c, pid);
		return;
	}
	drop_mappings(c, s);
	s->replaced = false;
	current_settle(c, pid);
}

void current_settle(struct current *c, u32 pid)
{
	struct current_space *s = current_space(c, pid);

	if (!s)
		return;
	s->losses = c->losses;
	s->forgotten = false;
}

static void drop_space(struct current *c, struct current_space *s)
{
	vec_push(&c->unused, map_get(&c->pids, s->pid));
	map_set(&c->pids, s->pid, FREE);
	drop_mappings(c, s);
	*s = (struct current_space){ 0 };
	if (++c->dead > DEAD_KEPT + c->spaces.n)
		clear_dead(c);
}

/*
 * Threads that existed before the recording are not told, and end after the first one as well as before. So nobody
 * knows when the last one has ended; who may have is kept until some more have.
 */
static void end_space(struct current *c, u32 pid)
{
	u32 *oldest = &c->ended[c->next_ended++ % ENDED_KEPT];
	struct current_space *s = current_space(c, *oldest);

	if (s && s->ended)
		drop_space(c, s);
	*oldest = 0;
	s = current_space(c, pid);
	if (!s)
		return;
	s->ended = true;
	*oldest = pid;
}

static void apply_fork(struct current *c, const struct rec_task *t)
{
	struct current_space *parent, *child;

	if (t->pid == t->ppid) {
		child = current_space(c, t->pid);
		if (child) {
			child->threads++;
			child->ended = false;
		}
		return;
	}
	child = new_space(c, t->pid);
	parent = current_space(c, t->ppid);
	/* A process that existed before comes without a time, and with its own mappings. */
	if (!parent || !t->time)
		return;
	child->m = parent->m;
	if (child->m)
		child->m->refs++;
	child->losses = parent->losses;
	child->forgotten = parent->forgotten;
	child->read = parent->read;
}

static void apply_exit(struct current *c, const struct rec_task *t)
{
	struct current_space *s = current_space(c, t->pid);

	if (!s)
		return;
	if (t->pid == t->tid)
		s->leaderless = true;
	else
		s->threads -= s->threads > 0;
	if (s->leaderless && !s->threads && !s->ended)
		end_space(c, t->pid);
}

/* Samples within execve still have their call in the old program. */
static void apply_exec(struct current *c, u32 pid)
{
	struct current_space *s = current_space(c, pid);

	if (!s)
		return;
	s->replaced = true;
	s->losses = c->losses;
	s->threads = 0;
	s->read = 0;
	s->leaderless = s->ended = s->forgotten = false;
}

static bool is_named(const struct rec_mmap *m)
{
	return m->filename.len && (m->filename.p[0] == '/' || m->filename.p[0] == '[') && !mapping_has_no_file(m) &&
	       !(m->filename.len > 6 && !memcmp(m->filename.p, "[anon:", 6));
}

static u32 file_of(struct current *c, const struct rec_mmap *m)
{
	u64 key = hash_bytes(m->filename.p, m->filename.len);
	u32 *at;

	if (!is_named(m))
		return 0;
	if (m->build_id_size)
		key = hash_mix(key, hash_bytes(m->build_id, m->build_id_size));
	else
		key = hash_mix(key, hash_pair((u64)m->maj << 32 | m->min, m->ino));
	at = map_at(&c->known_files, key, (u32)c->files.n);
	if (*at == c->files.n) {
		struct file f = { .path = mem_strndup(m->filename.p, m->filename.len),
				  .inode = m->build_id_size ? 0 : m->ino,
				  .build_id_size = m->build_id_size };

		memcpy(f.build_id, m->build_id, sizeof(f.build_id));
		vec_push(&c->files, f);
	}
	c->files.v[*at].refused = 0;
	return *at;
}

/* Where the first mapping that ends after addr is. */
static size_t after(const struct mappings *m, u64 addr)
{
	size_t low = 0, high = m->v.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->v.v[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert_at(struct current *c, struct mappings *m, size_t at, const struct mapping *new)
{
	use_file(c, new->file);
	vec_reserve(&m->v, m->v.n + 1);
	memmove(m->v.v + at + 1, m->v.v + at, (m->v.n - at) * sizeof(*m->v.v));
	m->v.v[at] = *new;
	m->v.n++;
}

static void remove_from(struct current *c, struct mappings *m, size_t at, size_t last)
{
	for (size_t i = at; i < last; i++)
		leave_file(c, m->v.v[i].file);
	if (last > at)
		memmove(m->v.v + at, m->v.v + last, (m->v.n - last) * sizeof(*m->v.v));
	m->v.n -= last - at;
}

/* What was in [start, end) is not there any more. Returns where it was. */
static size_t clear_range(struct current *c, struct mappings *m, u64 start, u64 end)
{
	size_t at = after(m, start), last;
	struct mapping *first = at < m->v.n ? &m->v.v[at] : NULL;

	if (first && first->start < start) {
		struct mapping rest = *first;

		first->end = start;
		at++;
		if (rest.end > end) {
			rest.pgoff += end - rest.start;
			rest.start = end;
			insert_at(c, m, at, &rest);
			return at;
		}
	}
	for (last = at; last < m->v.n && m->v.v[last].end <= end; last++)
		;
	remove_from(c, m, at, last);
	if (at < m->v.n && m->v.v[at].start < end) {
		m->v.v[at].pgoff += end - m->v.v[at].start;
		m->v.v[at].start = end;
	}
	return at;
}

static void apply_mmap(struct current *c, const struct record *r)
{
	const struct rec_mmap *m = &r->mmap;
	struct mapping v = { .start = m->start, .end = m->start + m->len, .pgoff = m->pgoff };
	struct current_space *s;
	struct mappings *own;
	size_t at;

	if ((r->h.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER || v.end <= v.start)
		return;
	s = current_space(c, m->pid);
	if (!s)
		s = new_space(c, m->pid);
	s->ended = false;
	if (s->replaced)
		drop_mappings(c, s);
	s->replaced = false;
	if (s->m && s->m->v.n >= MOST_MAPPINGS)
		forget_mappings(c, s);
	if (c->mappings >= MOST_TOGETHER)
		forget_most(c);
	own = own_mappings(c, s);
	at = clear_range(c, own, v.start, v.end);
	if (!(m->prot & PROT_EXECUTE))
		return;
	v.file = file_of(c, m);
	insert_at(c, own, at, &v);
}

void current_apply(struct current *c, const struct record *r)
{
	switch (r->h.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		apply_mmap(c, r);
		break;
	case PERF_RECORD_LOST:
		c->losses++;
		break;
	case PERF_RECORD_FORK:
		apply_fork(c, &r->task);
		break;
	case PERF_RECORD_EXIT:
		apply_exit(c, &r->task);
		break;
	case PERF_RECORD_COMM:
		if (r->comm.exec)
			apply_exec(c, r->comm.pid);
		break;
	default:
		break;
	}
}

/* The inode number of a file; 0: it is not there. */
static u64 inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (u64)st.st_ino;
}

static void forget_index(struct current *c, struct file *f)
{
	c->bytes -= f->bytes;
	f->bytes = 0;
	cfi_index_free(f->index);
	free(f->index);
	f->index = NULL;
	f->state = FILE_UNTRIED;
}

/* What nobody maps any more is kept while there is room: the next process may map it again. */
static void make_room(struct current *c)
{
	for (size_t i = 1; c->idle && i < c->files.n; i++)
		if (c->files.v[i].state == FILE_USED && !c->files.v[i].users) {
			forget_index(c, &c->files.v[i]);
			c->idle--;
			c->generation++;
		}
}

static bool has_room(struct current *c)
{
	if (c->bytes >= MOST_BYTES)
		make_room(c);
	if (c->bytes < MOST_BYTES)
		return true;
	if (!c->told_full)
		notify_warn(c->notify, "unwind information takes 1 GB: no more is read, so stacks end in files that "
				       "come later");
	c->told_full = true;
	return false;
}

static bool may_read(struct current *c, const struct current_space *s)
{
	if (s->read < MOST_BYTES_OF_ONE)
		return has_room(c);
	if (!c->told_one)
		notify_warn(c->notify,
			    "process %u has mapped 256 MB of unwind information: no more is read for it, "
			    "nor for others that do so",
			    s->pid);
	c->told_one = true;
	return false;
}

static void count_bytes(struct current *c, struct current_space *s, struct file *f)
{
	u64 bytes = cfi_index_bytes(f->index);

	c->bytes += bytes - f->bytes;
	s->read += bytes - f->bytes;
	f->bytes = bytes;
}

/* Reads its unwind information, as this process has it. Where that fails, it may be there for another one. */
static void try_file(struct current *c, struct current_space *s, struct file *f)
{
	struct dso_key key = { .kind = f->path[0] == '[' ? DSO_VDSO : DSO_FILE,
			       .path = { f->path, (u32)strlen(f->path) },
			       .build_id = f->build_id_size ? f->build_id : NULL,
			       .build_id_size = f->build_id_size };
	char path[4352];

	if (key.kind == DSO_VDSO && strcmp(f->path, "[vdso]"))
		f->state = FILE_NONE;
	if (f->state == FILE_NONE || f->refused == s->pid || !may_read(c, s))
		return;
	f->refused = s->pid;
	if (f->inode && inode_of(f->path) != f->inode) {
		snprintf(path, sizeof(path), "/proc/%u/root%s", s->pid, f->path);
		if (inode_of(path) != f->inode)
			return;
		key.path = (struct str){ path, (u32)strlen(path) };
	}
	/* Another file had the path before. */
	if (key.kind == DSO_FILE)
		dsos_outdate(c->dsos, key.path);
	f->index = dsos_cfi_index(c->dsos, dsos_get(c->dsos, &key));
	f->state = FILE_USED;
	count_bytes(c, s, f);
	if (c->bytes > MOST_BYTES)
		make_room(c);
	/* One that was replaced meanwhile may be what was read. */
	if (c->bytes > MOST_BYTES || (f->inode && inode_of(key.path.p) != f->inode))
		forget_index(c, f);
}

bool current_find(struct current *c, struct current_space *s, u64 pc, struct current_code *out)
{
	size_t at = s->m ? after(s->m, pc) : 0;
	const struct mapping *m = s->m && at < s->m->v.n ? &s->m->v.v[at] : NULL;
	struct file *f;

	if (!m || m->start > pc)
		return false;
	f = &c->files.v[m->file];
	if (f->state == FILE_UNTRIED)
		try_file(c, s, f);
	*out = (struct current_code){
		.start = m->start, .end = m->end, .shift = m->pgoff - m->start, .file = m->file
	};
	if (f->state == FILE_USED)
		out->index = f->index;
	return true;
}

u32 current_rules(struct current *c, struct current_space *s, const struct current_code *code, u64 addr)
{
	u64 ran = code->index->ran;
	u32 rules = cfi_index_find(code->index, addr, may_read(c, s));

	s->read += code->index->ran - ran;
	count_bytes(c, s, &c->files.v[code->file]);
	return rules;
}

const char *current_file_path(const struct current *c, u32 file)
{
	return c->files.v[file].path ? c->files.v[file].path : "";
}

u32 current_generation(const struct current *c)
{
	return c->generation;
}
