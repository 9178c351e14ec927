/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/chain.h"

#include "attrib/place.h"

static bool is_noise(const struct u64s *words, u32 from, bool defers)
{
	for (u32 i = from; i < words->n; i++) {
		u64 x = u64s_at(words, i);

		if (LIKELY(!IS_CONTEXT_MARK(x)))
			continue;
		if (context_cpumode(x) == ID_NONE || (x == PERF_CONTEXT_USER_DEFERRED && !defers))
			return true;
		/* Behind this mark comes a cookie, which may look like anything. */
		i += x == PERF_CONTEXT_USER_DEFERRED;
	}
	return false;
}

bool chain_start(struct chain_walk *w, const struct u64s *chain, u32 from, u32 cpumode,
		 const struct deferred_chains *deferred)
{
	*w = (struct chain_walk){ .words = chain, .deferred = deferred, .at = from, .cpumode = cpumode };
	if (!is_noise(chain, from, deferred != NULL))
		return true;
	w->at = chain->n;
	return false;
}

/* The cookie at w->at leads to the user part, after which nothing comes. A part that is itself deferred leads nowhere,
 * and so ends the walk; noise in it hides that part alone. */
static void go_to_deferred(struct chain_walk *w)
{
	const struct u64s *user = NULL;

	if (w->origin == CHAIN_RECORDED && w->at < w->words->n)
		user = deferred_find(w->deferred, u64s_at(w->words, w->at));
	w->at = w->words->n;
	if (!user || is_noise(user, 0, true))
		return;
	w->words = user;
	w->at = 0;
	w->origin = CHAIN_DEFERRED;
}

bool chain_next(struct chain_walk *w, struct chain_part *out)
{
	while (w->at < w->words->n) {
		u64 x = u64s_at(w->words, w->at);
		u32 end = w->at + 1;

		if (IS_CONTEXT_MARK(x)) {
			w->cpumode = context_cpumode(x);
			w->at++;
			if (x == PERF_CONTEXT_USER_DEFERRED)
				go_to_deferred(w);
			continue;
		}
		while (end < w->words->n && !IS_CONTEXT_MARK(u64s_at(w->words, end)))
			end++;
		*out = (struct chain_part){ w->words, w->at, end, w->cpumode, w->origin };
		w->at = end;
		return true;
	}
	return false;
}

u32 chain_kernel_part(const struct u64s *chain, u64 *words, u32 max)
{
	u32 n = 0;

	for (u32 i = 0; i < chain->n && n < max; i++) {
		u64 x = u64s_at(chain, i);

		if (IS_CONTEXT_MARK(x) && context_cpumode(x) == PERF_RECORD_MISC_USER)
			break;
		words[n++] = x;
	}
	return n;
}
