/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a parser gives up. A system call that is not in the list fails with EPERM. Opening a file, and asking where a
 * descriptor leads to, trap instead: the handler asks the other side of the socket, which decides, and gives its
 * answer in place of the kernel's.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/mem.h"
#include "state/apart_impl.h"

#define LONGEST_PATH 4096
#define DESCRIPTORS "/proc/self/fd/" /* links whose ends are told */

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
static u64 call_argument(const ucontext_t *u, u32 i)
{
	static const int regs[] = { REG_RDI, REG_RSI, REG_RDX, REG_R10 };

	return (u64)u->uc_mcontext.gregs[regs[i]];
}

static void set_result(ucontext_t *u, s64 v)
{
	u->uc_mcontext.gregs[REG_RAX] = v;
}
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
static u64 call_argument(const ucontext_t *u, u32 i)
{
	return u->uc_mcontext.regs[i];
}

static void set_result(ucontext_t *u, s64 v)
{
	u->uc_mcontext.regs[0] = (u64)v;
}
#endif

#ifdef ARCH
/* The path's argument, by call; -1: some other call. */
static int path_argument(int call)
{
#ifdef SYS_open
	if (call == SYS_open)
		return 0;
#endif
#ifdef SYS_readlink
	if (call == SYS_readlink)
		return 0;
#endif
	return call == SYS_openat || call == SYS_readlinkat ? 1 : -1;
}

static bool is_readlink(int call)
{
#ifdef SYS_readlink
	if (call == SYS_readlink)
		return true;
#endif
	return call == SYS_readlinkat;
}

/* Asks, and returns what the call returns. It runs between a call and its result, so all memory is as it should be. */
static s64 ask(int call, const char *path, char *to, size_t room)
{
	struct bytes answer = { 0 };
	struct apart_head h;
	size_t n = strnlen(path, LONGEST_PATH);
	s64 result = -ENOENT;
	int fd;

	if (n == LONGEST_PATH)
		return -ENAMETOOLONG;
	/* realpath() also asks about each directory. The parent answers only for descriptors: it need not be asked. */
	if (is_readlink(call) && strncmp(path, DESCRIPTORS, strlen(DESCRIPTORS)) != 0)
		return -ENOENT;
	/* What comes instead of an answer is a question that was sent ahead: who is asked ahead may not ask. */
	if (!apart_send(APART_SOCKET, is_readlink(call) ? APART_WANT_LINK : APART_WANT_FILE, path, (u32)n, -1) ||
	    !apart_receive(APART_SOCKET, &h, &answer, &fd) || h.kind != APART_ANSWER)
		_exit(1);
	if (fd >= 0) {
		result = fd;
	} else if (is_readlink(call) && answer.len) {
		result = (s64)MIN(answer.len, room);
		memcpy(to, answer.p, (size_t)result);
	}
	bytes_free(&answer);
	return result;
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	int call = info->si_syscall, path = path_argument(call), keep = errno;

	(void)number;
	if (path < 0)
		set_result(u, -EPERM);
	else
		set_result(u, ask(call, (const char *)call_argument(u, (u32)path), /* NOLINT: its address */
				  (char *)call_argument(u, (u32)path + 1),	   /* NOLINT */
				  (size_t)call_argument(u, (u32)path + 2)));
	errno = keep;
}

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (u32)offsetof(struct seccomp_data, field))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define REFUSE RETURN(SECCOMP_RET_ERRNO | EPERM)
#define IF(call, then) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (u32)(call), 0, 1), RETURN(then)
#define ALLOW(call) IF(call, SECCOMP_RET_ALLOW)
#define TRAP(call) IF(call, SECCOMP_RET_TRAP)
/* Of the calls that talk: on the socket only. */
#define ALLOW_SOCKET(call)                                                                                            \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (u32)(call), 0, 4), LOAD(args[0]),                                        \
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, APART_SOCKET, 0, 1), RETURN(SECCOMP_RET_ALLOW), REFUSE
/* Memory, but none that can be run. */
#define ALLOW_DATA(call)                                                                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (u32)(call), 0, 4), LOAD(args[2]),                                        \
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0), RETURN(SECCOMP_RET_ALLOW), REFUSE

static bool filter_calls(void)
{
	static const struct sock_filter rules[] = {
		LOAD(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		RETURN(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		ALLOW(SYS_read),
		ALLOW(SYS_pread64),
		ALLOW(SYS_futex),
		ALLOW(SYS_brk),
		ALLOW(SYS_munmap),
		ALLOW(SYS_mremap),
		ALLOW(SYS_madvise),
		ALLOW(SYS_fstat),
		ALLOW(SYS_lseek),
		ALLOW(SYS_fcntl),
		ALLOW(SYS_close),
		ALLOW(SYS_clock_gettime),
		ALLOW(SYS_getrandom),
		ALLOW(SYS_sched_yield),
		ALLOW(SYS_rt_sigprocmask),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_getpid),
		ALLOW(SYS_gettid),
		ALLOW(SYS_exit),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_newfstatat), /* what fstat() is made of */
		TRAP(SYS_openat),
		TRAP(SYS_readlinkat),
#ifdef SYS_open
		TRAP(SYS_open),
#endif
#ifdef SYS_readlink
		TRAP(SYS_readlink),
#endif
		ALLOW_SOCKET(SYS_sendmsg),
		LOAD(nr),
		ALLOW_SOCKET(SYS_recvmsg),
		LOAD(nr),
		ALLOW_DATA(SYS_mmap),
		LOAD(nr),
		ALLOW_DATA(SYS_mprotect),
		REFUSE,
	};
	const struct sock_fprog program = { ARRAY_LEN(rules), (struct sock_filter *)rules };
	struct sigaction trap = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };

	return !sigaction(SIGSYS, &trap, NULL) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#else
static bool filter_calls(void)
{
	return false;
}
#endif

static void limit(int what, rlim_t most)
{
	setrlimit(what, &(struct rlimit){ most, most });
}

bool apart_confine(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { 0 };

	/* What DWARF takes comes in small pieces, and each would be a system call that the filter looks at. */
	mem_one_heap();
	syscall(SYS_capset, &head, none);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_NPROC, 0);
	limit(RLIMIT_FSIZE, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && filter_calls();
}
