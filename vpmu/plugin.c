/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What QEMU sees: installs, registers callbacks, and hands each on. QEMU gives callbacks no argument to find anything
 * by, so the process's and the thread's state hang on the two variables here, and nowhere else.
 *
 * A thread is met at its first block, where QEMU says which vcpu it is. Its code is translated before that: what pages
 * that touched is told when the thread is there.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "vpmu/callstack.h"
#include "vpmu/coherence.h"
#include "vpmu/core_fast.h"
#include "vpmu/cpus.h"
#include "vpmu/qemu.h"
#include "vpmu/regs.h"
#include "vpmu/tasks.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;
EXPORTED int qemu_plugin_install(qemu_id id, const struct qemu_info *info, int argc, char **argv);

static struct vprocess *process;
static __thread struct vthread *self;

/* --- guest code runs --- */

/* A block's pages; guest addresses are `shift` away from where QEMU has them. */
static void tell_pages(struct vthread *t, const struct block *b, u64 shift)
{
	u64 last = (b->end - 1) >> PAGE_SHIFT << PAGE_SHIFT;

	tasks_code_page(t, b->pc, (const void *)(uintptr_t)(b->pc + shift));
	if (last > b->pc)
		tasks_code_page(t, last, (const void *)(uintptr_t)(last + shift));
}

/* Keeping track of calls takes time: only where somebody looks. */
static bool wants_calls(const struct vpmu_control *c)
{
	bool wanted = c->options.truth;

	for (u32 i = 0; i < c->nr_events; i++)
		wanted |= (c->events[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN) != 0;
	return wanted;
}

/* So does writing down each branch. */
static bool wants_branches(const struct vpmu_control *c)
{
	bool wanted = false;

	for (u32 i = 0; i < c->nr_events; i++)
		wanted |= (c->events[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK) != 0;
	return wanted;
}

static NOINLINE struct vthread *thread_begins(unsigned vcpu, const struct block *b)
{
	struct vthread *t = core_thread_new(process);

	self = t;
	regs_thread_start(t, vcpu);
	tasks_thread_start(t, vcpu);
	if (process->carried.events) {
		t->carried = process->carried;
		process->carried = (struct exec_carried){ 0 };
	}
	tell_pages(t, b, process->guest_base);
	if (wants_calls(process->control))
		callstack_start(t);
	sampler_start(t);
	truth_start(t);
	cpus_take(t, true);
	return t;
}

/* The first block of a thread; */
static NOINLINE void on_first_block(unsigned vcpu, void *block)
{
	struct vthread *t = thread_begins(vcpu, block);

	if (process->control->options.models)
		core_enter_some(t, block);
	else
		core_enter_counts(t, block);
}

/* all others, without a frame of ours on the stack. */
static void on_block(unsigned vcpu, void *block)
{
	struct vthread *t = self;

	if (UNLIKELY(!t))
		on_first_block(vcpu, block);
	else
		core_enter(t, block, false);
}

/* One whose code is in one line. */
static void on_block_in_line(unsigned vcpu, void *block)
{
	struct vthread *t = self;

	if (UNLIKELY(!t))
		on_first_block(vcpu, block);
	else
		core_enter(t, block, true);
}

static void on_block_some(unsigned vcpu, void *block)
{
	struct vthread *t = self;

	if (UNLIKELY(!t))
		on_first_block(vcpu, block);
	else
		core_enter_some(t, block);
}

static void on_block_counts(unsigned vcpu, void *block)
{
	struct vthread *t = self;

	if (UNLIKELY(!t))
		on_first_block(vcpu, block);
	else
		core_enter_counts(t, block);
}

/* One of a single instruction, which may be done again alone: else as the others. */
static ALWAYS_INLINE void on_one(unsigned vcpu, void *block, qemu_udata_cb *otherwise)
{
	struct vthread *t = self;

	if (LIKELY(t) && UNLIKELY(core_may_be_again(t, block)))
		core_enter_again(t, block);
	else
		otherwise(vcpu, block);
}

static void on_one_all(unsigned vcpu, void *block)
{
	on_one(vcpu, block, on_block);
}

static void on_one_some(unsigned vcpu, void *block)
{
	on_one(vcpu, block, on_block_some);
}

static void on_one_counts(unsigned vcpu, void *block)
{
	on_one(vcpu, block, on_block_counts);
}

/* One that leaps, where calls are kept track of. */
static void on_block_leaps(unsigned vcpu, void *block)
{
	if (process->control->options.models || (self && self->branches))
		on_one_some(vcpu, block);
	else
		on_one_counts(vcpu, block);
	callstack_leap(self);
}

/* op: of its block, at TOLD_OP. */
static void on_access(unsigned vcpu, qemu_meminfo info, u64 addr, void *op)
{
	(void)vcpu;
	core_access(self, (uintptr_t)op | info, addr, 0);
}

/* The same where cores share memory. */
static void on_access_shared(unsigned vcpu, qemu_meminfo info, u64 addr, void *op)
{
	(void)vcpu;
	core_access_shared(self, (uintptr_t)op | info, addr);
}

static void on_load(unsigned vcpu, qemu_meminfo info, u64 addr, void *run)
{
	(void)vcpu;
	(void)info;
	core_access(self, (uintptr_t)run, addr, ACCESS_LOAD);
}

static void on_store(unsigned vcpu, qemu_meminfo info, u64 addr, void *run)
{
	(void)vcpu;
	(void)info;
	core_access(self, (uintptr_t)run, addr, ACCESS_STORE);
}

static void on_run(unsigned vcpu, qemu_meminfo info, u64 addr, void *run)
{
	(void)vcpu;
	(void)info;
	core_access_run(self, (uintptr_t)run, addr);
}

/* --- guest code is translated --- */

static void watch_accesses(const struct qemu_tb *tb, const struct block *b)
{
	for (u32 i = 0; i < b->nr; i++) {
		u64 run = access_run(b, i);
		qemu_mem_cb *told = process->coherence ? on_access_shared :
				    !run	       ? on_access :
				    run_nr(run) > 1    ? on_run :
				    run & INFO_STORE   ? on_store :
							 on_load;

		if (!(b->ops[i].access & OP_FOLLOWS))
			qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, i), told, QEMU_CB_NO_REGS,
							 QEMU_MEM_RW,
							 (void *)(uintptr_t)(run ? run : (u64)i << TOLD_OP));
	}
}

