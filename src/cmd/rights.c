/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/rights.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/types.h"

#define BIT(cap) (1u << (cap) % 32)

static const u8 for_reading[] = { CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYSLOG };

static bool is_for_reading(int cap)
{
	for (u32 i = 0; i < ARRAY_LEN(for_reading); i++)
		if (for_reading[i] == cap)
			return true;
	return false;
}

static void drop(bool all)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[2] = { 0 }, now[2] = { 0 };

	if (syscall(SYS_capget, &head, now))
		return;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	for (int cap = 0; cap < 64; cap++) {
		u32 bit = BIT(cap);

		if (all || !is_for_reading(cap)) {
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
			continue;
		}
		sets[cap / 32].effective |= now[cap / 32].effective & bit;
		sets[cap / 32].permitted |= now[cap / 32].permitted & bit;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	syscall(SYS_capset, &head, sets);
}

void rights_drop(void)
{
	drop(geteuid() != 0);
}

void rights_drop_to_reading(void)
{
	drop(false);
}
