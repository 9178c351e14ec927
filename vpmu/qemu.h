/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TCG plugin interface of QEMU 7.2 (API version 1), as far as it is used here. Debian packages no header for it.
 * Source: QEMU's documentation "QEMU TCG Plugins", and the dynamic symbols of qemu-x86_64.
 */
#ifndef VPMU_QEMU_H
#define VPMU_QEMU_H

#include "base/types.h"

typedef u64 qemu_id;
struct qemu_tb;
struct qemu_insn;
struct qemu_info {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
};

enum { QEMU_CB_NO_REGS, QEMU_CB_R_REGS, QEMU_CB_RW_REGS };
enum { QEMU_MEM_R = 1, QEMU_MEM_W, QEMU_MEM_RW };
typedef u32 qemu_meminfo;

typedef void qemu_vcpu_cb(qemu_id id, unsigned vcpu);
typedef void qemu_udata_cb(unsigned vcpu, void *data);
typedef void qemu_mem_cb(unsigned vcpu, qemu_meminfo info, u64 addr, void *data);
typedef void qemu_syscall_cb(qemu_id id, unsigned vcpu, s64 num, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6,
			     u64 a7, u64 a8);
typedef void qemu_syscall_ret_cb(qemu_id id, unsigned vcpu, s64 num, s64 ret);

void qemu_plugin_register_vcpu_init_cb(qemu_id id, qemu_vcpu_cb *cb); /* runs in the thread that creates the new one */
void qemu_plugin_register_vcpu_exit_cb(qemu_id id, qemu_vcpu_cb *cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_id id, void (*cb)(qemu_id id, struct qemu_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_tb *tb, qemu_udata_cb *cb, int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_insn *insn, qemu_udata_cb *cb, int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_insn *insn, qemu_mem_cb *cb, int flags, int rw, void *data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_id id, qemu_syscall_cb *cb);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_id id, qemu_syscall_ret_cb *cb);
void qemu_plugin_register_atexit_cb(qemu_id id, void (*cb)(qemu_id id, void *data), void *data);
void qemu_plugin_register_flush_cb(qemu_id id, void (*cb)(qemu_id id));
size_t qemu_plugin_tb_n_insns(const struct qemu_tb *tb);
u64 qemu_plugin_tb_vaddr(const struct qemu_tb *tb);
struct qemu_insn *qemu_plugin_tb_get_insn(const struct qemu_tb *tb, size_t i);
const void *qemu_plugin_insn_data(const struct qemu_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_insn *insn);
u64 qemu_plugin_insn_vaddr(const struct qemu_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_insn *insn);
bool qemu_plugin_mem_is_store(qemu_meminfo info);
unsigned qemu_plugin_mem_size_shift(qemu_meminfo info);
const char *qemu_plugin_path_to_binary(void); /* from the first translation on; freed by the caller */
u64 qemu_plugin_start_code(void);
u64 qemu_plugin_end_code(void);
u64 qemu_plugin_entry_code(void);

#endif
