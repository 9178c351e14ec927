/* SPDX-License-Identifier: Apache-2.0 */
#include "events/tls_user.h"

#include <errno.h>
#include <unistd.h>

#include "events/watch.h"
#include "sys/probe.h"

#define PROBE_PERIOD 100000 /* ns */
#define PROBE_NS 5000000
#define MARK 0x51a7 /* no errno of any system */

bool tls_user_wanted(const struct event_specs *specs)
{
	for (size_t i = 0; i < specs->v.n; i++)
		if (specs->v.v[i].attr.sample_tls_user)
			return true;
	return false;
}

struct seen {
	u32 right, wrong;
};

static void look(void *ctx, const struct sample *s)
{
	struct seen *seen = ctx;
	u32 n, mark = 0;
	const u8 *tls = sample_tls(s, &n);

	if (n >= sizeof(mark))
		memcpy(&mark, tls, sizeof(mark));
	seen->right += mark == MARK;
	seen->wrong += n && mark != MARK;
}

static bool watch(int fd, const struct attr *a, const char **why)
{
	struct seen seen = { 0 };
	int err;

	errno = MARK; /* nothing sets it as long as all goes well */
	err = event_watch(fd, a, PROBE_NS, look, &seen);
	if (err)
		*why = "this cannot be tried: no memory may be locked";
	else if (!seen.right || seen.wrong)
		*why = "the kernel accepts the attributes for thread data, but samples do not have it";
	else
		*why = "samples can contain bytes of the thread's own memory";
	return !err && seen.right && !seen.wrong;
}

bool tls_user_works(const char **why)
{
	/* errno is a variable that each thread has, near its thread pointer. */
	s64 offset = (s64)((uintptr_t)&errno - (uintptr_t)__builtin_thread_pointer());
	struct attr a = { .type = PERF_TYPE_SOFTWARE,
			  .config = PERF_COUNT_SW_CPU_CLOCK,
			  .sample_period = PROBE_PERIOD,
			  .sample_type = PERF_SAMPLE_TLS_USER,
			  .flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV,
			  .sample_tls_offset = (s32)offset,
			  .sample_tls_user = 8 };
	bool works = false;
	int fd;

	*why = "this kernel's samples have no thread data";
	if (offset != a.sample_tls_offset)
		return false;
	fd = event_probe_open(&a, 0, -1);
	if (fd >= 0) {
		works = watch(fd, &a, why);
		close(fd);
	} else if (errno == EACCES || errno == EPERM) {
		*why = "this user may not record";
	}
	return works;
}
