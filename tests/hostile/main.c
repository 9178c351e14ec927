/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings that want memory: each is nothing but the smallest legal records of one kind, no two of which can share
 * what a reader keeps of them.
 *
 *   hostile                  the kinds
 *   hostile KIND MIB >FILE   one of them, so large
 *   hostile --peak CMD...    runs CMD; behind what it prints to standard error stands a line "SECONDS KIB"
 *
 * SECONDS of the processor were spent by CMD and the children that it waited for, KIB is the most anonymous memory
 * that it had at one time, with the process that parses for it.
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zstd.h>

#include "codec/features.h"
#include "codec/perfdata.h"
#include "codec/record.h"

struct maker {
	struct bytes *out; /* empties itself */
	u64 bytes;	   /* to be made */
	u32 i;		   /* records made so far */
};

struct kind {
	const char *name;
	u64 sample_type;
	void (*put)(struct maker *m);		     /* one record */
	void (*whole)(struct bytes *out, u64 bytes); /* instead: the whole file */
};

static void put_head(struct bytes *out, u32 type, u16 misc, u32 size)
{
	bytes_u32(out, type);
	bytes_u16(out, misc);
	bytes_u16(out, (u16)size);
}

static void put_pair(struct bytes *out, u32 a, u32 b)
{
	bytes_u32(out, a);
	bytes_u32(out, b);
}

#define NO_NAME 40 /* bytes of an MMAP without a name: legal, as what is not there reads as empty */

static void put_mmap(struct bytes *out, u32 size, u32 pid, u64 start)
{
	put_head(out, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, size);
	put_pair(out, pid, pid);
	bytes_u64(out, start);
	bytes_u64(out, 0x1000);
	bytes_u64(out, 0);
}

/* Seven letters that differ for each of 16 M. */
static void put_name(struct bytes *out, u32 i)
{
	char name[9];

	snprintf(name, sizeof(name), "/%06x", i & 0xffffff);
	bytes_put(out, name, 8);
}

static void maps(struct maker *m)
{
	put_mmap(m->out, NO_NAME, 0, (u64)m->i << 13);
}

static void maps_backwards(struct maker *m)
{
	put_mmap(m->out, NO_NAME, 0, (u64)(0x40000000 - m->i) << 13);
}

/* Each inside the one before, so that what is visible of the older ones falls into two. */
static void maps_nested(struct maker *m)
{
	u64 start = (u64)m->i << 12;

	put_head(m->out, PERF_RECORD_MMAP, PERF_RECORD_MISC_USER, NO_NAME);
	put_pair(m->out, 0, 0);
	bytes_u64(m->out, start);
	bytes_u64(m->out, (1ull << 46) - 2 * start);
	bytes_u64(m->out, 0);
}

static void maps_of_processes(struct maker *m)
{
	put_mmap(m->out, NO_NAME, m->i + 1, 0x400000);
}

static void maps_of_kernel(struct maker *m)
{
	put_head(m->out, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL, NO_NAME + 8);
	put_pair(m->out, UINT32_MAX, 0);
	bytes_u64(m->out, 0xffffffff80000000 + ((u64)m->i << 13));
	bytes_u64(m->out, 0x1000);
	bytes_u64(m->out, 0);
	put_name(m->out, m->i);
}

static void maps_of_files(struct maker *m)
{
	put_mmap(m->out, NO_NAME + 8, 0, (u64)m->i << 13);
	put_name(m->out, m->i);
}

static void maps_of_anonymous(struct maker *m)
{
	put_mmap(m->out, NO_NAME + 8, m->i + 1, 0x400000);
	bytes_put(m->out, "//anon\0", 8);
}

static void maps_of_builds(struct maker *m)
{
	put_head(m->out, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID, 80);
	put_pair(m->out, 0, 0);
	bytes_u64(m->out, (u64)m->i << 13);
	bytes_u64(m->out, 0x1000);
	bytes_u64(m->out, 0);
	put_pair(m->out, 20, m->i);
	bytes_zero(m->out, 16);
	put_pair(m->out, 5, 2);
	bytes_put(m->out, "/bin/ls", 8);
}