static qemu_udata_cb *enter_of(const struct block *b, u32 models)
{
	bool branches = wants_branches(process->control);

	if (b->leaps && wants_calls(process->control))
		return on_block_leaps;
	if (branches)
		return b->nr == 1 ? on_one_some : on_block_some;
	if (b->nr == 1)
		return models == VPMU_MODEL_ALL ? on_one_all : models ? on_one_some : on_one_counts;
	if (models != VPMU_MODEL_ALL)
		return models ? on_block_some : on_block_counts;
	return b->more_lines ? on_block : on_block_in_line;
}

static void on_translate(qemu_id id, struct qemu_tb *tb)
{
	u32 nr = (u32)qemu_plugin_tb_n_insns(tb), models = process->control->options.models;
	struct code_insn *insns = mem_alloc(nr * sizeof(*insns));
	const struct block *b;
	u64 host;

	(void)id;
	for (u32 i = 0; i < nr; i++) {
		const struct qemu_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		insns[i] = (struct code_insn){ .pc = qemu_plugin_insn_vaddr(insn),
					       .bytes = qemu_plugin_insn_data(insn),
					       .size = (u32)qemu_plugin_insn_size(insn) };
	}
	if (nr > 1 &&
	    code_goes_on(process->code, &insns[nr - 1], qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, nr - 1))))
		nr--;
	b = code_block(process->code, insns, nr);
	free(insns);
	host = (u64)(uintptr_t)qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(tb, 0));
	if (host)
		process->guest_base = host - b->pc;
	if (self)
		tell_pages(self, b, process->guest_base);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, enter_of(b, models), QEMU_CB_NO_REGS, (void *)b);
	if (models & (VPMU_MODEL_CACHE | VPMU_MODEL_TLB))
		watch_accesses(tb, b);
}

/* --- threads, processes, syscalls --- */

static void on_vcpu_init(qemu_id id, unsigned vcpu)
{
	(void)id;
	tasks_vcpu_init(process, self, vcpu);
}

static void leave_memory(const struct vthread *t)
{
	if (t->process->coherence)
		coherence_rest(t->process->coherence, t->in_memory);
}

/* The last words of a thread; its counts are settled. */
static void thread_ends(struct vthread *t)
{
	leave_memory(t);
	truth_end(t);
	cpus_give(t);
	sampler_stop(t);
	tasks_thread_end(t);
}

static void on_vcpu_exit(qemu_id id, unsigned vcpu)
{
	struct vthread *t = self;

	(void)id;
	(void)vcpu;
	if (!t)
		return;
	core_leave(t);
	thread_ends(t);
	self = NULL;
	callstack_stop(t);
	core_thread_free(t);
}

