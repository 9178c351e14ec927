/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader sees after each call. */
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "numbered.h"
#include "reticle/activity.h"
#include "test.h"

/* 0: nothing is seen. */
static uint8_t seen(void)
{
	const struct seen_record *r = otel_thread_ctx_v1;

	if (!r)
		return 0;
	CHECK(r->valid == 1 && r->flags == r->trace[0]);
	for (unsigned i = 0; i < 16; i++)
		CHECK(r->trace[i] == r->trace[0] && r->span[i / 2] == r->trace[0]);
	return r->trace[0];
}

/* The innermost first, and the last one is 0. */
static void check_nested(const uint8_t *want)
{
	const struct seen_record *r = otel_thread_ctx_v1;

	for (; *want; want++) {
		const struct seen_head *h;

		CHECK(r && r->trace[0] == *want);
		h = (const struct seen_head *)r - 1;
		CHECK(h->magic == SEEN_MAGIC);
		r = h->around;
	}
	CHECK(!r);
}

static void nesting(void)
{
	CHECK(!otel_thread_ctx_v1 && activity_depth() == 0);
	activity_pop();
	activity_clear();
	push(1);
	CHECK(seen() == 1 && activity_depth() == 1);
	push(2);
	push(3);
	check_nested((const uint8_t[]){ 3, 2, 1, 0 });
	set(4);
	check_nested((const uint8_t[]){ 4, 2, 1, 0 });
	set(5);
	check_nested((const uint8_t[]){ 5, 2, 1, 0 });
	activity_clear();
	CHECK(seen() == 0 && activity_depth() == 3);
	set(6);
	check_nested((const uint8_t[]){ 6, 2, 1, 0 });
	activity_pop();
	check_nested((const uint8_t[]){ 2, 1, 0 });
	activity_pop();
	activity_pop();
	CHECK(seen() == 0 && activity_depth() == 0);
	set(7);
	push(8);
	check_nested((const uint8_t[]){ 8, 7, 0 });
	activity_pop();
	CHECK(seen() == 7);
	activity_clear();
}

static void too_deep(void)
{
	for (unsigned i = 1; i <= ACTIVITY_DEPTH + 5; i++)
		push((uint8_t)i);
	CHECK(seen() == ACTIVITY_DEPTH && activity_depth() == ACTIVITY_DEPTH + 5);
	set(99);
	activity_clear();
	CHECK(seen() == ACTIVITY_DEPTH && !activity_attribute(0, "x", 1));
	for (unsigned i = 0; i < 5; i++) {
		CHECK(seen() == ACTIVITY_DEPTH);
		activity_pop();
	}
	activity_pop();
	CHECK(seen() == ACTIVITY_DEPTH - 1);
	activity_unwind(0);
	CHECK(seen() == 0);
}

static void attributes(void)
{
	const struct seen_record *r;
	char much[256] = { 0 };

	CHECK(!activity_attribute(0, "nobody", 6));
	push(1);
	CHECK(activity_attribute(2, "/cart", 5) && activity_attribute(0, "", 0));
	CHECK(!activity_attribute(256, "x", 1) && !activity_attribute(1, much, sizeof(much)));
	CHECK(!activity_attribute(1, much, ACTIVITY_ATTRS - 7 - 2 - 1));
	CHECK(seen() == 1);
	r = otel_thread_ctx_v1;
	CHECK(r->size == 9 && !memcmp(r->attrs, "\2\5/cart\0\0", 9));
	CHECK(activity_attribute(1, much, ACTIVITY_ATTRS - 9 - 2));
	CHECK(otel_thread_ctx_v1->size == ACTIVITY_ATTRS && !activity_attribute(1, "", 0));
	push(2);
	CHECK(otel_thread_ctx_v1->size == 0);
	activity_pop();
	CHECK(otel_thread_ctx_v1->size == ACTIVITY_ATTRS);
	set(3);
	CHECK(otel_thread_ctx_v1->size == 0);
	activity_pop();
}

