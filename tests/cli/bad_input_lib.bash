# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tests of damaged recordings share: try FILE, which hands it to every command that reads one, and at_end.
set -u
cd "$TESTDIR" || exit 1
recipe="$(dirname "$RETICLE")/tests/recipe/recipe"
bad=0
runs=0
declare -A more=([export]="--to folded" [mem]=report [c2c]=report)

# Sanitizers reserve terabytes of address space, and a program takes many times as long to start. There, each file
# meets a third of the commands: every third one, and it begins with another one after each three files.
# tests/fuzz/replay_pipeline reads the same recordings under sanitizers without a start for each.
every=1
if grep -q -e __asan_init -e __tsan_init "$RETICLE"; then
	every=3
else
	ulimit -v 1500000
fi
files=0

mapfile -t commands < <("$RETICLE" complete | cut -f1 | while read -r c; do
	"$RETICLE" complete "$c" | grep -q '^-i	--input' && echo "$c"
done)
[ ${#commands[@]} -ge 3 ] || {
	echo "only ${#commands[@]} commands read a recording"
	exit 1
}

records=("report --stats" "report --mmaps" "report --group" "report --ignore-callees ." "report -p main|sys")

try() { # FILE
	local all=("${commands[@]}" "${records[@]}") i command status
	for ((i = (files + files / every) % every; i < ${#all[@]}; i += every)); do
		command=${all[i]}
		# Who computes for ever is ended. Who waits for ever is ended with the test; the last line is of it.
		echo "$command -i $1"
		# shellcheck disable=SC2086 # words, not one
		(ulimit -t 10 && exec "$RETICLE" $command -i "$1" ${more[$command]-}) >out 2>err </dev/null
		status=$?
		runs=$((runs + 1))
		# Parents are of stacks.
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
	files=$((files + 1))
}

# Each recording that tests/recipe can make, damaged: damage NAME FILE SIZE tries what it makes of it. They are many,
# so each meets half as many commands (under sanitizers an eighth of them all), and others with the same kind of damage
# the other ones.
each_recipe() { # damage
	local r name every=$((every == 1 ? 2 : 8))
	for r in "$SRCDIR"/tests/recipe/*.recipe; do
		name=$(basename "$r" .recipe)
		"$recipe" "$r" "$name.whole" || exit 1
		"$1" "$name" "$name.whole" "$(stat -c %s "$name.whole")"
	done
}

try_cut() { # NAME FILE SIZE BYTES
	if [ "$4" -gt 0 ] && [ "$4" -lt "$3" ]; then
		head -c "$4" "$2" >"$1.$4"
		try "$1.$4"
	fi
}

at_end() {
	echo "$runs runs, $bad bad"
	[ $bad = 0 ] && [ $runs -gt 0 ]
}
