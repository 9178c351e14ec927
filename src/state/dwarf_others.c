/* SPDX-License-Identifier: Apache-2.0 */
#include "state/dwarf_others.h"

#include <dwarf.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINK_MAX_BYTES 4096

void dwarf_home_of(struct dwarf_home *h, int fd, const struct str *path, bool alone)
{
	char link[32], found[sizeof(h->dir)];
	const char *from = found;
	char *slash;
	ssize_t n;

	h->alone = alone;
	if (path) {
		from = path->p;
		n = (ssize_t)MIN((size_t)path->len, sizeof(h->dir) - 1);
	} else {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, found, sizeof(found) - 1);
	}
	n = MAX(n, 0);
	memcpy(h->dir, from, (size_t)n);
	h->dir[n] = 0;
	slash = strrchr(h->dir, '/');
	if (slash)
		slash[1] = 0;
	else
		h->dir[0] = 0;
}

/* Nothing there is fine, too: then nothing is opened. dir: in front of a name that is not absolute. */
static bool is_file_or_nothing(const char *dir, const char *name)
{
	char path[2 * LINK_MAX_BYTES + 2];
	struct stat st;
	int n = *name == '/' ? snprintf(path, sizeof(path), "%s", name) :
			       snprintf(path, sizeof(path), "%s/%s", dir, name);

	return n > 0 && (size_t)n < sizeof(path) && (stat(path, &st) || S_ISREG(st.st_mode));
}

static bool is_section(Elf *elf, Elf_Scn *scn, size_t strings, const char *name)
{
	GElf_Shdr header;
	const char *is = gelf_getshdr(scn, &header) ? elf_strptr(elf, strings, header.sh_name) : NULL;

	return is && !strcmp(is, name);
}

static bool alternate_is_fine(const struct dwarf_home *h, const Elf_Data *data)
{
	if (!data || !data->d_buf)
		return true;
	if (h->alone || !memchr(data->d_buf, 0, MIN(data->d_size, (size_t)LINK_MAX_BYTES)))
		return false;
	return is_file_or_nothing(h->dir, data->d_buf);
}

/* Of several sections of that name libdw may take any. */
bool dwarf_alternate_is_fine(const struct dwarf_home *h, Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t strings;

	if (elf_getshdrstrndx(elf, &strings))
		return true;
	while ((scn = elf_nextscn(elf, scn)))
		if (is_section(elf, scn, strings, ".gnu_debugaltlink") &&
		    !alternate_is_fine(h, elf_rawdata(scn, NULL)))
			return false;
	return true;
}

static const char *text_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

bool dwarf_split_is_fine(const struct dwarf_home *h, Dwarf_Die *unit)
{
	const char *name = text_of(unit, DW_AT_dwo_name), *dir = text_of(unit, DW_AT_comp_dir);

	if (!name)
		name = text_of(unit, DW_AT_GNU_dwo_name);
	if (!name && !dwarf_hasattr(unit, DW_AT_dwo_name) && !dwarf_hasattr(unit, DW_AT_GNU_dwo_name))
		return true;
	/* libdw tries the name beside the file, and in the directory that the unit was compiled in. */
	return name && !h->alone && strlen(name) < LINK_MAX_BYTES && is_file_or_nothing(h->dir, name) &&
	       (!dir || (strlen(dir) < LINK_MAX_BYTES && is_file_or_nothing(dir, name)));
}
