#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command that reads a recording, on recordings that lack their second half, or their last bytes: as
# bad_input.sh.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/bad_input_lib.bash"

damage() { # NAME FILE SIZE
	try_cut "$@" $(($3 / 2))
	try_cut "$@" $(($3 - 9))
}
each_recipe damage
at_end
