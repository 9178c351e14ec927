/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the symbol cache: what is kept is found again, by its key only, within limits, in a place of our own.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "own_dir.h"
#include "state/cache.h"
#include "state/dso.h"
#include "state/dso_answers.h"

struct place {
	char base[OWN_DIR_PATH], dir[96];
};

static int enter(void **state)
{
	struct place *p = test_calloc(1, sizeof(*p));

	if (!p)
		return -1;
	own_dir_make(p->base);
	snprintf(p->dir, sizeof(p->dir), "%s/reticle", p->base);
	setenv("XDG_CACHE_HOME", p->base, 1);
	*state = p;
	return 0;
}

static int leave(void **state)
{
	struct place *p = *state;
	char command[256];
	int status;

	snprintf(command, sizeof(command), "chmod -R u+rwX %s; rm -rf %s", p->base, p->base);
	status = system(command);
	test_free(p);
	return status;
}

static struct bytes key_of(u32 n)
{
	struct bytes key = { 0 };

	bytes_printf(&key, "key %u", n);
	return key;
}

static void keep(struct cache *c, u32 n, size_t size)
{
	struct bytes key = key_of(n), body = { 0 };

	while (body.len < size)
		bytes_u8(&body, (u8)n);
	cache_keep(c, CACHE_SYMBOLS, &key, &body);
	bytes_free(&key);
	bytes_free(&body);
}

/* Is it there, with that size and what keep wrote? */
static bool is_kept(struct cache *c, u32 n, size_t size)
{
	struct bytes key = key_of(n);
	struct cache_entry e;
	bool found = cache_find(c, CACHE_SYMBOLS, &key, &e) == 0, fine = found && e.size == size;
	u8 byte;

	for (size_t i = 0; fine && i < size; i++)
		fine = cache_entry_read(&e, i, &byte, 1) && byte == (u8)n;
	if (found) {
		assert_false(cache_entry_read(&e, e.size, &byte, 1));
		cache_entry_close(&e);
	}
	bytes_free(&key);
	return fine;
}

static u32 count_files(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	u32 n = 0;

	while (d && (e = readdir(d)) != NULL)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	if (d)
		closedir(d);
	return n;
}

