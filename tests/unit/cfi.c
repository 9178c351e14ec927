/* SPDX-License-Identifier: Apache-2.0 */
/* Call frame information: programs to rows, rows to steps; and this program's own stack, climbed. */
#include <alloca.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "attrib/unwind.h"
#include "codec/cfi.h"
#include "state/elf_symbols.h"

/* ---- sections that are made by hand */

struct made {
	u8 b[512];
	u32 n;
};

static void put(struct made *m, u32 n, ...)
{
	va_list args;

	va_start(args, n);
	for (u32 i = 0; i < n; i++)
		m->b[m->n++] = (u8)va_arg(args, int);
	va_end(args);
}

static void put_u32(struct made *m, u32 v)
{
	memcpy(m->b + m->n, &v, 4);
	m->n += 4;
}

/* Fills in the length of an entry that began at `at`, with padding before it. */
static void close_entry(struct made *m, u32 at)
{
	u32 length;

	while ((m->n - at) % 8)
		put(m, 1, 0);
	length = m->n - at - 4;
	memcpy(m->b + at, &length, 4);
}

/* A CIE at 0 with that augmentation; addresses are 4 bytes, relative to where they stand. */
static void put_common(struct made *m, char letter, u8 return_reg, u32 n, const u8 *program)
{
	put_u32(m, 0);
	put_u32(m, 0);
	put(m, 1, 1);
	if (letter)
		put(m, 4, 'z', 'R', letter, 0);
	else
		put(m, 3, 'z', 'R', 0);
	put(m, 5, 1, 0x78, return_reg, 1, 0x1b);
	memcpy(m->b + m->n, program, n);
	m->n += n;
	close_entry(m, 0);
}

static void put_function(struct made *m, u32 start, u32 size, u32 n, const u8 *program)
{
	u32 at = m->n;

	put_u32(m, 0);
	put_u32(m, at + 4);
	put_u32(m, start - m->n);
	put_u32(m, size);
	put(m, 1, 0);
	memcpy(m->b + m->n, program, n);
	m->n += n;
	close_entry(m, at);
}

static bool same_place(void *ctx, u64 addr, u64 *out)
{
	(void)ctx;
	*out = addr;
	return true;
}

static void compile(struct cfi *c, const struct made *m, u64 size)
{
	const struct cfi_section s = { .bytes = m->b, .size = size, .is64 = true };

	memset(c, 0, sizeof(*c));
	cfi_add(c, &s, same_place, NULL);
	cfi_finish(c);
}

/* Memory of one word in eight bytes of address: the word at address a is a + 1, from 0x1000 to 0x2000. */
static bool memory(void *ctx, u64 addr, u32 size, u64 *out)
{
	(void)ctx;
	*out = size == 8 ? addr + 1 : 7;
	return addr >= 0x1000 && addr + size <= 0x2000;
}

static const struct cfi_machine x86 = { CFI_X86_SP, CFI_X86_FP, CFI_X86_PC, memory, NULL };
static const struct cfi_machine arm64 = { CFI_ARM64_SP, CFI_ARM64_FP, CFI_ARM64_PC, memory, NULL };

static struct cfi_frame frame_of(u64 pc, u32 pc_reg, u64 sp, u32 sp_reg)
{
	struct cfi_frame f = { .known = 1ull << pc_reg | 1ull << sp_reg };

	f.reg[pc_reg] = pc;
	f.reg[sp_reg] = sp;
	return f;
}

static const u8 x86_common[] = { 0x0c, 7, 8, 0x90, 1 }; /* the frame is at rsp + 8, the return address below it */

