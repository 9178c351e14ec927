# SPDX-License-Identifier: Apache-2.0
# What the tests of the virtual PMU share, beside record_lib.bash.
# The plugin of a tree with sanitizers does not load into QEMU: the plain tree's serves all.
need_sim() {
	local why
	why=$(python3 -B "$SRCDIR/tests/cli/lib/machine.py" sim) || skip "no virtual PMU here: $why"
	RETICLE_VPMU=$SRCDIR/build/vpmu/reticle-vpmu.so
	if [ -e "$RETICLE_VPMU" ]; then
		export RETICLE_VPMU
	else
		unset RETICLE_VPMU
	fi
}
need_program() {
	command -v "$1" >/dev/null || skip "no $1"
}
# A program out of C on standard input: build NAME [FLAGS]
build() {
	local name=$1
	shift
	cc -O1 -g -fno-inline -x c -o "$name" - "$@" || fail "cannot build $name"
}
# Keeps a core busy with $1 thousand calls of inner, says so, and ends with status $2.
build_busy() {
	build busy "$@" <<-'C'
		#include <stdio.h>
		#include <stdlib.h>
		volatile unsigned long sum;
		void inner(int n) { for (int i = 0; i < n; i++) sum += (unsigned long)i * sum; }
		void outer(int n) { for (int i = 0; i < n; i++) inner(100); }
		int main(int argc, char **argv)
		{
			outer((argc > 1 ? atoi(argv[1]) : 1) * 1000);
			puts("busy is done");
			return argc > 2 ? atoi(argv[2]) : 0;
		}
	C
}
