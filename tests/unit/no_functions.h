/* SPDX-License-Identifier: Apache-2.0 */
/* In the place of attrib/functions.c, where functions are what a test says: nothing is kept of files. For one file of
 * a test's program, which defines the questions that it asks. */
#ifndef TESTS_NO_FUNCTIONS_H
#define TESTS_NO_FUNCTIONS_H

static int nobody;

struct functions *functions_new(const struct procs *procs, struct dsos *dsos)
{
	(void)procs;
	(void)dsos;
	return (struct functions *)&nobody;
}

void functions_free(struct functions *f)
{
	(void)f;
}

#endif
