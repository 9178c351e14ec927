#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: plain
# Function metrics against exact counts: jitter against resonance, discarding in very short functions.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/sim_lib.bash"
need_sim
need_program python3
"$SRCDIR/bench/truth-windows" --reticle "$RETICLE" --programs "$SRCDIR/build/bench" --quick --rows resonance,turns \
	>out 2>err ||
	fail "$(cat out err)"
[ "$(grep -c ' ok$' out)" = 3 ] || fail "rows that are missing: $(cat out)"
