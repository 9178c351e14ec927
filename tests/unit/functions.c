/* SPDX-License-Identifier: Apache-2.0 */
/* Which function an address lies in, and what may be one: of files that the test makes up. */
#include "attrib/functions.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attrib/place.h"
#include "state/entered.h"

#define PID 10u
#define TID 11u

/* --- files and processes, instead of those of recordings --- */

enum { APP, LIB, LINKER, OLD_LINKER, NOT_LINKER, NR_DSOS };

static const struct dso dsos[NR_DSOS] = {
	[APP] = { .short_name = "app" },
	[LIB] = { .short_name = "lib.so" },
	[LINKER] = { .short_name = "ld-linux-x86-64.so.2" },
	[OLD_LINKER] = { .short_name = "ld.so.1" },
	[NOT_LINKER] = { .short_name = "ldap.so" },
};

/* A symbol, or a function that only call frame information knows: 16 bytes from its address on. */
static const struct {
	u64 addr;
	u32 dso;
	const char *name; /* NULL: no symbol */
} code[] = {
	{ 0x1000, APP, "main" },
	{ 0x1010, APP, "malloc@plt" },
	{ 0x1020, APP, "@plt" },
	{ 0x1030, APP, "plt" },
	{ 0x1100, APP, NULL },
	{ 0x1110, APP, NULL },
	{ 0x1200, APP, NULL }, /* begins a PLT: its entries have names */
	{ 0x1210, APP, "free@plt" },
	{ 0x1300, APP, NULL }, /* as on aarch64, where the first entry is longer */
	{ 0x1320, APP, "free@plt" },
	{ 0x1400, APP, NULL }, /* no PLT begins so far before its entries */
	{ 0x1430, APP, "free@plt" },
	{ 0x2000, LIB, "malloc" },
	{ 0x2010, LIB, "main" },
	{ 0x2020, LIB, "main" },
	{ 0x3000, LINKER, NULL },
	{ 0x3010, LINKER, "_dl_runtime_resolve" },
	{ 0x4000, OLD_LINKER, NULL },
	{ 0x5000, NOT_LINKER, NULL },
	{ 0x6000, APP, "called" },
	{ 0x6010, APP, "cold" },
	{ 0x6020, APP, "caller" },
	{ 0x6030, LIB, "start_thread" },
	{ 0x6040, APP, "clone" },
	{ 0x6050, APP, "clone" },
	{ 0x7000, APP, "jumps" },
	{ 0x7010, APP, "jumps_on" },
	{ 0x7020, APP, "falls" },
	{ 0x7030, APP, "after" },
	{ 0x7040, APP, "far" },
	{ 0x7070, APP, "returns" },
	{ 0x7100, APP, "memcpy@plt" },
	{ 0x7110, APP, "_read@plt" },
	{ 0x7120, APP, "open@GLIBC_2.2.5@plt" },
	{ 0x7200, LIB, "__memmove_avx_unaligned_erms" },
	{ 0x7210, LIB, "__GI___libc_read" },
	{ 0x7220, LIB, "open64" },
	{ 0x7230, LIB, "GLIBC_helper" },
	{ 0x7240, LIB, "raise" },
	{ 0x7250, LIB, "_" },
	{ 0x7260, LIB, "__ope" },
};

/* As many more functions of the app as somebody asks for, of the largest size that is looked through. */
#define MANY 0x10000000u
#define LARGE (256u << 10)
#define SYM_MANY 1000u
#define CALLED 0x6000u
#define COLD 0x6010u
#define CALLER 0x6020u
#define START 0x6030u
#define OWN_CLONE 0x6040u    /* calls what it is given */
#define CLONE_INSIDE 0x6050u /* of a C library that the app holds: it is begun by the kernel, and ends there */

#define UNTOLD 0x9000u /* in the app, and nothing tells of it */
#define NOWHERE 0x8000u

static const struct vmap mapped;
static u32 views, places;

