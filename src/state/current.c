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
/* Of all unwind information together: files are anybody's. */
#define MOST_BYTES (1ull << 30)
#define DEAD_KEPT 4096 /* entries of processes that are gone, before they are cleared away */

struct mapping {
	u64 start, end; /* end exclusive */
	u64 pgoff;
	u32 file; /* in files */
};

struct current_space {
	u32 pid;
	u32 losses;  /* as current.losses when its mappings were known */
	u32 threads; /* besides the first one, as far as known */
	bool leaderless;
	bool replaced;	       /* by exec: what is mapped next is the first of the new program */
	VEC(struct mapping) v; /* by address; none overlap */
};

enum file_state {
	FILE_UNTRIED, /* nobody has asked for it yet */
	FILE_USED,
	FILE_NONE, /* memory without a file, or a file that is not there any more */
};

struct file {
	char *path;		 /* owned */
	u64 inode;		 /* 0: not known */
	u32 pid;		 /* a process that maps it */
	struct cfi_index *index; /* FILE_USED */
	u8 state;
	u8 build_id_size;
	u8 build_id[20];
};

struct current {
	struct dsos *dsos;
	u32 losses;	 /* number of records that say that others were lost */
	struct map pids; /* -> place in spaces, or FREE */
	VEC(struct current_space *) spaces;
	VEC(u32) unused;	/* places in it */
	u32 dead;		/* entries of pids that are FREE */
	u64 bytes;		/* of what files hold */
	struct map known_files; /* hash of what names a file -> place in: */
	VEC(struct file) files; /* the first one is none */
};

#define FREE (ID_NONE - 1)

struct current *current_new(struct dsos *dsos)
{
	struct current *c = mem_zalloc(sizeof(*c));

	c->dsos = dsos;
	vec_push(&c->files, (struct file){ .state = FILE_NONE });
	return c;
}

void current_free(struct current *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->spaces.n; i++) {
		vec_free(&c->spaces.v[i]->v);
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
	s->pid = pid;
	s->losses = c->losses;
	s->threads = 0;
	s->leaderless = s->replaced = false;
	s->v.n = 0;
	return s;
}

bool current_doubtful(const struct current *c, u32 pid)
{
	u32 at = map_get(&c->pids, pid);

	return c->losses != (at == ID_NONE || at == FREE ? 0 : c->spaces.v[at]->losses);
}

void current_again(struct current *c, u32 pid)
{
	struct current_space *s = current_space(c, pid);
	u32 threads = s ? s->threads : 0;
	bool leaderless = s && s->leaderless;

	s = new_space(c, pid);
	s->threads = threads;
	s->leaderless = leaderless;
}

static void drop_space(struct current *c, struct current_space *s)
{
	vec_push(&c->unused, map_get(&c->pids, s->pid));
	map_set(&c->pids, s->pid, FREE);
	vec_free(&s->v);
	*s = (struct current_space){ 0 };
	if (++c->dead > DEAD_KEPT + c->spaces.n)
		clear_dead(c);
}

static void apply_fork(struct current *c, const struct rec_task *t)
{
	struct current_space *parent, *child;

	if (t->pid == t->ppid) {
		child = current_space(c, t->pid);
		if (child)
			child->threads++;
		return;
	}
	child = new_space(c, t->pid);
	parent = current_space(c, t->ppid);
	/* A process that existed before comes without a time, and with its own mappings. */
	if (!parent || !t->time)
		return;
	vec_reserve(&child->v, parent->v.n);
	if (parent->v.n)
		memcpy(child->v.v, parent->v.v, parent->v.n * sizeof(*child->v.v));
	child->v.n = parent->v.n;
	child->losses = parent->losses;
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
	if (s->leaderless && !s->threads)
		drop_space(c, s);
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
	s->leaderless = false;
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
				  .pid = m->pid,
				  .build_id_size = m->build_id_size };

		memcpy(f.build_id, m->build_id, sizeof(f.build_id));
		vec_push(&c->files, f);
	}
	/* Who maps it now lives longer than who mapped it first. */
	c->files.v[*at].pid = m->pid;
	return *at;
}

