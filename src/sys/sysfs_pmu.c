/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/sysfs_pmu.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/err.h"
#include "sys/smallfile.h"

#define DEVICES "bus/event_source/devices"
#define NAME_MAX_LEN 127
#define ENTRIES_MAX 65536 /* of one directory */

static char *read_at(const char *dir, const char *sub, const char *name, const char *suffix)
{
	char *path = mem_printf("%s/%s%s%s%s", dir, sub, *sub ? "/" : "", name, suffix), *text = smallfile_line(path);
	size_t n = text ? strlen(text) : 0;

	while (n && isspace((u8)text[n - 1]))
		text[--n] = 0;

	free(path);
	return text;
}

bool sysfs_pmu_is_core(const struct sysfs_pmu *pmu)
{
	return pmu->core || !strcmp(pmu->name, "cpu") || !strncmp(pmu->name, "armv", 4);
}

char *sysfs_pmu_cap(const struct sysfs_pmu *pmu, const char *name)
{
	return read_at(pmu->dir, "caps", name, "");
}

/* Names go into event texts, tables and terminals. */
static bool name_fits(const char *name)
{
	size_t n = strlen(name);

	if (!n || n > NAME_MAX_LEN || name[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((u8)name[i]) && !strchr("_-.:+", name[i]))
			return false;
	return true;
}

typedef VEC(char *) names;

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_names(const char *path, names *out)
{
	DIR *dir = opendir(path);
	struct dirent *d;

	while (dir && out->n < ENTRIES_MAX && (d = readdir(dir)))
		if (name_fits(d->d_name))
			vec_push(out, mem_strdup(d->d_name));
	if (dir)
		closedir(dir);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_text);
}

static void free_names(names *n)
{
	for (size_t i = 0; i < n->n; i++)
		free(n->v[i]);
	vec_free(n);
}

static bool read_number(const char *text, u64 max, u64 *out)
{
	char *end;

	if (!text || !isdigit((u8)*text))
		return false;
	*out = strtoull(text, &end, 0);
	return !*end && *out <= max;
}

static void add_pmu(struct sysfs_pmus *out, const char *devices, const char *name)
{
	struct sysfs_pmu pmu = { .dir = mem_printf("%s/%s", devices, name) };
	char *type = read_at(pmu.dir, "", "type", "");
	u64 number;

	if (!read_number(type, INT32_MAX, &number)) {
		free(pmu.dir);
		free(type);
		return;
	}
	free(type);
	pmu.name = mem_strdup(name);
	pmu.type = (u32)number;
	pmu.cpus = read_at(pmu.dir, "", "cpumask", "");
	if (!pmu.cpus) {
		pmu.cpus = read_at(pmu.dir, "", "cpus", "");
		pmu.core = pmu.cpus != NULL;
	}
	/* An empty mask, or one that is no list of CPUs, restricts nothing. */
	if (pmu.cpus && (!*pmu.cpus || pmu.cpus[strspn(pmu.cpus, "0123456789,-")])) {
		free(pmu.cpus);
		pmu.cpus = NULL;
	}
	vec_push(&out->v, pmu);
}

void sysfs_pmus_load(struct sysfs_pmus *out, const char *root)
{
	char *devices = mem_printf("%s/" DEVICES, root);
	names found = { 0 };

	read_names(devices, &found);
	for (size_t i = 0; i < found.n; i++)
		add_pmu(out, devices, found.v[i]);
	free_names(&found);
	free(devices);
}

static void free_pmu(struct sysfs_pmu *p)
{
	for (size_t i = 0; i < p->formats.n; i++)
		free(p->formats.v[i].name);
	for (size_t i = 0; i < p->aliases.n; i++) {
		free(p->aliases.v[i].name);
		free(p->aliases.v[i].terms);
		free(p->aliases.v[i].unit);
	}
	vec_free(&p->formats);
	vec_free(&p->aliases);
	free(p->name);
	free(p->dir);
	free(p->cpus);
}

void sysfs_pmus_free(struct sysfs_pmus *p)
{
	for (size_t i = 0; i < p->v.n; i++)
		free_pmu(&p->v.v[i]);
	vec_free(&p->v);
}

static bool is_name(const char *have, struct str want)
{
	return strlen(have) == want.len && !memcmp(have, want.p, want.len);
}

struct sysfs_pmu *sysfs_pmu_find(struct sysfs_pmus *p, struct str name)
{
	for (size_t i = 0; i < p->v.n; i++)
		if (is_name(p->v.v[i].name, name))
			return &p->v.v[i];
	return NULL;
}

