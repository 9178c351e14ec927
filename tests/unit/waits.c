/* SPDX-License-Identifier: Apache-2.0 */
/* What is said of the time of threads that run, wait and are woken, and of time in which records are missing. */
#include "agg/waits.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { NOTHING, CART, LIST };	   /* activities */
enum { FUTEX = 7, DISK };	   /* places */
enum { WORKER = 3, TIMER, OTHER }; /* wakers */
enum { ONE = 100, TWO, THREE };	   /* threads */

struct room {
	struct wait_losses losses;
	struct waits waits;
};

static void begin(struct room *r)
{
	*r = (struct room){ 0 };
	wait_losses_seal(&r->losses);
	r->waits.losses = &r->losses;
}

static void end(struct room *r)
{
	waits_free(&r->waits);
	wait_losses_free(&r->losses);
}

/* prev, which works for activity, leaves CPU 0 to next. */
static void turn(struct room *r, u64 time, u32 prev, u32 activity, enum wait_state state, u32 place, u32 next)
{
	waits_switch(&r->waits, &(struct wait_switch){ time, 0, prev, next, activity, state, place });
}

static const struct wait_sum *sum(const struct room *r, u32 activity)
{
	for (size_t i = 0; i < r->waits.sums.n; i++)
		if (r->waits.sums.v[i].activity == activity)
			return &r->waits.sums.v[i];
	return NULL;
}

static const struct wait_place *place(const struct room *r, u32 place, u32 waker)
{
	for (size_t i = 0; i < r->waits.places.n; i++)
		if (r->waits.places.v[i].place == place && r->waits.places.v[i].waker == waker)
			return &r->waits.places.v[i];
	return NULL;
}

/* A wait, the time until it runs again, and how long it runs. */
static void test_one_wait(void **state)
{
	struct room r;

	(void)state;
	begin(&r);
	turn(&r, 100, ONE, CART, WAIT_SLEEPING, FUTEX, 0);
	waits_waking(&r.waits, 160, ONE, WORKER);
	turn(&r, 163, 0, 0, WAIT_RUNNABLE, 0, ONE);
	turn(&r, 170, ONE, CART, WAIT_BLOCKED, DISK, 0);
	waits_waking(&r.waits, 200, ONE, TIMER);
	waits_waking(&r.waits, 205, ONE, OTHER); /* it is awake already */
	turn(&r, 210, 0, 0, WAIT_RUNNABLE, 0, ONE);
	turn(&r, 211, ONE, CART, WAIT_RUNNABLE, 0, TWO); /* it has to let another run */
	turn(&r, 215, TWO, LIST, WAIT_ENDED, 0, ONE);
	turn(&r, 220, ONE, CART, WAIT_ENDED, 0, 0);
	waits_end(&r.waits, 300);
	assert_int_equal(sum(&r, CART)->waiting[WAIT_SLEEPING], 60);
	assert_int_equal(sum(&r, CART)->waiting[WAIT_BLOCKED], 30);
	assert_int_equal(sum(&r, CART)->runnable, 3 + 10 + 4);
	assert_int_equal(sum(&r, CART)->running, 7 + 1 + 5);
	assert_int_equal(sum(&r, CART)->waits, 2);
	assert_int_equal(sum(&r, CART)->longest, 60);
	assert_int_equal(sum(&r, CART)->unsure, 0);
	assert_int_equal(sum(&r, CART)->unknown, 0);
	/* What LIST's thread did before that first event is not known, nor is its activity when it began to run. */
	assert_int_equal(sum(&r, LIST)->running, 0);
	assert_int_equal(sum(&r, LIST)->unsure, 4);
	assert_int_equal(r.waits.places.n, 2);
	assert_int_equal(place(&r, FUTEX, WORKER)->waiting, 60);
	assert_int_equal(place(&r, DISK, TIMER)->state, WAIT_BLOCKED);
	end(&r);
}

/* The waker's event may be earlier than that of the thread which it wakes. One that comes too early for that, and was
 * followed by another one, is not the waker. */
static void test_early_waker(void **state)
{
	struct room r;

	(void)state;
	begin(&r);
	turn(&r, 10, 0, 0, WAIT_RUNNABLE, 0, ONE);
	waits_waking(&r.waits, 19, ONE, WORKER);
	turn(&r, 20, ONE, CART, WAIT_SLEEPING, FUTEX, 0);
	turn(&r, 25, 0, 0, WAIT_RUNNABLE, 0, ONE);
	assert_int_equal(sum(&r, CART)->waiting[WAIT_SLEEPING], 0);
	assert_int_equal(sum(&r, CART)->runnable, 5);
	assert_int_equal(place(&r, FUTEX, WORKER)->waits, 1);
	waits_waking(&r.waits, 27, ONE, WORKER);
	turn(&r, 30, ONE, CART, WAIT_SLEEPING, FUTEX, 0);
	waits_waking(&r.waits, 38, ONE, TIMER);
	turn(&r, 40, 0, 0, WAIT_RUNNABLE, 0, ONE);
	assert_int_equal(place(&r, FUTEX, TIMER)->waiting, 8);
	assert_int_equal(place(&r, FUTEX, WORKER)->waits, 1);
	end(&r);
}

