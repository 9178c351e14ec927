/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings of the guest.
 *
 * The initial program and its interpreter are mapped by QEMU without a syscall of the guest, and what an mmap really
 * got is only known afterwards. So a mapping is looked up when code of it is translated first: in /proc/self/maps, for
 * guest addresses are this process's addresses (QEMU's guest_base is 0 for 64-bit guests). Text is not executable
 * there, for it is never run as it is; what the guest asked for is in QEMU's page flags (page_get_flags, exported by
 * the binary). They also tell neighbours apart that the kernel made one mapping of, because for it both are read-only
 * data.
 *
 * What was announced is remembered until the guest changes its mappings. A mapping that is looked up again is
 * announced again only if it changed: readers would cope, but recordings would grow.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "codec/elf_notes.h"
#include "codec/procmaps.h"
#include "vpmu/tasks_impl.h"

#define PAGE 4096u
#define WRITABLE_AT_FIRST 0x10 /* QEMU's flag of a page: before it protected it */
#define HEAD_SIZE 4096u	       /* the kernel finds a build id in the first page only */

/* The guest's protection of a page, PROT_* numbers and more; 0: not the guest's. Absent from QEMU binaries that export
 * no symbols. */
extern int page_get_flags(u64 address) __attribute__((weak));

static bool read_all(const char *path, struct bytes *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = -1;

	if (fd < 0)
		return false;
	do {
		bytes_grow(out, PAGE * 4);
		n = read(fd, out->p + out->len, PAGE * 4);
		out->len += n > 0 ? (size_t)n : 0;
	} while (n > 0 || (n < 0 && errno == EINTR));
	close(fd);
	return n == 0;
}

/* One line of /proc/self/maps, and the place behind it. NULL: there is no more. */
static const char *next_line(const struct bytes *text, const char *at, struct maps_line *out)
{
	const char *end = (const char *)text->p + text->len, *eol;

	while (at < end && (eol = memchr(at, '\n', (size_t)(end - at)))) {
		bool good = maps_line_parse(at, (size_t)(eol - at), out);

		at = eol + 1;
		if (good)
			return at;
	}
	return NULL;
}

/* What the guest takes for one mapping: memory without a file is in several where QEMU protects some of it. Lines are
 * sorted. */
static const char *next_mapping(const struct bytes *text, const char *at, struct maps_line *out)
{
	struct maps_line next;
	const char *behind;

	at = next_line(text, at, out);
	while (at && !out->ino && (behind = next_line(text, at, &next)) && !next.ino && next.start == out->end) {
		out->end = next.end;
		at = behind;
	}
	return at;
}

static bool find_mapping(const struct bytes *text, u64 address, struct maps_line *out)
{
	const char *at = (const char *)text->p;

	while ((at = next_mapping(text, at, out)))
		if (out->start <= address && address < out->end)
			return true;
	return false;
}

/*
 * What the guest has asked for, as PROT_*: QEMU's numbers are the same, but that it protects pages with code that it
 * has translated. Text that is executable for QEMU is a guess.
 */
static u32 guest_prot(u64 address, u32 otherwise)
{
	u32 flags = page_get_flags ? (u32)page_get_flags(address) : otherwise;

	return (flags & (PROT_READ | PROT_WRITE | PROT_EXEC)) | (flags & WRITABLE_AT_FIRST ? PROT_WRITE : 0);
}

/* Cuts the mapping down to the pages around address that the guest has alike. */
static void narrow(struct maps_line *l, u64 address)
{
	u64 start = address & ~(u64)(PAGE - 1), end = start + PAGE;
	u32 prot = guest_prot(start, l->prot | PROT_EXEC);

	l->prot = prot;
	if (!page_get_flags)
		return;
	while (start > l->start && guest_prot(start - PAGE, 0) == prot)
		start -= PAGE;
	while (end < l->end && guest_prot(end, 0) == prot)
		end += PAGE;
	if (l->ino)
		l->pgoff += start - l->start;
	l->start = start;
	l->end = end;
}

/* The file may have been replaced since it was mapped: then what is there now is another one. */
static bool is_same_file(int fd, const struct maps_line *l)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == l->ino && major(st.st_dev) == l->maj &&
	       minor(st.st_dev) == l->min;
}

static bool build_id_of(const char *path, const struct maps_line *l, struct rec_mmap *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	u8 head[HEAD_SIZE];
	struct str id = { NULL, 0 };
	ssize_t n;

	if (fd < 0)
		return false;
	n = is_same_file(fd, l) ? pread(fd, head, sizeof(head), 0) : -1;
	close(fd);
	if (n > 0)
		id = elf_head_gnu_id(cursor_over(head, (size_t)n, false));
	if (!id.len || id.len > sizeof(out->build_id))
		return false;
	memcpy(out->build_id, id.p, id.len);
	out->build_id_size = (u8)id.len;
	return true;
}

/* The kernel's names for memory without a file; the guest's stack and heap are neither for it. */
static const char *anonymous_name(const struct tasks *k, const struct maps_line *l)
{
	if (l->start <= k->stack && k->stack < l->end)
		return "[stack]";
	if (k->heap_start < k->heap_end && l->start < k->heap_end && k->heap_start < l->end)
		return "[heap]";
	return "//anon";
}

