#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command that reads a recording, on files that are none or are damaged: exit status 0 or 1, never a signal, a
# hang or a memory balloon; where the status is 1, a message that names the file. tests/unit/hostile.c does the same
# to the readers with every byte; this is what a user meets.
set -u
cd "$TESTDIR" || exit 1
recipe="$(dirname "$RETICLE")/tests/recipe/recipe"
bad=0
runs=0
declare -A more=([export]="--to folded" [mem]=report [c2c]=report)

# Sanitizers reserve terabytes of address space.
if ! grep -q __asan_init "$RETICLE" && ! grep -q __tsan_init "$RETICLE"; then
	ulimit -v 1500000
fi

mapfile -t commands < <("$RETICLE" complete | cut -f1 | while read -r c; do
	"$RETICLE" complete "$c" | grep -q '^-i	--input' && echo "$c"
done)
[ ${#commands[@]} -ge 3 ] || {
	echo "only ${#commands[@]} commands read a recording"
	exit 1
}

records=("report --stats" "report --mmaps" "report --group" "report --ignore-callees ." "report -p main|sys")

try() { # FILE
	local command status
	for command in "${commands[@]}" "${records[@]}"; do
		# shellcheck disable=SC2086 # words, not one
		timeout 10 "$RETICLE" $command -i "$1" ${more[$command]-} >out 2>err </dev/null
		status=$?
		runs=$((runs + 1))
		# Parents are of stacks.
		# Not all recordings say what loads and stores met.
		if [[ $status = 2 && ($command = mem || $command = c2c) ]] && grep -q "do not say what they loaded" err; then
			continue
		fi
		if [[ $status = 2 && $command = *" -p "* ]] && grep -q "the recording has no call chains" err; then
			continue
		fi
		if [ $status -gt 1 ]; then
			echo "$command -i $1: status $status: $(tail -c 300 err)"
			bad=$((bad + 1))
		elif [ $status = 1 ] && ! grep -qF "$1" err; then
			echo "$command -i $1: status 1, and no message names the file: $(head -c 300 err)"
			bad=$((bad + 1))
		fi
	done
}

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
for r in "$SRCDIR"/tests/recipe/*.recipe; do
	name=$(basename "$r" .recipe)
	"$recipe" "$r" "$name.whole" || exit 1
	size=$(stat -c %s "$name.whole")
	for cut in 110 200 $((size / 2)) $((size - 9)); do
		if [ "$cut" -le 0 ] || [ "$cut" -ge "$size" ]; then
			continue
		fi
		head -c "$cut" "$name.whole" >"$name.$cut"
		try "$name.$cut"
	done
	# The size of the attr section, and the first record's own size.
	cp "$name.whole" "$name.attrs"
	printf '\xff\xff\xff\xff' | dd of="$name.attrs" bs=1 seek=32 conv=notrunc status=none
	try "$name.attrs"
done
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

echo "$runs runs, $bad bad"
[ $bad = 0 ]
