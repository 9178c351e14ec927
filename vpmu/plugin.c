/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What QEMU sees: installs, registers callbacks, and hands each on. QEMU gives callbacks no argument to find anything
 * by, so the process's and the thread's state hang on the two variables here, and nowhere else.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "vpmu/core.h"
#include "vpmu/qemu.h"
#include "vpmu/tasks.h"

#define EXPORTED __attribute__((visibility("default")))

EXPORTED extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;
EXPORTED int qemu_plugin_install(qemu_id id, const struct qemu_info *info, int argc, char **argv);

static struct vprocess *process;
static __thread struct vthread *self;

struct vthread *vthread_self(void)
{
	struct vthread *t = self;

	if (LIKELY(t))
		return t;
	t = core_thread_new(process);
	self = t;
	tasks_thread_start(t, 0);
	sampler_start(t);
	truth_start(t);
	return t;
}

/* --- guest code runs --- */

/* vcpu numbers are QEMU's; the thread's first block is where it can be told which thread it is. */
static __attribute__((noinline)) struct vthread *thread_begins(unsigned vcpu)
{
	struct vthread *t = core_thread_new(process);

	self = t;
	tasks_thread_start(t, vcpu);
	sampler_start(t);
	truth_start(t);
	return t;
}

static void on_block_counts(unsigned vcpu, void *block)
{
	core_enter_counts(LIKELY(self) ? self : thread_begins(vcpu), block);
}