/* Samples say when a thread that runs works for something else; between two that differ, it is not known when. */
static void test_samples(void **state)
{
	struct room r;

	(void)state;
	begin(&r);
	waits_sample(&r.waits, 5, 0, ONE, CART); /* no event has said yet that it runs */
	turn(&r, 10, ONE, NOTHING, WAIT_RUNNABLE, 0, TWO);
	turn(&r, 20, TWO, NOTHING, WAIT_ENDED, 0, ONE);
	waits_sample(&r.waits, 24, 0, ONE, CART);
	waits_sample(&r.waits, 34, 0, ONE, CART);
	turn(&r, 37, ONE, LIST, WAIT_SLEEPING, FUTEX, 0);
	waits_sample(&r.waits, 38, 0, ONE, LIST); /* it is still on its way out */
	waits_end(&r.waits, 40);
	assert_int_equal(sum(&r, CART)->running, 10);
	assert_int_equal(sum(&r, CART)->unsure, 4 + 3);
	assert_int_equal(sum(&r, NOTHING)->unsure, 10 + 4);
	assert_int_equal(sum(&r, LIST)->unsure, 3);
	assert_int_equal(sum(&r, LIST)->unknown, 0);
	assert_int_equal(sum(&r, LIST)->open, 1);
	assert_int_equal(sum(&r, LIST)->waiting[WAIT_SLEEPING], 3);
	assert_int_equal(place(&r, FUTEX, WAIT_NOBODY)->waits, 1);
	end(&r);
}

/* A thread that nobody was seen to wake, one that runs and was not seen to begin, and one that was not seen to stop.
 */
static void test_missing(void **state)
{
	struct room r;

	(void)state;
	begin(&r);
	turn(&r, 10, ONE, CART, WAIT_SLEEPING, FUTEX, 0);
	turn(&r, 30, 0, 0, WAIT_RUNNABLE, 0, ONE);
	assert_int_equal(sum(&r, CART)->unknown, 20);
	turn(&r, 31, ONE, CART, WAIT_SLEEPING, FUTEX, 0);
	waits_sample(&r.waits, 40, 1, ONE, CART);
	assert_int_equal(sum(&r, CART)->unknown, 29);
	turn(&r, 44, 0, 0, WAIT_RUNNABLE, 0, ONE);
	turn(&r, 46, ONE, LIST, WAIT_SLEEPING, FUTEX, 0);
	assert_int_equal(sum(&r, CART)->unknown, 35);
	assert_int_equal(sum(&r, LIST)->unknown, 6);
	turn(&r, 50, ONE, CART, WAIT_SLEEPING, FUTEX, 0);
	assert_int_equal(sum(&r, CART)->unknown, 39);
	assert_int_equal(sum(&r, LIST)->unknown, 10);
	assert_int_equal(sum(&r, CART)->lost, 4);
	assert_int_equal(sum(&r, CART)->waits, 0);
	waits_sample(&r.waits, 51, 0, THREE, CART);
	waits_end(&r.waits, 60);
	assert_int_equal(r.waits.never_switched, 1);
	end(&r);
}

/* Time in which records are missing is unknown: of a thread that waits on any CPU, of one that runs on its own. */
static void test_losses(void **state)
{
	struct room r;

	(void)state;
	r = (struct room){ 0 };
	wait_losses_add(&r.losses, &(struct wait_loss){ 40, 50, 1, false });
	wait_losses_add(&r.losses, &(struct wait_loss){ 10, 12, 3, false });
	wait_losses_add(&r.losses, &(struct wait_loss){ 20, 45, 2, false });
	wait_losses_seal(&r.losses);
	r.waits.losses = &r.losses;
	assert_true(wait_losses_touch(&r.losses, 11, 13, true));
	assert_false(wait_losses_touch(&r.losses, 12, 20, true));
	assert_true(wait_losses_touch_cpu(&r.losses, 44, 60, 2));
	assert_false(wait_losses_touch_cpu(&r.losses, 45, 60, 2));
	assert_true(wait_losses_touch_cpu(&r.losses, 45, 60, 1));
	assert_false(wait_losses_touch_cpu(&r.losses, 0, 100, 0));
	assert_true(wait_losses_touch(&r.losses, 0, 100, true));
	turn(&r, 5, 0, 0, WAIT_RUNNABLE, 0, ONE);
	waits_sample(&r.waits, 6, 0, ONE, CART);
	turn(&r, 15, ONE, CART, WAIT_SLEEPING, FUTEX, 0); /* the loss of CPU 3 is not its own */
	waits_waking(&r.waits, 18, ONE, WORKER);
	turn(&r, 19, 0, 0, WAIT_RUNNABLE, 0, ONE);
	turn(&r, 20, ONE, CART, WAIT_SLEEPING, FUTEX, 0);
	waits_waking(&r.waits, 60, ONE, WORKER);
	turn(&r, 61, 0, 0, WAIT_RUNNABLE, 0, ONE);
	waits_end(&r.waits, 61);
	assert_int_equal(sum(&r, CART)->running, 9 + 1);
	assert_int_equal(sum(&r, CART)->waiting[WAIT_SLEEPING], 3);
	assert_int_equal(sum(&r, CART)->unknown, 40);
	assert_int_equal(sum(&r, CART)->runnable, 1 + 1);
	end(&r);
}

