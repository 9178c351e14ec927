/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nobody says when a program has loaded the library that defines its thread context. So the BPF program asks again and
 * again for as long as samples come: at short intervals at the beginning, when programs load their libraries, and then
 * at longer ones. What a file says is kept, so that an answer costs little more than a look at the process's mappings.
 */
#include "record/activity.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/regular.h"
#include "base/set.h"
#include "codec/procmaps.h"
#include "open/retry.h"
#include "record/activity_prog.h"
#include "record/go_program.h"
#include "record/tls_symbol.h"
#include "sys/smallfile.h"

#define MAPS_MAX (16u << 20)
#define SOON_NS 1000000ull
#define SOON_TIMES 32u
#define LATE_NS 1000000000ull
#define FIRST_PID_NAMESPACE 0xeffffffcu /* the kernel's PROC_PID_INIT_INO */
#define FILES_MAX 65536u
#define PROCESSES_MAX 65536u
#define FILE_BYTES (64ull << 20)
#define OPENS_MAX 1024u	    /* for an answer */
#define TURN_NS 20000000ull /* for all answers of a turn */

/* The variables of which a file may have one. */
static const struct tls_name names[] = {
	[ACTIVITY_FORM_POINTER] = { "otel_thread_ctx_v1", 8, NULL, 0 },
	[ACTIVITY_FORM_NODE] = { "otel_thread_ctx_nodejs_v1", 32, NULL, 0 },
	[ACTIVITY_FORM_SET] = { "custom_labels_current_set", 8, "custom_labels_abi_version", 1 },
};

/* What a file says, by what it is: never by what it is called, as another user may call another file the same. */
struct known_file {
	u64 dev, ino, changed; /* of the file that was read: its st_ctim in ns */
	bool as_program;
	struct tls_symbol symbol;
	struct go_program go; /* of a program that has no context */
};

struct activities {
	struct activity_prog prog;
	const struct notify *to;
	u8 *consumer, *producer; /* pages of the ring of asks; data follow the producer's */
	size_t page;
	struct map asked; /* hash of a process's key -> how often it was asked for */
	VEC(struct known_file) files;
	struct set known; /* of files */
	bool told;	  /* that there are processes that cannot be looked at, */
	bool told_of_go;  /* or whose labels cannot be read */
	VEC(int) holders; /* of the programs of tracepoints */
	u64 turn_ends;	  /* no file is read and no answer begun after that, by clock_ns */
};

/* What an answer is made of. */
struct process {
	u32 pid;
	char exe[PATH_MAX];
	struct activity_target target;
	struct map code;      /* inodes of the files of which it runs something */
	u32 opened;	      /* files; */
	u32 read;	      /* and those of them about which nothing was known */
	struct go_program go; /* its own file is one, and has no context */
	int refused;	      /* the errno for which something of it was not to be looked at, or 0 */
	bool unfinished;      /* the turn was over before all files were read */
	bool from_program;    /* the program's own variable comes before those of libraries, as in dynamic linking */
	bool musl;
};

static int map_asks(struct activities *a)
{
	size_t page = a->page;

	a->consumer = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, a->prog.asks, 0);
	a->producer =
		mmap(NULL, page + 2 * (size_t)ACTIVITY_ASKS_BYTES, PROT_READ, MAP_SHARED, a->prog.asks, (off_t)page);
	if (a->consumer != MAP_FAILED && a->producer != MAP_FAILED)
		return 0;
	return notify_error(a->to, ERR_IO, "--activity: cannot map the ring of its BPF program: %s", strerror(errno));
}

static bool takes_samples(const struct open_event *e)
{
	return e->spec && e->attr.sample_period;
}

static int refuse_event(const struct activities *a, const struct open_event *e, const char *why)
{
	return notify_error(a->to, ERR_UNSUPPORTED, "--activity: %s takes no BPF program: %s%s", e->name,
			    strerror(errno), why);
}

/*
 * All events of a tracepoint share its programs, so it is attached to one: another event of the same tracepoint has
 * done so (EEXIST), or an event that counts nothing does. It is no event of the recording, as these are inherited:
 * when the first thread ends that has inherited one, the kernel takes the program from the tracepoint.
 */
static int attach_tracepoint(struct activities *a, const struct open_event *e, bool followed)
{
	struct attr attr = { .type = e->attr.type, .config = e->attr.config, .flags = ATTR_DISABLED };
	int fd;

	attr.size = attr_open_size(&attr);
	/* Of a CPU: an event of this task would make the program take it for a task that is recorded. */
	fd = perf_open(&attr, -1, sched_getcpu(), -1, 0);
	if (fd < 0)
		return refuse_event(a, e, "");
	vec_push(&a->holders, fd);
	/* Only the kernel knows which of them are probes. */
	for (enum activity_hit hit = 0; hit < NR_ACTIVITY_HITS; hit++) {
		int err = a->prog.on_hit[hit] < 0 ? activity_prog_load_on_hit(&a->prog, hit, followed, a->to) : 0;

		if (err)
			return err;
		if (!ioctl(fd, PERF_EVENT_IOC_SET_BPF, a->prog.on_hit[hit]) || errno == EEXIST)
			return 0;
		if (errno != EINVAL)
			break;
	}
	return refuse_event(a, e, "");
}

