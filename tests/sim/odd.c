/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program in which counting goes wrong easily: repeated string instructions, code that is made and changed while it
 * runs, instructions across pages, faults in the middle of a block, signals, longjmp, atomics, indirect jumps, wide
 * accesses. What it does depends on nothing but itself. Arguments: how many rounds; then anything, for no faults, and
 * nothing that QEMU does again.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static sigjmp_buf out_of_fault;
static volatile unsigned handled;

/* --- machine code that is made here --- */

#ifdef __x86_64__
/* mov $n, %eax; add $0x11111111, %eax (across the page end when put there); ret */
static size_t put_code(uint8_t *p, uint32_t n)
{
	uint8_t code[] = { 0xb8, 0, 0, 0, 0, 0x05, 0x11, 0x11, 0x11, 0x11, 0xc3 };

	memcpy(code + 1, &n, 4);
	memcpy(p, code, sizeof(code));
	return sizeof(code);
}

static unsigned strings(unsigned n)
{
	static uint8_t from[512], to[512];
	size_t count = n % 400;
	uint8_t *d = to, *s = from;

	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(count) : : "memory");
	d = from;
	count = n % 7 ? n % 50 : 0;
	__asm__ volatile("rep stosq" : "+D"(d), "+c"(count) : "a"((uint64_t)n) : "memory");
	d = to;
	count = 512;
	__asm__ volatile("repne scasb" : "+D"(d), "+c"(count) : "a"(n & 0xff) : "memory", "cc");
	return (unsigned)count + to[n % 512];
}
#else
/* movz w0, #n; add w0, w0, #17; ret */
static size_t put_code(uint8_t *p, uint32_t n)
{
	uint32_t code[] = { 0x52800000 | (n & 0xffff) << 5, 0x11004400, 0xd65f03c0 };

	memcpy(p, code, sizeof(code));
	return sizeof(code);
}

static unsigned strings(unsigned n)
{
	static uint8_t from[512], to[512];

	memcpy(to, from, n % 400);
	memset(from, (int)n, n % 50);
	return to[n % 512];
}
#endif

static unsigned call_made(uint8_t *p, uint32_t n)
{
	unsigned (*fn)(void);
	size_t size = put_code(p, n);

	__builtin___clear_cache((char *)p, (char *)p + size);
	memcpy(&fn, &p, sizeof(fn));
	return fn();
}

/* At several places around a page's end, each changed in every round. */
static unsigned made_code(unsigned rounds)
{
	uint8_t *p = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned sum = 0;

	if (p == MAP_FAILED)
		return 0;
	for (unsigned i = 0; i < rounds; i++)
		for (int back = 0; back <= 16; back += 4)
			sum += call_made(p + PAGE - back, i);
#ifdef __x86_64__
	for (unsigned i = 0; i < rounds; i++)
		for (int back = 1; back < 12; back++)
			sum += call_made(p + PAGE - back, i % 3);
#endif
	munmap(p, 2 * PAGE);
	return sum;
}

/* --- ways out of the middle of a block --- */

static void on_fault(int sig)
{
	(void)sig;
	handled++;
	siglongjmp(out_of_fault, 1);
}

static void on_signal(int sig)
{
	(void)sig;
	handled += 3;
}

static unsigned faults(unsigned rounds)
{
	volatile int *nowhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	volatile unsigned sum = 0;

	for (volatile unsigned i = 0; i < rounds; i++) {
		if (!sigsetjmp(out_of_fault, 1))
			sum += (unsigned)*nowhere;
		raise(SIGUSR1);
	}
	return sum;
}

/* An object whose first field ends one page, with the others on the next: writing them faults once, and is done again.
 */
struct straddling {
	long head, fields[3];
};

static void unprotect(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	mprotect((void *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1)), PAGE, PROT_READ | PROT_WRITE);
}

static __attribute__((noinline)) void set(struct straddling *o, long to)
{
	o->head = to;
	o->fields[0] = to;
	o->fields[1] = to;
	o->fields[2] = to;
}

static unsigned barriers(unsigned rounds)
{
	struct sigaction barrier = { .sa_sigaction = unprotect, .sa_flags = SA_SIGINFO }, before;
	size_t bytes = ((size_t)rounds + 2) * PAGE;
	char *pages = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	mprotect(pages, PAGE, PROT_READ | PROT_WRITE);
	sigaction(SIGSEGV, &barrier, &before);
	for (unsigned i = 1; i <= rounds; i++)
		set((struct straddling *)(void *)(pages + (size_t)i * PAGE - sizeof(long)), i);
	sigaction(SIGSEGV, &before, NULL);
	munmap(pages, bytes);
	return rounds;
}

/* A loop that faults at its head each time. */
static __attribute__((noinline)) void touch(volatile char *pages, long n)
{
	for (long i = 0; i < n; i++)
		pages[i * PAGE] = 1;
}

/* By one instruction, where there is one. */
static void fill(char *pages, size_t bytes)
{
#ifdef __x86_64__
	__asm__ volatile("rep stosb" : "+D"(pages), "+c"(bytes) : "a"(1) : "memory");
#else
	touch(pages, (long)(bytes / PAGE));
#endif
}

