/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Spans within spans. When an inner one ends, the outer one is what the thread works for again; also when the inner
 * one is left by longjmp, which runs no ends of blocks.
 */
#include <setjmp.h>

#include "example.h"

#define ROUNDS 12

WORK(parse)
WORK(query)
WORK(fetch_rows)
WORK(render)
WORK(wait_for_request)

static struct activity_ids request, query_span, rows_span;
static jmp_buf timed_out;

static uint64_t rows(uint64_t sum)
{
	ACTIVITY_SCOPE(&rows_span);
	sum += fetch_rows(sum);
	if (sum) /* always so */
		longjmp(timed_out, 1);
	return sum;
}

static void serve(void)
{
	unsigned depth;

	ACTIVITY_SCOPE(&request);
	example_attribute("/orders");
	parse(1);
	depth = activity_depth();
	if (!setjmp(timed_out)) {
		ACTIVITY_SCOPE(&query_span);
		rows(query(2));
	} else {
		activity_unwind(depth);
	}
	render(3);
}

int main(void)
{
	request = example_ids(1, 1);
	query_span = example_ids(1, 2);
	rows_span = example_ids(1, 3);
	example_publish("nested", "http.route");
	for (unsigned i = 0; i < ROUNDS; i++) {
		wait_for_request(i);
		serve();
	}
	example_truth("parse", &request, "/orders");
	example_truth("query", &query_span, "-");
	example_truth("fetch_rows", &rows_span, "-");
	example_truth("render", &request, "/orders");
	example_truth("wait_for_request", NULL, "-");
	return 0;
}
