/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts instructions one by one, with a callback for each: slow, simple, and nothing in common with how the virtual
 * PMU counts but QEMU's interface. Plugin for qemu-x86_64 and qemu-aarch64; threads are counted together.
 *
 * out=FILE: at the end, lines "NAME NUMBER" (instructions, iterations of repeated ones after the first, branches,
 * calls, returns), and with every=N a line "at PC" for each Nth instruction.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "vpmu/qemu.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;
EXPORTED int qemu_plugin_install(qemu_id id, const struct qemu_info *info, int argc, char **argv);

enum { BRANCH = 1, CALL = 2, RETURN = 4, REPEATS = 8 };

struct insn {
	u64 pc;
	u32 what;
};

static struct {
	pthread_mutex_t lock;
	bool arm64;
	const char *out;
	u64 every, instructions, iterations, branches, calls, returns;
	VEC(u64) at;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };
static __thread const struct insn *last;

/* x86: by opcode, Intel SDM volume 2, appendix A. */
static u32 x86_what(const u8 *p, size_t n)
{
	static const u8 string_ops[] = { 0xa4, 0xa5, 0xa6, 0xa7, 0xaa, 0xab, 0xac, 0xad, 0xae, 0xaf };
	bool rep = false;
	u8 second;

	for (; n && (memchr("\x66\x67\xf2\xf3\x2e\x3e\x26\x36\x64\x65\xf0", *p, 11) || (*p & 0xf0) == 0x40); p++, n--)
		rep |= *p == 0xf2 || *p == 0xf3;
	if (!n)
		return 0;
	second = n > 1 ? p[1] : 0;
	if (*p == 0xe8 || (*p == 0xff && (second & 0x38) == 0x10))
		return BRANCH | CALL;
	if (*p == 0xc3 || *p == 0xc2)
		return BRANCH | RETURN;
	if ((*p >= 0x70 && *p <= 0x7f) || (*p >= 0xe0 && *p <= 0xe3) || *p == 0xe9 || *p == 0xeb ||
	    (*p == 0xff && (second & 0x38) == 0x20) || (*p == 0x0f && second >= 0x80 && second <= 0x8f))
		return BRANCH;
	return rep && memchr(string_ops, *p, sizeof(string_ops)) ? REPEATS : 0;
}

/* Arm ARM, C4.1: branches, exception generating and system instructions. */
static u32 arm64_what(const u8 *p)
{
	u32 w;

	memcpy(&w, p, 4);
	if (w >> 26 == 0x25 || (w & 0xfffffc1f) == 0xd63f0000)
		return BRANCH | CALL;
	if ((w & 0xfffffc1f) == 0xd65f0000 || w == 0xd65f0bff || w == 0xd65f0fff)
		return BRANCH | RETURN;
	if (w >> 26 == 0x05 || w >> 24 == 0x54 || (w >> 25 & 0x3f) == 0x1a || (w >> 25 & 0x3f) == 0x1b ||
	    (w & 0xfffffc1f) == 0xd61f0000)
		return BRANCH;
	return 0;
}

static void on_insn(unsigned vcpu, void *data)
{
	const struct insn *i = data;

	/* Each iteration of a repeated string instruction comes by here. */
	bool again = last && last->what & REPEATS && last->pc == i->pc;

	(void)vcpu;
	last = i;
	pthread_mutex_lock(&all.lock);
	all.iterations += again;
	all.instructions += !again;
	all.branches += (i->what & BRANCH) != 0;
	all.calls += (i->what & CALL) != 0;
	all.returns += (i->what & RETURN) != 0;
	if (!again && all.every && all.instructions % all.every == 0)
		vec_push(&all.at, i->pc);
	pthread_mutex_unlock(&all.lock);
}

static void on_translate(qemu_id id, struct qemu_tb *tb)
{
	(void)id;
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		struct qemu_insn *q = qemu_plugin_tb_get_insn(tb, i);
		struct insn *insn = mem_alloc(sizeof(*insn)); /* for the life of the process */
		const u8 *bytes = qemu_plugin_insn_data(q);

		insn->pc = qemu_plugin_insn_vaddr(q);
		insn->what = all.arm64 ? arm64_what(bytes) : x86_what(bytes, qemu_plugin_insn_size(q));
		qemu_plugin_register_vcpu_insn_exec_cb(q, on_insn, QEMU_CB_NO_REGS, insn);
	}
}

static void on_end(qemu_id id, void *data)
{
	FILE *f = fopen(all.out, "w");

	(void)id;
	(void)data;
	if (!f)
		return;
	fprintf(f, "instructions %lu\niterations %lu\nbranches %lu\ncalls %lu\nreturns %lu\n", all.instructions,
		all.iterations, all.branches, all.calls, all.returns);
	for (size_t i = 0; i < all.at.n; i++)
		fprintf(f, "at %lx\n", all.at.v[i]);
	fclose(f);
}

int qemu_plugin_install(qemu_id id, const struct qemu_info *info, int argc, char **argv)
{
	all.arm64 = !strcmp(info->target_name, "aarch64");
	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "out=", 4))
			all.out = mem_strdup(argv[i] + 4);
		else if (!strncmp(argv[i], "every=", 6))
			all.every = strtoull(argv[i] + 6, NULL, 10);
	if (!all.out)
		return -1;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
