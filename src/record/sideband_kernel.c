/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own text, from /proc/kallsyms, and its modules, from /proc/modules. If addresses are hidden (all zero,
 * kernel.kptr_restrict) nothing can be written, but then nothing there can be sampled either.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/sideband.h"
#include "sys/smallfile.h"

#define CHUNK (64u << 10)
#define FILE_LIMIT (16u << 20)

struct kernel_text {
	u64 text, etext;
	bool stext; /* text is that of _stext: there is no _text */
};

/* "ffffffff81000000 T _text" */
static void look_at_symbol(struct kernel_text *k, const char *line)
{
	char *end;
	u64 address = strtoull(line, &end, 16);
	const char *name = end[0] == ' ' && end[1] ? end + 3 : "";

	if (*name != '_')
		return;
	if (!strcmp(name, "_text")) {
		k->text = address;
		k->stext = false;
	} else if (!strcmp(name, "_stext") && !k->text) {
		k->text = address;
		k->stext = true;
	} else if (!strcmp(name, "_etext")) {
		k->etext = address;
	}
}

/* The file is long and in order of addresses: reading stops where the text ends. */
static bool find_text(struct kernel_text *k)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	char *buffer = mem_alloc(CHUNK + 1);
	size_t kept = 0;
	ssize_t n = 0;

	*k = (struct kernel_text){ 0 };
	while (fd >= 0 && !k->etext && (n = read(fd, buffer + kept, CHUNK - kept)) > 0) {
		char *line = buffer, *eol;

		buffer[kept += (size_t)n] = 0;
		while ((eol = strchr(line, '\n'))) {
			*eol = 0;
			look_at_symbol(k, line);
			line = eol + 1;
		}
		kept -= (size_t)(line - buffer);
		memmove(buffer, line, kept);
		if (kept == CHUNK)
			kept = 0; /* no line is that long */
	}
	if (fd >= 0)
		close(fd);
	free(buffer);
	return k->text && k->etext > k->text;
}

static int put_kernel_map(struct sideband *s, const char *name, u64 start, u64 len, u64 pgoff)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP, .misc = PERF_RECORD_MISC_KERNEL } };

	r.mmap = (struct rec_mmap){ .pid = UINT32_MAX,
				    .tid = 0,
				    .start = start,
				    .len = len,
				    .pgoff = pgoff,
				    .filename = { name, (u32)strlen(name) } };
	return sideband_put(s, &r);
}

/* '-' and '_' are the same in names of modules. */
static bool same_module(const char *file, const char *name, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (file[i] != name[i] && !((file[i] == '-' || file[i] == '_') && (name[i] == '-' || name[i] == '_')))
			return false;
	return file[n] == '.' && file[n + 1] == 'k';
}

/* Finds the file of a module in modules.dep, whose lines start with its path and a colon. Appends path or "[name]". */
static void module_path(const struct bytes *dep, const char *dir, const char *name, struct bytes *out)
{
	const char *p = (const char *)dep->p, *end = p + dep->len;
	size_t n = strlen(name);

	out->len = 0;
	while (dep->len && p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p)), *colon, *slash;

		eol = eol ? eol : end;
		colon = memchr(p, ':', (size_t)(eol - p));
		slash = colon ? memrchr(p, '/', (size_t)(colon - p)) : NULL;
		slash = slash ? slash + 1 : p;
		if (colon && (size_t)(colon - slash) > n + 1 && same_module(slash, name, n)) {
			bytes_printf(out, "%s/%.*s", dir, (int)(colon - p), p);
			break;
		}
		p = eol + 1;
	}
	if (!out->len)
		bytes_printf(out, "[%s]", name);
	bytes_u8(out, 0);
}

static int put_modules(struct sideband *s)
{
	struct bytes dep = { 0 };
	char *save = NULL, *dir, *dep_path;
	struct utsname u;
	int err = 0;

	uname(&u);
	dir = mem_printf("/lib/modules/%s", u.release);
	dep_path = mem_printf("%s/modules.dep", dir);
	if (smallfile_read(AT_FDCWD, dep_path, FILE_LIMIT, &dep))
		dep.len = 0;
	if (!smallfile_read(AT_FDCWD, "/proc/modules", FILE_LIMIT, &s->file)) {
		char *line = strtok_r((char *)s->file.p, "\n", &save);

		for (; line && !err; line = strtok_r(NULL, "\n", &save)) {
			unsigned long long size, address;
			char name[128];

			if (sscanf(line, "%127s %llu %*s %*s %*s %llx", name, &size, &address) != 3 || !address)
				continue;
			module_path(&dep, dir, name, &s->path);
			err = put_kernel_map(s, (const char *)s->path.p, address, size, 0);
		}
	}
	bytes_free(&dep);
	free(dep_path);
	free(dir);
	return err;
}

int sideband_kernel(struct sideband *s)
{
	struct kernel_text k;
	int err = 0;

	if (find_text(&k))
		err = put_kernel_map(s, k.stext ? "[kernel.kallsyms]_stext" : "[kernel.kallsyms]_text", k.text,
				     k.etext - k.text, k.text);
	return err ? err : put_modules(s);
}
