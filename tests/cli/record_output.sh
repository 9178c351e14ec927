#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: leaks
# Pipe mode, compression, --max-size, --switch-output, and what is said at the end.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
need_recording
R=("$RETICLE" record -q -e cpu-clock -g -F 5000)
BUSY=(sh -c "$BURN")

"${R[@]}" -o - -- "${BUSY[@]}" >pipe.data
[ "$(count pipe.data SAMPLE)" -gt 100 ] || fail "pipe: $(count pipe.data SAMPLE) samples"
# Who reads a pipe may show what came before a round ended, and needs to be told.
[ "$(count pipe.data FINISHED_ROUND)" -gt 0 ] || fail "pipe: no round is marked as finished"
"${R[@]}" -o - -- "${BUSY[@]}" | "$RETICLE" report -i - --stdio >out 2>err
grep -q 'Samples: ' out || fail "pipe into report: $(cat err)"
# Without a word standard output is the program's, pipe or not; and a terminal never gets a recording.
rm -f perf.data
"${R[@]}" -- sh -c "echo said; $BURN" | cat >said 2>err
[ "$(cat said)" = said ] || fail "standard output is a pipe: $(head -c 100 said)"
[ "$(count perf.data SAMPLE)" -gt 100 ] || fail "standard output is a pipe: no perf.data"
script -qec "'$RETICLE' record -q -e cpu-clock -o - -- true" /dev/null >terminal </dev/null
grep -q 'standard output is a terminal' terminal || fail "-o - at a terminal: $(head -c 200 terminal)"
# A recording may come by redirection, too.
"$RETICLE" report --stdio <pipe.data >out 2>err || fail "report <pipe.data: $(cat err)"
"$RETICLE" report --stdio -i pipe.data | cmp -s - out || fail "report <pipe.data is not report -i pipe.data"
cp perf.data file.data
"$RETICLE" script <file.data 2>err | cmp -s - <("$RETICLE" script -i file.data) || fail "script <file.data: $(cat err)"
mkdir other && cp file.data other/perf.data
(cd other && "$RETICLE" report --stdio </etc/passwd >../out 2>../err) ||
	fail "report </etc/passwd reads it: $(cat err)"
# Each line is one write, so that nothing of what others print gets into it: here a write is a message of its own.
python3 -B - "$RETICLE" <<'WRITES' || fail "lines in pieces"
import socket, subprocess, sys
ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for mode in "fp", "unwind":
    subprocess.run([sys.argv[1], "record", "-e", "cpu-clock:u", "--call-graph", mode, "-o", "lines.data", "--",
                    "sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"],
                   stderr=theirs, check=True, timeout=120)
theirs.close()
ours.setblocking(False)
said = []
try:
    while len(said) < 50:
        said.append(ours.recv(65536).decode())
except BlockingIOError:
    pass
ends = [line for line in said if line.startswith("[ reticle record: ")]
sys.exit(0 if len(ends) == 3 and all(line.endswith("\n") for line in said) else repr(said))
WRITES
# What the command prints does not get between the records.
"${R[@]}" -o - -- echo printed >mixed.data 2>err
grep -q printed err || fail "-o -: what the command prints is not on standard error"
"$RETICLE" evlist -i mixed.data 2>err >/dev/null || fail "-o -: unreadable"
[ -s err ] && fail "-o -: $(cat err)"
"${R[@]}" -o - -- "${BUSY[@]}" 2>err | true
grep -q 'the reader has ended' err || fail "broken pipe: $(cat err)"

"${R[@]}" -z -o z.data -- "${BUSY[@]}"
[ "$(count z.data SAMPLE)" -gt 100 ] || fail "-z: $(count z.data SAMPLE) samples"
grep -aq "$(printf '\x28\xb5\x2f\xfd')" z.data || fail "-z: no zstd in it"
"${R[@]}" --compression-level=19 -o z19.data -- "${BUSY[@]}"
[ "$(count z19.data SAMPLE)" -gt 100 ] || fail "--compression-level=19: $(count z19.data SAMPLE) samples"

timeout 20 "$RETICLE" record -e cpu-clock -g -F 20000 --max-size 200K -o max.data -- sh -c 'while :; do :; done' \
	2>err ||
	fail "--max-size: status $?: $(cat err)"
grep -q 'stopped at the size' err || fail "--max-size: $(cat err)"
size=$(stat -c %s max.data)
if [ "$size" -lt 200000 ] || [ "$size" -gt 2000000 ]; then
	fail "--max-size: $size bytes"
