/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF programs that are already loaded: for each compiled function a KSYMBOL with the kernel's name for it
 * (bpf_prog_<tag>_<name>), and for each program a BPF_EVENT. Without CAP_BPF or CAP_SYS_ADMIN none are visible, and
 * none can be sampled.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "record/sideband.h"

#define FUNCTIONS_MAX 4096
#define KSYMBOL_BPF 1 /* PERF_RECORD_KSYMBOL_TYPE_BPF */
#define BPF_LOADED 1  /* PERF_BPF_EVENT_PROG_LOAD */

struct functions {
	u64 address[FUNCTIONS_MAX];
	u32 length[FUNCTIONS_MAX];
	u8 tag[FUNCTIONS_MAX][BPF_TAG_SIZE];
};

static long bpf(int cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static bool read_info(int fd, struct functions *f, struct bpf_prog_info *info)
{
	union bpf_attr attr;

	memset(info, 0, sizeof(*info));
	info->nr_jited_ksyms = info->nr_jited_func_lens = info->nr_prog_tags = FUNCTIONS_MAX;
	info->jited_ksyms = (u64)(uintptr_t)f->address;
	info->jited_func_lens = (u64)(uintptr_t)f->length;
	info->prog_tags = (u64)(uintptr_t)f->tag;
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (u32)fd;
	attr.info.info_len = sizeof(*info);
	attr.info.info = (u64)(uintptr_t)info;
	/* Where kernel.kptr_restrict hides addresses, the counts come without the arrays. */
	return !bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) && info->jited_ksyms && info->jited_func_lens && info->prog_tags;
}

static int put_function(struct sideband *s, const struct functions *f, const struct bpf_prog_info *info, u32 i)
{
	struct record r = { .h = { .type = PERF_RECORD_KSYMBOL, .misc = PERF_RECORD_MISC_KERNEL } };
	char name[64];
	int n = snprintf(name, sizeof(name), "bpf_prog_");

	for (u32 k = 0; k < BPF_TAG_SIZE; k++)
		n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", f->tag[i][k]);
	/* The kernel names functions behind the first one F. */
	if (i || info->name[0])
		snprintf(name + n, sizeof(name) - (size_t)n, "_%.*s", BPF_OBJ_NAME_LEN, i ? "F" : info->name);
	r.ksymbol.addr = f->address[i];
	r.ksymbol.len = f->length[i];
	r.ksymbol.ksym_type = KSYMBOL_BPF;
	r.ksymbol.name = (struct str){ name, (u32)strlen(name) };
	return sideband_put(s, &r);
}

static int put_program(struct sideband *s, int fd, u32 id, struct functions *f)
{
	struct record r = { .h = { .type = PERF_RECORD_BPF_EVENT, .misc = PERF_RECORD_MISC_KERNEL } };
	struct bpf_prog_info info;
	int err = 0;
	u32 n;

	if (!read_info(fd, f, &info))
		return 0;
	n = MIN(MIN(info.nr_jited_ksyms, info.nr_jited_func_lens), MIN(info.nr_prog_tags, FUNCTIONS_MAX));
	for (u32 i = 0; i < n && !err; i++)
		if (f->address[i])
			err = put_function(s, f, &info, i);
	if (err || !n || !f->address[0])
		return err;
	r.bpf_event.type = BPF_LOADED;
	r.bpf_event.id = id;
	memcpy(r.bpf_event.tag, info.tag, sizeof(r.bpf_event.tag));
	return sideband_put(s, &r);
}

int sideband_bpf(struct sideband *s)
{
	struct functions *f = mem_alloc(sizeof(*f));
	union bpf_attr attr;
	int err = 0;
	u32 id = 0;

	while (!err) {
		int fd;

		memset(&attr, 0, sizeof(attr));
		attr.start_id = id;
		if (bpf(BPF_PROG_GET_NEXT_ID, &attr))
			break;
		id = attr.next_id;
		memset(&attr, 0, sizeof(attr));
		attr.prog_id = id;
		fd = (int)bpf(BPF_PROG_GET_FD_BY_ID, &attr);
		if (fd < 0)
			continue; /* unloaded meanwhile */
		err = put_program(s, fd, id, f);
		close(fd);
	}
	free(f);
	return err;
}
