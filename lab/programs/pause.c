/* SPDX-License-Identifier: Apache-2.0 */
/* pause MILLISECONDS: the shell's sleep knows seconds only. */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	return argc != 2 || usleep((useconds_t)strtoul(argv[1], NULL, 10) * 1000);
}
