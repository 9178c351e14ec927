#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command that reads a recording, on files that are none or are damaged: exit status 0 or 1, never a signal, a
# hang or a memory balloon; where the status is 1, a message that names the file. tests/unit/hostile.c does the same
# to the readers with every byte; this is what a user meets.
# shellcheck source=/dev/null disable=SC2154 # commands, recipe, more are the library's
. "$SRCDIR/tests/cli/bad_input_lib.bash"

: >empty
head -c 4096 /dev/zero >zeros
echo "this is a text file" >text
printf 'PERFILE2' >magic
printf 'PERFILE2\x10\0\0\0\0\0\0\0' >pipe-of-nothing
mkdir directory
for f in empty zeros text magic pipe-of-nothing directory missing; do
	try "$f"
done
for command in "${commands[@]}"; do
	# shellcheck disable=SC2086
	"$RETICLE" "$command" -i text ${more[$command]-} >out 2>err
	[ $? = 1 ] || { echo "$command takes a text file for a recording"; bad=$((bad + 1)); }
	grep -q "not a perf.data file" err || { echo "$command -i text: $(cat err)"; bad=$((bad + 1)); }
done

# A stream without an end.
try /dev/zero
timeout 10 "$RETICLE" report -i - </dev/zero >out 2>err
[ $? = 1 ] || { echo "report -i - </dev/zero does not end, or not with 1"; bad=$((bad + 1)); }

# Names that would move the cursor, or end the line.
cat >names.recipe <<'END'
event "cycles" type=hardware sample=IP|TID|TIME
comm pid=1 time=1 exec "\x1b[2Jx"
mmap2 pid=1 time=2 start=0x400000 len=0x1000 prot=r|x "/bin/\x1b]0;title\x07\nfake line"
sample pid=1 time=3 ip=0x400123
END
"$recipe" names.recipe names.data || exit 1
grep -q $'\e' names.data || exit 1
for command in "${commands[@]}"; do
	# shellcheck disable=SC2086
	"$RETICLE" "$command" -i names.data ${more[$command]-} >out 2>err </dev/null
	if grep -q $'\e\|\a' out err; then
		echo "$command lets control characters through"
		bad=$((bad + 1))
	fi
done

for f in "${RETICLE_TEST_DATA:-/nonexistent}"/corrupt/*; do
	[ -f "$f" ] && try "$f"
done

at_end