static int attach(struct activities *a, const struct open_event *e, bool followed)
{
	if (e->attr.type == PERF_TYPE_TRACEPOINT)
		return attach_tracepoint(a, e, followed);
	for (size_t i = 0; i < e->on.n; i++)
		if (ioctl(e->on.v[i].fd, PERF_EVENT_IOC_SET_BPF, a->prog.prog))
			return refuse_event(a, e, "");
	return 0;
}

/* BPF knows processes by the numbers of the first namespace. In the /proc of another one, others have these numbers.
 */
static bool in_first_namespace(void)
{
	struct stat st;

	return !stat("/proc/self/ns/pid", &st) && st.st_ino == FIRST_PID_NAMESPACE;
}

int activities_begin(struct activities **out, const struct notify *to)
{
	struct activities *a = mem_zalloc(sizeof(*a));
	int err;

	*out = a;
	a->to = to;
	a->prog = (struct activity_prog)ACTIVITY_PROG_NONE;
	a->page = (size_t)sysconf(_SC_PAGESIZE);
	a->consumer = a->producer = MAP_FAILED;
	if (!in_first_namespace())
		return notify_error(to, ERR_UNSUPPORTED,
				    "--activity works outside of containers only: in a PID namespace of their own, "
				    "processes have other numbers than those by which a BPF program knows them");
	err = activity_prog_load(&a->prog, to);
	return err ? err : map_asks(a);
}

void activities_tell(struct activities *a, const struct notify *to)
{
	a->to = to;
}

int activities_attach(struct activities *a, const struct event_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->events.n && !err; i++) {
		const struct open_event *e = &set->events.v[i];

		for (size_t k = 0; e->activity && k < e->on.n && !err; k++)
			if (activity_prog_output(&a->prog, (u32)e->on.v[k].cpu, e->on.v[k].fd))
				err = notify_error(a->to, ERR_IO,
						   "--activity: the kernel refuses the event that takes activities");
		if (takes_samples(e) && !err)
			err = attach(a, e, !set->system_wide);
	}
	return err;
}

void activities_end(struct activities *a)
{
	if (!a)
		return;
	if (a->consumer != MAP_FAILED)
		munmap(a->consumer, a->page);
	if (a->producer != MAP_FAILED)
		munmap(a->producer, a->page + 2 * (size_t)ACTIVITY_ASKS_BYTES);
	for (size_t i = 0; i < a->holders.n; i++)
		close(a->holders.v[i]);
	vec_free(&a->holders);
	activity_prog_close(&a->prog);
	map_free(&a->asked);
	set_free(&a->known);
	vec_free(&a->files);
	free(a);
}

int activities_fd(const struct activities *a)
{
	return a->prog.asks;
}

void activities_renew(struct activities *a)
{
	activity_prog_forget(&a->prog);
}

/*
 * The file that is mapped there, and no other: it may have been deleted or replaced, or be another one for the process
 * than for us. Whoever may not follow map_files (that takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE) gets the program
 * from its own link, and other files by their paths, if these still lead to the same inode; the device may have
 * another number in maps (btrfs, overlayfs).
 */
static int open_mapped(const struct process *p, const struct maps_line *m, const char *path, bool as_program)
{
	char name[64];
	struct stat st;
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/map_files/%llx-%llx", p->pid, (unsigned long long)m->start,
		 (unsigned long long)m->end);
	fd = regular_open(name);
	if (fd >= 0)
		return fd;
	snprintf(name, sizeof(name), "/proc/%u/%s", p->pid, as_program ? "exe" : "root");
	fd = as_program ? regular_open(name) : regular_open_in(name, path);
	if (fd < 0 || as_program || (!fstat(fd, &st) && st.st_ino == m->ino))
		return fd;
	close(fd);
	return -ENOENT;
}

static bool same_file(const struct known_file *a, const struct known_file *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->changed == b->changed && a->as_program == b->as_program;
}

