/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coroutines: one thread serves several requests in turn, and leaves each in the middle of its work. Each coroutine
 * has a stack of activities beside its stack of calls, and both are switched together.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <ucontext.h>

#include "example.h"

#define STACK_SIZE 65536
#define COROUTINES 3
#define ROUNDS 12

WORK(parse_cart)
WORK(price_cart)
WORK(parse_search)
WORK(rank_search)
WORK(parse_login)
WORK(hash_password)
WORK(choose_next)

struct coroutine {
	ucontext_t context, *scheduler;
	struct activity_stack *activities;
	struct activity_ids request, step; /* the step is a span within the request's */
	work_fn *parse, *answer;
	const char *parse_name, *answer_name, *route;
	char *stack;
	uint64_t sum;
	bool done;
};

static void resume(struct coroutine *c)
{
	struct activity_stack *before = activity_switch(c->activities);

	swapcontext(c->scheduler, &c->context);
	activity_switch(before);
}

static void yield(struct coroutine *c)
{
	swapcontext(&c->context, c->scheduler);
}

static void serve(struct coroutine *c)
{
	ACTIVITY_SCOPE(&c->request);
	example_attribute(c->route);
	for (unsigned i = 0; i < ROUNDS; i++) {
		c->sum += c->parse(c->sum);
		yield(c);
		ACTIVITY_SCOPE(&c->step);
		example_attribute(c->route); /* attributes are a span's own */
		c->sum += c->answer(c->sum);
		yield(c); /* and comes back within the step */
		c->sum += c->answer(c->sum);
	}
}

/* makecontext passes numbers of type int. */
static void begin(unsigned high, unsigned low)
{
	struct coroutine *c = (struct coroutine *)((uintptr_t)high << 32 | low);

	serve(c);
	c->done = true;
	yield(c);
}

static bool start(struct coroutine *c, ucontext_t *scheduler)
{
	uintptr_t self = (uintptr_t)c;

	c->scheduler = scheduler;
	c->activities = activity_stack_new();
	c->stack = malloc(STACK_SIZE);
	if (!c->activities || !c->stack || getcontext(&c->context))
		return false;
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK_SIZE;
	makecontext(&c->context, (void (*)(void))begin, 2, (unsigned)(self >> 32), (unsigned)self);
	return true;
}

int main(void)
{
	static struct coroutine coroutines[COROUTINES] = {
		{ .parse = parse_cart,
		  .answer = price_cart,
		  .parse_name = "parse_cart",
		  .answer_name = "price_cart",
		  .route = "/cart" },
		{ .parse = parse_search,
		  .answer = rank_search,
		  .parse_name = "parse_search",
		  .answer_name = "rank_search",
		  .route = "/search" },
		{ .parse = parse_login,
		  .answer = hash_password,
		  .parse_name = "parse_login",
		  .answer_name = "hash_password",
		  .route = "/login" },
	};
	ucontext_t scheduler;
	unsigned running = COROUTINES;
	uint64_t sum = 0;

	example_publish("coroutines", "http.route");
	for (unsigned i = 0; i < COROUTINES; i++) {
		coroutines[i].request = example_ids(i + 1, 1);
		coroutines[i].step = example_ids(i + 1, 2);
		if (!start(&coroutines[i], &scheduler))
			return 1;
	}
	for (unsigned i = 0; running; i = (i + 1) % COROUTINES) {
		if (coroutines[i].done)
			continue;
		sum += choose_next(sum); /* for no one */
		resume(&coroutines[i]);
		running -= coroutines[i].done;
	}
	for (unsigned i = 0; i < COROUTINES; i++) {
		example_truth(coroutines[i].parse_name, &coroutines[i].request, coroutines[i].route);
		example_truth(coroutines[i].answer_name, &coroutines[i].step, coroutines[i].route);
		activity_stack_free(coroutines[i].activities);
		free(coroutines[i].stack);
	}
	example_truth("choose_next", NULL, "-");
	return 0;
}