static void rows_of_a_function(void **state)
{
	/* push rbp; mov rsp,rbp; ...; leave; and code behind the return, where all is as after the push. */
	static const u8 program[] = {
		0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0x0a, 0x50, 0x0c, 7, 8, 0xc6, 0x41, 0x0b
	};
	static const struct {
		u32 at;
		u8 reg;
		s32 offset;
		u8 rbp;
	} rows[] = { { 0x400, 7, 8, CFI_SAME },	  { 0x401, 7, 16, CFI_SAVED }, { 0x403, 7, 16, CFI_SAVED },
		     { 0x404, 6, 16, CFI_SAVED }, { 0x413, 6, 16, CFI_SAVED }, { 0x414, 7, 8, CFI_SAME },
		     { 0x415, 6, 16, CFI_SAVED }, { 0x41f, 6, 16, CFI_SAVED } };
	struct made m = { 0 };
	struct cfi c;

	(void)state;
	put_common(&m, 0, 16, sizeof(x86_common), x86_common);
	put_function(&m, 0x400, 0x20, sizeof(program), program);
	compile(&c, &m, m.n);
	assert_int_equal(c.left_out, 0);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct cfi_rules *r = cfi_find(&c, rows[i].at);

		assert_non_null(r);
		assert_int_equal(r->cfa_how, CFI_OFFSET);
		assert_int_equal(r->cfa_reg, rows[i].reg);
		assert_int_equal(r->cfa, rows[i].offset);
		assert_int_equal(r->how[6], rows[i].rbp);
	}
	assert_null(cfi_find(&c, 0x3ff));
	assert_null(cfi_find(&c, 0x420));
	assert_int_equal(c.rules.n, 3); /* shared */
	cfi_free(&c);
}

static void steps_of_x86(void **state)
{
	static const u8 program[] = { 0x0e, 32, 0x86, 2, 0x83, 3, 0x07, 12, 0x09, 13, 3, 0x14, 14, 1 };
	struct cfi_frame f = frame_of(0x400, CFI_X86_PC, 0x1000, CFI_X86_SP);
	struct made m = { 0 };
	struct cfi c;

	(void)state;
	put_common(&m, 0, 16, sizeof(x86_common), x86_common);
	put_function(&m, 0x400, 0x20, sizeof(program), program);
	compile(&c, &m, m.n);
	f.reg[3] = 33;
	f.known |= 1ull << 3 | 1ull << 12;
	assert_int_equal(cfi_step(&c, cfi_find(&c, 0x400), &x86, &f), CFI_STEPPED);
	assert_int_equal(f.reg[CFI_X86_SP], 0x1020);
	assert_int_equal(f.reg[CFI_X86_PC], 0x1018 + 1);
	assert_int_equal(f.reg[6], 0x1010 + 1);
	assert_int_equal(f.reg[3], 0x1008 + 1);
	assert_false(f.known >> 12 & 1);	 /* undefined */
	assert_int_equal(f.reg[13], 33);	 /* was in rbx */
	assert_int_equal(f.reg[14], 0x1020 - 8); /* is an address */
	f = frame_of(0x400, CFI_X86_PC, 0x1ff0, CFI_X86_SP);
	assert_int_equal(cfi_step(&c, cfi_find(&c, 0x400), &x86, &f), CFI_NO_MEMORY);
	assert_int_equal(f.reg[CFI_X86_SP], 0x1ff0); /* unchanged */
	cfi_free(&c);
}

/* A thread's first function has no return address. */
static void outermost(void **state)
{
	static const u8 program[] = { 0x07, 16 };
	struct cfi_frame f = frame_of(0x400, CFI_X86_PC, 0x1000, CFI_X86_SP);
	struct made m = { 0 };
	struct cfi c;

	(void)state;
	put_common(&m, 'S', 16, sizeof(x86_common), x86_common);
	put_function(&m, 0x400, 0x20, sizeof(program), program);
	compile(&c, &m, m.n);
	assert_true(cfi_find(&c, 0x400)->signal);
	assert_int_equal(cfi_step(&c, cfi_find(&c, 0x400), &x86, &f), CFI_OUTERMOST);
	cfi_free(&c);
}