/* A missing switch: who sleeps goes on doing so until he is seen to be woken; who is ready may have run. */
static void test_missing_switch(void **state)
{
	struct room r = { 0 };

	(void)state;
	wait_losses_add(&r.losses, &(struct wait_loss){ 20, 30, 1, true });
	wait_losses_seal(&r.losses);
	r.waits.losses = &r.losses;
	turn(&r, 10, ONE, CART, WAIT_SLEEPING, FUTEX, 0);
	turn(&r, 11, TWO, LIST, WAIT_RUNNABLE, 0, 0);
	turn(&r, 12, THREE, NOTHING, WAIT_SLEEPING, DISK, 0);
	waits_waking(&r.waits, 24, THREE, WORKER);
	waits_waking(&r.waits, 40, ONE, WORKER);
	turn(&r, 45, 0, 0, WAIT_RUNNABLE, 0, ONE);
	turn(&r, 46, ONE, CART, WAIT_ENDED, 0, TWO);
	turn(&r, 50, TWO, LIST, WAIT_ENDED, 0, 0);
	turn(&r, 55, THREE, NOTHING, WAIT_ENDED, 0, 0); /* its switch is the one that is missing */
	assert_true(wait_losses_touch(&r.losses, 25, 26, false));
	assert_false(wait_losses_touch(&r.losses, 25, 26, true));
	assert_false(wait_losses_touch_cpu(&r.losses, 25, 26, 0));
	assert_int_equal(sum(&r, CART)->waiting[WAIT_SLEEPING], 30);
	assert_int_equal(sum(&r, CART)->runnable, 5);
	assert_int_equal(sum(&r, CART)->unknown, 0);
	assert_int_equal(sum(&r, LIST)->unknown, 35);
	assert_int_equal(sum(&r, LIST)->runnable, 0);
	assert_int_equal(sum(&r, LIST)->running, 4);
	assert_int_equal(sum(&r, NOTHING)->waiting[WAIT_SLEEPING], 12);
	assert_int_equal(sum(&r, NOTHING)->unknown, 31);
	end(&r);
}

/* prev leaves that CPU to next. */
static void turn_on(struct room *r, u32 cpu, u64 time, u32 prev, u32 activity, u32 next)
{
	waits_switch(&r->waits, &(struct wait_switch){ time, cpu, prev, next, activity, WAIT_RUNNABLE, 0 });
}

/* A thread that goes on another CPU has stopped to run in between, and nobody knows for how long. From then on it is
 * records of the new CPU that may be missing. */
static void test_moved(void **state)
{
	struct room r = { 0 };

	(void)state;
	wait_losses_add(&r.losses, &(struct wait_loss){ 70, 75, 2, true });
	wait_losses_seal(&r.losses);
	r.waits.losses = &r.losses;
	turn_on(&r, 1, 10, 0, 0, ONE);
	waits_sample(&r.waits, 12, 1, ONE, CART);
	waits_sample(&r.waits, 20, 2, ONE, CART); /* it was not seen to leave CPU 1 */
	assert_int_equal(sum(&r, CART)->running, 0);
	assert_int_equal(sum(&r, CART)->unknown, 8);
	waits_sample(&r.waits, 60, 2, ONE, CART);
	assert_int_equal(sum(&r, CART)->running, 40);
	waits_sample(&r.waits, 80, 2, ONE, CART);
	assert_int_equal(sum(&r, CART)->running, 40);
	assert_int_equal(sum(&r, CART)->unknown, 8 + 20);
	turn_on(&r, 3, 90, ONE, CART, 0);
	assert_int_equal(sum(&r, CART)->running, 40);
	assert_int_equal(sum(&r, CART)->unknown, 8 + 20 + 10);
	end(&r);
}