static void on_syscall(qemu_id id, unsigned vcpu, s64 num, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5, u64 a6, u64 a7,
		       u64 a8)
{
	const u64 args[6] = { a1, a2, a3, a4, a5, a6 };

	(void)id;
	(void)vcpu;
	(void)a7;
	(void)a8;
	if (!self)
		return;
	core_leave(self);
	leave_memory(self);
	cpus_give(self);
	regs_confirm(self, num, args);
	tasks_syscall(self, num, args);
}

static void on_syscall_return(qemu_id id, unsigned vcpu, s64 num, s64 ret)
{
	(void)id;
	(void)vcpu;
	if (!self)
		return;
	tasks_syscall_return(self, num, ret);
	cpus_take(self, false);
}

static void on_fork_prepare(void)
{
	tasks_fork_prepare(process, self);
}

static void on_fork_parent(void)
{
	tasks_fork_parent(process);
}

static void on_fork_child(void)
{
	tasks_fork_child(process, self);
	if (!self)
		return;
	core_forked(self);
	sampler_start(self);
	truth_start(self);
}

/* exit_group, or the last thread's end. QEMU has stopped calling back for blocks by then, in all threads. */
static void on_process_end(qemu_id id, void *data)
{
	(void)id;
	(void)data;
	for (struct vthread *t = process->threads, *next; t; t = next) {
		next = t->next;
		core_settle(t);
		thread_ends(t);
	}
}

/* --- install --- */

static struct vpmu_control *map_control(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct vpmu_control *c = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size >= (off_t)sizeof(*c))
		c = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c == MAP_FAILED)
		return NULL;
	if (c->magic == VPMU_MAGIC && c->version == VPMU_VERSION && c->size <= (u64)st.st_size &&
	    c->options.core < NR_VPMU_CORES && c->nr_events <= VPMU_EVENTS_MAX)
		return c;
	munmap(c, (size_t)st.st_size);
	return NULL;
}

/* core.c reads what QEMU says of an access by itself, without a call. */
static bool meminfo_is_known(void)
{
	bool ok = qemu_plugin_mem_is_store(INFO_STORE) && !qemu_plugin_mem_is_store(INFO_LOAD);

	for (u32 shift = 0; shift < 5; shift++)
		ok = ok && qemu_plugin_mem_size_shift(shift << INFO_SIZE_SHIFT | INFO_LOAD) == shift;
	return ok;
}

static int refuse(const char *what)
{
	fprintf(stderr, "reticle-vpmu: %s\n", what);
	return -1;
}

static void listen(qemu_id id)
{
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
	qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_exit);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
	qemu_plugin_register_atexit_cb(id, on_process_end, NULL);
	pthread_atfork(on_fork_prepare, on_fork_parent, on_fork_child);
}

int qemu_plugin_install(qemu_id id, const struct qemu_info *info, int argc, char **argv)
{
	struct vprocess *p = mem_zalloc(sizeof(*p));
	const char *control = NULL;
	struct tasks_start start = { 0 };

	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], "control=", 8))
			control = argv[i] + 8;
		else if (!tasks_option(&start, argv[i]))
			return refuse("unknown argument (it is started by reticle record --pmu=sim)");
	p->arm64 = !strcmp(info->target_name, "aarch64");
	if (!p->arm64 && strcmp(info->target_name, "x86_64"))
		return refuse("only x86_64 and aarch64 programs can be recorded");
	if (!meminfo_is_known())
		return refuse("this version of QEMU is not known (7.2 is)");
	p->control = control ? map_control(control) : NULL;
	/* A program that outlives its recorder, or gave up the rights to look at it, goes on unrecorded. */
	if (!p->control && start.pid) {
		if (start.events)
			close(start.events - 1); /* it is not the program's */
		return 0;
	}
	if (!p->control)
		return refuse("cannot map the recorder's memory (it is started by reticle record --pmu=sim)");
	p->model = &core_models[p->control->options.core];
	/* The truth is of each access by itself, and so is what other cores have to do for it. */
	p->code = code_new(p->arm64, p->model, p->control->options.models,
			   !p->control->options.truth && !p->control->options.memory);
	p->coherence = p->control->options.memory ? coherence_new() : NULL;
	if (!p->code)
		return refuse("capstone does not work here");
	process = p;
	tasks_new(p, &start);
	listen(id);
	return 0;
}