/* A bit number of a range; the text moves behind it. */
static bool take_bit(const char **text, u32 *bit)
{
	const char *p = *text;

	*bit = 0;
	if (!isdigit((u8)*p))
		return false;
	for (; isdigit((u8)*p); p++) {
		*bit = *bit * 10 + (u32)(*p - '0');
		if (*bit > 63)
			return false;
	}
	*text = p;
	return true;
}

/* "config1:0-7,32" */
static bool parse_format(const char *text, struct sysfs_format *f)
{
	u32 lo, hi;

	if (strncmp(text, "config", 6))
		return false;
	text += 6;
	if (*text >= '1' && *text < '0' + SYSFS_CONFIG_WORDS)
		f->word = (u32)(*text++ - '0');
	if (*text++ != ':')
		return false;
	for (;; text++) {
		if (!take_bit(&text, &lo))
			return false;
		hi = lo;
		if (*text == '-') {
			text++;
			if (!take_bit(&text, &hi) || hi < lo)
				return false;
		}
		f->bits |= (UINT64_MAX >> (63 - hi)) & (UINT64_MAX << lo);
		if (*text != ',')
			return !*text;
	}
}

static void read_formats(struct sysfs_pmu *pmu)
{
	char *dir = mem_printf("%s/format", pmu->dir);
	names found = { 0 };

	read_names(dir, &found);
	for (size_t i = 0; i < found.n; i++) {
		char *text = read_at(dir, "", found.v[i], "");
		struct sysfs_format f = { 0 };

		if (text && parse_format(text, &f)) {
			f.name = mem_strdup(found.v[i]);
			vec_push(&pmu->formats, f);
		}
		free(text);
	}
	free_names(&found);
	free(dir);
}

static bool has_suffix(const char *name)
{
	static const char *const suffixes[] = { ".unit", ".scale", ".per-pkg", ".snapshot" };

	for (u32 i = 0; i < ARRAY_LEN(suffixes); i++) {
		size_t n = strlen(name), m = strlen(suffixes[i]);

		if (n > m && !strcmp(name + n - m, suffixes[i]))
			return true;
	}
	return false;
}

static void read_aliases(struct sysfs_pmu *pmu)
{
	char *dir = mem_printf("%s/events", pmu->dir);
	names found = { 0 };

	read_names(dir, &found);
	for (size_t i = 0; i < found.n; i++) {
		const char *name = found.v[i];
		struct sysfs_alias a = { 0 };
		char *scale;

		if (has_suffix(name))
			continue;
		a.terms = read_at(dir, "", name, "");
		if (!a.terms)
			continue;
		a.name = mem_strdup(name);
		a.unit = read_at(dir, "", name, ".unit");
		scale = read_at(dir, "", name, ".scale");
		a.scale = scale ? strtod(scale, NULL) : 0;
		free(scale);
		vec_push(&pmu->aliases, a);
	}
	free_names(&found);
	free(dir);
}

void sysfs_pmu_details(struct sysfs_pmu *pmu)
{
	if (pmu->loaded)
		return;
	pmu->loaded = true;
	read_formats(pmu);
	read_aliases(pmu);
}

const struct sysfs_format *sysfs_format_find(struct sysfs_pmu *pmu, struct str name)
{
	sysfs_pmu_details(pmu);
	for (size_t i = 0; i < pmu->formats.n; i++)
		if (is_name(pmu->formats.v[i].name, name))
			return &pmu->formats.v[i];
	return NULL;
}

const struct sysfs_alias *sysfs_alias_find(struct sysfs_pmu *pmu, struct str name)
{
	sysfs_pmu_details(pmu);
	for (size_t i = 0; i < pmu->aliases.n; i++) {
		const char *have = pmu->aliases.v[i].name;

		if (strlen(have) == name.len && !strncasecmp(have, name.p, name.len))
			return &pmu->aliases.v[i];
	}
	return NULL;
}

int sysfs_format_put(u64 bits, u64 value, u64 *word, u64 *max)
{
	u32 width = (u32)__builtin_popcountll(bits), taken = 0;
	u64 out = *word & ~bits;

	*max = width == 64 ? UINT64_MAX : (1ull << width) - 1;
	if (value > *max)
		return ERR_LIMIT;
	for (u32 bit = 0; bit < 64; bit++)
		if (bits >> bit & 1)
			out |= (value >> taken++ & 1) << bit;
	*word = out;
	return 0;
}
