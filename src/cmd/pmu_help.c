/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/pmu_help.h"

#include <stdlib.h>

#include "cmd/output.h"
#include "sim/opts.h"

int print_pmu_help(const struct notify *to)
{
	struct output out;

	(void)output_open(&out, NULL, to);
	bytes_str(&out.bytes, "--pmu=sim,KEY=VALUE,...\n");
	sim_opts_help(&out.bytes);
	return output_close(&out, to) ? EXIT_FAILURE : EXIT_SUCCESS;
}
