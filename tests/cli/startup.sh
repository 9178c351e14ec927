#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: plain
# Libraries whose loading takes longer than all that --version does are loaded by those who need them alone.
set -eu

loaded() {
	LD_DEBUG=libs "$RETICLE" "$@" 2>&1 >/dev/null | sed -n 's/.*calling init: .*\/\(lib[a-z0-9-]*\)\.so.*/\1/p'
}

loaded --version >version || true
[ -s version ] || { echo "SKIP: this loader does not tell what it loads"; exit 77; }
for lib in libcurl libgnutls libdebuginfod libpfm libssl libcrypto; do
	! grep -q "^$lib" version || { echo "--version loads $lib"; cat version; exit 1; }
done

# What libpfm4 names is found all the same.
if ldconfig -p 2>/dev/null | grep -q 'libpfm\.so\.4'; then
	loaded list >with
	grep -q '^libpfm' with || { echo "list does not load libpfm"; cat with; exit 1; }
fi
