/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The search for files.
 *
 * A path in a recording names a file of the machine and the mount namespace it was made in, as it was then. What lies
 * at that path today may be another build. The build id tells: where the recording has one, a file with another one is
 * never used. Debug files are looked for in the order of perf: debug link, perf's build-id cache, /usr/lib/debug by
 * path and by build id; then debuginfod, if the user asked for it.
 */
#include "state/debuginfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef HAVE_DEBUGINFOD
#include <elfutils/debuginfod.h>

#include "base/library.h"
#endif

#include "state/apart.h"
#include "state/elf_symbols.h"

#define DEBUG_ROOT "/usr/lib/debug"
#define LARGEST_PATH 4096

struct id {
	u8 bytes[20];
	u32 size;
};

void found_file_close(struct found_file *f)
{
	elf_file_close(&f->elf);
	free(f->path);
	f->path = NULL;
}

static struct id recorded_id(const struct dso_slot *s)
{
	struct id id = { .size = s->pub.build_id_size };

	memcpy(id.bytes, s->pub.build_id, id.size);
	return id;
}

/* Recorded ids may be shorter than those in files, or padded with zeros (as old perf did): compare what both have. */
static bool ids_agree(const struct id *a, const struct id *b)
{
	u32 n = MIN(a->size, b->size);

	if (memcmp(a->bytes, b->bytes, n) != 0)
		return false;
	for (u32 i = n; i < a->size; i++)
		if (a->bytes[i])
			return false;
	return true;
}

bool debuginfo_ids_agree(const u8 *a, u32 a_size, const u8 *b, u32 b_size)
{
	struct id ia = { .size = MIN(a_size, 20u) }, ib = { .size = MIN(b_size, 20u) };

	memcpy(ia.bytes, a, ia.size);
	memcpy(ib.bytes, b, ib.size);
	return ids_agree(&ia, &ib);
}

static struct id file_id(const struct elf_file *f)
{
	struct id id = { .size = 0 };

	id.size = elf_build_id(f, id.bytes);
	return id;
}

/* The directory through which the process's files are seen: "" for our own. */
static char *root_of(const struct dsos *d, const struct dso_slot *s)
{
	if (d->opts.symfs)
		return mem_strdup(d->opts.symfs);
	if (s->mount_ns)
		return mem_printf("/proc/%u/root", s->pub.pid);
	return mem_strdup("");
}

/* May files be looked for where the recording says they are? Not when it is another machine's and nobody said where
 * its files lie here. Build ids are looked up all the same: what is found by one is the recorded file. */
static bool by_path(const struct dsos *d, const struct dso_slot *s)
{
	return s->pub.path[0] == '/' && (!d->opts.offline || d->opts.symfs);
}

static char *cache_path(const struct dsos *d, const struct id *id, const char *file)
{
	const char *home = getenv("HOME");
	char hex[41];

	if (!id->size || (!d->opts.buildid_dir && !home))
		return NULL;
	for (u32 i = 0; i < id->size; i++)
		snprintf(hex + i * 2, 3, "%02x", id->bytes[i]);
	if (d->opts.buildid_dir)
		return mem_printf("%s/.build-id/%.2s/%s/%s", d->opts.buildid_dir, hex, hex + 2, file);
	return mem_printf("%s/.debug/.build-id/%.2s/%s/%s", home, hex, hex + 2, file);
}

#ifdef HAVE_DEBUGINFOD
struct debuginfod {
	__typeof__(debuginfod_begin) *begin;
	__typeof__(debuginfod_find_executable) *executable;
	__typeof__(debuginfod_find_debuginfo) *debuginfo;
	__typeof__(debuginfod_end) *end;
};

static bool load_debuginfod(struct debuginfod *l)
{
	const struct library_function functions[] = {
		{ "debuginfod_begin", &l->begin },
		{ "debuginfod_find_executable", &l->executable },
		{ "debuginfod_find_debuginfo", &l->debuginfo },
		{ "debuginfod_end", &l->end },
	};

	return library_load("libdebuginfod.so.1", functions, ARRAY_LEN(functions));
}