/* What the open file says. In each answer one new file is read at least: with the next answers come the others. */
static void read_file(struct activities *a, struct process *p, int fd, struct known_file *f)
{
	u64 left = FILE_BYTES, hash;
	struct stat st;
	u32 id, at;

	if (fstat(fd, &st))
		return;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->changed = (u64)st.st_ctim.tv_sec * 1000000000 + (u64)st.st_ctim.tv_nsec;
	hash = hash_pair(hash_pair(f->dev, f->ino), f->changed + f->as_program);
	SET_FIND(id, &a->known, hash, at, same_file(&a->files.v[id], f));
	if (id != ID_NONE) {
		*f = a->files.v[id];
		return;
	}
	if (p->read++ && clock_ns() >= a->turn_ends) {
		p->unfinished = true;
		return;
	}
	tls_symbol_find(fd, names, ARRAY_LEN(names), f->as_program, &left, &f->symbol);
	if (f->as_program && (f->symbol.kind == ACTIVITY_KIND_NONE || f->symbol.name == ACTIVITY_FORM_SET))
		go_program_find(fd, &left, &f->go);
	if (a->files.n >= FILES_MAX) {
		set_free(&a->known);
		a->files.n = 0;
	}
	set_add(&a->known, hash, (u32)a->files.n);
	vec_push(&a->files, *f);
}

static bool has_context(const struct process *p)
{
	return p->target.kind != ACTIVITY_KIND_NONE && p->target.form != ACTIVITY_FORM_SET;
}

/* A program in Go says by its labels what its threads work for, if none of its files has a context. */
static void use_go(struct process *p)
{
	if (!p->go.is_go || *p->go.why_not || p->unfinished || has_context(p))
		return;
	p->target.kind = ACTIVITY_KIND_STATIC;
	p->target.form = (u16)p->go.form;
	p->target.where = (u64)p->go.where;
	p->target.go = p->go.at;
}

/* Is this the variable to take, though another one may have been found? A context comes before labels, as it says
 * more; of two contexts, or two sets of labels, the program's own one comes before that of a library. */
static bool comes_first(const struct process *p, const struct tls_symbol *s, bool as_program)
{
	bool context = s->name != ACTIVITY_FORM_SET;

	if (p->target.kind == ACTIVITY_KIND_NONE)
		return true;
	return context == has_context(p) ? as_program && !p->from_program : context;
}

/* The first mapping of a file: does it define the variable? */
static void look_at_file(struct activities *a, struct process *p, const struct maps_line *m)
{
	struct known_file f = { .symbol = { .kind = ACTIVITY_KIND_NONE } };
	const struct tls_symbol *s = &f.symbol;
	struct bytes path = { 0 };
	int fd;

	if (p->opened++ >= OPENS_MAX)
		return;
	maps_path_plain(m->path, &path);
	bytes_u8(&path, 0);
	f.as_program = !strcmp((const char *)path.p, p->exe);
	fd = open_mapped(p, m, (const char *)path.p, f.as_program);
	bytes_free(&path);
	if (fd < 0) {
		p->refused = fd == -EACCES || fd == -EPERM ? -fd : p->refused;
		return;
	}
	read_file(a, p, fd, &f);
	close(fd);
	p->musl |= f.as_program && s->musl;
	if (f.go.is_go)
		p->go = f.go;
	if (s->kind > ACTIVITY_KIND_NONE && comes_first(p, s, f.as_program)) {
		p->from_program = f.as_program;
		p->target.kind = s->kind;
		p->target.form = (u16)s->name;
		p->target.where = f.as_program ? s->where : s->where + (m->start - s->first);
	}
}

static bool begins(struct str s, const char *with)
{
	return s.len >= strlen(with) && !memcmp(s.p, with, strlen(with));
}

static void look_at_mapping(struct activities *a, struct process *p, const struct maps_line *m)
{
	if (begins(m->path, "/memfd:OTEL_CTX") || begins(m->path, "[anon_shmem:OTEL_CTX]") ||
	    begins(m->path, "[anon:OTEL_CTX]"))
		p->target.context = m->start;
	else if (begins(m->path, "/") && !m->pgoff && map_get(&p->code, m->ino) != ID_NONE)
		look_at_file(a, p, m);
}

/* What the C library has where (glibc's and musl's ABI): the table of modules, and the size of its entries. */
static void set_table(struct process *p)
{
#if defined(__x86_64__)
	p->target.dtv_at = 8;
	p->target.dtv_width = p->musl ? 8 : 16;
#else
	p->target.dtv_at = p->musl ? -8 : 0;
	p->target.dtv_width = p->musl ? 8 : 16;
#endif
}

/* Nobody needs to open the data that a process maps, of which there may be many files. */
static void find_code(struct process *p, const struct bytes *maps)
{
	struct maps_line m;
	struct str line;
	size_t at = 0;

	while (bytes_line(maps, &at, &line))
		if (maps_line_parse(line.p, line.len, &m) && m.prot & PROT_EXEC && m.ino)
			map_set(&p->code, m.ino, 0);
}

