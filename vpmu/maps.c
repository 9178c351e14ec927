/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings of the guest.
 *
 * The initial program and its interpreter are mapped by QEMU without a syscall of the guest, and what an mmap really
 * got is only known afterwards. So a mapping is looked up when code of it is translated first: in /proc/self/maps, for
 * guest addresses are this process's addresses (QEMU's guest_base is 0 for 64-bit guests). Text is not executable there,
 * for it is never run as it is; what the guest asked for is in QEMU's page flags (page_get_flags, exported by the
 * binary). They also tell neighbours apart that the kernel made one mapping of, because for it both are read-only data.
 *
 * What was announced is remembered until the guest changes its mappings. A mapping that is looked up again is announced
 * again only if it changed: readers would cope, but recordings would grow.
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
#define HEAD_SIZE 4096u /* the kernel finds a build id in the first page only */
#define QEMU_PAGE_EXEC 4

/* The guest's protection of a page, PROT_* numbers and more. Absent from QEMU binaries that export no symbols. */
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

static bool find_line(const struct bytes *text, u64 address, struct maps_line *out)
{
	const char *p = (const char *)text->p, *end = p + text->len;

	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t len = eol ? (size_t)(eol - p) : (size_t)(end - p);

		if (maps_line_parse(p, len, out) && out->start <= address && address < out->end)
			return true;
		p += len + 1;
	}
	return false;
}

/* Cuts the mapping down to the pages around address that the guest has alike. */
static void narrow(struct maps_line *l, u64 address)
{
	u64 start = address & ~(u64)(PAGE - 1), end = start + PAGE;

	if (!page_get_flags)
		return;
	while (start > l->start && page_get_flags(start - PAGE) & QEMU_PAGE_EXEC)
		start -= PAGE;
	while (end < l->end && page_get_flags(end) & QEMU_PAGE_EXEC)
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

static void put_mmap(struct vthread *t, const struct maps_line *l, s64 shift)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER } };
	struct bytes path = { 0 };

	maps_path_plain(l->path, &path);
	if (!path.len)
		bytes_str(&path, "//anon");
	bytes_char(&path, 0);
	r.mmap = (struct rec_mmap){ .pid = t->pid,
				    .tid = t->tid,
				    .start = l->start - (u64)shift,
				    .len = l->end - l->start,
				    .pgoff = l->pgoff,
				    .prot = l->prot | PROT_EXEC,
				    .flags = l->flags,
				    .maj = l->maj,
				    .min = l->min,
				    .ino = l->ino,
				    .filename = { (const char *)path.p, (u32)path.len - 1 } };
	if (!tasks_wants(t->process, ATTR_MMAP2))
		r.h.type = PERF_RECORD_MMAP;
	else if (l->ino && tasks_wants(t->process, ATTR_BUILD_ID) && build_id_of((char *)path.p, l, &r.mmap))
		r.h.misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	tasks_put(t, &r, NULL);
	bytes_free(&path);
}

static bool is_announced(const struct tasks *k, u64 pc)
{
	for (size_t i = 0; i < k->mapped.n; i++)
		if (k->mapped.v[i].start <= pc && pc < k->mapped.v[i].end)
			return true;
	return false;
}

void tasks_code_page(struct vprocess *p, u64 pc, const void *host)
{
	u64 address = host ? (u64)(uintptr_t)host : pc;
	s64 shift = (s64)(address - pc);
	struct bytes text = { 0 };
	struct vthread *t;
	struct maps_line l;
	int kept = errno;
	bool found;

	if (!tasks_wants(p, ATTR_MMAP | ATTR_MMAP2))
		return;
	t = vthread_self();
	tasks_lock(p);
	found = !is_announced(p->tasks, pc) && read_all("/proc/self/maps", &text) && find_line(&text, address, &l);
	if (found) {
		narrow(&l, address);
		vec_push(&p->tasks->mapped, (struct mapping){ l.start - (u64)shift, l.end - (u64)shift });
	}
	tasks_unlock(p);
	if (found)
		put_mmap(t, &l, shift);
	bytes_free(&text);
	errno = kept;
}

void maps_forget(struct vprocess *p)
{
	tasks_lock(p);
	p->tasks->mapped.n = 0;
	tasks_unlock(p);
}