static void comms(struct maker *m)
{
	put_head(m->out, PERF_RECORD_COMM, 0, 24);
	put_pair(m->out, 1, m->i + 1);
	put_name(m->out, m->i);
}

static void comms_of_threads(struct maker *m)
{
	put_head(m->out, PERF_RECORD_COMM, 0, 16);
	put_pair(m->out, 1, m->i + 1);
}

static void comms_of_thread(struct maker *m)
{
	put_head(m->out, PERF_RECORD_COMM, 0, 24);
	put_pair(m->out, 0, 0);
	put_name(m->out, m->i);
}

static void put_fork(struct bytes *out, u32 pid, u32 parent, u32 tid, u32 ptid)
{
	put_head(out, PERF_RECORD_FORK, 0, 32);
	put_pair(out, pid, parent);
	put_pair(out, tid, ptid);
	bytes_u64(out, 0);
}

static void forks(struct maker *m)
{
	put_fork(m->out, m->i + 2, 1, m->i + 2, 1);
}

static void forks_in_line(struct maker *m)
{
	put_fork(m->out, m->i + 2, m->i + 1, m->i + 2, m->i + 1);
}

/* Each shows what all before it have mapped. */
static void forks_with_maps(struct maker *m)
{
	if (m->i % 2)
		put_mmap(m->out, NO_NAME, m->i / 2 + 2, (u64)m->i << 12);
	else
		put_fork(m->out, m->i / 2 + 2, m->i / 2 + 1, m->i / 2 + 2, m->i / 2 + 1);
}

/* Two processes that made a thread of each other. */
static void forks_crossed(struct maker *m)
{
	if (m->i < 2)
		put_mmap(m->out, NO_NAME, m->i + 1, (u64)m->i << 20);
	else if (m->i < 4)
		put_fork(m->out, m->i - 1, 4 - m->i, m->i + 1, 4 - m->i);
	else
		put_fork(m->out, 1, 1, m->i + 1, 1);
}

static void forks_of_named(struct maker *m)
{
	if (!m->i) {
		put_head(m->out, PERF_RECORD_COMM, 0, 24);
		put_pair(m->out, 0, 0);
		put_name(m->out, 0);
	}
	put_fork(m->out, m->i + 2, m->i + 1000000001, m->i + 2, 0);
}

static void put_ksymbol(struct bytes *out, u32 size, u32 i)
{
	put_head(out, PERF_RECORD_KSYMBOL, 0, size);
	bytes_u64(out, 0xffffffffc0000000 + ((u64)i << 6));
	bytes_u32(out, 64);
	bytes_u16(out, 1);
	bytes_u16(out, 0);
}

static void ksymbols(struct maker *m)
{
	put_ksymbol(m->out, 32, m->i);
	put_name(m->out, m->i);
}

static void ksymbols_of_one(struct maker *m)
{
	put_ksymbol(m->out, 32, m->i);
	bytes_put(m->out, "bpf\0\0\0\0", 8);
}

static void deferred(struct maker *m)
{
	put_head(m->out, PERF_RECORD_CALLCHAIN_DEFERRED, PERF_RECORD_MISC_USER, 32);
	bytes_u64(m->out, m->i);
	bytes_u64(m->out, 1);
	bytes_u64(m->out, 0x400000);
}

static void lost(struct maker *m)
{
	put_head(m->out, PERF_RECORD_LOST_SAMPLES, 0, 16);
	bytes_u64(m->out, m->i);
}

static void put_sample(struct bytes *out, u32 size)
{
	put_head(out, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, size);
}

static void samples_of_pids(struct maker *m)
{
	put_sample(m->out, 16);
	put_pair(m->out, m->i + 1, m->i + 1);
}

