/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual PMU: needs QEMU with plugins, and ours. */
#include <stdlib.h>
#include <unistd.h>

#include "check/capability.h"
#include "sys/sim_find.h"

/* Which architectures' programs can be run. */
static u32 put_guests(struct bytes *out, bool *without_plugins)
{
	u32 n = 0;

	for (u32 g = 0; g < NR_SIM_GUESTS; g++) {
		char *qemu = sim_find_qemu((enum sim_guest)g), *version;

		if (!qemu)
			continue;
		if (!sim_takes_plugins(qemu)) {
			*without_plugins = true;
			free(qemu);
			continue;
		}
		version = sim_qemu_version(qemu);
		bytes_printf(out, "%s%s programs with QEMU %s", n++ ? ", " : "runs ", sim_guests[g].name,
			     version ? version : "of unknown version");
		if (sim_guests[g].sysroot && access(sim_guests[g].sysroot, X_OK))
			bytes_str(out, " (static ones: no libraries of that architecture)");
		free(version);
		free(qemu);
	}
	return n;
}

void capability_simulation(const struct capability_env *env, struct capability_report *r)
{
	struct bytes guests = { 0 };
	bool without_plugins = false;
	char *plugin = sim_find_plugin();
	u32 n = put_guests(&guests, &without_plugins);

	(void)env;
	bytes_char(&guests, 0);
	if (!plugin)
		capability_say(r, CAPABILITY_NO, "build with capstone (Debian: libcapstone-dev)",
			       "this installation has no plugin for QEMU (reticle-vpmu.so)");
	else if (!n)
		capability_say(r, CAPABILITY_NO, "install qemu-user", "%s",
			       without_plugins ? "the QEMU in PATH does not support plugins" :
						 "there is no qemu-x86_64 or qemu-aarch64 in PATH");
	else
		capability_say(r, n < NR_SIM_GUESTS ? CAPABILITY_LIMITED : CAPABILITY_OK,
			       n < NR_SIM_GUESTS ? "install qemu-user" : NULL, "%s: --pmu=sim",
			       (const char *)guests.p);
	bytes_free(&guests);
	free(plugin);
}
