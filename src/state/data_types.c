/* SPDX-License-Identifier: Apache-2.0 */
#include "state/data_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "state/data_flow.h"
#include "state/data_globals.h"
#include "state/data_scopes.h"
#include "state/dtype.h"

/* Questions of one function come one after the other, but not always: some are kept, of not too much code. */
#define MOST_FOLLOWED 64
#define FOLLOWED_BYTES (256u << 10)

struct followed {
	struct data_flow *flow; /* NULL: none */
	const void *function;	/* place of its DIE */
	struct data_code code;
	struct bytes bytes; /* a copy */
};

struct data_types {
	struct dwarf_file *f;
	struct data_globals *globals; /* NULL: nobody asked */
	struct data_scopes *scopes;
	struct data_kinds *kinds;
	struct bytes text; /* of the last answer */
	struct followed followed[MOST_FOLLOWED];
	u32 next; /* of them, is forgotten first */
	u32 followed_bytes;
};

struct data_types *data_types_new(struct dwarf_file *f)
{
	struct data_types *t = mem_zalloc(sizeof(*t));

	t->f = f;
	t->scopes = data_scopes_new();
	t->kinds = data_kinds_new();
	return t;
}

static void forget(struct followed *c)
{
	data_flow_free(c->flow);
	bytes_free(&c->bytes);
	*c = (struct followed){ 0 };
}

void data_types_free(struct data_types *t)
{
	if (!t)
		return;
	data_globals_free(t->globals);
	data_scopes_free(t->scopes);
	data_kinds_free(t->kinds);
	bytes_free(&t->text);
	for (u32 i = 0; i < MOST_FOLLOWED; i++)
		forget(&t->followed[i]);
	free(t);
}

static void free_attached(void *types)
{
	data_types_free(types);
}

struct data_types *dwarf_file_types(struct dwarf_file *f)
{
	struct data_types *t = dwarf_file_attached(f);

	if (!t) {
		t = data_types_new(f);
		dwarf_file_attach(f, t, free_attached);
	}
	return t;
}

static const struct data_globals *globals_of(struct data_types *t)
{
	if (!t->globals)
		t->globals = data_globals_new(t->f);
	return t->globals;
}

/* Puts a place in a type into words. */
static bool say(struct data_types *t, struct dtype type, u64 offset, struct typed_place *out)
{
	struct dtype named;
	size_t members;

	if (!dtype_element(&type, &offset))
		return false;
	named = dtype_behind_pointers(&type);
	t->text.len = 0;
	dtype_put_name(&type, data_scope_of(t->scopes, &named.die), &t->text);
	bytes_char(&t->text, 0);
	members = t->text.len;
	dtype_put_members(&type, offset, &t->text);
	bytes_char(&t->text, 0);
	*out = (struct typed_place){ (const char *)t->text.p, (const char *)t->text.p + members, offset };
	return true;
}

bool data_types_at(struct data_types *t, u64 vaddr, struct typed_place *out)
{
	struct dtype type;
	const struct data_global *v = data_globals_at(globals_of(t), vaddr, &type);

	return v && say(t, type, vaddr - v->start, out);
}

static bool is_same_code(const struct followed *c, const void *function, const struct data_code *code)
{
	return c->flow && c->function == function && c->code.start == code->start && c->code.n == code->n &&
	       c->code.machine == code->machine && !memcmp(c->bytes.p, code->p, code->n);
}

/* Room for so much more code: those that were followed first are forgotten. */
static struct followed *make_room(struct data_types *t, u32 n)
{
	for (u32 i = 0; i < MOST_FOLLOWED; i++) {
		struct followed *c = &t->followed[(t->next + i) % MOST_FOLLOWED];

		if (i && t->followed_bytes + n <= FOLLOWED_BYTES)
			break;
		t->followed_bytes -= c->code.n;
		forget(c);
	}
	t->followed_bytes += n;
	t->next = (t->next + 1) % MOST_FOLLOWED;
	return &t->followed[(t->next + MOST_FOLLOWED - 1) % MOST_FOLLOWED];
}

/* A function may be in several parts, and symbols are not always functions: each function of DWARF has its flow. */
static struct data_flow *follow(struct data_types *t, const struct data_code *code, u64 addr)
{
	struct followed *c;
	Dwarf_Die function;

	if (!dwarf_file_outer(t->f, addr, &function))
		return NULL;
	for (u32 i = 0; i < MOST_FOLLOWED; i++)
		if (is_same_code(&t->followed[i], function.addr, code))
			return t->followed[i].flow;
	c = make_room(t, code->n);
	c->function = function.addr;
	c->code = *code;
	bytes_put(&c->bytes, code->p, code->n);
	c->code.p = c->bytes.p;
	c->flow = data_flow_new(&c->code, &function, globals_of(t), t->kinds);
	return c->flow;
}

bool data_types_of_code(struct data_types *t, const struct data_code *code, u64 addr, struct typed_place *out)
{
	struct data_flow *flow = follow(t, code, addr);
	struct dtype type;
	u64 offset;

	if (!flow)
		return false;
	switch (data_flow_access(flow, addr, &type, &offset)) {
	case ACCESS_TYPED:
		return say(t, type, offset, out);
	case ACCESS_STACK:
		*out = (struct typed_place){ "(stack operation)", "", 0 };
		return true;
	case ACCESS_CANARY:
		*out = (struct typed_place){ "(stack canary)", "", 0 };
		return true;
	default:
		return false;
	}
}
