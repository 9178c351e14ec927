#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command that reads a recording, on recordings that end early, or whose header lies: as bad_input.sh.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/bad_input_lib.bash"

damage() { # NAME FILE SIZE
	try_cut "$@" 110
	try_cut "$@" 200
	# The size of the attr section, and the first record's own size.
	cp "$2" "$1.attrs"
	printf '\xff\xff\xff\xff' | dd of="$1.attrs" bs=1 seek=32 conv=notrunc status=none
	try "$1.attrs"
}
each_recipe damage
at_end