/* The entries of a PLT: the frame is at rsp + 8, and 8 further from the entry's 12th byte on. */
static void expressions(void **state)
{
	static const u8 program[] = { 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22 };
	/* A realigned stack: the frame is where the word at rbp - 8 points; rbx lies in memory at the frame - 16. */
	static const u8 realigned[] = { 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 3, 4, 0x09, 16, 0x1c, 0x22 };
	struct made m = { 0 };
	struct cfi c;

	(void)state;
	put_common(&m, 0, 16, sizeof(x86_common), x86_common);
	put_function(&m, 0x400, 0x20, sizeof(program), program);
	put_function(&m, 0x500, 0x20, sizeof(realigned), realigned);
	compile(&c, &m, m.n);
	for (u32 pc = 0x400; pc < 0x420; pc++) {
		struct cfi_frame f = frame_of(pc, CFI_X86_PC, 0x1000, CFI_X86_SP);

		assert_int_equal(cfi_step(&c, cfi_find(&c, pc), &x86, &f), CFI_STEPPED);
		assert_int_equal(f.reg[CFI_X86_SP], 0x1008 + (pc % 16 >= 11 ? 8 : 0));
	}
	{
		struct cfi_frame f = frame_of(0x500, CFI_X86_PC, 0x1000, CFI_X86_SP);

		f.reg[6] = 0x1108;
		f.known |= 1ull << 6;
		assert_int_equal(cfi_step(&c, cfi_find(&c, 0x500), &x86, &f), CFI_STEPPED);
		assert_int_equal(f.reg[CFI_X86_SP], 0x1100 + 1);
		assert_int_equal(f.reg[CFI_X86_PC], 0x1101 - 8 + 1);
		f = frame_of(0x500, CFI_X86_PC, 0x1000, CFI_X86_SP);
		assert_int_equal(cfi_step(&c, cfi_find(&c, 0x500), &x86, &f), CFI_NO_SENSE); /* rbp is not known */
	}
	cfi_free(&c);
}