/* Where the first mapping that ends after addr is. */
static size_t after(const struct current_space *s, u64 addr)
{
	size_t low = 0, high = s->v.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->v.v[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert_at(struct current_space *s, size_t at, const struct mapping *m)
{
	vec_reserve(&s->v, s->v.n + 1);
	memmove(s->v.v + at + 1, s->v.v + at, (s->v.n - at) * sizeof(*s->v.v));
	s->v.v[at] = *m;
	s->v.n++;
}

/* What was in [start, end) is not there any more. Returns where it was. */
static size_t clear_range(struct current_space *s, u64 start, u64 end)
{
	size_t at = after(s, start), last;
	struct mapping *m = at < s->v.n ? &s->v.v[at] : NULL;

	if (m && m->start < start) {
		struct mapping rest = *m;

		m->end = start;
		at++;
		if (rest.end > end) {
			rest.pgoff += end - rest.start;
			rest.start = end;
			insert_at(s, at, &rest);
			return at;
		}
	}
	for (last = at; last < s->v.n && s->v.v[last].end <= end; last++)
		;
	memmove(s->v.v + at, s->v.v + last, (s->v.n - last) * sizeof(*s->v.v));
	s->v.n -= last - at;
	if (at < s->v.n && s->v.v[at].start < end) {
		s->v.v[at].pgoff += end - s->v.v[at].start;
		s->v.v[at].start = end;
	}
	return at;
}

static void apply_mmap(struct current *c, const struct record *r)
{
	const struct rec_mmap *m = &r->mmap;
	struct mapping v = { .start = m->start, .end = m->start + m->len, .pgoff = m->pgoff };
	struct current_space *s;
	size_t at;

	if ((r->h.misc & PERF_RECORD_MISC_CPUMODE_MASK) != PERF_RECORD_MISC_USER || v.end <= v.start)
		return;
	s = current_space(c, m->pid);
	if (!s)
		s = new_space(c, m->pid);
	if (s->replaced) {
		s->v.n = 0;
		s->replaced = false;
	}
	at = clear_range(s, v.start, v.end);
	if (!(m->prot & PROT_EXECUTE))
		return;
	v.file = file_of(c, m);
	insert_at(s, at, &v);
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
	c->bytes -= cfi_index_bytes(f->index);
	cfi_index_free(f->index);
	free(f->index);
	f->index = NULL;
	f->state = FILE_NONE;
}

/* Reads its unwind information. */
static void try_file(struct current *c, struct file *f)
{
	struct dso_key key = { .kind = f->path[0] == '[' ? DSO_VDSO : DSO_FILE,
			       .path = { f->path, (u32)strlen(f->path) },
			       .build_id = f->build_id_size ? f->build_id : NULL,
			       .build_id_size = f->build_id_size };
	char path[4352];

	f->state = FILE_NONE;
	if (key.kind == DSO_VDSO && strcmp(f->path, "[vdso]"))
		return;
	if (f->inode && inode_of(f->path) != f->inode) {
		snprintf(path, sizeof(path), "/proc/%u/root%s", f->pid, f->path);
		if (inode_of(path) != f->inode)
			return;
		key.path = (struct str){ path, (u32)strlen(path) };
	}
	/* Another file had the path before. */
	if (key.kind == DSO_FILE)
		dsos_outdate(c->dsos, key.path);
	f->index = dsos_cfi_index(c->dsos, dsos_get(c->dsos, &key));
	/* One that was replaced meanwhile may be what was read. */
	if (!f->inode || inode_of(key.path.p) == f->inode)
		f->state = FILE_USED;
	c->bytes += cfi_index_bytes(f->index);
	if (f->state == FILE_NONE || c->bytes > MOST_BYTES)
		forget_index(c, f);
}

bool current_find(struct current *c, const struct current_space *s, u64 pc, struct current_code *out)
{
	size_t at = after(s, pc);
	const struct mapping *m = at < s->v.n ? &s->v.v[at] : NULL;
	struct file *f;

	if (!m || m->start > pc)
		return false;
	f = &c->files.v[m->file];
	if (f->state == FILE_UNTRIED)
		try_file(c, f);
	*out = (struct current_code){
		.start = m->start, .end = m->end, .shift = m->pgoff - m->start, .file = m->file
	};
	if (f->state == FILE_USED)
		out->index = f->index;
	return true;
}

const char *current_path(const struct current *c, u32 file)
{
	return c->files.v[file].path ? c->files.v[file].path : "";
}
