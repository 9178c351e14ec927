#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signal handlers under record --pmu=sim run as under a kernel, on both architectures.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/sim_lib.bash"
need_sim
need_program cc
run() {
	timeout 120 "$RETICLE" record -q "$@" -o signals.data -- ./handlers >out 2>err || fail "$*: $(cat out err)"
	cmp native out || fail "$*: $(diff native out)"
}
cc -O2 -pthread -o handlers "$SRCDIR/tests/sim/handlers.c" || fail "handlers.c does not compile"
timeout 120 ./handlers >native || fail "it does not run by itself"
grep -q WRONG native && fail "by itself: $(cat native)"
run --pmu=sim
run --pmu=sim -g -e instructions:u -c 1009
run --pmu=sim,models=none
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null; then
	aarch64-linux-gnu-gcc -O2 -static -pthread -o handlers "$SRCDIR/tests/sim/handlers.c" ||
		fail "handlers.c for aarch64"
	run --pmu=sim -g
fi
exit 0
