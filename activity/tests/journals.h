/* SPDX-License-Identifier: Apache-2.0 */
/* What readers know of journals, for tests: of a process that keeps one for its only thread. */
#ifndef JOURNALS_H
#define JOURNALS_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

struct seen_slot {
	volatile uint32_t number;
	uint32_t tid;
	uint64_t time;
	struct seen_record record;
};

struct seen_ring {
	char magic[8];
	uint32_t slots, slot_size, pid, started;
	uint64_t image, processes, clocks;
	uint8_t room[16];
	volatile uint64_t next;
	uint8_t more[4096 - 72];
	struct seen_slot slot[];
};

struct journal_reader {
	char path[PATH_MAX];
	int pid;
	struct seen_ring *ring;
	size_t bytes;
};

static char journal_dir[64];

/* For those that are forked now. */
static inline void journal_begin(void)
{
	if (!*journal_dir) {
		snprintf(journal_dir, sizeof(journal_dir), "%s/activity-test-XXXXXX",
			 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
		CHECK(mkdtemp(journal_dir));
	}
	CHECK(!setenv("RETICLE_ACTIVITY_JOURNAL", journal_dir, 1));
	CHECK(!setenv("RETICLE_ACTIVITY_JOURNAL_ENTRIES", "65536", 1));
}

/* Finds the first file of that process, whose name ends so. */
static inline int journal_find(char path[PATH_MAX], int pid, const char *kind)
{
	DIR *d = opendir(journal_dir);
	struct dirent *e;
	int found = 0;

	CHECK(d);
	while ((e = readdir(d))) {
		size_t n = strlen(e->d_name), m = strlen(kind);

		if (n < m || strcmp(e->d_name + n - m, kind) || strtol(e->d_name, NULL, 16) != pid)
			continue;
		if (!found++)
			snprintf(path, PATH_MAX, "%s/%s", journal_dir, e->d_name);
	}
	closedir(d);
	return found;
}

static inline void journal_open(struct journal_reader *j, int pid)
{
	struct stat st;
	int fd;

	j->pid = pid;
	CHECK(journal_find(j->path, pid, ".ring") == 1);
	fd = open(j->path, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0 && !fstat(fd, &st) && (st.st_mode & 0777) == 0600);
	j->bytes = (size_t)st.st_size;
	j->ring = mmap(NULL, j->bytes, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(j->ring != MAP_FAILED);
	close(fd);
	CHECK(!memcmp(j->ring->magic, "RETJRNL1", 8) && j->ring->slot_size == sizeof(struct seen_slot));
	CHECK(j->ring->pid == (uint32_t)pid && j->bytes == 4096 + (size_t)j->ring->slots * sizeof(struct seen_slot));
}

static inline const struct seen_slot *journal_slot(const struct journal_reader *j, uint64_t n)
{
	return &j->ring->slot[n & (j->ring->slots - 1)];
}

static inline void journal_close(struct journal_reader *j)
{
	munmap(j->ring, j->bytes);
	CHECK(!unlink(j->path));
}
#endif
