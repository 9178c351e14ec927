/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader may look after any instruction. This one looks after every instruction: a child makes all kinds of calls,
 * one instruction at a time (PTRACE_SINGLESTEP), and between any two of them its record is read from outside.
 *
 *  - What is seen is whole: each byte of it is made of one number. So is what lies around it.
 *  - What is seen changes as the calls say, in their order, and never goes back.
 *  - The same holds where a signal handler runs behind each of these instructions, and pushes, replaces and pops; what
 *    the handler shows is seen only while it runs. Of some of these handlers each instruction is a step, too.
 *
 * Both run on one CPU: a step takes two changes from one to the other, and that is the shortest way.
 *
 * With the argument "journal" the child keeps a journal. At the end, that says the same in the same order; between any
 * two instructions its entries are whole. A handler then runs behind one instruction in JOURNAL_HANDLERS, and behind
 * none of the vDSO's, which reads the clock anew when much time has passed since it began to.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "journals.h"
#include "numbered.h"
#include "reticle/activity.h"
#include "test.h"

#define HANDLER 200	  /* ids from here on are a signal handler's */
#define WHOLE_HANDLERS 16 /* one in so many is stepped through */
#define JOURNAL_HANDLERS 7
#define VDSO_BYTES 16384

/* Between both processes. */
struct shared {
	const void *pointer; /* where the child's otel_thread_ctx_v1 is */
	volatile bool handling;
	volatile unsigned handled;
	volatile bool torn; /* the child itself saw something wrong */
	volatile bool stop; /* handlers stop at their end */
	volatile bool done;
};

static struct shared *shared;

/* ---- The child ---- */

static void attribute(uint8_t n)
{
	const char value[3] = { (char)n, (char)n, (char)n };

	activity_attribute(n, value, sizeof(value));
}

static void handle(int unused)
{
	const void *seen = otel_thread_ctx_v1;
	unsigned depth = activity_depth();

	(void)unused;
	shared->handling = true;
	push(HANDLER);
	set(HANDLER + 1);
	push(HANDLER + 2);
	activity_pop();
	activity_pop();
	shared->torn |= otel_thread_ctx_v1 != seen || activity_depth() != depth;
	shared->handling = false;
	shared->handled++;
	if (shared->stop)
		syscall(SYS_tgkill, getpid(), getpid(), SIGTRAP);
}

/* What is seen in turn, 0 being nothing. Attributes have the number of their activity. */
static const uint8_t expected[] = { 0, 1, 2, 3, 2, 4, 5, 4, 0, 6, 4, 1, 0, 7, 0, 8, 1, 9, 8, 1, 0, 10, 0 };

static void make_calls(struct activity_stack *coroutine)
{
	struct activity_snapshot work;

	push(1);
	push(2);
	attribute(2);
	push(3);
	activity_pop();
	set(4);
	push(5);
	attribute(5);
	attribute(5);
	activity_pop();
	activity_clear();
	set(6);
	set(4);
	activity_unwind(1);
	activity_capture(&work);
	activity_pop();
	activity_switch(coroutine);
	push(7);
	activity_switch(NULL);
	push(8);
	activity_adopt(&work);
	set(9);
	activity_pop();
	activity_restore(&work);
	activity_pop();
	set(10);
	activity_clear();
}