/* Expressions that do not end, take from an empty stack, fill it, or are none. */
static void hostile_expressions(void **state)
{
	static const u8 programs[][12] = {
		{ 0x0f, 3, 0x2f, 0xfd, 0xff }, /* jumps to itself */
		{ 0x0f, 5, 0x12, 0x30, 0x2f, 0xfb, 0xff },
		{ 0x0f, 5, 0x30, 0x12, 0x2f, 0xfc, 0xff }, /* duplicates for ever */
		{ 0x0f, 1, 0x13 },
		{ 0x0f, 3, 0x2f, 0x00, 0x80 }, /* jumps out of it */
		{ 0x0f, 1, 0xff },
		{ 0x0f, 1, 0x08 }, /* ends within an operand */
		{ 0x0f, 2, 0x15, 200 },
		{ 0x0f, 3, 0x31, 0x94, 9 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(programs); i++) {
		struct cfi_frame f = frame_of(0x400, CFI_X86_PC, 0x1000, CFI_X86_SP);
		struct made m = { 0 };
		struct cfi c;

		put_common(&m, 0, 16, sizeof(x86_common), x86_common);
		put_function(&m, 0x400, 0x20, sizeof(programs[i]), programs[i]);
		compile(&c, &m, m.n);
		assert_non_null(cfi_find(&c, 0x400));
		assert_int_not_equal(cfi_step(&c, cfi_find(&c, 0x400), &x86, &f), CFI_STEPPED);
		cfi_free(&c);
	}
}

/* A leaf of aarch64 keeps its return address in x30; others sign it before they store it. */
static void steps_of_arm64(void **state)
{
	static const u8 common[] = { 0x0c, 31, 0 };
	static const u8 program[] = { 0x44, 0x2d, 0x44, 0x0e, 32, 0x9d, 4, 0x9e, 3 };
	struct cfi_frame f = frame_of(0x400, CFI_ARM64_PC, 0x1000, CFI_ARM64_SP);
	struct made m = { 0 };
	struct cfi c;

	(void)state;
	put_common(&m, 'B', 30, sizeof(common), common);
	put_function(&m, 0x400, 0x40, sizeof(program), program);
	compile(&c, &m, m.n);
	f.reg[30] = 0x777;
	f.known |= 1ull << 30;
	assert_false(cfi_find(&c, 0x403)->signed_return);
	assert_true(cfi_find(&c, 0x404)->signed_return);
	assert_int_equal(cfi_step(&c, cfi_find(&c, 0x400), &arm64, &f), CFI_STEPPED);
	assert_int_equal(f.reg[CFI_ARM64_PC], 0x777);
	assert_int_equal(f.reg[CFI_ARM64_SP], 0x1000);
	assert_int_equal(cfi_step(&c, cfi_find(&c, 0x408), &arm64, &f), CFI_STEPPED);
	assert_int_equal(f.reg[CFI_ARM64_SP], 0x1020);
	assert_int_equal(f.reg[CFI_ARM64_PC], 0x1008 + 1);
	assert_int_equal(f.reg[29], 0x1000 + 1);
	cfi_free(&c);
}

/* Cut anywhere, or with any byte changed: fewer rows, or others, and every step ends. */
static void damaged_sections(void **state)
{
	static const u8 program[] = { 0x41, 0x0e, 16,	0x86, 2, 0x0a, 0x43, 0x0d, 6, 0x0b, 0x0f, 3, 0x76,
				      0x78, 6,	  0x16, 3,    2, 0x77, 8,    0x03, 4, 0,    0x05, 3, 4 };
	struct made m = { 0 };
	struct cfi c;

	(void)state;
	put_common(&m, 0, 16, sizeof(x86_common), x86_common);
	put_function(&m, 0x400, 0x20, sizeof(program), program);
	put_function(&m, 0x410, 0x20, sizeof(program), program);
	for (u32 n = 0; n <= m.n; n++) {
		u8 *exact = malloc(n ? n : 1);
		const struct cfi_section s = { .bytes = exact, .size = n, .is64 = true };

		memcpy(exact, m.b, n);
		memset(&c, 0, sizeof(c));
		cfi_add(&c, &s, same_place, NULL);
		cfi_finish(&c);
		cfi_free(&c);
		free(exact);
	}
	for (u32 at = 0; at < m.n; at++)
		for (u32 v = 0; v < 256; v++) {
			struct made other = m;

			other.b[at] = (u8)v;
			compile(&c, &other, other.n);
			for (u32 i = 0; i < c.rows.n; i++) {
				struct cfi_frame f = frame_of(c.rows.v[i].start, CFI_X86_PC, 0x1000, CFI_X86_SP);
				const struct cfi_rules *r = cfi_find(&c, c.rows.v[i].start);

				if (i)
					assert_true(c.rows.v[i - 1].start <= c.rows.v[i].start);
				if (r)
					(void)cfi_step(&c, r, &x86, &f);
			}
			cfi_free(&c);
		}
}

/* ---- this program's own stack */

#define MOST 64

struct module {
	u64 base;
	struct cfi cfi;
};

struct climb {
	struct module modules[16];
	u32 nr_modules;
	u64 top;
};

static bool linked_place(void *ctx, u64 addr, u64 *out)
{
	(void)ctx;
	*out = addr;
	return true;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct climb *c = ctx;
	struct module *m = &c->modules[c->nr_modules];
	const struct elf_section *sec;
	struct elf_file f;
	u8 *bytes;

	(void)size;
	if (c->nr_modules == ARRAY_LEN(c->modules) ||
	    elf_file_open(&f, *info->dlpi_name ? info->dlpi_name : "/proc/self/exe") < 0)
		return 0;
	sec = elf_section_named(&f, ".eh_frame");
	if (sec && elf_section_read(&f, sec, &bytes) == 0) {
		const struct cfi_section s = { .bytes = bytes, .size = sec->size, .addr = sec->addr, .is64 = true };

		m->base = info->dlpi_addr;
		cfi_add(&m->cfi, &s, linked_place, NULL);
		cfi_finish(&m->cfi);
		c->nr_modules++;
		free(bytes);
	}
	elf_file_close(&f);
	return 0;
}

/* The stack is read word by word, past what sanitizers put between variables. */
__attribute__((no_sanitize("address", "thread"))) static bool own_memory(void *ctx, u64 addr, u32 size, u64 *out)
{
	const struct climb *c = ctx;

	if (size != 8 || addr % 8 || addr >= c->top)
		return false;
	*out = *(const volatile u64 *)(uintptr_t)addr;
	return true;
}

static struct cfi_frame registers_of(const ucontext_t *u)
{
	struct cfi_frame f = { 0 };
#if defined(__x86_64__)
	static const u8 dwarf[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
				    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP };

	for (u32 i = 0; i < ARRAY_LEN(dwarf); i++)
		f.reg[i] = (u64)u->uc_mcontext.gregs[dwarf[i]];
	f.known = (1ull << ARRAY_LEN(dwarf)) - 1;
#elif defined(__aarch64__)
	for (u32 i = 0; i < 31; i++)
		f.reg[i] = u->uc_mcontext.regs[i];
	f.reg[CFI_ARM64_SP] = u->uc_mcontext.sp;
	f.reg[CFI_ARM64_PC] = u->uc_mcontext.pc;
	f.known = (1ull << CFI_REGS) - 1;
#endif
	return f;
}

static u32 climb_from(struct climb *c, struct cfi_frame *f, struct cfi_machine m, void **out)
{
	u32 n = 0;

	while (n < MOST) {
		u64 pc = f->reg[m.pc];
		const struct cfi_rules *r = NULL;
		u32 i;

		out[n++] = (void *)(uintptr_t)pc;
		for (i = 0; i < c->nr_modules && !r; i++)
			if (pc > c->modules[i].base)
				r = cfi_find(&c->modules[i].cfi, pc - 1 - c->modules[i].base);
		if (!r || cfi_step(&c->modules[i - 1].cfi, r, &m, f) != CFI_STEPPED)
			break;
	}
	return n;
}

static void assert_same_stack(void *const *ours, u32 n, void *const *theirs, u32 want)
{
	u32 extra = 0;

	assert_true(want > 8);
	/* Sanitizers put a function of their own between us and backtrace(). */
	while (extra < 2 && theirs[1 + extra] != ours[1])
		extra++;
	want -= extra;
	assert_true(n >= want - 1); /* libgcc's goes to the thread's very first function, too */
	for (u32 i = 1; i < want - 1; i++)
		assert_ptr_equal(ours[i], theirs[i + extra]);
}

static __attribute__((noinline)) void leaf(struct climb *c)
{
#if defined(__x86_64__) || defined(__aarch64__)
	struct cfi_machine m = x86;
	void *ours[MOST], *theirs[MOST];
	struct cfi_frame f;
	ucontext_t u;
	u32 n, want;

#if defined(__aarch64__)
	m = arm64;
#endif
	m.memory = own_memory;
	m.ctx = c;
	assert_int_equal(getcontext(&u), 0);
	want = (u32)backtrace(theirs, MOST);
	f = registers_of(&u);
	n = climb_from(c, &f, m, ours);
	assert_same_stack(ours, n, theirs, want);
#else
	(void)c;
	skip();
#endif
}

static __attribute__((noinline)) int compare(const void *a, const void *b)
{
	struct climb *c = *(struct climb *const *)a;

	leaf(c);
	return a < b;
}

/* A frame whose size only it knows, and a caller in a library without frame pointers. */
static __attribute__((noinline)) void middle(struct climb *c, u32 n)
{
	volatile char *room = alloca(n * 16 + 1);
	struct climb *two[2] = { c, c };

	room[n * 16] = 1;
	if (n)
		middle(c, n - 1);
	else
		qsort(two, 2, sizeof(*two), compare);
	room[0] = room[n * 16];
}

static void own_stack(void **state)
{
	struct climb *c = calloc(1, sizeof(*c));
	pthread_attr_t attr;
	size_t size;
	void *low;

	(void)state;
	assert_int_equal(pthread_getattr_np(pthread_self(), &attr), 0);
	assert_int_equal(pthread_attr_getstack(&attr, &low, &size), 0);
	pthread_attr_destroy(&attr);
	c->top = (u64)(uintptr_t)low + size;
	dl_iterate_phdr(add_module, c);
	assert_true(c->nr_modules >= 2);
	middle(c, 5);
	for (u32 i = 0; i < c->nr_modules; i++)
		cfi_free(&c->modules[i].cfi);
	free(c);
}

/* A program runs again for each function of its CIE, and zeros are instructions: one that is too long tells nothing.
 */
static void long_programs(void **state)
{
	const struct cfi_rules *rules;
	struct made head = { 0 };
	u32 padding = 70000;
	struct cfi c;

	(void)state;
	put_common(&head, 0, 16, 3, (const u8[]){ 0x0c, 7, 8 });
	for (u32 n = 8; n <= padding; n += padding - 8) {
		u32 at = head.n + n;
		const u32 common_length = at - 4, function[] = { 20, at + 4, 0x1000 - (at + 8), 0x100, 0, 0 };
		u8 *b = calloc(1, at + sizeof(function));
		const struct cfi_section s = { .bytes = b, .size = at + sizeof(function), .is64 = true };

		memcpy(b, head.b, head.n);
		memcpy(b, &common_length, 4);
		memcpy(b + at, function, sizeof(function));
		memset(&c, 0, sizeof(c));
		cfi_add(&c, &s, same_place, NULL);
		cfi_finish(&c);
		rules = cfi_find(&c, 0x1000);
		assert_int_equal(rules != NULL, n == 8);
		assert_int_equal(c.left_out, n != 8);
		cfi_free(&c);
		free(b);
	}
}

/* Both ways of this program's information say the same of each address where rules change, and of those around it. */
static void index_of_own_file(void **state)
{
	const struct symbol_opts opts = { .no_kernel = true };
	struct dsos *dsos = dsos_new(&opts, NULL);
	struct dso_key key = { .kind = DSO_FILE };
	struct cfi_index *x;
	const struct cfi *c;
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
	u64 bytes;
	u32 dso;

	(void)state;
	assert_true(n > 0);
	key.path = (struct str){ path, (u32)n };
	dso = dsos_get(dsos, &key);
	c = dsos_cfi(dsos, dso);
	x = dsos_cfi_index(dsos, dso);
	assert_true(c->rows.n > 100);
	bytes = cfi_index_bytes(x);
	assert_int_equal(cfi_index_find(x, c->rows.v[0].start, false), ID_NONE);
	assert_int_equal(cfi_index_bytes(x), bytes);
	assert_int_equal(x->cfi.entry, c->entry);
	for (size_t i = 0; i < c->rows.n; i++)
		for (u64 addr = c->rows.v[i].start - 1; addr <= c->rows.v[i].start + 1; addr++) {
			const struct cfi_rules *rules = cfi_find(c, addr);
			u32 id = cfi_index_find(x, addr, true);

			assert_int_equal(rules == NULL, id == ID_NONE);
			if (rules)
				assert_memory_equal(rules, &x->cfi.rules.v[id], sizeof(*rules));
		}
	assert_true(cfi_index_bytes(x) > bytes);
	cfi_index_free(x);
	free(x);
	dsos_free(dsos);
}

/* A recording may spell one file in many ways: its information is read once. Another file has its own. */
static void names_of_one_file(void **state)
{
	static const char *const paths[] = { "/proc/self/exe", "/proc/self/root/proc/self/exe", "/bin/sh" };
	const struct symbol_opts opts = { .no_kernel = true };
	struct dsos *dsos = dsos_new(&opts, NULL);
	const struct cfi *c[ARRAY_LEN(paths)];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		struct dso_key key = { .kind = DSO_FILE, .path = { paths[i], (u32)strlen(paths[i]) } };

		c[i] = dsos_cfi(dsos, dsos_get(dsos, &key));
	}
	assert_true(c[0]->rows.n > 100);
	assert_ptr_equal(c[0], c[1]);
	assert_ptr_not_equal(c[0], c[2]);
	dsos_free(dsos);
}

