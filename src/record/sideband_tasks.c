/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks from /proc. Thousands of processes are common, so each process costs one read of stat (which has name, parent
 * and number of threads) and one of maps. The task directory is listed only if there are several threads, and kernel
 * threads, which have no maps, are recognised by a flag in stat.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/proc_stat.h"
#include "codec/procmaps.h"
#include "record/sideband.h"
#include "sys/smallfile.h"

#define STAT_LIMIT 65536
#define MAPS_LIMIT (256u << 20)
#define PF_KTHREAD 0x00200000u

static int put_comm(struct sideband *s, s32 pid, s32 tid, struct str comm)
{
	struct record r = { .h.type = PERF_RECORD_COMM, .comm = { (u32)pid, (u32)tid, comm, false } };

	return sideband_put(s, &r);
}

static int put_fork(struct sideband *s, s32 pid, s32 tid, s32 parent)
{
	struct record r = { .h.type = PERF_RECORD_FORK };

	if (!s->forks)
		return 0;
	r.task = (struct rec_task){ .pid = (u32)pid, .ppid = (u32)parent, .tid = (u32)tid, .ptid = (u32)parent };
	return sideband_put(s, &r);
}

static int put_namespaces(struct sideband *s, s32 pid, s32 tid)
{
	static const char *const kinds[] = { "net", "uts", "ipc", "pid", "user", "mnt", "cgroup" };
	struct record r = { .h.type = PERF_RECORD_NAMESPACES };
	u64 pairs[ARRAY_LEN(kinds) * 2] = { 0 };

	if (!s->namespaces)
		return 0;
	for (u32 i = 0; i < ARRAY_LEN(kinds); i++) {
		char path[64];
		struct stat st;

		snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kinds[i]);
		if (stat(path, &st))
			continue;
		pairs[i * 2] = st.st_dev;
		pairs[i * 2 + 1] = st.st_ino;
	}
	r.namespaces.pid = (u32)pid;
	r.namespaces.tid = (u32)tid;
	r.namespaces.dev_inode = (struct u64s){ (const u8 *)pairs, ARRAY_LEN(pairs), false };
	return sideband_put(s, &r);
}

static int put_mapping(struct sideband *s, s32 pid, const struct maps_line *l)
{
	struct record r = { .h = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER } };

	if (!(l->prot & PROT_EXEC)) {
		if (!s->data_maps || !(l->prot & PROT_READ))
			return 0;
		r.h.misc |= PERF_RECORD_MISC_MMAP_DATA;
	}
	s->path.len = 0;
	maps_path_plain(l->path, &s->path);
	if (!s->path.len)
		bytes_str(&s->path, "//anon");
	r.mmap = (struct rec_mmap){ .pid = (u32)pid,
				    .tid = (u32)pid,
				    .start = l->start,
				    .len = l->end - l->start,
				    .pgoff = l->pgoff,
				    .prot = l->prot,
				    .flags = l->flags,
				    .maj = l->maj,
				    .min = l->min,
				    .ino = l->ino,
				    .filename = { (const char *)s->path.p, (u32)s->path.len } };
	return sideband_put(s, &r);
}

static int put_mappings(struct sideband *s, s32 pid)
{
	char path[64];
	const char *p, *end;
	int err;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	err = smallfile_read(AT_FDCWD, path, MAPS_LIMIT, &s->file);
	if (err == -EACCES || err == -EPERM) {
		s->hidden++;
		s->hidden_pid = pid;
	}
	if (err)
		return 0;
	p = (const char *)s->file.p;
	end = p + s->file.len;
	while (p < end && !err) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t len = eol ? (size_t)(eol - p) : (size_t)(end - p);
		struct maps_line l;

		if (maps_line_parse(p, len, &l))
			err = put_mapping(s, pid, &l);
		p += len + 1;
	}
	return err;
}

static bool read_stat(struct sideband *s, s32 pid, s32 tid, struct proc_stat *out)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	return !smallfile_read(AT_FDCWD, path, STAT_LIMIT, &s->file) &&
	       proc_stat_parse((const char *)s->file.p, s->file.len, out);
}

static int put_other_threads(struct sideband *s, s32 pid)
{
	struct proc_stat stat;
	struct dirent *e;
	char path[64];
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && !err && (e = readdir(dir))) {
		s32 tid = atoi(e->d_name);

		if (tid <= 0 || tid == pid || !read_stat(s, pid, tid, &stat))
			continue;
		err = put_fork(s, pid, tid, pid);
		if (!err)
			err = put_namespaces(s, pid, tid);
		if (!err)
			err = put_comm(s, pid, tid, stat.comm);
	}
	if (dir)
		closedir(dir);
	return err;
}

int sideband_process(struct sideband *s, s32 pid)
{
	struct proc_stat stat;
	int err;

	if (!read_stat(s, pid, pid, &stat))
		return 0;
	err = put_fork(s, pid, pid, stat.ppid);
	if (!err)
		err = put_namespaces(s, pid, pid);
	if (!err)
		err = put_comm(s, pid, pid, stat.comm);
	if (!err && !(stat.flags & PF_KTHREAD))
		err = put_mappings(s, pid);
	if (!err && stat.threads > 1)
		err = put_other_threads(s, pid);
	return err;
}

int sideband_comm(struct sideband *s, s32 pid, s32 tid)
{
	struct proc_stat stat;

	return read_stat(s, pid, tid, &stat) ? put_comm(s, pid, tid, stat.comm) : 0;
}

int sideband_thread(struct sideband *s, s32 pid, s32 tid)
{
	int err = put_namespaces(s, pid, tid);

	if (!err)
		err = sideband_comm(s, pid, tid);
	if (!err && tid != pid)
		err = sideband_comm(s, pid, pid);
	return err ? err : put_mappings(s, pid);
}

int sideband_all_tasks(struct sideband *s)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	int err = 0;

	while (dir && !err && (e = readdir(dir)))
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			err = sideband_process(s, atoi(e->d_name));
	if (dir)
		closedir(dir);
	return err;
}