static void put_mmap(struct vthread *t, const struct maps_line *l)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER } };
	struct bytes path = { 0 };

	maps_path_plain(l->path, &path);
	if (!path.len || path.p[0] != '/') {
		path.len = 0;
		bytes_str(&path, anonymous_name(t->process->tasks, l));
	}
	bytes_char(&path, 0);
	r.mmap = (struct rec_mmap){ .pid = t->pid,
				    .tid = t->tid,
				    .start = l->start,
				    .len = l->end - l->start,
				    .pgoff = l->ino ? l->pgoff : l->start, /* as the kernel has it */
				    .prot = l->prot,
				    .flags = l->flags,
				    .maj = l->maj,
				    .min = l->min,
				    .ino = l->ino,
				    .filename = { (const char *)path.p, (u32)path.len - 1 } };
	if (!(l->prot & PROT_EXEC))
		r.h.misc |= PERF_RECORD_MISC_MMAP_DATA;
	if (!tasks_wants(t->process, ATTR_MMAP2))
		r.h.type = PERF_RECORD_MMAP;
	else if (l->ino && tasks_wants(t->process, ATTR_BUILD_ID) && build_id_of((char *)path.p, l, &r.mmap))
		r.h.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	tasks_put(t, &r, NULL);
	bytes_free(&path);
}

static bool is_known(const struct tasks *k, u64 pc)
{
	for (size_t i = 0; i < k->mapped.n; i++)
		if (!k->mapped.v[i].doubtful && k->mapped.v[i].start <= pc && pc < k->mapped.v[i].end)
			return true;
	return false;
}

/* Whether that mapping has to be announced; it counts as announced from now on. */
static bool is_new(struct tasks *k, const struct maps_line *l)
{
	struct mapping m = { l->start, l->end, l->pgoff, l->ino, l->maj, l->min, l->prot, false };
	size_t kept = 0;

	for (size_t i = 0; i < k->mapped.n; i++) {
		struct mapping *old = &k->mapped.v[i];

		if (old->start == m.start && old->end == m.end && old->pgoff == m.pgoff && old->ino == m.ino &&
		    old->maj == m.maj && old->min == m.min && old->prot == m.prot) {
			old->doubtful = false;
			return false;
		}
	}
	for (size_t i = 0; i < k->mapped.n; i++)
		if (k->mapped.v[i].end <= m.start || m.end <= k->mapped.v[i].start)
			k->mapped.v[kept++] = k->mapped.v[i];
	k->mapped.n = kept;
	vec_push(&k->mapped, m);
	return true;
}

void tasks_code_page(struct vthread *t, u64 pc, const void *host)
{
	struct vprocess *p = t->process;
	struct bytes text = { 0 };
	struct maps_line l;
	int kept = errno;
	bool found;

	(void)host;
	if (!tasks_wants(p, ATTR_MMAP | ATTR_MMAP2))
		return;
	tasks_lock(p);
	found = !is_known(p->tasks, pc) && read_all("/proc/self/maps", &text) && find_mapping(&text, pc, &l);
	if (found) {
		narrow(&l, pc);
		found = is_new(p->tasks, &l);
	}
	tasks_unlock(p);
	if (found)
		put_mmap(t, &l);
	bytes_free(&text);
	errno = kept;
}

void maps_changed(struct vprocess *p, u64 start, u64 len)
{
	struct tasks *k = p->tasks;

	tasks_lock(p);
	for (size_t i = 0; i < k->mapped.n; i++)
		if (k->mapped.v[i].start < start + len && start < k->mapped.v[i].end)
			k->mapped.v[i].doubtful = true;
	tasks_unlock(p);
}

/* Data mappings from start to end; of files only, where all the rest is QEMU's memory. */
static void put_data(struct vthread *t, u64 start, u64 stop, bool files)
{
	struct vprocess *p = t->process;
	struct bytes text = { 0 };
	const char *at;
	struct maps_line l;
	int kept = errno;

	if (!tasks_wants(p, ATTR_MMAP_DATA) || !page_get_flags || !read_all("/proc/self/maps", &text))
		return;
	at = (const char *)text.p;
	while ((at = next_mapping(&text, at, &l))) {
		struct maps_line part;
		bool fresh;

		for (u64 page = MAX(l.start, start) & ~(u64)(PAGE - 1); page < MIN(l.end, stop) && (l.ino || !files);
		     page = part.end) {
			part = l;
			narrow(&part, page);
			if (!(part.prot & PROT_READ) || part.prot & PROT_EXEC)
				continue;
			tasks_lock(p);
			fresh = is_new(p->tasks, &part);
			tasks_unlock(p);
			if (fresh)
				put_mmap(t, &part);
		}
	}
	bytes_free(&text);
	errno = kept;
}

void maps_put_data(struct vthread *t, u64 start, u64 len)
{
	put_data(t, start, start + len, false);
}

void maps_put_program(struct vthread *t)
{
	struct tasks *k = t->process->tasks;

	put_data(t, 0, UINT64_MAX, true);
	k->stack = regs_stack_pointer(t);
	if (k->stack)
		put_data(t, k->stack, k->stack + 1, false);
}
