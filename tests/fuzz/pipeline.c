/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file, taken all the way to a profile, without windows and with them. Looks up no file that the recording
 * names. */
#include "pass/pipeline.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

static void take(const struct pipeline_opts *opts)
{
	struct session *session;
	struct profile *profile;

	if (pipeline_profile(opts, &session, &profile, NULL))
		return;
	profile_free(profile);
	session_close(session);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct pipeline_opts opts = { .children = true };
	const struct window_use windows = { .attribution = ATTRIBUTION_CALLCHAIN, .chains = true, .children = true };
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64];

	MUST(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	opts.input = path;
	opts.session.workers = 1;
	opts.session.symbols.symfs = "/nonexistent";
	opts.session.symbols.buildid_dir = "/nonexistent";
	opts.session.symbols.no_kernel = true;
	opts.session.symbols.offline = true;
	opts.session.symbols.no_lines = true;
	take(&opts);
	opts.windows = &windows;
	take(&opts);
	close(fd);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	fuzz_whole_recording(r, sink);
}