static void samples_of_ips(struct maker *m)
{
	put_sample(m->out, 16);
	bytes_u64(m->out, (u64)m->i << 4);
}

static void samples_of_chains(struct maker *m)
{
	put_sample(m->out, 40);
	bytes_u64(m->out, (u64)m->i << 4);
	bytes_u64(m->out, 2);
	bytes_u64(m->out, PERF_CONTEXT_USER);
	bytes_u64(m->out, (u64)m->i << 4);
}

/* Kernel addresses, which no map is needed for: two to a chain, every pair once. */
static void samples_of_callers(struct maker *m)
{
	put_sample(m->out, 8 + 16 + 8 * 4);
	bytes_u64(m->out, 0xffffffff81000000 + ((u64)m->i << 4));
	bytes_u64(m->out, 4);
	bytes_u64(m->out, PERF_CONTEXT_KERNEL);
	for (u32 k = 0; k < 3; k++)
		bytes_u64(m->out, 0xffffffff81000000 + ((u64)m->i << 4) + k);
}

/* Long chains of the first mappings' addresses. */
#define MAPPED 4096
#define LONG 120
static void samples_of_mapped(struct maker *m)
{
	if (!m->i)
		for (u32 i = 0; i < 64; i++) {
			put_mmap(m->out, NO_NAME + 8, 1, (u64)i << 13);
			put_name(m->out, i);
		}
	put_sample(m->out, 8 + 8 + 8 + 8 + 8 * (LONG + 1));
	bytes_u64(m->out, 1);
	put_pair(m->out, 1, 1);
	bytes_u64(m->out, LONG + 1);
	bytes_u64(m->out, PERF_CONTEXT_USER);
	for (u32 k = 0; k < LONG; k++) {
		u64 x = (m->i * LONG + k) * 2654435761u;

		bytes_u64(m->out, (x % 64 << 13) + (x >> 8 & 0xfff));
	}
}

static void samples_of_times(struct maker *m)
{
	put_sample(m->out, 16);
	bytes_u64(m->out, m->i % 2 ? m->i : UINT32_MAX - m->i);
}

static struct attr usual_attr(u64 sample_type)
{
	return (struct attr){ .type = PERF_TYPE_SOFTWARE, .sample_period = 1, .sample_type = sample_type };
}

/* n events with ids for each; what follows is data. */
static void put_file_head(struct bytes *out, u32 n, u32 ids, u64 sample_type, u64 data, u64 feature)
{
	struct perfdata_header h = { .size = PERFDATA_HEADER_SIZE, .attr_size = ATTR_SIZE_MIN + 16 };
	struct attr a = usual_attr(sample_type);
	u64 ids_at = PERFDATA_HEADER_SIZE + n * h.attr_size;

	h.attrs = (struct section){ PERFDATA_HEADER_SIZE, n * h.attr_size };
	h.data = (struct section){ ids_at + 8ull * n * ids, data };
	h.features[0] = feature;
	perfdata_header_encode(&h, out);
	for (u32 i = 0; i < n; i++) {
		attr_encode(&a, ATTR_SIZE_MIN, out);
		bytes_u64(out, ids_at + 8ull * i * ids);
		bytes_u64(out, 8ull * ids);
	}
	for (u32 i = 0; i < n * ids; i++)
		bytes_u64(out, i + 1);
}

/* Readers take so many and no more. */
static void events(struct bytes *out, u64 bytes)
{
	put_file_head(out, (u32)MIN(bytes / (ATTR_SIZE_MIN + 16), 8192), 0, PERF_SAMPLE_IP, 16, 0);
	put_sample(out, 16);
	bytes_u64(out, 1);
}

/* Likewise. */
static void ids(struct bytes *out, u64 bytes)
{
	bytes = MIN(bytes, 8u * 128 << 10);
	put_file_head(out, 2, (u32)(bytes / 16), PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP, 24, 0);
	put_sample(out, 24);
	bytes_u64(out, 1);
	bytes_u64(out, 1);
}

