/* SPDX-License-Identifier: Apache-2.0 */
/* Of a file of its own because term.h takes the names lines, columns and many others for itself. */
#include <curses.h>
/* After it: */
#include <term.h>
#include <unistd.h>

#include "base/types.h"

bool top_terminal_known(void);

bool top_terminal_known(void)
{
	int status;
	bool known = setupterm(NULL, STDOUT_FILENO, &status) != ERR;

	known = known && cursor_address;
	if (cur_term)
		del_curterm(cur_term);
	return known;
}