static void scopes(void)
{
	struct activity_ids one = ids_of(1), two = ids_of(2);
	jmp_buf back;
	unsigned depth;

	{
		ACTIVITY_SCOPE(&one);
		ACTIVITY_SCOPE(&two);
		CHECK(seen() == 2);
	}
	CHECK(seen() == 0);
	push(3);
	depth = activity_depth();
	if (!setjmp(back)) {
		push(4);
		push(5);
		longjmp(back, 1);
	}
	activity_unwind(depth);
	CHECK(seen() == 3);
	activity_pop();
}

static void *work(void *captured)
{
	CHECK(seen() == 0);
	push(9);
	activity_adopt(captured);
	check_nested((const uint8_t[]){ 7, 9, 0 });
	CHECK(otel_thread_ctx_v1->size == 5);
	activity_pop();
	CHECK(seen() == 9);
	activity_restore(captured);
	CHECK(seen() == 7);
	return NULL;
}

static void hand_over(void)
{
	struct activity_snapshot captured, nothing;
	pthread_t thread;

	activity_capture(&nothing);
	push(7);
	CHECK(activity_attribute(1, "abc", 3));
	activity_capture(&captured);
	activity_adopt(&nothing);
	CHECK(seen() == 0 && activity_depth() == 2);
	activity_pop();
	CHECK(seen() == 7);
	activity_pop();
	CHECK(!pthread_create(&thread, NULL, work, &captured));
	CHECK(!pthread_join(thread, NULL));
	CHECK(seen() == 0);
}

static void coroutines(void)
{
	struct activity_stack *a = activity_stack_new(), *b = activity_stack_new();

	CHECK(a && b);
	push(1);
	CHECK(activity_switch(a) == NULL && seen() == 0);
	push(2);
	push(3);
	CHECK(activity_switch(b) == a && seen() == 0);
	set(4);
	CHECK(activity_switch(a) == b);
	check_nested((const uint8_t[]){ 3, 2, 0 });
	activity_pop();
	CHECK(activity_switch(NULL) == a && seen() == 1);
	CHECK(activity_switch(b) == NULL && seen() == 4);
	CHECK(activity_switch(a) == b && seen() == 2);
	CHECK(activity_switch(NULL) == a && seen() == 1);
	activity_pop();
	activity_stack_free(a);
	activity_stack_free(b);
	CHECK(seen() == 0);
}

/* Whoever is forked goes on with what its parent did. */
static void forked(void)
{
	int status;
	pid_t child;

	push(5);
	child = fork();
	if (!child) {
		CHECK(seen() == 5);
		activity_pop();
		push(6);
		CHECK(seen() == 6);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(seen() == 5);
	activity_pop();
}

static pthread_key_t late;

static void after_end(void *unused)
{
	(void)unused;
	push(3);
	CHECK(seen() == 3);
}

static void *short_life(void *unused)
{
	(void)unused;
	CHECK(activity_thread_start());
	push(1);
	CHECK(!pthread_setspecific(late, &late));
	return NULL;
}

/* Threads that come and go, and use it while they end. */
static void threads_end(void)
{
	CHECK(!pthread_key_create(&late, after_end));
	for (unsigned i = 0; i < 2000; i++) {
		pthread_t thread;

		CHECK(!pthread_create(&thread, NULL, short_life, NULL));
		CHECK(!pthread_join(thread, NULL));
	}
	CHECK(seen() == 0);
}

/* In pages of 4096 bytes; -1: unknown. Under qemu-user, the list of mappings is that of this program, but statm has
 * what the emulator takes, which keeps about 70 pages of each thread that has ended, whatever that did. */
static long memory(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long start, end;
	long pages = f ? 0 : -1;

	while (f && fscanf(f, "%lx-%lx%*[^\n]", &start, &end) == 2)
		pages += (long)((end - start) / 4096);
	if (f)
		fclose(f);
	return pages;
}

int main(void)
{
	long before, after;

	nesting();
	too_deep();
	attributes();
	scopes();
	hand_over();
	coroutines();
	forked();
	threads_end();
	before = memory();
	for (unsigned i = 0; i < 3; i++)
		threads_end();
	after = memory();
	CHECK(before < 0 || after < before + 600); /* 6000 stacks would be 18,000 pages */
	puts("ok");
	return 0;
}
