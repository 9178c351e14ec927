/* SPDX-License-Identifier: Apache-2.0 */
/* recipe IN OUT: compiles a recipe to a perf.data file. */
#include <stdio.h>
#include <stdlib.h>

#include "recipe/recipe.h"

static void print_note(void *ctx, const struct note *note)
{
	(void)ctx;
	fprintf(stderr, "%s: %s\n", note->file ? note->file : "recipe", note->text);
}

static bool read_all(const char *path, struct bytes *out)
{
	FILE *f = fopen(path, "rb");
	char buf[4096];
	size_t n;
	bool ok;

	if (!f)
		return false;
	while ((n = fread(buf, 1, sizeof(buf), f)))
		bytes_put(out, buf, n);
	ok = !ferror(f);
	fclose(f);
	return ok;
}

static bool write_all(const char *path, const struct bytes *b)
{
	FILE *f = fopen(path, "wb");
	bool ok = f && fwrite(b->p, 1, b->len, f) == b->len;

	return f && !fclose(f) && ok;
}

int main(int argc, char **argv)
{
	const struct notify notify = { print_note, NULL };
	struct bytes text = { 0 }, out = { 0 };
	struct recipe r;
	int err;

	if (argc != 3) {
		fputs("usage: recipe IN OUT\n", stderr);
		return 2;
	}
	if (!read_all(argv[1], &text)) {
		perror(argv[1]);
		return EXIT_FAILURE;
	}
	err = recipe_parse(&r, argv[1], (const char *)text.p, text.len, &notify);
	if (!err) {
		err = recipe_write(&r, &out);
		if (err)
			fprintf(stderr, "%s: %s\n", argv[1], err_name(err));
		else if (!write_all(argv[2], &out)) {
			perror(argv[2]);
			err = ERR_IO;
		}
	}
	recipe_free(&r);
	bytes_free(&text);
	bytes_free(&out);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
