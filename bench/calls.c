/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that QEMU calls for each block, and with accesses=on for each access to memory, and that does nothing: what
 * the calls cost that the virtual PMU lives by.
 */
#include <string.h>

#include "vpmu/qemu.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;
EXPORTED int qemu_plugin_install(qemu_id id, const struct qemu_info *info, int argc, char **argv);

static void on_block(unsigned vcpu, void *data)
{
	(void)vcpu;
	(void)data;
}

static void on_access(unsigned vcpu, qemu_meminfo info, u64 addr, void *data)
{
	(void)vcpu;
	(void)info;
	(void)addr;
	(void)data;
}

static void blocks(qemu_id id, struct qemu_tb *tb)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_CB_NO_REGS, tb);
}

static void blocks_and_accesses(qemu_id id, struct qemu_tb *tb)
{
	blocks(id, tb);
	for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
		qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), on_access, QEMU_CB_NO_REGS,
						 QEMU_MEM_RW, tb);
}

int qemu_plugin_install(qemu_id id, const struct qemu_info *info, int argc, char **argv)
{
	(void)info;
	qemu_plugin_register_vcpu_tb_trans_cb(id,
					      argc && !strcmp(argv[0], "accesses=on") ? blocks_and_accesses : blocks);
	return 0;
}