void procs_thread_at(const struct procs *p, u32 pid, u32 tid, u64 clock, struct thread_view *out)
{
	(void)p;
	views++;
	*out = (struct thread_view){ .from = clock / 100 * 100,
				     .until = clock / 100 * 100 + 100,
				     .pid = pid,
				     .tid = tid,
				     .maps = { .n = (u32)(clock / 100) } };
}

static u32 code_at(u64 addr)
{
	for (u32 i = 0; i < ARRAY_LEN(code); i++)
		if (addr >= code[i].addr && addr < code[i].addr + 16)
			return i;
	return ID_NONE;
}

/* From clock 500 on, main is where malloc was before. */
void place_find(struct dsos *d, const struct thread_view *thread, u32 cpumode, u64 ip, struct place *out)
{
	u32 i = code_at(thread->maps.n >= 5 && ip >= 0x2000 && ip < 0x2010 ? 0x1000 : ip);

	(void)d;
	assert_int_equal(cpumode, PERF_RECORD_MISC_USER);
	places++;
	*out = (struct place){ .map = &mapped, .addr = ip, .sym = ID_NONE };
	if (ip == NOWHERE)
		out->map = NULL;
	if (ip >= MANY) {
		out->dso = APP;
		out->sym = SYM_MANY + (u32)(ip - MANY) / LARGE;
	}
	if (i == ID_NONE)
		return;
	out->dso = code[i].dso;
	if (code[i].name)
		out->sym = i;
}

u32 dsos_symbol_at(struct dsos *d, u32 dso, u64 addr)
{
	u32 i = code_at(addr);

	(void)d;
	return i != ID_NONE && code[i].dso == dso && code[i].name ? i : ID_NONE;
}

const char *dsos_symbol_name(struct dsos *d, u32 dso, u32 sym)
{
	(void)d;
	if (sym >= SYM_MANY)
		return "one of many";
	assert_int_equal(code[sym].dso, dso);
	return code[sym].name;
}

const struct symbol *dsos_symbol(const struct dsos *d, u32 dso, u32 sym)
{
	static struct symbol symbols[2]; /* two are compared */
	static u32 turn;
	u64 start = sym >= SYM_MANY ? MANY + (u64)(sym - SYM_MANY) * LARGE : code[sym].addr;
	u64 size = sym >= SYM_MANY ? LARGE : start == OWN_CLONE || start == CLONE_INSIDE ? 8 : 16;

	(void)d;
	(void)dso;
	symbols[++turn % 2] = (struct symbol){ .start = start, .end = start + size };
	return &symbols[turn % 2];
}

#define RETURN 0xc3
#define PUSH 0x50

/* What functions from 0x7000 on do; of others the code is not there, so that they may jump anywhere. */
u32 dsos_code_at(struct dsos *d, u32 dso, u64 addr, u8 *out, u32 max, u16 *machine)
{
	static const u8 calls[] = { 0x20, 0x00, 0x3f, 0xd6, 0x00, 0x01, 0x00, 0x00 },
			asks[] = { 0x20, 0x00, 0x3f, 0xd6, 0x01, 0x00, 0x00, 0xd4 };
	const u64 to = addr == 0x7000 ? 0x6020 : addr == 0x7010 ? 0x7000 : 0;
	u32 by = (u32)(to - (addr + 5)); /* of jmp rel32 */

	(void)d;
	(void)dso;
	if (addr == OWN_CLONE || addr == CLONE_INSIDE) {
		assert_int_equal(max, sizeof(asks));
		*machine = EM_AARCH64;
		memcpy(out, addr == OWN_CLONE ? calls : asks, max);
		return max;
	}
	if (addr < 0x7000)
		return 0;
	memset(out, addr == 0x7020 ? PUSH : RETURN, max);
	if (to) {
		out[0] = 0xe9;
		memcpy(out + 1, &by, 4);
	}
	*machine = EM_X86_64;
	return max;
}

const struct dso *dsos_at(const struct dsos *d, u32 dso)
{
	(void)d;
	return &dsos[dso];
}

bool dsos_unnamed_function(struct dsos *d, u32 dso, u64 addr, u64 *start)
{
	u32 i = code_at(addr);

	(void)d;
	if (i == ID_NONE)
		return false;
	assert_int_equal(code[i].dso, dso);
	*start = code[i].addr;
	return true;
}