/* A function that is compiled when it is asked for ends where it does, too: what goes on behind that is damaged. */
static void index_knows_ends(void **state)
{
	(void)state;
	for (u8 advance = 15; advance <= 17; advance++) {
		const u8 program[] = { (u8)(0x40 | advance), 0x0e, 16 };
		struct cfi_index x = { 0 };
		struct made m = { 0 };
		struct cfi_section s = { .is64 = true };
		u8 *b;

		put_common(&m, 0, 16, sizeof(x86_common), x86_common);
		put_function(&m, 0x400, 0x10, sizeof(program), program);
		b = malloc(m.n);
		memcpy(b, m.b, m.n);
		s.bytes = b;
		s.size = m.n;
		cfi_index_add(&x, &s, same_place, NULL);
		cfi_index_finish(&x);
		assert_int_equal(x.functions.n, 1);
		assert_int_equal(cfi_index_find(&x, 0x410, true), ID_NONE);
		cfi_index_find(&x, 0x408, true);
		assert_int_equal(x.cfi.left_out, advance == 17);
		cfi_index_free(&x);
	}
}

#define MANY_SEGMENTS 1100
#define MANY_FUNCTIONS 400000
#define FDE 20 /* bytes */

/* A file with so many functions, each of which lies in the last one of so many segments. */
static void write_crowded_file(const char *path)
{
	static const u8 cie[] = { 16, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x03, 0, 0, 0 };
	static const char names[] = "\0.eh_frame\0.names";
	u64 at = sizeof(Elf64_Ehdr) + MANY_SEGMENTS * sizeof(Elf64_Phdr), size = sizeof(cie) + MANY_FUNCTIONS * FDE;
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(h),
			 .e_shoff = at + size + sizeof(names),
			 .e_ehsize = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = MANY_SEGMENTS,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = 3,
			 .e_shstrndx = 2 };
	const Elf64_Shdr sections[] = {
		{ 0 },
		{ .sh_name = 1, .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_offset = at, .sh_size = size },
		{ .sh_name = 11, .sh_type = SHT_STRTAB, .sh_offset = at + size, .sh_size = sizeof(names) },
	};
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fwrite(&h, sizeof(h), 1, f);
	for (u32 i = 0; i < MANY_SEGMENTS; i++) {
		bool last = i == MANY_SEGMENTS - 1;
		Elf64_Phdr p = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_align = 1 };

		p.p_vaddr = last ? 0 : 1ull << 40;
		p.p_filesz = p.p_memsz = last ? at + size : 1;
		fwrite(&p, sizeof(p), 1, f);
	}
	fwrite(cie, sizeof(cie), 1, f);
	for (u32 i = 0; i < MANY_FUNCTIONS; i++) {
		u32 fde[FDE / 4] = { FDE - 4, (u32)(sizeof(cie) + i * FDE + 4), 0x1000 + 4 * i, 4, 0 };

		fwrite(fde, FDE, 1, f);
	}
	fwrite(names, sizeof(names), 1, f);
	fwrite(sections, sizeof(sections), 1, f);
	assert_int_equal(fclose(f), 0);
}

