/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/unwind.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "codec/cfi.h"
#include "codec/perf_abi.h"
#include "codec/regs.h"

#define RULE_CACHE (1u << 12)
#define RULE_CACHE_OF_NOW (1u << 15) /* many processes, a pass over whose samples there is only one of */
#define THREAD_CACHE (1u << 8)
#define ARM64_ADDRESS ((1ull << 48) - 1) /* of user space; what is above it in a signed address is no part of it */

/* What is known of an address: the same ones are met in most stacks. An empty slot is all zeros. */
struct rule_slot {
	const struct space *space; /* the version of the space that it is known in */
	u64 pc;
	const struct cfi *cfi;
	u32 rules; /* of it; ID_NONE: no information */
	u32 n;
	u32 dso : 31, entry : 1; /* entry: nobody called this */
	struct cfi_short quick;	 /* the same rules */
};

struct unwinder {
	const struct procs *procs;
	struct dsos *dsos;
	enum regs_arch arch;
	struct stack_counts counts;
	struct stack_cuts cuts;
	struct cfi_machine machine;
	u8 dwarf[64];		     /* of perf's register numbers; CFI_REGS: none */
	struct thread_view *threads; /* THREAD_CACHE of them; NULL: not needed */
	struct rule_slot *rules;
	u32 nr_rules;		     /* a power of two */
	struct current *current;     /* NULL: by threads */
	struct current_code code;    /* of the frame before: callers are often in the same file */
	struct current_space *space; /* of the sample at hand */
	u32 generation;		     /* as current_generation, of what rules refer to */
	struct rule_slot passing;    /* for code of which nothing is known for now */
	/* Of the sample at hand: */
	const u8 *stack;
	u64 base, size; /* what is there of it */
	bool cut;	/* there would have been more */
	bool beyond;	/* something that lies behind it was asked for */
};

bool unwind_used(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (unwind_event(&l->events.v[i]))
			return true;
	return false;
}

static bool read_stack(void *ctx, u64 addr, u32 size, u64 *out)
{
	struct unwinder *u = ctx;
	u64 at = addr - u->base;

	*out = 0;
	if (at >= u->size || u->size - at < size) {
		u->beyond |= addr >= u->base + u->size && addr - u->base < (1ull << 30);
		return false;
	}
	/* Of a size that the compiler knows it is one instruction. */
	if (LIKELY(size == 8))
		memcpy(out, u->stack + at, 8);
	else
		memcpy(out, u->stack + at, size);
	return true;
}

static struct unwinder *new_unwinder(struct dsos *dsos, enum regs_arch arch, u32 rules)
{
	struct unwinder *u = mem_zalloc(sizeof(*u));

	u->dsos = dsos;
	u->arch = arch;
	u->rules = mem_pages(rules * sizeof(*u->rules)); /* a slot is a line of the processor's cache */
	u->nr_rules = rules;
	for (u32 i = 0; i < ARRAY_LEN(u->dwarf); i++) {
		u32 reg = reg_dwarf(u->arch, i);

		u->dwarf[i] = (u8)MIN(reg, (u32)CFI_REGS);
		if (reg == CFI_ARM64_PC)
			u->machine = (struct cfi_machine){ CFI_ARM64_SP, CFI_ARM64_FP, CFI_ARM64_PC, read_stack, u };
	}
	if (!u->machine.memory)
		u->machine = (struct cfi_machine){ CFI_X86_SP, CFI_X86_FP, CFI_X86_PC, read_stack, u };
	return u;
}

struct unwinder *unwinder_new(const struct procs *procs, struct dsos *dsos, const char *arch)
{
	struct unwinder *u = new_unwinder(dsos, arch ? regs_arch_of(arch) : REGS_HERE, RULE_CACHE);

	u->procs = procs;
	u->threads = mem_zalloc(THREAD_CACHE * sizeof(*u->threads));
	return u;
}

struct unwinder *unwinder_of_now(struct current *current)
{
	struct unwinder *u = new_unwinder(NULL, REGS_HERE, RULE_CACHE_OF_NOW);

	u->current = current;
	return u;
}

void unwinder_free(struct unwinder *u)
{
	if (!u)
		return;
	stack_cuts_free(&u->cuts);
	free(u->threads);
	mem_pages_free(u->rules, u->nr_rules * sizeof(*u->rules));
	free(u);
}

const struct stack_counts *unwind_counted(const struct unwinder *u)
{
	return &u->counts;
}

const struct stack_cuts *unwind_cuts(const struct unwinder *u)
{
	return &u->cuts;
}

/* The registers of a sample, by DWARF's numbers. False: the sample has none, or not those that matter. */
static bool registers(const struct unwinder *u, const struct sample_layout *l, const struct sample *s,
		      struct cfi_frame *f)
{
	u64 mask = l->regs_user_mask, least = 1ull << u->machine.sp | 1ull << u->machine.pc;
	u32 n = 0;

