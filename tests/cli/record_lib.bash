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
# Recording must be possible at all. The program under test is not what is asked.
need_recording() {
	local why
	why=$(python3 -B "$SRCDIR/tests/cli/lib/machine.py" recording) || skip "no recording here: $why"
}
# Can tracepoints be recorded? What is not tested where they cannot is said at the end, with `end`.
can_trace() {
	untested=$(python3 -B "$SRCDIR/tests/cli/lib/machine.py" tracepoints) || return 1
}
end() {
	[ -z "${untested-}" ] || skip "tracepoints are not tested: $untested"
	exit 0
}
need_root() {
	[ "$(id -u)" = 0 ] || skip "needs root"
}
# A busy loop of about $1 seconds of one CPU.
spin() {
	timeout "$1" sh -c 'while :; do :; done'
	true
}
# Source text for sh: spends TICKS hundredths of a second of CPU time, however long that takes on a loaded machine.
export TICKS=20
export BURN='until read -r stat </proc/$$/stat && set -- $stat && [ $((${14} + ${15})) -ge $TICKS ]; do :; done'
# Ends when process $1 has spent 0.2 seconds of CPU time more.
export UNTIL_BUSY='ticks() { read -r stat </proc/$1/stat; set -- $stat; echo $((${14} + ${15})); }
end=$(($(ticks $0) + 20))
until [ $(ticks $0) -ge $end ]; do sleep 0.05; done'
# How many records of type $2 file $1 holds.
count() {
	"$RETICLE" dump -i "$1" --type "$2" | wc -l
}
# Are there more than $3 records of type $2 in file $1?
has_more() {
	[ "$(count "$1" "$2" 2>/dev/null)" -gt "$3" ]
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