/* A header that lists a build id for each of so many files. */
#define BUILD_ID_RECORD (8 + 4 + 24 + 8)
static void build_ids(struct bytes *out, u64 bytes)
{
	u32 n = (u32)(bytes / BUILD_ID_RECORD);
	u64 at;

	put_file_head(out, 1, 0, PERF_SAMPLE_IP, 16, 1 << FEAT_BUILD_ID);
	put_sample(out, 16);
	bytes_u64(out, 1);
	at = PERFDATA_HEADER_SIZE + ATTR_SIZE_MIN + 16 + 16 + 16;
	bytes_u64(out, at);
	bytes_u64(out, (u64)n * BUILD_ID_RECORD);
	for (u32 i = 0; i < n; i++) {
		put_head(out, PERF_RECORD_HEADER_BUILD_ID, PERF_RECORD_MISC_USER, BUILD_ID_RECORD);
		put_pair(out, UINT32_MAX, i);
		bytes_zero(out, 20);
		put_name(out, i);
	}
}

/* Records that shrink to nearly nothing: COMM records of one thread, one zstd stream. */
static void bomb(struct bytes *out, u64 bytes)
{
	size_t room = ZSTD_compressBound(bytes), n;
	u8 *plain = mem_zalloc(bytes), *packed = mem_alloc(room);
	u64 at;

	for (at = 0; at + 16 <= bytes; at += 16)
		memcpy(plain + at, &(struct record_header){ PERF_RECORD_LOST_SAMPLES, 0, 16 }, 8);
	n = ZSTD_compress(packed, room, plain, at, 1);
	put_file_head(out, 1, 0, PERF_SAMPLE_IP, 0, 0);
	for (size_t done = 0; done < n;) {
		u32 piece = (u32)MIN(n - done, 65000u);

		put_head(out, PERF_RECORD_COMPRESSED, 0, 8 + piece);
		bytes_put(out, packed + done, piece);
		done += piece;
	}
	free(plain);
	free(packed);
}

#define TID PERF_SAMPLE_TID
#define IP PERF_SAMPLE_IP
#define CHAIN PERF_SAMPLE_CALLCHAIN
static const struct kind kinds[] = {
	{ "maps", IP, maps },
	{ "maps-backwards", IP, maps_backwards },
	{ "maps-nested", IP, maps_nested },
	{ "maps-of-processes", IP, maps_of_processes },
	{ "maps-of-kernel", IP, maps_of_kernel },
	{ "maps-of-files", IP, maps_of_files },
	{ "maps-of-anonymous", IP, maps_of_anonymous },
	{ "maps-of-builds", IP, maps_of_builds },
	{ "comms", IP, comms },
	{ "comms-of-threads", IP, comms_of_threads },
	{ "comms-of-thread", IP, comms_of_thread },
	{ "forks", IP, forks },
	{ "forks-in-line", IP, forks_in_line },
	{ "forks-with-maps", IP, forks_with_maps },
	{ "forks-crossed", IP, forks_crossed },
	{ "forks-of-named", IP, forks_of_named },
	{ "ksymbols", IP, ksymbols },
	{ "ksymbols-of-one", IP, ksymbols_of_one },
	{ "deferred", IP | CHAIN, deferred },
	{ "lost", IP, lost },
	{ "samples-of-pids", TID, samples_of_pids },
	{ "samples-of-ips", IP, samples_of_ips },
	{ "samples-of-chains", IP | CHAIN, samples_of_chains },
	{ "samples-of-callers", IP | CHAIN, samples_of_callers },
	{ "samples-of-mapped", IP | TID | CHAIN, samples_of_mapped },
	{ "samples-of-times", PERF_SAMPLE_TIME, samples_of_times },
	{ "events", 0, NULL, events },
	{ "ids", 0, NULL, ids },
	{ "build-ids", 0, NULL, build_ids },
	{ "bomb", 0, NULL, bomb },
};

