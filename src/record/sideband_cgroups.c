/* SPDX-License-Identifier: Apache-2.0 */
/* Cgroups: a sample identifies its cgroup by a number, which is that of the directory; there is one CGROUP record per
 * directory. */
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "open/target.h"
#include "record/sideband.h"

static int put_cgroup(struct sideband *s, u64 id, const char *path)
{
	struct record r = { .h.type = PERF_RECORD_CGROUP };

	r.cgroup.id = id;
	r.cgroup.path = (struct str){ path, (u32)strlen(path) };
	return sideband_put(s, &r);
}

int sideband_cgroups(struct sideband *s)
{
	char *root = target_cgroup_root(), *const roots[] = { root, NULL };
	FTS *tree = root ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
	int err = 0;
	FTSENT *e;

	while (tree && !err && (e = fts_read(tree))) {
		const char *path = e->fts_path + strlen(root);

		if (e->fts_info == FTS_D)
			err = put_cgroup(s, e->fts_statp->st_ino, *path ? path : "/");
	}
	if (tree)
		fts_close(tree);
	free(root);
	return err;
}