/* Of the functions at CALLED and COLD; others' code is not there. */
static struct entered entered[2];

bool dsos_entered(struct dsos *d, u32 dso, u32 sym, struct entered *out)
{
	(void)d;
	assert_int_equal(code[sym].dso, dso);
	if (code[sym].addr != CALLED && code[sym].addr != COLD)
		return false;
	*out = entered[code[sym].addr == COLD];
	return true;
}

/* --- tests --- */

static struct functions *new_functions(void)
{
	views = places = 0;
	return functions_new(NULL, NULL);
}

static struct function at(struct functions *f, u64 addr)
{
	return function_at(f, &(struct asker){ PID, TID, 0 }, addr);
}

static void test_names(void **state)
{
	struct functions *f = new_functions();
	const struct function main_a = at(f, 0x1000), main_b = at(f, 0x100f), plt = at(f, 0x1010),
			      body = at(f, 0x2000);
	const struct function one = at(f, 0x2010), other = at(f, 0x2020);

	(void)state;
	assert_true(main_a.named && main_a.name && main_a.entry && !main_a.binds);
	assert_true(function_is(&main_a, &main_b) && function_may_be(&main_a, &main_b));
	/* An entry of the PLT is what it leads to, wherever that is. */
	assert_true(plt.named && plt.name == body.name && !plt.entry && body.entry);
	assert_true(function_is(&plt, &body) && function_may_be(&plt, &body));
	assert_false(function_is(&main_a, &body) || function_may_be(&main_a, &body));
	/* Functions of one name are two, but nobody knows which of them is meant. */
	assert_false(function_is(&one, &other) || function_is(&one, &main_a));
	assert_true(function_may_be(&one, &other) && function_may_be(&one, &main_a));
	/* Names that are none of a PLT. */
	assert_true(at(f, 0x1020).entry && at(f, 0x1030).entry);
	functions_free(f);
}

/* Without symbols a function is where call frame information says that one begins. */
static void test_unnamed(void **state)
{
	struct functions *f = new_functions();
	const struct function a = at(f, 0x1100), same = at(f, 0x110f), b = at(f, 0x1110), untold = at(f, UNTOLD);
	const struct function named = at(f, 0x1000), lib = at(f, 0x2000);

	(void)state;
	assert_true(!a.named && a.name && a.entry && !a.binds);
	assert_true(function_is(&a, &same));
	assert_false(function_is(&a, &b) || function_may_be(&a, &b));
	assert_true(function_may_be_by_symbol(&a, &b));
	/* Of what nothing is told, anything of the file may be it. */
	assert_true(!untold.name && !untold.entry && !untold.named);
	assert_true(function_may_be(&untold, &named) && function_may_be(&untold, &a));
	assert_false(function_may_be(&untold, &lib) || function_is(&untold, &untold));
	assert_true(!at(f, NOWHERE).name && !at(f, NOWHERE).binds);
	functions_free(f);
}

/* The beginning of a PLT belongs to none of its entries. */
static void test_plt_begins(void **state)
{
	struct functions *f = new_functions();

	(void)state;
	assert_false(at(f, 0x1200).name);
	assert_false(at(f, 0x1300).name);
	assert_true(at(f, 0x1400).name);
	functions_free(f);
}

static void test_linker(void **state)
{
	struct functions *f = new_functions();
	const struct function plt = at(f, 0x1010), body = at(f, 0x2000), linker = at(f, 0x3000);

	(void)state;
	assert_true(linker.binds && at(f, 0x4000).binds);
	assert_false(at(f, 0x5000).binds || at(f, 0x3010).binds);
	assert_true(function_binds(&plt, &linker));
	assert_false(function_binds(&body, &linker) || function_binds(&plt, &body));
	functions_free(f);
}