	f->known = 0;
	for (u32 i = 0; i < 64 && n < s->regs_user.n; i++) {
		if (!(mask >> i & 1))
			continue;
		if (u->dwarf[i] < CFI_REGS) {
			f->reg[u->dwarf[i]] = u64s_at(&s->regs_user, n);
			f->known |= 1ull << u->dwarf[i];
		}
		n++;
	}
	return (f->known & least) == least;
}

static const struct thread_view *thread_of(struct unwinder *u, const struct hit *h)
{
	struct thread_view *t = &u->threads[h->s.tid % THREAD_CACHE];

	if (t->tid != h->s.tid || t->pid != h->s.pid || h->clock < t->from || h->clock >= t->until)
		procs_thread_at(u->procs, h->s.pid, h->s.tid, h->clock, t);
	return t;
}

static const struct cfi_rules *rules_at(const struct rule_slot *s)
{
	return s->rules == ID_NONE ? NULL : &s->cfi->rules.v[s->rules];
}

/* The rest of a slot that has its information and rules. */
static void finish(const struct unwinder *u, struct rule_slot *s, u64 addr)
{
	const struct cfi_rules *rules = rules_at(s);

	s->entry = !rules && cfi_is_entry(s->cfi, addr);
	s->quick.n = CFI_NOT_SHORT;
	if (rules)
		s->quick = cfi_shorten(s->cfi, rules, &u->machine);
}

/* Rules refer to the information of files, some of which are gone. */
static void follow_generation(struct unwinder *u)
{
	if (u->generation == current_generation(u->current))
		return;
	memset(u->rules, 0, u->nr_rules * sizeof(*u->rules));
	u->generation = current_generation(u->current);
}

/* By the address in the file: the same code is in many processes, at other addresses. */
static const struct rule_slot *rules_found(struct unwinder *u, u64 pc)
{
	static const struct cfi none;
	struct current_code *code = &u->code;
	struct rule_slot *slot;
	u64 addr;

	if ((pc < code->start || pc >= code->end) && (!u->space || !current_find(u->current, u->space, pc, code)))
		return NULL;
	follow_generation(u);
	addr = pc + code->shift;
	if (!code->index) {
		u->passing = (struct rule_slot){ .dso = code->file, .cfi = &none, .rules = ID_NONE };
		finish(u, &u->passing, addr);
		return &u->passing;
	}
	slot = &u->rules[hash_mix(addr, code->file) & (u->nr_rules - 1)];
	if (slot->cfi && slot->pc == addr && slot->dso == code->file)
		return slot;
	*slot = (struct rule_slot){ .pc = addr, .dso = code->file, .cfi = &code->index->cfi };
	slot->rules = current_rules(u->current, u->space, code, addr);
	/* Another process may be told more. */
	if (slot->rules == ID_NONE) {
		u->passing = *slot;
		*slot = (struct rule_slot){ 0 };
		slot = &u->passing;
	}
	finish(u, slot, addr);
	return slot;
}

/* What is known of that address of code, or NULL: no mapping holds it. */
static const struct rule_slot *rules_of(struct unwinder *u, const struct thread_view *t, u64 pc)
{
	const struct maps *maps = &t->maps;
	struct rule_slot *slot = &u->rules[hash_mix(pc, (uintptr_t)maps->space + maps->n) & (u->nr_rules - 1)];
	const struct cfi_rules *rules;
	const struct vmap *m;
	u64 addr;

	if (slot->cfi && slot->pc == pc && slot->space == maps->space && slot->n == maps->n)
		return slot;
	m = space_may_hold(maps->space, pc) ? maps_find(maps, pc) : NULL;
	if (!m || !m->dso)
		return NULL;
	*slot = (struct rule_slot){ .space = maps->space, .pc = pc, .n = maps->n, .dso = m->dso };
	slot->cfi = dsos_cfi(u->dsos, m->dso);
	addr = vmap_addr(m, u->dsos, pc);
	rules = cfi_find(slot->cfi, addr);
	slot->rules = rules ? (u32)(rules - slot->cfi->rules.v) : ID_NONE;
	finish(u, slot, addr);
	return slot;
}

/* By the frame pointer: where it points to, the caller's lies, and above it the return address. */
static bool guess(struct unwinder *u, struct cfi_frame *f)
{
	const struct cfi_machine *m = &u->machine;
	u64 fp = f->reg[m->fp], caller, back;

	if (!(f->known >> m->fp & 1) || fp % 8 || fp < f->reg[m->sp] || !read_stack(u, fp, 8, &caller) ||
	    !read_stack(u, fp + 8, 8, &back))
		return false;
	*f = (struct cfi_frame){ .known = 1ull << m->fp | 1ull << m->sp | 1ull << m->pc };
	f->reg[m->fp] = caller;
	f->reg[m->sp] = fp + 16;
	f->reg[m->pc] = back;
	return true;
}