/* Asks the servers; the client library keeps what it fetched in a cache of its own. */
static char *ask_servers(const struct dsos *d, const struct id *id, bool executable)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);
	debuginfod_client *client;
	struct debuginfod library;
	char *path = NULL;
	int fd;

	if (!d->opts.debuginfod || !urls || !*urls || !id->size || !load_debuginfod(&library) ||
	    !(client = library.begin()))
		return NULL;
	fd = (executable ? library.executable : library.debuginfo)(client, id->bytes, (int)id->size, &path);
	if (fd >= 0)
		close(fd);
	else
		path = NULL;
	library.end(client);
	return path;
}
#else
static char *ask_servers(const struct dsos *d, const struct id *id, bool executable)
{
	(void)d;
	(void)id;
	(void)executable;
	return NULL;
}
#endif

/* Opens path (takes it), inside root, if it is an ELF file that does not contradict id. */
static int try_open(const char *root, char *path, const struct id *id, struct found_file *out)
{
	struct id its;
	int err;

	if (!path)
		return ERR_NOTFOUND;
	err = elf_file_open_in(&out->elf, root, path);
	out->path = path;
	if (err == 0 && id->size) {
		its = file_id(&out->elf);
		if (!its.size || !ids_agree(id, &its))
			err = ERR_UNSUPPORTED;
	}
	if (err < 0)
		found_file_close(out);
	return err;
}

static const char *explain(const struct dsos *d, int err)
{
	switch (err) {
	case ERR_NOTFOUND:
		return d->opts.symfs ? "no such file below the directory of --symfs" :
				       "the file does not exist, or is in another root directory (name it with "
				       "--symfs)";
	case ERR_PERM:
		return "the file cannot be read (try as root)";
	case ERR_FORMAT:
		return "not an ELF file";
	case ERR_TRUNCATED:
		return "the ELF file is damaged";
	case ERR_UNSUPPORTED:
		return "the file is a different build than the recorded one (build ids differ)";
	}
	return err_name(err);
}

int debuginfo_runtime(struct dsos *d, struct dso_slot *s, struct found_file *out, const char **why)
{
	struct id id = recorded_id(s);
	char *root = root_of(d, s);
	int err = ERR_NOTFOUND;

	if (by_path(d, s))
		err = try_open(root, mem_strdup(s->pub.path), &id, out);
	/* The process may have ended, and its root directory with it; the image may also be known to the host. */
	if (err < 0 && s->mount_ns && by_path(d, s))
		err = try_open(NULL, mem_strdup(s->pub.path), &id, out);
	free(root);
	if (err < 0 && id.size && try_open(NULL, cache_path(d, &id, "elf"), &id, out) == 0)
		err = 0;
	if (err < 0 && id.size && try_open(NULL, ask_servers(d, &id, true), &id, out) == 0)
		err = 0;
	*why = err < 0 ? explain(d, err) : NULL;
	return err;
}

bool debuginfo_is_build(const struct dso_slot *s, const struct elf_file *f)
{
	struct id id = recorded_id(s), its = file_id(f);

	return !id.size || (its.size && ids_agree(&id, &its));
}

char *debuginfo_cache_dir(const struct dsos *d, const struct dso_slot *s)
{
	struct id id = recorded_id(s);

	return cache_path(d, &id, "");
}

int debuginfo_cached(const struct dsos *d, const struct dso_slot *s, const char *file, struct found_file *out)
{
	struct id id = recorded_id(s);

	return try_open(NULL, cache_path(d, &id, file), &id, out);
}

bool debuginfo_has_dwarf(const struct elf_file *f)
{
	return elf_section_named(f, ".debug_info") || elf_section_named(f, ".zdebug_info");
}

static bool has_wanted(const struct elf_file *f, enum debug_want want)
{
	return want == WANT_SYMTAB ? elf_has_table(f, ELF_SYMTAB) : debuginfo_has_dwarf(f);
}

static void make_crc_table(u32 table[256])
{
	for (u32 i = 0; i < 256; i++) {
		u32 c = i;

		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
		table[i] = c;
	}
}

/* The checksum that a debug link names: CRC-32 of all bytes of the file. */
static bool crc_matches(const struct elf_file *f, u32 want)
{
	u32 table[256], crc = ~0u;
	u64 at = 0;

	make_crc_table(table);
	while (at < f->size) {
		u64 n = MIN(f->size - at, (u64)1 << 20);
		u8 *part;

		if (elf_file_read(f, at, n, &part) < 0)
			return false;
		for (u64 i = 0; i < n; i++)
			crc = table[(crc ^ part[i]) & 0xff] ^ crc >> 8;
		free(part);
		at += n;
	}
	return ~crc == want;
}