/* What is known stays so while nothing else is mapped. */
static void test_kept(void **state)
{
	struct functions *f = new_functions();
	struct asker who = { PID, TID, 199 };
	u64 was;

	(void)state;
	assert_int_equal(functions_maps(f, &who).n, 1);
	assert_int_equal(views, 1);
	was = function_at(f, &who, 0x2000).name;
	assert_int_equal(function_at(f, &who, 0x2000).name, was);
	assert_int_equal(views, 1);
	assert_int_equal(places, 1);
	who.clock = 100;
	functions_maps(f, &who);
	assert_int_equal(views, 1);
	who.clock = 200; /* is no longer its time */
	assert_int_equal(functions_maps(f, &who).n, 2);
	who.clock = 199; /* nor is this */
	assert_int_equal(functions_maps(f, &who).n, 1);
	assert_int_equal(views, 3);
	who.tid += 64; /* shares its place */
	functions_maps(f, &who);
	who.pid++;
	functions_maps(f, &who);
	assert_int_equal(views, 5);
	who = (struct asker){ PID, TID, 500 };
	assert_int_not_equal(function_at(f, &who, 0x2000).name, was);
	assert_int_equal(function_at(f, &who, 0x2000).name, at(f, 0x1000).name);
	functions_free(f);
}

#define ALONE .jumped_from = ID_NONE

/* Symbols of the parts that jump to and fro, and of one whose code is not there. */
#define SYM_CALLED 19
#define SYM_COLD 20
#define SYM_OTHER 0

static const struct {
	struct entered called, cold;
	u64 in, site;
	enum called is;
} calls[] = {
	{ { .site = CALLER, ALONE }, { 0 }, CALLED, CALLER, CALLED_ONLY_THERE },
	{ { .site = CALLER, ALONE }, { 0 }, CALLED, CALLER + 4, CALLED_ELSEWHERE },
	{ { .site = START, ALONE }, { 0 }, CALLED, START, CALLED_ELSEWHERE }, /* another file */
	{ { .site = CALLER, .several = true, ALONE }, { 0 }, CALLED, CALLER, CALLED_ELSEWHERE },
	{ { .site = CALLER, .anywhere = true, ALONE }, { 0 }, CALLED, CALLER, CALLED_ELSEWHERE },
	{ { ALONE }, { 0 }, CALLED, CALLER, CALLED_ELSEWHERE },
	{ { .site = CALLER, .jumped_from = SYM_COLD },
	  { .jumped_from = SYM_CALLED },
	  COLD,
	  CALLER,
	  CALLED_ONLY_THERE },
	{ { .site = CALLER, .jumped_from = SYM_COLD },
	  { .jumped_from = SYM_CALLED },
	  CALLED,
	  CALLER,
	  CALLED_ONLY_THERE },
	{ { .site = CALLER, .jumped_from = SYM_COLD }, { .site = CALLER, ALONE }, CALLED, CALLER, CALLED_ELSEWHERE },
	{ { .site = CALLER, .jumped_from = SYM_OTHER }, { 0 }, CALLED, CALLER, CALLED_UNKNOWN },
	/* No code, and no symbol. */
	{ { .site = CALLER, ALONE }, { 0 }, CALLER, CALLED, CALLED_UNKNOWN },
	{ { .site = CALLER, ALONE }, { 0 }, UNTOLD, CALLER, CALLED_UNKNOWN },
	{ { .site = UNTOLD, ALONE }, { 0 }, CALLED, UNTOLD, CALLED_UNKNOWN },
	/* What a thread is made for, if no code calls it, too. */
	{ { .anywhere = true, ALONE }, { 0 }, CALLED, START, CALLED_UNKNOWN },
	{ { .anywhere = true, .site = CALLER, ALONE }, { 0 }, CALLED, START, CALLED_ELSEWHERE },
	/* A function of the program's own has that name. */
	{ { .anywhere = true, ALONE }, { 0 }, CALLED, CLONE_INSIDE, CALLED_UNKNOWN },
	{ { .anywhere = true, ALONE }, { 0 }, CALLED, OWN_CLONE, CALLED_ELSEWHERE },
	{ { .anywhere = true, ALONE }, { 0 }, CALLED, CALLER, CALLED_ELSEWHERE },
};

