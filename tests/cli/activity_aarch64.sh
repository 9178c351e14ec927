#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: no binary, plain
# The library of activities on aarch64, under qemu-user: what it does in a process. The other tests of it need what
# qemu-user 7.2 does not do: ptrace, and madvise with MADV_DONTFORK and MADV_WIPEONFORK, without which a child has the
# context and the journal of its parent.
set -eu
cross=aarch64-linux-gnu
for needed in $cross-gcc qemu-aarch64; do
	command -v $needed >/dev/null || { echo "there is no $needed"; exit 77; }
done
cat >cross.ini <<INI
[binaries]
c = '$cross-gcc'
cpp = 'false'
exe_wrapper = ['qemu-aarch64', '-L', '/usr/$cross']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
INI
meson setup --cross-file cross.ini build "$SRCDIR/activity" >setup.log 2>&1 || { cat setup.log; exit 1; }
meson test -t 8 -C build calls 'calls, shared' unload >test.log 2>&1 ||
	{ cat test.log build/meson-logs/testlog.txt; exit 1; }
grep -q '^Ok: *3' test.log || { cat test.log; exit 1; }