static void child(void)
{
	struct activity_stack *coroutine = activity_stack_new();

	CHECK(coroutine && activity_thread_start());
	CHECK(signal(SIGUSR1, handle) != SIG_ERR);
	shared->pointer = (const void *)&otel_thread_ctx_v1;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(!ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	syscall(SYS_tgkill, getpid(), getpid(), SIGSTOP); /* not raise(), which holds other signals back meanwhile */
	make_calls(coroutine);
	shared->done = true;
	_exit(0);
}

/* ---- The reader ---- */

static bool read_child(pid_t pid, const void *from, void *to, size_t n)
{
	struct iovec local = { to, n }, remote = { (void *)(uintptr_t)from, n };

	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n;
}

struct reader {
	pid_t pid;
	bool signals;
	struct journal_reader *journal; /* or NULL */
	unsigned long steps, signalled;
	unsigned n; /* of expected, that were seen */
};

static uint8_t number_of(const struct seen_record *r)
{
	uint8_t n = r->trace[0];

	CHECK(n && r->valid == 1 && r->flags == n && r->size % 5 == 0 && r->size <= sizeof(r->attrs));
	for (unsigned i = 0; i < 16; i++)
		CHECK(r->trace[i] == n);
	for (unsigned i = 0; i < 8; i++)
		CHECK(r->span[i] == n);
	for (unsigned i = 0; i < r->size; i++)
		CHECK(r->attrs[i] == (i % 5 == 1 ? 3 : n));
	return n;
}

/* What is seen now, and that all around it is whole, too. */
static uint8_t look(const struct reader *r)
{
	const struct seen_record *at;
	uint8_t number = 0;

	CHECK(read_child(r->pid, shared->pointer, &at, sizeof(at)));
	for (unsigned depth = 0; at; depth++) {
		struct {
			struct seen_head head;
			struct seen_record record;
		} cell;
		uint8_t n;

		CHECK(depth < 10 && read_child(r->pid, (const char *)at - sizeof(cell.head), &cell, sizeof(cell)));
		CHECK(cell.head.magic == SEEN_MAGIC);
		n = number_of(&cell.record);
		number = depth ? number : n;
		at = cell.head.around;
	}
	return number;
}

/* Of what the journal says last, as far as it is written, all is whole. */
static void journal_look(const struct journal_reader *j)
{
	uint64_t next = j->ring->next;

	for (uint64_t n = next < 4 ? 0 : next - 4; n < next; n++) {
		const struct seen_slot *s = journal_slot(j, n);

		if (s->number == (uint32_t)n + 1 && s->record.valid)
			(void)number_of(&s->record);
	}
}

/* What it says is what was seen, but for what handlers did. */
static void check_journal(struct journal_reader *j)
{
	unsigned seen = 1; /* that nothing is, it does not say at first */

	for (uint64_t n = 0; n < j->ring->next; n++) {
		const struct seen_slot *s = journal_slot(j, n);
		uint8_t number = s->record.valid ? s->record.trace[0] : 0;

		CHECK(s->number == (uint32_t)n + 1 && s->tid == (uint32_t)j->pid && s->record.valid <= 1);
		if (number < HANDLER && number != expected[seen - 1]) {
			CHECK(seen < sizeof(expected) && number == expected[seen]);
			seen++;
		}
	}
	CHECK(seen == sizeof(expected));
	journal_close(j);
}

static void note(struct reader *r)
{
	uint8_t number = look(r);

	if (r->journal)
		journal_look(r->journal);
	if (number >= HANDLER) {
		CHECK(shared->handling);
		return;
	}
	if (r->n && number == expected[r->n - 1])
		return;
	CHECK(r->n < sizeof(expected) && number == expected[r->n]);
	r->n++;
}

/* Instruction and stack pointer. */
struct place {
	unsigned long long pc, sp;
};

static struct place place(pid_t pid)
{
	struct user_regs_struct regs;
	struct iovec v = { &regs, sizeof(regs) };

	CHECK(!ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &v));
#ifdef __x86_64__
	return (struct place){ regs.rip, regs.rsp };
#else
	return (struct place){ regs.pc, regs.sp };
#endif
}

static bool is_at(pid_t pid, struct place there)
{
	struct place here = place(pid);

	return here.pc == there.pc && here.sp == there.sp;
}

/* How: PTRACE_SINGLESTEP or PTRACE_CONT. -> the signal that stopped it */
static int resume(struct reader *r, int how, int signal)
{
	int status;

	CHECK(!ptrace(how, r->pid, NULL, (void *)(long)signal));
	CHECK(waitpid(r->pid, &status, 0) == r->pid);
	CHECK(WIFSTOPPED(status));
	r->steps += how == PTRACE_SINGLESTEP;
	return WSTOPSIG(status);
}

/* A signal here, and on until its handler has returned to this place. */
static void interrupt(struct reader *r)
{
	struct place here = place(r->pid);
	unsigned handled = shared->handled;
	int signal = SIGUSR1;

	shared->stop = r->signalled++ % WHOLE_HANDLERS != 0;
	if (shared->stop) {
		CHECK(resume(r, PTRACE_CONT, signal) == SIGTRAP && shared->handled == handled + 1);
		signal = 0;
	}
	do {
		CHECK(resume(r, PTRACE_SINGLESTEP, signal) == SIGTRAP);
		if (!shared->stop)
			note(r);
		signal = 0;
	} while (shared->handled == handled || !is_at(r->pid, here));
}

static bool may_interrupt(const struct reader *r)
{
	unsigned long long vdso = getauxval(AT_SYSINFO_EHDR), pc = place(r->pid).pc;

	return !r->journal || (r->steps % JOURNAL_HANDLERS == 0 && pc - vdso >= VDSO_BYTES);
}

static void run(struct reader *r)
{
	int status;

	shared->done = false;
	if (r->journal)
		journal_begin();
	r->pid = fork();
	CHECK(r->pid >= 0);
	if (!r->pid)
		child();
	CHECK(waitpid(r->pid, &status, 0) == r->pid && WIFSTOPPED(status));
	if (r->journal)
		journal_open(r->journal, r->pid);
	do {
		note(r);
		if (r->signals && may_interrupt(r))
			interrupt(r);
		CHECK(resume(r, PTRACE_SINGLESTEP, 0) == SIGTRAP);
	} while (!shared->done);
	CHECK(r->n == sizeof(expected) && !shared->torn);
	CHECK(!ptrace(PTRACE_CONT, r->pid, NULL, NULL));
	CHECK(waitpid(r->pid, &status, 0) == r->pid && status == 0);
	if (r->journal)
		check_journal(r->journal);
}

int main(int argc, char **argv)
{
	bool journal = argc > 1 && !strcmp(argv[1], "journal");
	struct journal_reader of_plain, of_interrupted;
	struct reader plain = { .journal = journal ? &of_plain : NULL },
		      interrupted = { .signals = true, .journal = journal ? &of_interrupted : NULL };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	run(&plain);
	run(&interrupted);
	CHECK(plain.steps > 500 && interrupted.signalled > 200 && shared->handled == interrupted.signalled);
	if (journal)
		rmdir(journal_dir);
	printf("read after each of %lu instructions; after each of %lu with a handler behind each of %lu\n",
	       plain.steps, interrupted.steps, interrupted.signalled);
	return 0;
}
