/* SPDX-License-Identifier: Apache-2.0 */
#include "state/perfmap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular.h"
#include "state/text.h"

/* A hexadecimal number, which the JVM writes with 0x in front; as text_hex. */
static const char *map_hex(const char *p, const char *end, u64 *out)
{
	const char *digits = end - p > 2 && p[0] == '0' && (p[1] | 0x20) == 'x' ? p + 2 : p, *at;

	at = text_hex(digits, end, out);
	return at == digits ? p : at;
}

/* " START SIZE name"; false when the line is none. */
static bool parse_line(struct symtab_build *b, const char *p, const char *end)
{
	struct raw_symbol s = { .bind = BIND_GLOBAL, .is_func = true, .late = true };
	const char *at;
	u64 size;

	while (p < end && *p == ' ')
		p++;
	at = map_hex(p, end, &s.start);
	if (at == p || at == end || *at != ' ')
		return false;
	while (at < end && *at == ' ')
		at++;
	p = at;
	at = map_hex(p, end, &size);
	if (at == p || at == end || *at != ' ')
		return false;
	at++;
	if (end > at && end[-1] == '\r')
		end--;
	if (at == end || !size)
		return false;
	s.end = size > UINT64_MAX - s.start ? UINT64_MAX : s.start + size;
	s.name = symtab_build_name(b, at, (size_t)(end - at));
	vec_push(&b->syms, s);
	return true;
}

u64 perfmap_parse(struct symtab_build *b, const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	u64 n = 0;

	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));

		n += parse_line(b, p, eol ? eol : end);
		p = eol ? eol + 1 : end;
	}
	return n;
}

/* The process's number in its own PID namespace (the last one of the NSpid line); pid itself when not told. */
static u32 inner_pid(u32 pid)
{
	char path[64], line[256];
	u32 inner = pid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "NStgid:", 7)) {
			const char *last = strrchr(line, '\t');

			if (last)
				inner = (u32)strtoul(last, NULL, 10);
			break;
		}
	if (f)
		fclose(f);
	return inner;
}

/* *owner: of the process, else ourselves. A descriptor, or a negative errno. */
static int open_map(u32 pid, const char *symfs, uid_t *owner)
{
	struct stat process;
	char path[64], root[32];
	int fd = -ENOENT;

	*owner = geteuid();
	snprintf(root, sizeof(root), "/proc/%u", pid);
	if (!symfs && stat(root, &process) == 0) {
		*owner = process.st_uid;
		snprintf(root, sizeof(root), "/proc/%u/root", pid);
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", inner_pid(pid));
		fd = regular_open_itself_in(root, path);
	}
	if (fd < 0) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
		fd = regular_open_itself_in(symfs, path);
	}
	return fd;
}

u64 perfmap_size(u32 pid, const char *symfs)
{
	struct stat file;
	uid_t owner;
	int fd = open_map(pid, symfs, &owner);
	u64 size = fd >= 0 && !fstat(fd, &file) ? (u64)file.st_size : 0;

	if (fd >= 0)
		close(fd);
	return size;
}

int perfmap_load(struct symtab_build *b, u32 pid, const char *symfs)
{
	struct bytes text = { 0 };
	struct stat file;
	uid_t owner;
	int fd = open_map(pid, symfs, &owner), err;

	if (fd < 0)
		return fd == -ENOENT ? ERR_NOTFOUND : fd == -EINVAL ? ERR_FORMAT : ERR_PERM;
	if (fstat(fd, &file) < 0)
		err = ERR_FORMAT;
	else if (file.st_uid && file.st_uid != owner && file.st_uid != geteuid())
		err = ERR_PERM;
	else
		err = text_read_fd(fd, &text);
	close(fd);
	if (err == 0)
		perfmap_parse(b, (const char *)text.p, text.len);
	bytes_free(&text);
	return err;
}