static void make(const struct kind *k, u64 bytes, struct bytes *out)
{
	struct maker m = { .out = out, .bytes = bytes };

	if (k->whole) {
		k->whole(out, bytes);
		return;
	}
	/* data.size 0: all that follows. */
	put_file_head(out, 1, 0, k->sample_type, 0, 0);
	if (k->sample_type == PERF_SAMPLE_IP) { /* what thread 0 has is looked up */
		put_sample(out, 16);
		bytes_u64(out, 0x400000);
	}
	for (u64 made = 0; made < bytes; m.i++) {
		size_t before = out->len;

		k->put(&m);
		made += out->len - before;
		if (out->len > BYTES_FLUSH / 2) /* before it would, in the middle of a record */
			bytes_flush(out);
	}
}

/* A line of a file in /proc, in KiB. */
static long kib_of(long pid, const char *file, const char *format)
{
	char path[64], line[128];
	long kib = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, file);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, format, &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

#define PROCESSES 64 /* more are not looked at */
struct tree {
	long pids[PROCESSES];
	u32 depth[PROCESSES]; /* below the first one */
	u32 n;
};

/* A process and all that come from it, the children behind their parent. */
static void descendants(long root, struct tree *t)
{
	*t = (struct tree){ .pids = { root }, .n = 1 };
	for (u32 i = 0; i < t->n; i++) {
		char path[64 + NAME_MAX];
		struct dirent *task;
		DIR *tasks;

		snprintf(path, sizeof(path), "/proc/%ld/task", t->pids[i]);
		tasks = opendir(path);
		while (tasks && (task = readdir(tasks))) {
			FILE *f;

			snprintf(path, sizeof(path), "/proc/%ld/task/%s/children", t->pids[i], task->d_name);
			f = fopen(path, "r");
			while (f && t->n < PROCESSES && fscanf(f, "%ld", &t->pids[t->n]) == 1)
				t->depth[t->n++] = t->depth[i] + 1;
			if (f)
				fclose(f);
		}
		if (tasks)
			closedir(tasks);
	}
}

/*
 * Of the reader, and of the process that parses for it: its child's child (state/apart.h). What these share with the
 * reader is counted once. That child itself does nothing; it still has pages that the reader had when it was forked
 * and has given back since, which come and go with the time of the fork, and are not counted.
 */
static long with_parser_kib(long pid)
{
	struct tree t;
	long kib = kib_of(pid, "status", "RssAnon: %ld kB");

	descendants(pid, &t);
	for (u32 i = 0; i < t.n; i++)
		if (t.depth[i] > 1)
			kib += kib_of(t.pids[i], "smaps_rollup", "Private_Dirty: %ld kB");
	return kib;
}

/* A peak falls between two looks only if it lasts less than half a millisecond, or a hundredth of the time until then.
 */
static int peak(char **cmd)
{
	long pause = 500, most = 0; /* microseconds */
	struct rusage used;
	int status;
	pid_t pid = fork();

	if (!pid) {
		execvp(*cmd, cmd);
		_exit(127);
	}
	while (wait4(pid, &status, WNOHANG, &used) == 0) {
		most = MAX(most, with_parser_kib(pid));
		usleep((useconds_t)pause);
		pause = MIN(pause + pause / 100, 20000);
	}
	fprintf(stderr, "%.3f %ld\n",
		(double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			(double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6,
		most);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	struct bytes out;
	int failed;

	if (argc > 2 && !strcmp(argv[1], "--peak"))
		return peak(argv + 2);
	bytes_to_fd(&out, STDOUT_FILENO);
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++) {
		if (argc == 1)
			puts(kinds[i].name);
		else if (argc == 3 && !strcmp(kinds[i].name, argv[1]))
			make(&kinds[i], strtoull(argv[2], NULL, 10) << 20, &out);
	}
	failed = bytes_flush(&out);
	bytes_free(&out);
	return failed ? 1 : 0;
}
