#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# record --overwrite: the last samples only, in order, with all mappings.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
need_recording
command -v taskset >/dev/null || skip "taskset is not installed"
cp "$(command -v sh)" late
export LATE=100
# On one CPU, whose ring has room for a tenth of a second: what was before is gone.
# shellcheck disable=SC2016 # for the program
TWO='eval "$BURN"; TICKS=$LATE exec ./late -c "$BURN"'
R=(taskset -c 0 "$RETICLE" record -e cpu-clock:u -m 2)
run=(sh -c "$TWO")
"${R[@]}" --overwrite -o over.data -- "${run[@]}" 2>err || fail "status $?: $(cat err)"
grep -q ' 0 lost' err || fail "what is overwritten is not lost: $(cat err)"
"$RETICLE" script -i over.data -F comm,time,ip,dso >out || fail "script"
n=$(wc -l <out)
[ "$n" -gt 50 ] && [ "$n" -lt 350 ] || fail "$n samples of a ring of two pages"
grep -vq '^ *late ' out && fail "samples of what ran before: $(grep -v '^ *late ' out | head -3)"
grep -q 'unknown' out && fail "a mapping is missing: $(grep unknown out | head -3)"
[ "$(count over.data MMAP2)" -ge 4 ] || fail "mappings: $(count over.data MMAP2)"
"$RETICLE" evlist -v -i over.data | grep -q '^cpu-clock:u: .*write_backward: 1' ||
	fail "evlist: $("$RETICLE" evlist -v -i over.data)"
if command -v perf >/dev/null; then
	perf script -i over.data -F comm,time,ip,dso >theirs 2>err || fail "perf script: $(cat err)"
	[ "$(wc -l <theirs)" = "$n" ] || fail "perf script: $(wc -l <theirs) samples, not $n"
	grep -qi 'out of order' err && fail "perf script: $(cat err)"
fi

# One event of two; in pipe mode; packed; in the order of time, which readers of samples without one depend on.
"${R[@]}" -q -e page-faults/overwrite/u -c 1 -o - -- "${run[@]}" 2>err >pipe.data || fail "term: $(cat err)"
"$RETICLE" evlist -v -i pipe.data | grep -c 'write_backward: 1' | grep -qx 1 ||
	fail "term: $("$RETICLE" evlist -v -i pipe.data)"
"${R[@]}" -q --overwrite -z -o packed.data -- "${run[@]}" || fail "-z"
for file in over packed pipe; do
	"$RETICLE" dump -i $file.data --type SAMPLE | grep -o ' time [0-9.]*' >stamps
	[ -s stamps ] || fail "$file: no samples"
	[ $file = pipe ] || sort -c stamps || fail "$file: the samples are not in order"
done

# Rings of mappings are emptied, and have the usual size: they have room while the recorder does not run. What has none
# is told for what it is.
cat >maps.py <<'EOF'
import mmap, os, sys, time
for n, phase in ((int(sys.argv[1]), "maps"), (0, "end")):
    while not os.path.exists(phase):
        time.sleep(0.02)
    for i in range(n):
        mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
    open("made", "w").close()
EOF
mapping() {
	rm -f maps end made maps.data
	"${R[@]}" -m 1 --overwrite -o maps.data -- python3 maps.py "$1" 2>err &
	recorder=$!
	await has_comm || fail "maps: the program does not run: $(cat err)"
	kill -STOP $recorder
	: >maps
	await test -e made || fail "maps: the program does not map"
	: >end
	kill -CONT $recorder
	wait $recorder || fail "maps: status $?: $(cat err)"
}
has_comm() {
	"$RETICLE" dump -i maps.data --type COMM 2>/dev/null | grep -q python3
}
mapping 1200
grep -q ' 0 lost' err || fail "1200 mappings: $(cat err)"
mapping 60000
grep -q 'records were lost: the rings of mappings and tasks were full' err || fail "60000 mappings: $(cat err)"
grep -q 'looked at' err && fail "60000 mappings: $(cat err)"

# The signal is nothing to those that have no files to switch, or switch by time.
for how in "--overwrite" "--overwrite --switch-output=1h" ""; do
	rm -f pid usr.data*
	# shellcheck disable=SC2086 # they are words
	"${R[@]}" $how -o usr.data -- sh -c 'echo $$ >pid; while :; do :; done' 2>err &
	recorder=$!
	await test -s pid
	kill -USR2 $recorder
	sh -c "$UNTIL_BUSY" "$(cat pid)"
	kill -USR2 $recorder
	kill "$(cat pid)"
	wait $recorder
	status=$?
	set -- usr.data*
	[ $status = 143 ] && [ $# = 1 ] || fail "SIGUSR2 with '$how': status $status, $# files: $(cat err)"
	[ "$(count "$1" SAMPLE)" -gt 50 ] || fail "SIGUSR2 with '$how': $(count "$1" SAMPLE) samples"
done
rm -f pid

# At each SIGUSR2 what has come since the last one.
"${R[@]}" --overwrite --switch-output -o sw.data -- sh -c 'echo $$ >pid; while :; do :; done' 2>err &
recorder=$!
await test -s pid
for i in 1 2; do
	sh -c "$UNTIL_BUSY" "$(cat pid)"
	kill -USR2 $recorder
	await eval '[ "$(ls sw.data.* 2>/dev/null | wc -l)" -ge '$i' ]' || fail "SIGUSR2: no file: $(cat err)"
done
await has_more sw.data MMAP2 2 || fail "SIGUSR2: the last file has no mappings"
kill "$(cat pid)"
wait $recorder
set -- sw.data.*
[ $# = 3 ] || fail "$# files: $*"
for file; do
	"$RETICLE" script -i "$file" -F comm,time,ip,dso || fail "script: $file" >&2
done >all
grep -q unknown all && fail "SIGUSR2: a mapping is missing: $(grep unknown all | head -1)"
sed 's/.* \([0-9]*\.[0-9]*\):.*/\1/' all | sort -n -c 2>err ||
	fail "SIGUSR2: files do not follow each other: $(cat err)"
sed 's/.* \([0-9]*\.[0-9]*\):.*/\1/' all | uniq -d | grep -q . && fail "SIGUSR2: a sample is in two files"
for file in "$1" "$2"; do
	[ "$(count "$file" SAMPLE)" -gt 50 ] || fail "SIGUSR2: $(count "$file" SAMPLE) samples in $file"
done
exit 0
