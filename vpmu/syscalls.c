/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the guest's syscalls mean for its tasks. The numbers are of the guest's architecture. Sources: Linux,
 * arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>

#include "base/random.h"
#include "vpmu/callstack.h"
#include "vpmu/tasks_impl.h"

enum call {
	CALL_OTHER,
	CALL_MMAP,
	CALL_MPROTECT,
	CALL_MUNMAP,
	CALL_BRK,
	CALL_SIGACTION,
	CALL_SIGRETURN,
	CALL_MREMAP,
	CALL_SHMAT,
	CALL_SHMDT,
	CALL_EXECVE,
	CALL_EXECVEAT,
	CALL_PRCTL,
	CALL_PKEY_MPROTECT,
	CALL_WRITE,
	CALL_WRITEV,
	CALL_GETRANDOM,
};

static const struct {
	u16 x86_64, arm64;
} numbers[] = {
	[CALL_MMAP] = { 9, 222 },
	[CALL_MPROTECT] = { 10, 226 },
	[CALL_MUNMAP] = { 11, 215 },
	[CALL_BRK] = { 12, 214 },
	[CALL_SIGACTION] = { 13, 134 },
	[CALL_SIGRETURN] = { 15, 139 },
	[CALL_MREMAP] = { 25, 216 },
	[CALL_SHMAT] = { 30, 196 },
	[CALL_SHMDT] = { 67, 197 },
	[CALL_EXECVE] = { 59, 221 },
	[CALL_EXECVEAT] = { 322, 281 },
	[CALL_PRCTL] = { 157, 167 },
	[CALL_PKEY_MPROTECT] = { 329, 288 },
	[CALL_WRITE] = { 1, 64 },
	[CALL_WRITEV] = { 20, 66 },
	[CALL_GETRANDOM] = { 318, 278 },
};

static enum call call_of(const struct vprocess *p, s64 num)
{
	for (u32 i = CALL_OTHER + 1; i < ARRAY_LEN(numbers); i++)
		if (num == (p->arm64 ? numbers[i].arm64 : numbers[i].x86_64))
			return (enum call)i;
	return CALL_OTHER;
}

void tasks_syscall(struct vthread *t, s64 num, const u64 args[6])
{
	int kept = errno;

	tasks_keep_totals(t);
	memcpy(t->syscall, args, sizeof(t->syscall));
	switch (call_of(t->process, num)) {
	case CALL_EXECVE:
		exec_follow(t, AT_FDCWD, args[0], args[1], args[2], 0);
		break;
	case CALL_EXECVEAT:
		exec_follow(t, (s32)args[0], args[1], args[2], args[3], args[4]);
		break;
	case CALL_SIGRETURN:
		callstack_sigreturn(t);
		break;
	default:
		break;
	}
	errno = kept;
}

static void new_handler(struct vthread *t)
{
	u64 handler;

	/* struct kernel_sigaction begins with it, on both architectures; 0 and 1 are default and ignored. */
	if (!t->syscall[1] || !guest_read(t->syscall[1], &handler, sizeof(handler)) || handler <= 1)
		return;
	tasks_lock(t->process);
	callstack_handler(t->process, handler);
	tasks_unlock(t->process);
}

static void new_name(struct vthread *t)
{
	struct bytes name = { 0 };

	if (t->syscall[0] == PR_SET_NAME && guest_text(t->syscall[1], 15, &name)) {
		bytes_char(&name, 0);
		tasks_put_comm(t, t->tid, (const char *)name.p, false);
	}
	bytes_free(&name);
}

/* QEMU's seed makes no system call: the system's bytes are replaced. */
static void new_random(struct vthread *t, u64 at, u64 n)
{
	u64 words[512], part;

	for (; n; at += part, n -= part) {
		part = MIN(n, sizeof(words));
		for (u64 i = 0; i * sizeof(words[0]) < part; i++)
			words[i] = random_next(&t->random);
		if (!guest_write(at, words, part))
			return;
	}
}

static void new_break(struct vthread *t, u64 at)
{
	struct tasks *k = t->process->tasks;
	u64 start;

	tasks_lock(t->process);
	if (!k->heap_start)
		k->heap_start = at;
	start = k->heap_end;
	k->heap_end = at;
	tasks_unlock(t->process);
	if (start && start < at)
		maps_put_data(t, k->heap_start, at - k->heap_start);
}

static void new_memory(struct vthread *t, u64 start, u64 len)
{
	maps_changed(t->process, start, len);
	maps_put_data(t, start, len);
}

void tasks_syscall_return(struct vthread *t, s64 num, s64 ret)
{
	const u64 *args = t->syscall;
	int kept = errno;

	births_end(t, ret);
	if (t->execs && ret < 0) {
		atomic_fetch_sub(&t->process->control->escaped, 1);
		exec_failed(t);
	}
	if (ret < 0 && ret > -4096)
		return;
	switch (call_of(t->process, num)) {
	case CALL_MMAP:
		new_memory(t, (u64)ret, args[1]);
		break;
	case CALL_MREMAP:
		maps_changed(t->process, args[0], args[1]);
		new_memory(t, (u64)ret, args[2]);
		break;
	case CALL_MPROTECT:
	case CALL_PKEY_MPROTECT:
		new_memory(t, args[0], args[1]);
		break;
	case CALL_MUNMAP:
		maps_changed(t->process, args[0], args[1]);
		break;
	case CALL_SHMAT:
	case CALL_SHMDT:
		maps_changed(t->process, 0, UINT64_MAX);
		break;
	case CALL_BRK:
		new_break(t, (u64)ret);
		break;
	case CALL_SIGACTION:
		new_handler(t);
		break;
	case CALL_PRCTL:
		new_name(t);
		break;
	case CALL_WRITE:
	case CALL_WRITEV:
		names_written(t, (s32)args[0]);
		break;
	case CALL_GETRANDOM:
		new_random(t, args[0], (u64)ret);
		break;
	default:
		break;
	}
	errno = kept;
}
