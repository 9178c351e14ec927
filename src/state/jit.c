/* SPDX-License-Identifier: Apache-2.0 */
#include "state/jit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/regular.h"
#include "codec/jitdump.h"
#include "state/dso_table.h"

/* Room for all of a record but its code; names and line tables beyond this are cut off. */
#define WINDOW (256u << 10)
#define FIRST_AFTER_NS (600ull * 1000000000) /* no dump waits longer for its first record */

bool jit_is_dump(struct str path, u32 pid)
{
	char name[32];
	u32 n = (u32)snprintf(name, sizeof(name), "/jit-%u.dump", pid);

	return path.len >= n && !memcmp(path.p + path.len - n, name, n);
}

/* The file through a window: records are short, but for the code in them. */
struct reader {
	int fd;
	u8 *buf;
	u64 at;	     /* file offset of buf[0] */
	size_t have; /* bytes in buf */
};

/* At least `want` bytes at that offset, or what the file has left. */
static const u8 *look(struct reader *r, u64 offset, size_t want, size_t *have)
{
	if (offset < r->at || offset > r->at + r->have || r->at + r->have - offset < want) {
		ssize_t n = pread(r->fd, r->buf, WINDOW, (off_t)offset);

		r->at = offset;
		r->have = n > 0 ? (size_t)n : 0;
	}
	*have = (size_t)(r->at + r->have - offset);
	return r->buf + (offset - r->at);
}

struct loader {
	struct dsos *d;
	u32 pid;
	u64 begun;   /* when the dump was, by the clock of its records */
	bool begins; /* begun is known to be of that clock */
	jit_code_fn add;
	void *ctx;
	struct map names; /* code index -> its name, in `texts` */
	VEC(char *) texts;
};

/* The header's time should be of the records' clock. V8 writes another one there: then the dump begins with its first
 * record. */
static void begin(struct loader *l, u64 first)
{
	if (!l->begins && (first < l->begun || first - l->begun > FIRST_AFTER_NS))
		l->begun = first;
	l->begins = true;
}

static void add_code(struct loader *l, u64 index, u64 start, u64 len, u64 time, struct str name)
{
	char path[64];
	int n = snprintf(path, sizeof(path), "jitted-%u-%llu.so", l->pid, (unsigned long long)index);
	u32 dso = dsos_get(l->d, &(struct dso_key){ .kind = DSO_JIT, .path = { path, (u32)n }, .pid = l->pid });

	if (!len || start > UINT64_MAX - len)
		return;
	dsos_add_symbol(l->d, dso, start, start + len, name);
	l->add(l->ctx, start, len, time, l->begun, dso);
}

static void on_load(struct loader *l, const struct jitdump_record *r)
{
	const struct jitdump_load *load = &r->load;

	begin(l, r->time);
	map_set(&l->names, load->index, (u32)l->texts.n);
	vec_push(&l->texts, mem_strndup(load->name.p, load->name.len));
	add_code(l, load->index, load->addr, load->code_size, r->time, load->name);
}

/* Collectors move code: it keeps its name at its new place. */
static void on_move(struct loader *l, const struct jitdump_record *r)
{
	u32 text = map_get(&l->names, r->move.index);

	if (text != ID_NONE)
		add_code(l, r->move.index, r->move.new_addr, r->move.code_size, r->time,
			 (struct str){ l->texts.v[text], (u32)strlen(l->texts.v[text]) });
}

static int read_records(struct loader *l, struct reader *r, const char *path, u64 offset, bool swap)
{
	struct jitdump_record rec;
	size_t have;
	const u8 *p;
	int err;

	for (;; offset += rec.size) {
		p = look(r, offset, 4096, &have);
		if (!have)
			return 0;
		err = jitdump_decode(p, have, swap, &rec);
		if (err == ERR_TRUNCATED && have < WINDOW) {
			p = look(r, offset, WINDOW, &have);
			err = jitdump_decode(p, have, swap, &rec);
		}
		if (rec.size && err < 0)
			continue; /* one bad record; its size leads on */
		if (err < 0)
			return notify_at(l->d->notify, NOTE_WARNING, err, path, offset,
					 "the jitdump ends inside a record; code after it has no names");
		if (rec.id == JITDUMP_CODE_LOAD)
			on_load(l, &rec);
		else if (rec.id == JITDUMP_CODE_MOVE)
			on_move(l, &rec);
		else if (rec.id == JITDUMP_CODE_CLOSE)
			return 0;
	}
}

static bool owner_is_fine(int fd, u32 pid)
{
	struct stat file, process;
	char path[32];

	if (fstat(fd, &file) < 0 || !S_ISREG(file.st_mode))
		return false;
	snprintf(path, sizeof(path), "/proc/%u", pid);
	return !file.st_uid || file.st_uid == geteuid() ||
	       (stat(path, &process) == 0 && process.st_uid == file.st_uid);
}

static int open_dump(const struct dsos *d, const char *path, u32 pid)
{
	char root[32];
	int fd = -1;

	if (d->opts.symfs)
		return regular_open_in(d->opts.symfs, path);
	if (d->opts.offline)
		return -ENOENT;
	snprintf(root, sizeof(root), "/proc/%u/root", pid);
	if (path[0] == '/')
		fd = regular_open_in(root, path);
	return fd >= 0 ? fd : regular_open(path);
}

int jit_load(struct dsos *d, const char *path, u32 pid, jit_code_fn add, void *ctx)
{
	struct reader r = { .fd = open_dump(d, path, pid) };
	struct loader l = { .d = d, .pid = pid, .add = add, .ctx = ctx };
	struct jitdump_header h;
	const u8 *p;
	size_t have;
	int err;

	if (r.fd < 0)
		return notify_at(d->notify, NOTE_WARNING, ERR_NOTFOUND, path, NO_OFFSET,
				 "cannot open this jitdump; the code it lists has no names");
	if (!owner_is_fine(r.fd, pid)) {
		close(r.fd);
		return notify_at(d->notify, NOTE_WARNING, ERR_PERM, path, NO_OFFSET,
				 "not used: this jitdump does not belong to the user of the process");
	}
	r.buf = mem_alloc(WINDOW);
	p = look(&r, 0, JITDUMP_HEADER_SIZE, &have);
	err = jitdump_header_decode(p, have, &h);
	if (err < 0)
		notify_at(d->notify, NOTE_WARNING, err, path, 0, "not a jitdump of version 1");
	else {
		l.begun = h.time;
		err = read_records(&l, &r, path, h.size, h.swap);
	}
	for (size_t i = 0; i < l.texts.n; i++)
		free(l.texts.v[i]);
	vec_free(&l.texts);
	map_free(&l.names);
	free(r.buf);
	close(r.fd);
	return err;
}
