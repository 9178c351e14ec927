/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many short processes, each a program of another path and name:
 *
 *     processes N PER_SECOND DIRECTORY
 *
 * Each is a copy of this file's program under a name that no other had, in a directory made for it, which is gone when
 * it has ended. It works for about half a millisecond, so that a sampler at 4000 Hz sees most of them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEPS 200000u

extern char **environ;

static void fail(const char *what)
{
	fprintf(stderr, "processes: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static int work(void)
{
	volatile unsigned x = 1;

	for (unsigned i = 0; i < STEPS; i++)
		x = x * 1664525u + 1013904223u;
	return EXIT_SUCCESS;
}

/* The program once, as a file that links can be made to. */
static void copy_self(const char *to)
{
	struct stat st;
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), out;

	if (in < 0 || fstat(in, &st))
		fail("/proc/self/exe");
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (out < 0)
		fail(to);
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(out, in, NULL, (size_t)left);

		if (n <= 0)
			fail(to);
		left -= n;
	}
	close(in);
	close(out);
}

static void run_one(const char *program, const char *directory, unsigned long i)
{
	char dir[PATH_MAX], path[PATH_MAX + 32];
	char *words[] = { path, NULL };
	pid_t pid;

	snprintf(dir, sizeof(dir), "%s/%lu", directory, i);
	snprintf(path, sizeof(path), "%s/p%lu", dir, i);
	if (mkdir(dir, 0755) || link(program, path))
		fail(path);
	errno = posix_spawn(&pid, path, NULL, NULL, words, environ);
	if (errno || waitpid(pid, NULL, 0) != pid)
		fail(path);
	unlink(path);
	rmdir(dir);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	char program[PATH_MAX];
	unsigned long n;
	double rate, begin = now();

	if (argc == 1)
		return work();
	if (argc != 4) {
		fprintf(stderr, "usage: processes N PER_SECOND DIRECTORY\n");
		return EXIT_FAILURE;
	}
	n = strtoul(argv[1], NULL, 10);
	rate = strtod(argv[2], NULL);
	snprintf(program, sizeof(program), "%s/program", argv[3]);
	copy_self(program);
	for (unsigned long i = 0; i < n; i++) {
		double ahead = begin + (double)i / rate - now();

		if (ahead > 0)
			usleep((useconds_t)(ahead * 1e6));
		run_one(program, argv[3], i);
	}
	unlink(program);
	return EXIT_SUCCESS;
}
