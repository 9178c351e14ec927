/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two coroutines that take turns, on stacks of several sizes, side by side in either order, by each way to change
 * stacks. Tells its chains as walks.c does; a place is told once for each layout, and all differ in depth.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define CHAIN_MAX 200
#include "probe.h"

/* --- ways --- */

enum way { CONTEXT, RETURN, JUMP, LONGJMP, CALL, NR_WAYS };

void go_by_return(void **from, void *to);
void go_by_jump(void **from, void *to);
/* Begins a coroutine on the stack `to`, by a call that never returns. */
void begin_by_call(void **from, void *to, void (*function)(void));
#ifdef __x86_64__
#define SAVED 6 /* registers that a coroutine begins with, and its function */
#define GO(name, last)                                                                                                \
	".globl " #name "\n.type " #name ", @function\n" #name ": .cfi_startproc\n"                                   \
	"push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"                                          \
	"mov %rsp, (%rdi); mov %rsi, %rsp\n"                                                                          \
	"pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n" last "\n.cfi_endproc\n.size " #name            \
	", .-" #name "\n"
__asm__(".text\n" GO(go_by_return, "ret") GO(go_by_jump, "pop %rdx; jmp *%rdx"));
__asm__(".globl begin_by_call\n.type begin_by_call, @function\nbegin_by_call: .cfi_startproc\n.cfi_undefined %rip\n"
	"push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
	"mov %rsp, (%rdi); mov %rsi, %rsp; call *%rdx; hlt\n.cfi_endproc\n.size begin_by_call, .-begin_by_call\n");
#else
#define SAVED 20
#define GO(name, last)                                                                                                \
	".globl " #name "\n.type " #name ", %function\n" #name ": .cfi_startproc\n" SAVE                              \
	"ldp x19, x20, [sp]\nldp x21, x22, [sp, #16]\nldp x23, x24, [sp, #32]\n"                                      \
	"ldp x25, x26, [sp, #48]\nldp x27, x28, [sp, #64]\nldp x29, x30, [sp, #80]\nldp d8, d9, [sp, #96]\n"          \
	"ldp d10, d11, [sp, #112]\nldp d12, d13, [sp, #128]\nldp d14, d15, [sp, #144]\nldr x4, [sp, #160]\n"          \
	"add sp, sp, #176\n" last "\n.cfi_endproc\n.size " #name ", .-" #name "\n"
#define SAVE                                                                                                          \
	"sub sp, sp, #176\nstp x19, x20, [sp]\nstp x21, x22, [sp, #16]\nstp x23, x24, [sp, #32]\n"                    \
	"stp x25, x26, [sp, #48]\nstp x27, x28, [sp, #64]\nstp x29, x30, [sp, #80]\nstp d8, d9, [sp, #96]\n"          \
	"stp d10, d11, [sp, #112]\nstp d12, d13, [sp, #128]\nstp d14, d15, [sp, #144]\nstr x30, [sp, #160]\n"         \
	"mov x9, sp\nstr x9, [x0]\nmov sp, x1\n"
__asm__(".text\n" GO(go_by_return, "ret x4") GO(go_by_jump, "br x4"));
__asm__(".globl begin_by_call\n.type begin_by_call, %function\nbegin_by_call: .cfi_startproc\n.cfi_undefined "
	"x30\n" SAVE "blr x2\nbrk #0\n.cfi_endproc\n.size begin_by_call, .-begin_by_call\n");
#endif

enum { MAIN, A, B, NR_STACKS };
static struct stack {
	ucontext_t context;
	jmp_buf env;
	void *sp;
	int begun;
	void (*function)(void);
} stacks[NR_STACKS];
static enum way way;
static volatile int sink, layout;

/* The only place where stacks change. */
static NOINLINE void go(int from, int to)
{
	struct stack *f = &stacks[from], *t = &stacks[to];

	if (way == CALL && !t->begun) {
		t->begun = 1;
		begin_by_call(&f->sp, t->sp, t->function);
	} else if (way == JUMP)
		go_by_jump(&f->sp, t->sp);
	else if (way == RETURN || way == CALL)
		go_by_return(&f->sp, t->sp);
	else if (way == LONGJMP && t->begun) {
		if (!_setjmp(f->env))
			_longjmp(t->env, 1);
	} else {
		f->begun = t->begun = 1;
		if (way == CONTEXT || !_setjmp(f->env))
			swapcontext(&f->context, &t->context);
	}
	sink++;
}

static void prepare(struct stack *s, char *memory, size_t size, void (*function)(void))
{
	void **top = (void **)(memory + size) - 2;

	s->begun = 0;
	s->function = function;
	if (way == CONTEXT || way == LONGJMP) {
		getcontext(&s->context);
		s->context.uc_stack.ss_sp = memory;
		s->context.uc_stack.ss_size = size;
		makecontext(&s->context, function, 0);
		return;
	}
	memset(top, 0, 2 * sizeof(*top));
	s->sp = way == CALL ? top : top - 2 - SAVED;
	memset(s->sp, 0, (size_t)((char *)top - (char *)s->sp));
	if (way != CALL)
		((void **)s->sp)[SAVED] = (void *)function;
}

/* --- coroutines --- */

static NOINLINE void in_a(int depth)
{
	if (depth) {
		in_a(depth - 1);
		sink++;
		return;
	}
	if (way != CALL) /* an unwinder does not know who called */
		probe(0);
	go(A, B);
	probe(1);
	go(A, B);
	sink++;
}

static NOINLINE void in_b(int depth)
{
	if (depth) {
		in_b(depth - 1);
		sink++;
		return;
	}
	if (way != CALL)
		probe(2);
	go(B, A);
	probe(3);
	sink++;
}

static void a_main(void)
{
	in_a(layout);
	abort();
}

static void b_main(void)
{
	in_b(layout + 1);
	go(B, MAIN);
	abort();
}

static NOINLINE void turns(char *a, char *b, size_t size, int depth)
{
	if (depth) {
		turns(a, b, size, depth - 1);
		sink++;
		return;
	}
	prepare(&stacks[A], a, size, a_main);
	prepare(&stacks[B], b, size, b_main);
	go(MAIN, A);
	probe(4);
	sink++;
}

/* Far, and computed, jumps with large locals of a size that is not known before. */
static NOINLINE void large(int n, size_t size)
{
	static void *const labels[] = { &&even, &&odd };
	volatile char *locals = __builtin_alloca(size);

	locals[0] = 1;
	goto *labels[n & 1];
odd:
	sink++;
even:
	probe(5);
	sink += locals[0];
}

int main(void)
{
	static const size_t sizes[] = { 16 << 10, 64 << 10, 256 << 10 };

	printf("main %lx\n", (unsigned long)main);
	large(0, 16);
	large(1, 3 << 20);
	for (way = 0; way < NR_WAYS; way++) {
		/* Half of them where others were that are over. */
		char *pool = malloc(512 << 10);

		for (int i = 0; i < 3; i++)
			for (int order = 0; order < 4; order++, layout++) {
				size_t size = sizes[i];
				char *both = order & 2 ? pool :
							 mmap(NULL, 2 * size, PROT_READ | PROT_WRITE,
							      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

				turns(both + (order & 1 ? size : 0), both + (order & 1 ? 0 : size), size, layout);
			}
	}
	large(1, 1 << 20);
	return 0;
}
