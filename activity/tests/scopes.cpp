// SPDX-License-Identifier: Apache-2.0
// Activities of C++ end with their scope, also by an exception.
#include "reticle/activity.h"

#include <stdexcept>

#include "test.h"

static int seen()
{
	const seen_record *r = otel_thread_ctx_v1;

	return r ? r->trace[0] : 0;
}

static void serve(int depth)
{
	activity_ids ids = {};

	ids.trace[0] = ids.span[0] = static_cast<uint8_t>(depth);
	reticle::scoped_activity here(ids);
	CHECK(seen() == depth);
	if (depth == 5) {
		activity_push(&ids); // and nobody pops it
		throw std::runtime_error("out");
	}
	serve(depth + 1);
}

int main()
{
	for (int i = 0; i < 3; i++) {
		try {
			serve(1);
			CHECK(false);
		} catch (const std::runtime_error &) {
		}
		CHECK(seen() == 0 && activity_depth() == 0);
	}
	return 0;
}