static void only_file(const char *dir, char path[512])
{
	DIR *d = opendir(dir);
	const struct dirent *e;

	path[0] = 0;
	while (d && (e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			snprintf(path, 512, "%s/%s", dir, e->d_name);
	if (d)
		closedir(d);
	assert_true(path[0]);
}

static void found_by_key(void **state)
{
	const struct place *p = *state;
	struct cache *c = cache_new(NULL);
	struct bytes key = key_of(1);
	struct stat st;

	assert_non_null(c);
	keep(c, 1, 1000);
	keep(c, 2, 0);
	assert_true(is_kept(c, 1, 1000));
	assert_true(is_kept(c, 2, 0));
	assert_false(is_kept(c, 3, 1000));
	assert_true(cache_has(c, CACHE_SYMBOLS, &key));
	assert_false(cache_has(c, CACHE_LINES, &key));
	assert_true(cache_has_any(c, CACHE_SYMBOLS));
	assert_false(cache_has_any(c, CACHE_LINES));
	assert_false(cache_has_any(NULL, CACHE_SYMBOLS));
	keep(c, 1, 10); /* in the place of the other */
	assert_true(is_kept(c, 1, 10));
	cache_free(c);
	assert_int_equal(stat(p->dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	bytes_free(&key);
}

/* No cache at all is fine for whoever asks. */
static void no_cache(void **state)
{
	(void)state;
	keep(NULL, 1, 10);
	assert_false(is_kept(NULL, 1, 10));
	cache_free(NULL);
}

/* Of the file that was written last: the others have been given times of the past. */
static void set_time(const char *dir, long when)
{
	struct timespec times[2] = { { .tv_sec = when }, { .tv_sec = when } };
	DIR *d = opendir(dir);
	const struct dirent *e;

	while (d && (e = readdir(d)) != NULL) {
		struct stat st;

		if (e->d_name[0] != '.' && !fstatat(dirfd(d), e->d_name, &st, 0) && st.st_mtim.tv_sec > 1000000)
			assert_int_equal(utimensat(dirfd(d), e->d_name, times, 0), 0);
	}
	if (d)
		closedir(d);
}

/* One run that keeps much does not wait for its end. */
static void much_in_one_run(void **state)
{
	const struct place *p = *state;
	struct cache *c = cache_new(&(struct cache_limits){ 5000, 100 });

	for (u32 i = 0; i < 30; i++) {
		keep(c, i, 900);
		assert_true(count_files(p->dir) <= 8);
		assert_true(is_kept(c, i, 900));
	}
	cache_free(c);
	assert_true(count_files(p->dir) >= 3);
}

static void oldest_go(void **state)
{
	const struct place *p = *state;
	struct cache *c = cache_new(&(struct cache_limits){ 5000, 100 });

	for (u32 i = 0; i < 8; i++) {
		keep(c, i, 900);
		set_time(p->dir, 1000 + (i == 2 ? 100 : (long)i)); /* number 2 was used last */
	}
	cache_free(c);
	c = cache_new(&(struct cache_limits){ 5000, 2 });
	for (u32 i = 0; i < 8; i++)
		assert_int_equal(is_kept(c, i, 900), i == 2 || i >= 4);
	cache_free(c); /* nothing was added: nothing goes */
	assert_int_equal(count_files(p->dir), 5);
	c = cache_new(&(struct cache_limits){ 5000, 2 });
	keep(c, 9, 1);
	cache_free(c);
	assert_int_equal(count_files(p->dir), 2);
	c = cache_new(&(struct cache_limits){ 10, 100 });
	keep(c, 9, 1); /* more than the limit alone */
	cache_free(c);
	assert_int_equal(count_files(p->dir), 0);
}

/* Files that nobody finished go after an hour, and not before: somebody may be writing there. */
static void unfinished_go(void **state)
{
	const struct place *p = *state;
	struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct cache *c = cache_new(NULL);
	char path[128];
	int fd;

	for (u32 i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/.new-%u-0", p->dir, i);
		fd = open(path, O_CREAT | O_WRONLY, 0600);
		assert_true(fd >= 0);
		if (i)
			assert_int_equal(futimens(fd, old), 0);
		close(fd);
	}
	keep(c, 1, 1);
	cache_free(c);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(count_files(p->dir), 2);
}

/* Two caches of one process, and a process of the same number elsewhere, choose the same names for unfinished files.
 */
static void same_names(void **state)
{
	const struct place *p = *state;
	struct cache *c = cache_new(NULL);
	char path[128];

	for (u32 i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/.new-%d-%u", p->dir, (int)getpid(), i);
		close(open(path, O_CREAT | O_WRONLY, 0600));
	}
	keep(c, 1, 1);
	assert_true(is_kept(c, 1, 1));
	cache_free(c);
	assert_int_equal(count_files(p->dir), 4);
}

static void damaged_heads(void **state)
{
	const struct place *p = *state;
	struct cache *c = cache_new(NULL);
	char path[512];

	keep(c, 1, 100);
	only_file(p->dir, path);
	for (long at = 0; at < 32 + 5; at++) {
		u8 byte, other;
		int fd = open(path, O_RDWR);

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ 0x10;
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		assert_false(is_kept(c, 1, 100));
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
	}
	assert_true(is_kept(c, 1, 100));
	for (long size = 136; size >= 0; size -= 8) {
		assert_int_equal(truncate(path, size), 0);
		assert_false(is_kept(c, 1, 100));
	}
	cache_free(c);
}

/* Another entry's file under this name; one that others may write to; one with a second name; a link; a directory. */
static void foreign_files(void **state)
{
	const struct place *p = *state;
	struct cache *c = cache_new(NULL);
	char path[512], other[512];

	keep(c, 1, 100);
	only_file(p->dir, path);
	snprintf(other, sizeof(other), "%s/other", p->base);
	assert_int_equal(chmod(path, 0622), 0);
	assert_false(is_kept(c, 1, 100));
	assert_int_equal(chmod(path, 0600), 0);
	assert_true(is_kept(c, 1, 100));
	assert_int_equal(link(path, other), 0);
	assert_false(is_kept(c, 1, 100));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_false(is_kept(c, 1, 100));
	assert_int_equal(unlink(path), 0);
	keep(c, 2, 100);
	only_file(p->dir, other);
	assert_int_equal(rename(other, path), 0);
	assert_false(is_kept(c, 1, 100));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_false(is_kept(c, 1, 100));
	keep(c, 1, 100); /* cannot be put there, and leaves nothing behind */
	cache_free(c);
	assert_int_equal(count_files(p->dir), 1);
}

static void places(void **state)
{
	const struct place *p = *state;
	char home[128], elsewhere[128];
	struct cache *c;

	assert_int_equal(mkdir(p->dir, 0700), 0);
	assert_int_equal(chmod(p->dir, 0770), 0);
	assert_null(cache_new(NULL));
	assert_int_equal(rmdir(p->dir), 0);
	assert_int_equal(symlink("/tmp", p->dir), 0);
	assert_null(cache_new(NULL));
	assert_int_equal(unlink(p->dir), 0);
	assert_int_equal(chmod(p->base, 0777), 0);
	assert_null(cache_new(NULL)); /* is not made where others could put another one */
	assert_int_equal(chmod(p->base, 0700), 0);

	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_null(cache_new(NULL));
	setenv("HOME", "relative", 1);
	assert_null(cache_new(NULL));
	snprintf(home, sizeof(home), "%s/none", p->base);
	setenv("HOME", home, 1);
	assert_null(cache_new(NULL));
	setenv("HOME", p->base, 1);
	c = cache_new(NULL);
	assert_non_null(c);
	cache_free(c);
	snprintf(home, sizeof(home), "%s/.cache/reticle", p->base);
	assert_int_equal(access(home, F_OK), 0);
	if (geteuid()) {
		assert_int_equal(rmdir(home), 0);
		snprintf(home, sizeof(home), "%s/.cache", p->base);
		assert_int_equal(chmod(home, 0500), 0);
		assert_null(cache_new(NULL));
		return;
	}
	/* Root with the HOME of somebody else. */
	snprintf(home, sizeof(home), "%s/theirs", p->base);
	assert_int_equal(mkdir(home, 0755), 0);
	assert_int_equal(chown(home, 65534, 65534), 0);
	setenv("HOME", home, 1);
	assert_null(cache_new(NULL));
	assert_int_equal(count_files(home), 0);
	/* A link there leads to what root owns, but it is not root's choice. */
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", p->base);
	assert_int_equal(mkdir(elsewhere, 0755), 0);
	snprintf(home, sizeof(home), "%s/theirs/.cache", p->base);
	assert_int_equal(symlink(elsewhere, home), 0);
	assert_null(cache_new(NULL));
	assert_int_equal(count_files(elsewhere), 0);
	/* In a directory of one's own it is. */
	snprintf(home, sizeof(home), "%s/theirs", p->base);
	assert_int_equal(chown(home, 0, 0), 0);
	c = cache_new(NULL);
	assert_non_null(c);
	cache_free(c);
}

struct writer {
	struct cache *c;
	u32 failed;
};

static void *write_many(void *ctx)
{
	struct writer *w = ctx;

	for (u32 i = 0; i < 50; i++) {
		keep(w->c, 1, 3000);
		w->failed += !is_kept(w->c, 1, 3000);
	}
	return NULL;
}

/* Whoever reads while others write sees a whole entry, the old or the new one. */
static void many_writers(void **state)
{
	const struct place *p = *state;
	struct writer w[4] = { 0 };
	pthread_t threads[4];

	for (u32 i = 0; i < 4; i++) {
		w[i].c = i % 2 ? w[0].c : cache_new(NULL);
		pthread_create(&threads[i], NULL, write_many, &w[i]);
	}
	for (u32 i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(w[i].failed, 0);
	}
	cache_free(w[0].c);
	cache_free(w[2].c);
	assert_int_equal(count_files(p->dir), 1);
}

static const struct source_frame frames[] = { { "inner", "a.h", 3 }, { NULL, NULL, 0 }, { "outer", "a.c", 17 } };

static void check_answers(const struct answers *a)
{
	struct source_frame out[3];
	u32 n = 9;

	assert_false(answers_has(a, 4));
	assert_true(answers_find(a, 2, out, 3, &n));
	assert_int_equal(n, 0);
	assert_true(answers_find(a, 1, out, 2, &n));
	assert_int_equal(n, 2);
	assert_true(answers_find(a, 1, out, 3, &n));
	assert_int_equal(n, 3);
	assert_string_equal(out[0].function, "inner");
	assert_null(out[1].function);
	assert_null(out[1].file);
	assert_string_equal(out[2].file, "a.c");
	assert_int_equal(out[2].line, 17);
}

static void answers_last(void **state)
{
	const struct place *p = *state;
	struct cache *c = cache_new(NULL);
	struct bytes key = key_of(1);
	struct answers *a = answers_new(c, &key);
	char path[512];
	struct stat st;

	answers_add(a, 1, frames, 3);
	answers_add(a, 2, NULL, 0);
	answers_add(a, 1, NULL, 0); /* there is one already */
	check_answers(a);
	answers_free(a, c);
	a = answers_new(c, &key);
	check_answers(a);
	answers_add(a, 4, frames, 1);
	answers_do_not_keep(a);
	answers_free(a, c);
	a = answers_new(c, &key);
	check_answers(a);
	assert_int_equal(answers_count(a), 2);
	answers_free(a, c);
	a = answers_new(NULL, NULL); /* without a key they are of this run */
	answers_add(a, 1, frames, 3);
	answers_add(a, 2, NULL, 0);
	check_answers(a);
	answers_free(a, c);
	assert_int_equal(count_files(p->dir), 1);

	/* Each damage leaves nothing of them. */
	only_file(p->dir, path);
	assert_int_equal(stat(path, &st), 0);
	for (long at = 32 + 5; at < st.st_size; at++) {
		int fd = open(path, O_RDWR);
		u8 byte, other;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ 0x81;
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		a = answers_new(c, &key);
		assert_int_equal(answers_count(a), 0);
		answers_free(a, c);
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
		close(fd);
	}
	bytes_free(&key);
	cache_free(c);
}

/* A change may come within the time that a file system's clock takes for the same. */
static void changed_just_now(void **state)
{
	struct bytes key = { 0 };
	FILE *f = tmpfile();
	struct stat st;

	(void)state;
	assert_non_null(f);
	assert_int_equal(fstat(fileno(f), &st), 0);
	assert_false(cache_key_file(&key, fileno(f), st.st_ctim.tv_sec));
	assert_false(cache_key_file(&key, fileno(f), st.st_ctim.tv_sec + 1));
	assert_true(cache_key_file(&key, fileno(f), st.st_ctim.tv_sec + 2));
	assert_true(cache_key_file(&key, -1, 0)); /* there is none, and that is known */
	bytes_free(&key);
	fclose(f);
}

static bool is_there(const struct place *p, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	return !access(path, F_OK);
}

static void make_empty(const struct place *p, const char *name)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", p->dir, name);
	fd = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void what_the_killed_began_is_removed(void **state)
{
	const struct place *p = *state;
	struct cache *c = cache_new(NULL);

	assert_non_null(c);
	keep(c, 1, 10);
	make_empty(p, ".new-123-0");
	make_empty(p, ".new-123-45");
	make_empty(p, ".new-1234-0");
	cache_drop_unfinished(c, 123);
	assert_false(is_there(p, ".new-123-0"));
	assert_false(is_there(p, ".new-123-45"));
	assert_true(is_there(p, ".new-1234-0"));
	assert_true(is_kept(c, 1, 10));
	cache_free(c);
}

/* Reads this program's symbols. */
static void load_ours(struct dsos *d)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	const struct dso_key key = { .kind = DSO_FILE, .path = { path, (u32)n } };
	struct stat st;

	assert_true(n > 0);
	/* Of a program that was linked just now nothing is kept. */
	assert_int_equal(stat("/proc/self/exe", &st), 0);
	while (time(NULL) < st.st_ctim.tv_sec + 2)
		usleep(100000);
	(void)dsos_symbol_at(d, dsos_get(d, &key), 0);
}

static void tables_are_kept_later(void **state)
{
	const struct symbol_opts opts = { .cache = true };
	struct dsos *d = dsos_new(&opts, NULL);
	struct cache *c = cache_new(NULL);

	(void)state;
	assert_non_null(c);
	dsos_keep_later(d);
	load_ours(d);
	assert_false(cache_has_any(c, CACHE_SYMBOLS));
	dsos_keep_begin(d);
	dsos_keep_begin(d); /* which is under way */
	dsos_keep_end(d);
	assert_true(cache_has_any(c, CACHE_SYMBOLS));
	dsos_free(d);
	cache_free(c);
}

/* Without a thread, and by who forgets about it. */
static void tables_are_kept_at_the_end(void **state)
{
	const struct symbol_opts opts = { .cache = true };
	struct dsos *d = dsos_new(&opts, NULL);
	struct cache *c = cache_new(NULL);

	(void)state;
	assert_non_null(c);
	dsos_keep_begin(d); /* there is none yet */
	dsos_keep_later(d);
	load_ours(d);
	assert_false(cache_has_any(c, CACHE_SYMBOLS));
	dsos_free(d);
	assert_true(cache_has_any(c, CACHE_SYMBOLS));
	cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_the_killed_began_is_removed, enter, leave),
		cmocka_unit_test_setup_teardown(found_by_key, enter, leave),
		cmocka_unit_test(no_cache),
		cmocka_unit_test(changed_just_now),
		cmocka_unit_test_setup_teardown(much_in_one_run, enter, leave),
		cmocka_unit_test_setup_teardown(oldest_go, enter, leave),
		cmocka_unit_test_setup_teardown(unfinished_go, enter, leave),
		cmocka_unit_test_setup_teardown(same_names, enter, leave),
		cmocka_unit_test_setup_teardown(damaged_heads, enter, leave),
		cmocka_unit_test_setup_teardown(foreign_files, enter, leave),
		cmocka_unit_test_setup_teardown(places, enter, leave),
		cmocka_unit_test_setup_teardown(many_writers, enter, leave),
		cmocka_unit_test_setup_teardown(answers_last, enter, leave),
		cmocka_unit_test_setup_teardown(tables_are_kept_later, enter, leave),
		cmocka_unit_test_setup_teardown(tables_are_kept_at_the_end, enter, leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