fi

"${R[@]}" --switch-output=1s --switch-max-files 2 -o switch.data -- timeout 20 \
	sh -c 'until set -- switch.data.2* && [ -e "$1" ]; do :; done; while [ -e "$1" ]; do :; done'
files=(switch.data.2*)
[ ${#files[@]} = 2 ] || fail "--switch-output: ${#files[@]} files, 2 are to be kept"
# The first of them began a second after the command did.
"$RETICLE" report -i "${files[0]}" --stdio >out 2>err || fail "--switch-output: $(cat err)"
grep -q ' sh \| dash \| bash ' out || fail "--switch-output: names are missing in a later file"
"${R[@]}" --switch-output=1h -- true | cat
files=(perf.data.2*)
[ -s "${files[0]}" ] || fail "--switch-output with a pipe as standard output: no file"
mkfifo fifo
cat fifo >/dev/null &
"${R[@]}" --switch-output=1h -o fifo -- true 2>err
[ $? = 2 ] || fail "--switch-output to a FIFO: not a usage error"
mkdir sig && cd sig || exit 1
"${R[@]}" --switch-output -o s.data -- timeout 20 sh -c 'until set -- s.data.2* && [ -e "$1" ]; do :; done' &
pid=$!
await test -s s.data || fail "--switch-output=signal: no file"
kill -USR2 $pid
wait $pid
files=(s.data.2*)
[ ${#files[@]} = 2 ] || fail "--switch-output=signal: ${#files[@]} files"
cd .. || exit 1

# What is said at the end is what is in the files: samples of all of them, what was lost while nobody read, and that
# the recorder was woken by rings that were half full.
"$RETICLE" record -e cpu-clock -g -F 5000 -m 8 -o told.data -- "${BUSY[@]}" 2>err || fail "status $?: $(cat err)"
[ "$(sed -n 's/.* \([0-9]*\) samples, .*/\1/p' err)" = "$(count told.data SAMPLE)" ] || fail "samples: $(cat err)"
[ "$(sed -n 's/.*woken \([0-9]*\) times.*/\1/p' err)" -gt 0 ] || fail "was not woken: $(cat err)"
mkdir all && cd all || exit 1
"$RETICLE" record -e cpu-clock -g -F 5000 --switch-output=50K -o s.data -- "${BUSY[@]}" 2>err ||
	fail "status $?: $(cat err)"
n=0
for file in s.data.2*; do n=$((n + $(count "$file" SAMPLE))); done
[ "$(sed -n 's/.* \([0-9]*\) samples, .*/\1/p' err | tail -1)" = $n ] || fail "samples of all files, $n: $(cat err)"
cd .. || exit 1
"$RETICLE" record -e cpu-clock -g -F 5000 -m 1 -o lost.data -- \
	sh -c "kill -STOP \$PPID; $BURN; kill -CONT \$PPID; TICKS=\$((TICKS + 10)); $BURN" 2>err ||
	fail "status $?: $(cat err)"
said=$(sed -n 's/.* \([0-9]*\) lost, .*/\1/p' err)
[ "$said" -gt 100 ] || fail "a recorder that was stopped lost nothing: $(cat err)"
lost=$("$RETICLE" report --stdio -i lost.data 2>/dev/null |
	sed -n 's/^# Recording: .* samples, \([0-9]*\) lost.*/\1/p')
[ "$said" = "$lost" ] || fail "lost: $said are said, $lost in the file"
# What is taken for what was asked for is said before the command runs.
"$RETICLE" record -e cpu-clock -F max -o rate.data -- true 2>err || fail "-F max: $(cat err)"
grep -qE '^reticle record: -F max: [1-9][0-9]* samples per second$' err || fail "-F max: $(cat err)"
"$RETICLE" record -e cpu-clock -m 3 -o ring.data -- true 2>err || fail "-m 3: $(cat err)"
grep -q 'size of a ring .*using 4 instead of 3' err || fail "-m 3: $(cat err)"
"$RETICLE" record -e cpu-clock -m ,3 -o ring.data -- true 2>err || fail "-m ,3: $(cat err)"
grep -q 'size of an AUX area .*using 4 instead of 3' err || fail "-m ,3: $(cat err)"
"$RETICLE" record -e cpu-clock -m 4 -o ring.data -- true 2>err || fail "-m 4: $(cat err)"
grep -q 'instead of' err && fail "-m 4: $(cat err)"
exit 0