static enum stack_end why_not(const struct unwinder *u, enum stack_end otherwise)
{
	if (!u->size)
		return STACK_EMPTY;
	return u->beyond && u->cut ? STACK_SHORT : otherwise;
}

/* Goes from f to its caller. STACK_WHOLE with *more: it was made; else why there is none. */
static enum stack_end climb(struct unwinder *u, const struct rule_slot *at, struct cfi_frame *f, bool *more,
			    u32 *guessed)
{
	const struct cfi_rules *rules = rules_at(at);
	u64 sp = f->reg[u->machine.sp];
	enum cfi_step step;

	u->beyond = false;
	*more = true;
	if (!rules) {
		*more = !at->entry;
		if (at->entry)
			return STACK_WHOLE;
		if (guess(u, f)) {
			++*guessed;
			return STACK_WHOLE;
		}
		*more = false;
		return why_not(u, STACK_NO_INFO);
	}
	step = at->quick.n != CFI_NOT_SHORT ? cfi_short_step(&at->quick, &u->machine, f) :
					      cfi_step(at->cfi, rules, &u->machine, f);
	switch (step) {
	case CFI_STEPPED:
		/* A stack grows down: callers lie above; but for leaves of aarch64, and handlers with stacks of their
		 * own. */
		*more = f->reg[u->machine.sp] > sp || rules->signal ||
			(f->reg[u->machine.sp] == sp && rules->return_reg != u->machine.pc);
		return *more ? STACK_WHOLE : STACK_MEMORY;
	case CFI_OUTERMOST:
		*more = false;
		return STACK_WHOLE;
	default:
		*more = false;
		return why_not(u, STACK_MEMORY);
	}
}

static void follow(struct unwinder *u, const struct thread_view *t, struct cfi_frame *f, struct unwound *out)
{
	bool called = false, more = true;

	while (out->n < UNWIND_STACK) {
		u64 pc = f->reg[u->machine.pc];
		const struct rule_slot *at;

		if (u->machine.pc == CFI_ARM64_PC)
			pc &= ARM64_ADDRESS;
		/* A thread's first function returns to nothing. Where a call is the last thing in a function, its
		 * return address lies in the next one. */
		pc -= pc && called;
		at = !pc ? NULL : t ? rules_of(u, t, pc) : rules_found(u, pc);
		if (!at) {
			out->end = pc ? STACK_UNMAPPED : STACK_WHOLE;
			return;
		}
		out->v[out->n++] = pc;
		out->dso = at->dso;
		called = at->rules == ID_NONE || !rules_at(at)->signal;
		out->end = climb(u, at, f, &more, &out->guessed);
		if (!more)
			return;
	}
	out->end = STACK_DEEP;
}

void unwind_count(struct stack_counts *c, const struct unwound *s)
{
	c->stacks++;
	c->frames += s->n;
	c->guessed += s->guessed;
	c->ends[s->end]++;
}

/* t: the thread; NULL: u->space is its mappings. */
static bool unwind(struct unwinder *u, const struct sample_layout *l, const struct sample *s,
		   const struct thread_view *t, struct unwound *out)
{
	struct cfi_frame f;

	out->n = out->guessed = out->dso = 0;
	if (!s->regs_user_abi || !registers(u, l, s, &f))
		return false;
	out->v[0] = f.reg[u->machine.pc];
	u->stack = s->stack_user;
	u->size = MIN(s->stack_user_size, s->stack_user_dyn_size);
	u->base = f.reg[u->machine.sp];
	u->cut = s->stack_user_dyn_size >= s->stack_user_size;
	out->end = STACK_NOT_64;
	if (s->regs_user_abi == PERF_SAMPLE_REGS_ABI_64 && u->dwarf[0] != CFI_REGS)
		follow(u, t, &f, out);
	return true;
}

bool unwind_take(struct unwinder *u, const struct hit *h, struct unwound *out)
{
	if (!unwind(u, &h->e->layout, h->full, thread_of(u, h), out))
		return false;
	unwind_count(&u->counts, out);
	stack_cuts_count(&u->cuts, out->dso, out->end, 1);
	return out->n > 0;
}

bool unwind_sample(struct unwinder *u, const struct sample_layout *l, const struct sample *s, struct unwound *out)
{
	u->space = current_space(u->current, s->pid);
	u->code.start = u->code.end = 0;
	return unwind(u, l, s, NULL, out);
}

u32 unwind_chain(const struct unwound *s, u32 cpumode, u64 ip, const struct u64s *recorded, u64 words[CHAIN_WORDS])
{
	bool user = cpumode == PERF_RECORD_MISC_USER;
	u32 n = user ? 0 : chain_kernel_part(recorded, words, CHAIN_WORDS - UNWIND_STACK - 2);

	words[n++] = PERF_CONTEXT_USER;
	words[n++] = user ? ip : s->v[0];
	for (u32 i = 1; i < s->n; i++)
		words[n++] = s->v[i];
	return n;
}
