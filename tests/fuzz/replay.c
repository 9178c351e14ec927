/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay PATH...: runs a target over its corpus: recipes (*.recipe, cut into inputs by the target), *.hex files (bytes
 * in hex, for inputs that once failed), any other file as it is, directories. Each input is run whole, cut short in
 * many places and with bytes changed. replay --write DIR PATH... writes the inputs for libFuzzer instead. --recipes
 * takes only the recipes of the directories behind it.
 */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fuzz.h"

#define CUTS 64
#define CHANGES 256

struct replay {
	const char *write_to;
	bool only_recipes;
	u32 inputs, runs;
};

/* A block of exactly this size, so that a sanitizer sees a read behind it. */
static void run_exact(struct replay *r, const u8 *data, size_t size)
{
	u8 *copy = calloc(size ? size : 1, 1);

	if (size)
		memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
	r->runs++;
}

static void write_input(const struct replay *r, const u8 *data, size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/seed-%06u", r->write_to, r->inputs);
	f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size || fclose(f)) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

static void give(void *ctx, const void *data, size_t size)
{
	static const u8 values[] = { 0x00, 0xff, 0x80, 0x01 };
	struct replay *r = ctx;
	size_t step = MAX(size / CUTS, (size_t)1);
	u8 *changed;

	r->inputs++;
	if (r->write_to) {
		write_input(r, data, size);
		return;
	}
	run_exact(r, data, size);
	for (size_t n = 0; n < size; n += step)
		run_exact(r, data, n);
	step = MAX(size / (CHANGES / ARRAY_LEN(values)), (size_t)1);
	changed = calloc(size ? size : 1, 1);
	if (size)
		memcpy(changed, data, size);
	for (size_t at = 0; at < size; at += step)
		for (u32 v = 0; v < ARRAY_LEN(values); v++) {
			u8 saved = changed[at];

			changed[at] = values[v];
			run_exact(r, changed, size);
			changed[at] = saved;
		}
	free(changed);
}

static struct bytes read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct bytes b = { 0 };
	char buf[4096];
	size_t n;

	if (!f) {
		perror(path);
		exit(EXIT_FAILURE);
	}
	while ((n = fread(buf, 1, sizeof(buf), f)))
		bytes_put(&b, buf, n);
	fclose(f);
	return b;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

/* Anything but hex digits stands between bytes; a # starts a comment. */
static void give_hex(struct replay *r, const struct bytes *text)
{
	struct bytes b = { 0 };
	char digits[3] = { 0 };

	for (size_t i = 0; i < text->len; i++) {
		if (text->p[i] == '#')
			while (i < text->len && text->p[i] != '\n')
				i++;
		else if (isxdigit(text->p[i]) && i + 1 < text->len && isxdigit(text->p[i + 1])) {
			digits[0] = (char)text->p[i++];
			digits[1] = (char)text->p[i];
			bytes_u8(&b, (u8)strtoul(digits, NULL, 16));
		}
	}
	give(r, b.p, b.len);
	bytes_free(&b);
}

static void give_recipe(struct replay *r, const char *path, const struct bytes *text)
{
	const struct seed_sink sink = { give, r };
	struct recipe recipe;

	if (recipe_parse(&recipe, path, (const char *)text->p, text->len, NULL)) {
		fprintf(stderr, "%s: not a recipe\n", path);
		exit(EXIT_FAILURE);
	}
	fuzz_seeds(&recipe, &sink);
	recipe_free(&recipe);
}

static void give_path(struct replay *r, const char *path);

static void give_directory(struct replay *r, const char *path)
{
	struct dirent **names;
	int n = scandir(path, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char *child = mem_printf("%s/%s", path, names[i]->d_name);

		if (names[i]->d_name[0] != '.' && (!r->only_recipes || ends_with(child, ".recipe")))
			give_path(r, child);
		free(child);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static void give_path(struct replay *r, const char *path)
{
	struct bytes b;
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		give_directory(r, path);
		return;
	}
	b = read_file(path);
	if (ends_with(path, ".recipe"))
		give_recipe(r, path, &b);
	else if (ends_with(path, ".hex"))
		give_hex(r, &b);
	else
		give(r, b.p, b.len);
	bytes_free(&b);
}

int main(int argc, char **argv)
{
	struct replay r = { 0 };
	int i = 1;

	if (argc > 2 && !strcmp(argv[1], "--write")) {
		r.write_to = argv[2];
		i = 3;
	}
	for (; i < argc; i++)
		if (!strcmp(argv[i], "--recipes"))
			r.only_recipes = true;
		else
			give_path(&r, argv[i]);
	printf("%u inputs, %u runs\n", r.inputs, r.runs);
	if (!r.inputs) /* a corpus that vanished must not look like one that passed */
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}