static void look_at_process(struct activities *a, struct process *p)
{
	struct bytes maps = { 0 };
	struct maps_line m;
	struct str line;
	char name[32];
	size_t at = 0;
	ssize_t n;
	int err;

	snprintf(name, sizeof(name), "/proc/%u/exe", p->pid);
	n = readlink(name, p->exe, sizeof(p->exe) - 1);
	p->exe[MAX(n, 0)] = '\0';
	snprintf(name, sizeof(name), "/proc/%u/maps", p->pid);
	err = smallfile_read(AT_FDCWD, name, MAPS_MAX, &maps);
	if (err == -EACCES || err == -EPERM || err == -EFBIG)
		p->refused = -err;
	if (!err)
		find_code(p, &maps);
	while (!err && bytes_line(&maps, &at, &line))
		if (maps_line_parse(line.p, line.len, &m))
			look_at_mapping(a, p, &m);
	bytes_free(&maps);
	map_free(&p->code);
	if (p->unfinished && !has_context(p))
		p->target.kind = ACTIVITY_KIND_NONE; /* labels count when no file has a context */
	use_go(p);
	set_table(p);
}

/* How often it was asked for, with this time. */
static u32 times_asked(struct activities *a, const struct activity_key *key)
{
	u32 *times;

	if (a->asked.n >= PROCESSES_MAX)
		map_free(&a->asked);
	times = map_at(&a->asked, hash_pair(key->id, key->started), 0);
	*times += *times < UINT16_MAX;
	return *times;
}

/* Its samples do not count as those of threads that work for nothing. */
static void refuse(struct activities *a, struct process *p)
{
	p->target.kind = ACTIVITY_KIND_REFUSED;
	if (!a->told)
		notify_warn(a->to,
			    "--activity: process %u cannot be looked at: %s%s; samples of such processes are counted "
			    "apart",
			    p->pid, strerror(p->refused),
			    p->refused == EFBIG ? "" : " (processes of other users take CAP_SYS_PTRACE)");
	a->told = true;
}

/* Likewise, if it is in Go and nobody knows where its runtime has what. */
static void refuse_go(struct activities *a, struct process *p)
{
	p->target.kind = ACTIVITY_KIND_REFUSED;
	if (!a->told_of_go)
		notify_warn(a->to,
			    "--activity: labels of process %u, a program in Go, cannot be read: %s; samples of such "
			    "processes are counted apart",
			    p->pid, p->go.why_not);
	a->told_of_go = true;
}

static void answer(struct activities *a, const struct activity_key *key)
{
	struct process *p = mem_zalloc(sizeof(*p));
	u32 times = times_asked(a, key);
	struct activity_target before = { .kind = ACTIVITY_KIND_UNASKED };

	p->pid = (u32)(key->id >> 32);
	p->target.kind = ACTIVITY_KIND_NONE;
	look_at_process(a, p);
	if (activity_prog_target(&a->prog, key, &before) && before.context == p->target.context)
		p->target.published = before.published;
	if (p->unfinished && p->target.kind == ACTIVITY_KIND_NONE) {
		p->target.kind = before.kind;
		p->target.where = before.where;
		p->target.form = before.form;
		p->target.go = before.go;
	} else if (p->refused && p->target.kind == ACTIVITY_KIND_NONE) {
		refuse(a, p);
	} else if (*p->go.why_not && p->target.kind == ACTIVITY_KIND_NONE) {
		refuse_go(a, p);
	}
	p->target.ask_after = times <= SOON_TIMES ? SOON_NS : MIN(SOON_NS << MIN(times - SOON_TIMES, 10u), LATE_NS);
	if (p->target.kind > ACTIVITY_KIND_NONE && p->target.context)
		p->target.ask_after = LATE_NS;
	activity_prog_set_target(&a->prog, key, &p->target);
	free(p);
}

/* The kernel's protocol of BPF_MAP_TYPE_RINGBUF: a head of 8 bytes before each record, which is aligned to 8.
 * Questions that are left when the turn ends wait, as the descriptor stays readable. */
void activities_answer(struct activities *a)
{
	u64 at = *(u64 *)(void *)a->consumer, end = __atomic_load_n((u64 *)(void *)a->producer, __ATOMIC_ACQUIRE);
	const u8 *data = a->producer + a->page;

	a->turn_ends = clock_ns() + TURN_NS;
	while (at < end && clock_ns() < a->turn_ends) {
		const u8 *record = data + (at & (ACTIVITY_ASKS_BYTES - 1));
		u32 len = __atomic_load_n((const u32 *)(const void *)record, __ATOMIC_ACQUIRE);
		struct activity_key key;

		if (len & BPF_RINGBUF_BUSY_BIT)
			break;
		memcpy(&key, record + BPF_RINGBUF_HDR_SZ, sizeof(key));
		at += ((u64)(len & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT)) + BPF_RINGBUF_HDR_SZ + 7) &
		      ~7ull;
		__atomic_store_n((u64 *)(void *)a->consumer, at, __ATOMIC_RELEASE);
		answer(a, &key);
	}
}