static void test_called(void **state)
{
	struct functions *f = new_functions();
	const struct asker who = { PID, TID, 0 };

	(void)state;
	assert_int_equal(code[SYM_CALLED].addr, CALLED);
	assert_int_equal(code[SYM_COLD].addr, COLD);
	for (u32 i = 0; i < ARRAY_LEN(calls); i++) {
		entered[0] = calls[i].called;
		entered[1] = calls[i].cold;
		assert_int_equal(function_called_at(f, &(struct asker){ PID, TID, 600 + 100 * i }, calls[i].in + 8,
						    calls[i].site),
				 calls[i].is);
	}
	entered[0] = (struct entered){ .by_itself = true };
	assert_true(function_calls_itself(f, &(struct asker){ PID, TID, 5000 }, CALLED + 8));
	assert_false(function_calls_itself(f, &who, COLD) || function_calls_itself(f, &who, CALLER) ||
		     function_calls_itself(f, &who, UNTOLD));
	functions_free(f);
}

static const struct {
	u64 to, in;
	bool may;
} jumping[] = {
	{ 0x7000, 0x6020, true }, /* jumps to caller */
	{ 0x7000, 0x6010, true }, /* where caller goes on nobody knows */
	{ 0x7000, 0x7070, true },
	{ 0x7070, 0x6020, false }, /* returns alone */
	{ 0x7070, 0x7000, false },
	{ 0x7010, 0x7000, true },
	{ 0x7010, 0x6020, true }, /* by way of jumps */
	{ 0x7020, 0x7030, true }, /* goes on in what comes behind it, and nowhere else */
	{ 0x7020, 0x7040, false },
	{ 0x7020, 0x7010, false },
	{ 0x6020, 0x7070, true }, /* code that is not there */
	{ UNTOLD, 0x7070, true }, /* no symbol */
	{ 0x7070, UNTOLD, true },
	{ 0x7070, 0x3010, true }, /* the linker goes anywhere */
	{ 0x3010, 0x7070, true },
	/* An entry of the PLT leads to what is called like it. */
	{ 0x1010, 0x2000, true },
	{ 0x1010, 0x2010, false },
	{ 0x1010, 0x7240, false },
	{ 0x7100, 0x7200, true }, /* another name of memcpy */
	{ 0x7100, 0x7240, false },
	{ 0x7100, 0x7210, false },
	{ 0x7110, 0x7210, true }, /* underscores and parts do not count */
	{ 0x7110, 0x7220, false },
	{ 0x7110, 0x7200, false },
	{ 0x7120, 0x7220, true },
	{ 0x7120, 0x7230, false }, /* nor does the version */
	{ 0x7120, 0x7250, false },
	{ 0x7120, 0x7260, true },
};

static void test_jumps(void **state)
{
	struct functions *f = new_functions();
	const struct asker who = { PID, TID, 0 };

	(void)state;
	for (u32 again = 0; again < 2; again++)
		for (u32 i = 0; i < ARRAY_LEN(jumping); i++)
			if (function_may_jump(f, &who, jumping[i].to, jumping[i].in) != jumping[i].may)
				fail_msg("%#llx to %#llx", (unsigned long long)jumping[i].to,
					 (unsigned long long)jumping[i].in);
	functions_free(f);
}

/* 8 MiB of code are looked through, with 64 bytes more for each function; what comes then may jump anywhere. */
static void test_much_code(void **state)
{
	struct functions *f = new_functions();
	const struct asker who = { PID, TID, 0 };

	(void)state;
	for (u32 i = 0; i < 40; i++)
		assert_int_equal(function_may_jump(f, &who, MANY + i * LARGE, 0x7070), i >= 31);
	assert_false(function_may_jump(f, &who, MANY, 0x7040)); /* which is known already */
	functions_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),  cmocka_unit_test(test_unnamed),	 cmocka_unit_test(test_plt_begins),
		cmocka_unit_test(test_linker), cmocka_unit_test(test_kept),	 cmocka_unit_test(test_called),
		cmocka_unit_test(test_jumps),  cmocka_unit_test(test_much_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
