# SPDX-License-Identifier: Apache-2.0
# What the tests of `reticle record` share.
set -u
fail() {
	echo "$1"
	exit 1
}
skip() {
	echo "$1"
	exit 77
}
# Recording must be possible at all.
need_recording() {
	"$RETICLE" record -q -o probe.data -e cpu-clock -- true 2>probe.err || skip "no recording here: $(head -1 probe.err)"
	rm -f probe.data
}
need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}
# A busy loop of about $1 seconds of one CPU.
spin() {
	timeout "$1" sh -c 'while :; do :; done'
	true
}
# How many records of type $2 file $1 holds.
count() {
	"$RETICLE" dump -i "$1" --type "$2" | wc -l
}
# Waits until command "$@" succeeds, 10 seconds at most.
await() {
	local i
	for i in $(seq 100); do
		"$@" && return 0
		sleep 0.1
	done
	return 1
}
