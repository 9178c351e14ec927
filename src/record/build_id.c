/* SPDX-License-Identifier: Apache-2.0 */
#include "record/build_id.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/mem.h"
#include "base/regular.h"
#include "codec/elf_notes.h"
#include "sys/smallfile.h"

#define NOTES_MAX (64u << 10)
#define SEGMENTS_MAX 512
#define VDSO_MAX (64u << 10)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define OWN_ORDER ELFDATA2LSB
#else
#define OWN_ORDER ELFDATA2MSB
#endif

bool build_id_in_notes(const void *notes, size_t len, bool swap, struct build_id *out)
{
	struct str id = elf_notes_gnu_id(cursor_over(notes, len, swap));

	if (!id.len || id.len > BUILD_ID_MAX)
		return false;
	*out = (struct build_id){ .size = (u8)id.len };
	memcpy(out->id, id.p, id.len);
	return true;
}

/* What an ELF header says about the program headers. */
struct elf_shape {
	bool wide, swap;
	u64 segments_at;
	u32 nr, entry;
};

static bool elf_header(const u8 *p, size_t len, struct elf_shape *out)
{
	struct cursor c;

	if (len < sizeof(Elf32_Ehdr) || memcmp(p, ELFMAG, SELFMAG))
		return false;
	out->wide = p[EI_CLASS] == ELFCLASS64;
	out->swap = p[EI_DATA] != OWN_ORDER;
	c = cursor_over(p, len, out->swap);
	cursor_skip(&c, out->wide ? offsetof(Elf64_Ehdr, e_phoff) : offsetof(Elf32_Ehdr, e_phoff));
	out->segments_at = out->wide ? cursor_u64(&c) : cursor_u32(&c);
	cursor_skip(&c, (out->wide ? 8 : 4) + 4 + 2); /* e_shoff e_flags e_ehsize */
	out->entry = cursor_u16(&c);
	out->nr = cursor_u16(&c);
	return !c.bad && out->nr <= SEGMENTS_MAX &&
	       out->entry == (out->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
}

/* Place and size of the notes that program header i tells of; false when it tells of something else. */
static bool note_segment(const u8 *segments, const struct elf_shape *e, u32 i, u64 *at, u64 *size)
{
	struct cursor c = cursor_over(segments + (size_t)i * e->entry, e->entry, e->swap);
	u32 type = cursor_u32(&c);

	if (type != PT_NOTE)
		return false;
	if (e->wide) {
		cursor_skip(&c, 4); /* p_flags */
		*at = cursor_u64(&c);
		cursor_skip(&c, 16);
		*size = cursor_u64(&c);
	} else {
		*at = cursor_u32(&c);
		cursor_skip(&c, 8);
		*size = cursor_u32(&c);
	}
	return true;
}

static bool pread_all(int fd, void *to, size_t n, u64 at)
{
	return at <= INT64_MAX && pread(fd, to, n, (off_t)at) == (ssize_t)n;
}

bool build_id_of_fd(int fd, struct build_id *out)
{
	u8 head[sizeof(Elf64_Ehdr)], *segments, *notes = NULL;
	struct elf_shape e;
	bool found = false;
	u64 at, size, left = NOTES_MAX; /* for all of them: a file may list as many as it likes */

	if (!pread_all(fd, head, sizeof(head), 0) || !elf_header(head, sizeof(head), &e) || !e.nr)
		return false;
	segments = mem_alloc((size_t)e.nr * e.entry);
	if (pread_all(fd, segments, (size_t)e.nr * e.entry, e.segments_at)) {
		for (u32 i = 0; i < e.nr && !found; i++) {
			if (!note_segment(segments, &e, i, &at, &size) || !size || size > left)
				continue;
			left -= size;
			notes = notes ? notes : mem_alloc(NOTES_MAX);
			found = pread_all(fd, notes, size, at) && build_id_in_notes(notes, size, e.swap, out);
		}
	}
	free(segments);
	free(notes);
	return found;
}

bool build_id_of_file(const char *path, struct build_id *out)
{
	int fd = regular_open(path); /* what was mapped may be a device by now */
	bool found;

	if (fd < 0)
		return false;
	found = build_id_of_fd(fd, out);
	close(fd);
	return found;
}

static bool in_notes_file(const char *path, struct build_id *out)
{
	struct bytes b = { 0 };
	bool found = !smallfile_read(AT_FDCWD, path, NOTES_MAX, &b) && build_id_in_notes(b.p, b.len, false, out);

	bytes_free(&b);
	return found;
}

bool build_id_of_kernel(struct build_id *out)
{
	return in_notes_file("/sys/kernel/notes", out);
}

bool build_id_of_module(const char *name, struct build_id *out)
{
	char *path = mem_printf("/sys/module/%s/notes/.note.gnu.build-id", name);
	bool found = !strchr(name, '/') && in_notes_file(path, out);

	free(path);
	return found;
}

bool build_id_of_vdso(struct build_id *out)
{
	const u8 *vdso = (const u8 *)getauxval(AT_SYSINFO_EHDR); /* NOLINT: that is where it is */
	struct elf_shape e;
	u64 at, size;

	if (!vdso || !elf_header(vdso, sizeof(Elf64_Ehdr), &e) || e.segments_at > VDSO_MAX)
		return false;
	for (u32 i = 0; i < e.nr; i++)
		if (note_segment(vdso + e.segments_at, &e, i, &at, &size) && at < VDSO_MAX && size < VDSO_MAX &&
		    build_id_in_notes(vdso + at, size, e.swap, out))
			return true;
	return false;
}