static unsigned loops(unsigned rounds)
{
	struct sigaction barrier = { .sa_sigaction = unprotect, .sa_flags = SA_SIGINFO }, before;
	size_t bytes = (size_t)rounds * PAGE;
	char *pages = mmap(NULL, 2 * bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	sigaction(SIGSEGV, &barrier, &before);
	touch(pages, rounds);
	fill(pages + bytes, bytes);
	sigaction(SIGSEGV, &before, NULL);
	munmap(pages, 2 * bytes);
	return rounds;
}

#ifdef __x86_64__
/* Each is one block. QEMU does the atomics again alone: they are across two lines, and memory is shared with others.
 */
__asm__(".text\n"
	"add_and_return: lock addl $1, (%rdi); ret\n"
	"add_and_jump: lea 1f(%rip), %rax; lock addl $1, (%rdi); jmp *%rax; 1: ret\n"
	"add_in_loop: lock addl $1, (%rdi); dec %esi; jnz add_in_loop; ret\n"
	/* And one whose end leads into its middle. */
	"jump_back: lea 1f(%rip), %rax; lea 2f(%rip), %rdx; xor %ecx, %ecx\n"
	"1: inc %ecx; cmp %esi, %ecx; cmovae %rdx, %rax; jmp *%rax; 2: ret\n");
void add_and_return(uint8_t *n);
void add_and_jump(uint8_t *n);
void add_in_loop(uint8_t *n, unsigned times);
void jump_back(uint8_t *unused, unsigned times);

static unsigned atomics(unsigned rounds)
{
	uint8_t *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned n;

	for (unsigned i = 0; i < rounds; i++) {
		add_and_return(p + 62);
		add_and_jump(p + 62);
		add_in_loop(p + 62, 3);
	}
	memcpy(&n, p + 62, sizeof(n));
	munmap(p, PAGE);
	return n;
}

/* movb $i, 1 behind its end, in the mov $0, %eax there; ret: done again alone as well */
static unsigned changes_itself(unsigned rounds)
{
	uint8_t *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t code[] = { 0xc6, 0x05, 1, 0, 0, 0, 0, 0xb8, 0, 0, 0, 0, 0xc3 };
	unsigned (*fn)(void), sum = 0;

	memcpy(&fn, &p, sizeof(fn));
	for (unsigned i = 0; i < rounds; i++) {
		code[6] = (uint8_t)i;
		memcpy(p, code, sizeof(code));
		sum += fn();
	}
	munmap(p, PAGE);
	return sum;
}
#else
static unsigned atomics(unsigned rounds)
{
	return rounds;
}
static unsigned changes_itself(unsigned rounds)
{
	return rounds;
}
static void jump_back(uint8_t *unused, unsigned times)
{
	(void)unused;
	(void)times;
}
#endif

static jmp_buf deep;

static __attribute__((noinline)) unsigned dive(unsigned n)
{
	volatile unsigned here = n;

	if (!n)
		longjmp(deep, 1);
	return dive(n - 1) + here;
}

static unsigned jumps(unsigned rounds)
{
	volatile unsigned sum = 0;

	for (volatile unsigned i = 0; i < rounds; i++)
		if (!setjmp(deep))
			sum += dive(i % 40);
		else
			sum++;
	return sum;
}

/* --- ordinary but less usual --- */

static unsigned one(unsigned x)
{
	return x + 1;
}
static unsigned two(unsigned x)
{
	return x * 3;
}
static unsigned three(unsigned x)
{
	return x ^ 0x55;
}

static unsigned indirect(unsigned rounds)
{
	static unsigned (*const volatile fns[])(unsigned) = { one, two, three };
	unsigned sum = 0;

	for (unsigned i = 0; i < rounds; i++) {
		sum = fns[(i * 7 + sum) % 3](sum);
		switch (sum % 11) {
		case 0:
			sum += 5;
			break;
		case 1:
		case 2:
			sum = sum * 2 + 1;
			break;
		case 3:
			sum -= i;
			break;
		case 4:
			sum ^= i << 3;
			break;
		case 5:
			sum /= 3;
			break;
		case 7:
			sum += __atomic_fetch_add(&handled, 0, __ATOMIC_SEQ_CST);
			break;
		case 9:
			sum = ~sum;
			break;
		}
	}
	return sum;
}

static unsigned wide(unsigned rounds)
{
	static struct {
		uint8_t pad[24];
		unsigned char data[PAGE];
	} a, b;
	unsigned sum = 0;

	for (unsigned i = 0; i < rounds; i++) {
		memcpy(a.data + i % 60, b.data + i % 50, 1000);
		memmove(a.data + 1, a.data, 500);
		sum += (unsigned)memcmp(a.data, b.data, 100) & 1;
	}
	return sum;
}

int main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 100, sum = 0;

	signal(SIGSEGV, on_fault);
	signal(SIGUSR1, on_signal);
	for (unsigned i = 0; i < rounds; i++)
		sum += strings(i);
	sum += made_code(rounds) + (argc > 2 ? 0 : faults(rounds) + barriers(rounds) + loops(rounds)) + jumps(rounds) +
	       indirect(rounds * 20) + wide(rounds);
	jump_back(NULL, rounds);
	sum += argc > 2 ? 0 : changes_itself(rounds) + atomics(rounds);
	printf("%u %u\n", sum, handled);
	return 0;
}