/* Whoever records reads the files of everybody: what would take long is left out. */
static void many_functions_in_many_segments(void **state)
{
	const struct symbol_opts opts = { .no_kernel = true };
	struct dsos *dsos = dsos_new(&opts, NULL);
	struct dso_key key = { .kind = DSO_FILE };
	char path[] = "/tmp/reticle-cfi-XXXXXX";
	struct cfi_index *x;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_crowded_file(path);
	key.path = (struct str){ path, sizeof(path) - 1 };
	x = dsos_cfi_index(dsos, dsos_get(dsos, &key));
	assert_true(x->functions.n > MANY_FUNCTIONS / 4);
	assert_true(x->cfi.left_out > MANY_FUNCTIONS / 4);
	assert_int_equal(x->functions.n + x->cfi.left_out, MANY_FUNCTIONS);
	assert_int_not_equal(cfi_index_find(x, 0x1000, true), ID_NONE);
	cfi_index_free(x);
	free(x);
	dsos_free(dsos);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_a_function),
		cmocka_unit_test(steps_of_x86),
		cmocka_unit_test(outermost),
		cmocka_unit_test(expressions),
		cmocka_unit_test(hostile_expressions),
		cmocka_unit_test(steps_of_arm64),
		cmocka_unit_test(damaged_sections),
		cmocka_unit_test(own_stack),
		cmocka_unit_test(index_of_own_file),
		cmocka_unit_test(index_knows_ends),
		cmocka_unit_test(long_programs),
		cmocka_unit_test(names_of_one_file),
		cmocka_unit_test(many_functions_in_many_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
