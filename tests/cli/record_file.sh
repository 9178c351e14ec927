#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: leaks
# The file: its mode, what it replaces, and what is left of it when there is no more room.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
need_recording
R=("$RETICLE" record -q -e cpu-clock)

for mask in 0000 0777 0022; do
	(umask $mask && "${R[@]}" -o mode.data -- true) || fail "umask $mask: status $?"
	[ "$(stat -c %a mode.data)" = 600 ] || fail "umask $mask: mode $(stat -c %a mode.data)"
done

"${R[@]}" -o old.data -- true
cp old.data first
"${R[@]}" -o old.data -- true
cmp -s old.data.old first || fail "the older recording is not at .old"
echo precious >notes
"${R[@]}" -o notes -- true 2>err && fail "a file that is no recording was overwritten"
grep -q "notes exists and is not a recording" err || fail "foreign file: $(cat err)"
[ "$(cat notes)" = precious ] || fail "foreign file: changed"
: >empty
"${R[@]}" -o empty -- true || fail "an empty file is not taken"
[ -e empty.old ] && fail "an empty file was kept as .old"
mkdir dir
"${R[@]}" -o dir -- true 2>err && fail "-o of a directory: no error"
"${R[@]}" -o no/such/dir -- true 2>err && fail "-o in a missing directory: no error"
ln -s target.data link
: >target.data
"${R[@]}" -o link -- true || fail "own link: status $?"
[ -L link ] || fail "own link: replaced"
[ -s target.data ] || fail "own link: not followed"

# A limit of the file size: a clear error, and all that was written can be read.
(
	ulimit -f 64
	"${R[@]}" -g -F 10000 -o limit.data -- timeout 3 sh -c 'while :; do :; done'
) 2>err
[ $? = 1 ] || fail "ulimit -f: status is not 1"
grep -q 'cannot write .*limit.data: the file size limit is reached' err || fail "ulimit -f: $(cat err)"
n=$(count limit.data SAMPLE)
[ "$n" -gt 100 ] || fail "ulimit -f: $n samples"
"$RETICLE" dump -i limit.data 2>&1 >/dev/null | grep -v 'did not finish\|feature' | grep . &&
	fail "ulimit -f: torn file"

mkdir full
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=256k tmpfs full 2>/dev/null; then
	trap 'umount full' EXIT
	"${R[@]}" -g -F 10000 -o full/perf.data -- timeout 5 sh -c 'while :; do :; done' 2>err
	[ $? = 1 ] || fail "full disk: status is not 1"
	grep -q 'cannot write full/perf.data: the disk is full' err || fail "full disk: $(cat err)"
	n=$(count full/perf.data SAMPLE)
	[ "$n" -gt 100 ] || fail "full disk: $n samples"
	if command -v perf >/dev/null; then
		perf report -i full/perf.data --stdio >out 2>&1
		grep -q '^# Samples: ' out || fail "full disk: perf finds no samples"
	fi
fi
exit 0