struct search {
	struct dsos *d;
	struct id id; /* size 0: unknown */
	enum debug_want want;
	struct found_file *out;
};

/* Takes path, which is looked up inside root. */
static bool take(const struct search *s, const char *root, char *path)
{
	if (try_open(root, path, &s->id, s->out) < 0)
		return false;
	if (has_wanted(&s->out->elf, s->want))
		return true;
	found_file_close(s->out);
	return false;
}

/* .gnu_debuglink: a file name, padding to 4 bytes, a checksum. */
static bool follow_link(const struct search *s, const struct elf_file *runtime, const char *root, const char *path)
{
	static const char *const dirs[][2] = { { "", "/" }, { "", "/.debug/" }, { DEBUG_ROOT, "/" } };
	const struct elf_section *sec = elf_section_named(runtime, ".gnu_debuglink");
	int dir = (int)(strrchr(path, '/') ? strrchr(path, '/') - path : 0);
	bool found = false;
	struct cursor c;
	struct str name;
	u8 *raw;
	u32 crc;

	if (!sec || sec->size > LARGEST_PATH || elf_section_read(runtime, sec, &raw) < 0)
		return false;
	c = cursor_over(raw, sec->size, runtime->swap);
	name = cursor_text(&c, sec->size);
	c = cursor_over(raw, sec->size, runtime->swap);
	cursor_skip(&c, ((u64)name.len + 4) & ~(u64)3);
	crc = cursor_u32(&c);
	for (size_t i = 0; i < ARRAY_LEN(dirs) && !found && !c.bad && name.len && !strchr(name.p, '/'); i++) {
		char *file = mem_printf("%s%.*s%s%s", dirs[i][0], dir, path, dirs[i][1], name.p);

		found = take(s, root, file);
		if (found && !s->id.size && !crc_matches(&s->out->elf, crc)) {
			found_file_close(s->out);
			found = false;
		}
	}
	free(raw);
	return found;
}

static bool by_build_id(const struct search *s, const char *root)
{
	char hex[41];

	if (!s->id.size)
		return false;
	for (u32 i = 0; i < s->id.size; i++)
		snprintf(hex + i * 2, 3, "%02x", s->id.bytes[i]);
	return take(s, root, mem_printf(DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2)) ||
	       (*root && take(s, NULL, mem_printf(DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2)));
}

int debuginfo_separate(struct dsos *d, struct dso_slot *slot, const struct elf_file *runtime, enum debug_want want,
		       struct found_file *out)
{
	struct search s = { d, runtime ? file_id(runtime) : recorded_id(slot), want, out };
	char *root = root_of(d, slot);
	const char *path = slot->pub.path;
	bool found = (runtime && by_path(d, slot) && follow_link(&s, runtime, root, path)) ||
		     take(&s, NULL, cache_path(d, &s.id, "elf")) || take(&s, NULL, cache_path(d, &s.id, "debug"));

	/* By path alone nothing would say that both files belong together, so these need a build id. */
	if (!found && s.id.size)
		found = (by_path(d, slot) && (take(&s, root, mem_printf(DEBUG_ROOT "%s.debug", path)) ||
					      take(&s, root, mem_printf(DEBUG_ROOT "%s", path)))) ||
			by_build_id(&s, root) || take(&s, NULL, ask_servers(d, &s.id, false));
	free(root);
	return found ? 0 : ERR_NOTFOUND;
}

int debuginfo_embedded(struct dsos *d, const struct elf_file *f, struct bytes *out, const char **why)
{
	const struct elf_section *sec = elf_section_named(f, ".gnu_debugdata");
	struct apart *a;
	u8 *raw;
	int err = !sec || sec->size > APART_PACKED_BYTES ? ERR_NOTFOUND : elf_section_read(f, sec, &raw);

	*why = NULL;
	if (err < 0)
		return err;
	a = dsos_get_parser(d);
	err = a ? apart_unxz(a, raw, sec->size, out, why) : ERR_LIMIT;
	if (!a)
		*why = "there is no process that would unpack them";
	free(raw);
	return err;
}