/* Who ran or was ready to run when the recording ended may have stopped or begun since; who slept goes on sleeping,
 * unless somebody woke him. */
static void test_end(void **state)
{
	struct room r;

	(void)state;
	begin(&r);
	turn_on(&r, 1, 10, 0, 0, ONE);
	waits_sample(&r.waits, 12, 1, ONE, CART);
	turn_on(&r, 0, 20, TWO, LIST, 0);
	turn(&r, 30, THREE, NOTHING, WAIT_SLEEPING, FUTEX, 0);
	waits_waking(&r.waits, 35, THREE, WORKER);
	waits_end(&r.waits, 50);
	assert_int_equal(sum(&r, CART)->running, 0);
	assert_int_equal(sum(&r, CART)->unknown, 38);
	assert_int_equal(sum(&r, LIST)->runnable, 0);
	assert_int_equal(sum(&r, LIST)->unknown, 30);
	assert_int_equal(sum(&r, NOTHING)->waiting[WAIT_SLEEPING], 5);
	assert_int_equal(sum(&r, NOTHING)->unknown, 15);
	assert_int_equal(sum(&r, NOTHING)->open, 0);
	end(&r);
}

/* Who was woken while he was about to stop, and went on to run, was not woken from the sleep that came later. */
static void test_woken_before(void **state)
{
	struct room r;

	(void)state;
	begin(&r);
	turn(&r, 10, 0, 0, WAIT_RUNNABLE, 0, ONE);
	waits_waking(&r.waits, 11, ONE, WORKER);
	waits_sample(&r.waits, 15, 0, ONE, CART);
	turn(&r, 20, ONE, CART, WAIT_SLEEPING, FUTEX, 0);
	turn(&r, 40, 0, 0, WAIT_RUNNABLE, 0, ONE); /* that waking is missing */
	assert_int_equal(sum(&r, CART)->runnable, 0);
	assert_int_equal(sum(&r, CART)->unknown, 20);
	assert_int_equal(r.waits.places.n, 0);
	/* The last one is not followed by a sleep that ends. */
	waits_waking(&r.waits, 49, ONE, WORKER);
	turn(&r, 50, ONE, CART, WAIT_SLEEPING, FUTEX, 0);
	waits_end(&r.waits, 60);
	assert_int_equal(sum(&r, CART)->waiting[WAIT_SLEEPING], 0);
	assert_int_equal(sum(&r, CART)->open, 0);
	assert_int_equal(place(&r, FUTEX, WORKER)->waits, 1);
	assert_int_equal(sum(&r, CART)->unknown, 20 + 10);
	end(&r);
}

/* Times that end before they begin hide no others. */
static void test_backward_loss(void **state)
{
	struct wait_losses losses = { 0 };

	(void)state;
	wait_losses_add(&losses, &(struct wait_loss){ 10, 30, 1, false });
	wait_losses_add(&losses, &(struct wait_loss){ 50, 0, 1, false });
	wait_losses_seal(&losses);
	assert_true(wait_losses_touch(&losses, 20, 60, true));
	assert_true(wait_losses_touch_cpu(&losses, 20, 60, 1));
	assert_false(wait_losses_touch(&losses, 50, 60, true));
	wait_losses_free(&losses);
}

/* Threads that have ended are not kept, and the next one of that number is another one. */
static void test_many_threads(void **state)
{
	struct room r;

	(void)state;
	begin(&r);
	for (u32 i = 0; i < 100000; i++) {
		turn(&r, 10ull * i + 1, 0, 0, WAIT_RUNNABLE, 0, 1000 + i);
		turn(&r, 10ull * i + 3, 1000 + i, CART, WAIT_ENDED, 0, 0);
	}
	assert_int_equal(r.waits.threads.n, 0);
	assert_true(r.waits.thread_of.n < 2000);
	assert_int_equal(sum(&r, CART)->unsure, 200000);
	turn(&r, 2000000, ONE, CART, WAIT_SLEEPING, FUTEX, TWO);
	turn(&r, 2000010, TWO, CART, WAIT_ENDED, 0, THREE);
	waits_waking(&r.waits, 2000011, ONE, WORKER);
	turn(&r, 2000012, THREE, WAIT_HIDDEN, WAIT_ENDED, 0, ONE);
	assert_int_equal(sum(&r, CART)->waiting[WAIT_SLEEPING], 11);
	assert_null(sum(&r, WAIT_HIDDEN));
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_wait),
		cmocka_unit_test(test_early_waker),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_missing),
		cmocka_unit_test(test_losses),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_missing_switch),
		cmocka_unit_test(test_moved),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_woken_before),
		cmocka_unit_test(test_backward_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
