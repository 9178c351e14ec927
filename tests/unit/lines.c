/* SPDX-License-Identifier: Apache-2.0 */
/* Places in call graphs: by function, by address, and by source line, where they weigh enough to be asked for. */
#include "agg/lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WHOLE 40000u /* weight: one part in 20000 of it is 2 */

static u32 asked;

/* Lines of the code: address / 16; nothing is known from 0x9000 on, and of 0x8000 no file. */
u32 dsos_source_at(struct dsos *d, u32 dso, u64 addr, struct source_frame *out, u32 max)
{
	(void)d;
	assert_int_equal(dso, 1);
	assert_int_equal(max, 1);
	asked++;
	if (addr >= 0x9000)
		return 0;
	*out = (struct source_frame){ .function = "f",
				      .file = addr >= 0x8000 ? NULL :
					      addr >= 0x7000 ? "bare.c" :
							       "/src/dir/file.c",
				      .line = (u32)addr / 16 };
	return 1;
}

void dsos_drop_lines(struct dsos *d)
{
	(void)d;
}

struct fixture {
	struct profile p;
	struct strtab strings;
};

static u32 frame(struct fixture *f, u32 sym, u64 addr, u32 inlined)
{
	return frames_intern(f->p.frames,
			     &(struct frame){ .dso = 1, .sym = sym, .addr = addr, .inlined = inlined, .level = '.' });
}

static struct fixture *make(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->p.frames = frames_new();
	f->p.strings = &f->strings;
	f->p.has_chains = true;
	vec_push(&f->p.events, (struct profile_event){ .weight = WHOLE });
	/* The root, and a group whose number looks like a frame's. */
	vec_push(&f->p.events.v[0].tree.nodes, (struct tree_node){ 0 });
	vec_push(&f->p.events.v[0].tree.nodes, (struct tree_node){ .frame = 0, .parent = 0, .total = WHOLE });
	return f;
}

static void weigh(struct fixture *f, u32 id, u64 total)
{
	vec_push(&f->p.events.v[0].tree.nodes, (struct tree_node){ .frame = id, .parent = 1, .total = total });
}

/* "file:line" of a frame's place; "-": none. */
static const char *line_of(const struct fixture *f, u32 id)
{
	u32 line = id < f->p.places.n ? f->p.places.v[id].line : ID_NONE;

	return line == ID_NONE ? "-" : strtab_get(&f->strings, line);
}

static u32 shown(const struct fixture *f, u32 id)
{
	return id < f->p.places.n ? f->p.places.v[id].shown : id;
}

static void drop(struct fixture *f)
{
	vec_free(&f->p.events.v[0].tree.nodes);
	vec_free(&f->p.events);
	vec_free(&f->p.places);
	frames_free(f->p.frames);
	strtab_free(&f->strings);
	free(f);
}

static void test_functions(void **state)
{
	struct fixture *f = make();
	u32 a = frame(f, 3, 0x1000, 0), b = frame(f, 3, 0x1010, 0), other = frame(f, 4, 0x2000, 0);
	u32 inlined = frame(f, 3, 0x1000, 9), unknown = frame(f, ID_NONE, 0x3000, 0);

	(void)state;
	asked = 0;
	profile_name_places(&f->p, GRAPH_KEY_FUNCTION);
	assert_int_equal(shown(f, a), shown(f, b));
	assert_int_equal(frames_get(f->p.frames, shown(f, a))->addr, 0);
	assert_int_not_equal(shown(f, a), shown(f, other));
	assert_int_not_equal(shown(f, a), shown(f, inlined));
	assert_int_equal(frames_get(f->p.frames, shown(f, inlined))->inlined, 9);
	assert_int_equal(shown(f, unknown), unknown);
	assert_string_equal(line_of(f, a), "-");
	assert_int_equal(asked, 0);
	drop(f);
	f = make();
	a = frame(f, 3, 0x1000, 0);
	f->p.has_chains = false; /* there is no graph */
	profile_name_places(&f->p, GRAPH_KEY_FUNCTION);
	assert_int_equal(f->p.places.n, 0);
	drop(f);
}

static void test_addresses(void **state)
{
	struct fixture *f = make();
	u32 a = frame(f, 3, 0x1000, 0), b = frame(f, 3, 0x1010, 0), bare = frame(f, 3, 0x7000, 0);
	u32 no_file = frame(f, 3, 0x8000, 0), none = frame(f, 3, 0x9000, 0), light = frame(f, 3, 0x1020, 0);
	u32 sums = frame(f, 3, 0x1030, 0), inlined = frame(f, 3, 0x1040, 9), whole = frame(f, 3, 0, 0);
	u32 unknown = frame(f, ID_NONE, 0x3000, 0);

	(void)state;
	weigh(f, a, 100);
	weigh(f, b, 2);
	weigh(f, bare, 50);
	weigh(f, no_file, 50);
	weigh(f, none, 50);
	weigh(f, light, 1);
	weigh(f, sums, 1);
	weigh(f, sums, 1);
	weigh(f, inlined, 50);
	weigh(f, whole, 50);
	weigh(f, unknown, 50);
	weigh(f, light, 50); /* what lies behind the list is none of its nodes */
	f->p.events.v[0].tree.nodes.n--;
	asked = 0;
	profile_name_places(&f->p, GRAPH_KEY_ADDRESS);
	assert_string_equal(line_of(f, a), "file.c:256");
	assert_string_equal(line_of(f, b), "file.c:257");
	assert_string_equal(line_of(f, bare), "bare.c:1792");
	assert_string_equal(line_of(f, no_file), "-");
	assert_string_equal(line_of(f, none), "-");
	assert_string_equal(line_of(f, light), "-");
	assert_string_equal(line_of(f, sums), "file.c:259");
	assert_string_equal(line_of(f, inlined), "-");
	assert_string_equal(line_of(f, whole), "-");
	assert_string_equal(line_of(f, unknown), "-");
	assert_int_equal(asked, 6);
	for (u32 id = 0; id < 10; id++)
		assert_int_equal(shown(f, id), id);
	drop(f);
}

static void test_lines(void **state)
{
	struct fixture *f = make();
	u32 a = frame(f, 3, 0x1000, 0), same = frame(f, 3, 0x1008, 0), other = frame(f, 3, 0x1010, 0);
	u32 light = frame(f, 3, 0x1020, 0), none = frame(f, 3, 0x9000, 0);

	(void)state;
	weigh(f, a, 10);
	weigh(f, same, 10);
	weigh(f, other, 10);
	weigh(f, none, 10);
	profile_name_places(&f->p, GRAPH_KEY_LINE);
	assert_int_equal(shown(f, a), shown(f, same));
	assert_int_not_equal(shown(f, a), shown(f, other));
	assert_string_equal(line_of(f, shown(f, a)), "file.c:256");
	/* Functions without lines are whole. */
	assert_int_equal(shown(f, light), shown(f, none));
	assert_int_equal(frames_get(f->p.frames, shown(f, none))->addr, 0);
	assert_string_equal(line_of(f, shown(f, none)), "-");
	drop(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
