#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# perf reads what we record, and finds the attrs that it would have used for the same options.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
command -v perf >/dev/null || skip "perf is not installed"
case $(perf --version) in
"perf version 6.1."*) ;;
*) skip "attrs are compared with perf 6.1, this is $(perf --version)" ;;
esac
need_recording

# How perf is told to write faster is taken, and changes nothing.
"$RETICLE" record -q -e cpu-clock -o told.data --aio --affinity=node --mmap-flush 1M --threads --tail-synthesize \
	--num-thread-synthesize=2 --timestamp-boundary -- true 2>err || fail "perf's options: $(cat err)"
rm told.data
need_root

same() {
	perf record -B -N -o theirs.data "$@" -- true >/dev/null 2>&1 || fail "perf record $*: status $?"
	"$RETICLE" record -q -o ours.data "$@" -- true 2>err || fail "record $*: $(cat err)"
	perf evlist -v -i theirs.data >theirs
	perf evlist -v -i ours.data >ours 2>err || fail "record $*: perf evlist: $(cat err)"
	# When cycles cannot be had, perf leaves exclude_guest on the clock that takes their place, or not, as the processor's
	# maker is; the clock does not look at it.
	sed -E -i '/^cpu-clock:[a-z]*pppH:/{s/pppH:/ppp:/;s/, exclude_guest: 1//}' theirs
	diff theirs ours >differ || fail "record $*: $(cat differ)"
}
for target in "" -a "-p $$" "-t $$" "-C 0" "-p $$ -D 5" "--per-thread"; do
	# shellcheck disable=SC2086 # words
	same -e cpu-clock $target
done
for options in "-g" "-g -a" "-c 100000" "-F 99 -i" "-T" "--sample-cpu" "-d" "--phys-data" "-k monotonic" "-P" "-R" "-W" \
	"-s" "-n" "-n -c 1000" "--call-graph dwarf" "--call-graph dwarf,4096 --user-callchains" "--call-graph fp,16" \
	"--user-callchains -g" "--kernel-callchains -g" "--all-user" "--all-kernel" "--namespaces" "--all-cgroups" \
	"--switch-events" "--switch-events -a" "--no-bpf-event" "--buildid-mmap" "-F max" "-D 5" "-a -s" "-a -n" "-i -a" \
	"-a -F 99" "-a -c 1000" "-a -P -c 100000 --all-cgroups" "-a -R -W" "-a --call-graph dwarf" "-a --all-user" \
	"-a -D 5" "-m 16" "--user-regs" "--user-regs=ax,IP -a" "-I" "-Iax,r15 -g" "--user-regs=ax --call-graph dwarf -a" \
	"--code-page-size" "--data-page-size -d -a" "--transaction" "--transaction --intr-regs -D 5"; do
	# shellcheck disable=SC2086 # words
	same $options
done
for options in "-g -d" "-a -P -c 1000" "-D 5 --all-user" "--per-thread"; do
	# shellcheck disable=SC2086
	same -e cpu-clock,page-faults $options
done
same -e '{cpu-clock,page-faults}'
same -e '{cpu-clock,page-faults}:S'
same -a -e '{cpu-clock,page-faults}:S'
same -e cpu-clock:S
same -e page-faults -c 1 -d
same -e mem:0x1000:rw
same -e cpu-clock/call-graph=no/,page-faults -g
same -e cpu-clock/period=1000/,page-faults/freq=100/ -F 99
same -I --user-regs=sp -e '{cpu-clock,page-faults}:S'
if [ -d /sys/kernel/tracing/events/sched ]; then
	same -e sched:sched_switch
	same -a -e cpu-clock,sched:sched_switch
	same -e sched:sched_switch -F 99
	"$RETICLE" record -q -a -o trace.data -e sched:sched_switch -- sleep 0.2
	perf script -i trace.data 2>/dev/null | grep -q 'prev_comm=.* ==> next_comm=' || fail "tracepoint: perf prints no fields"
fi

BUSY=(timeout 0.5 sh -c 'while :; do :; done')
"$RETICLE" record -q -o regs.data -e cpu-clock --user-regs=ip,sp -I --code-page-size --data-page-size -- "${BUSY[@]}"
"$RETICLE" script -i regs.data -F ip,sym,uregs,iregs,code_page_size,data_page_size >ours
perf script -i regs.data -F ip,sym,uregs,iregs,code_page_size,data_page_size >theirs 2>err || fail "registers: perf script: $(cat err)"
cmp ours theirs || fail "registers: script prints $(tail -1 ours), perf $(tail -1 theirs)"
for options in "" -z "-a -g"; do
	# shellcheck disable=SC2086
	"$RETICLE" record -q -o ours.data $options -- "${BUSY[@]}"
	perf report -i ours.data --stdio >out 2>err || fail "perf report, $options: $(cat err)"
	grep -q '^# Samples: ' out || fail "perf report, $options: no samples"
	perf script -i ours.data >out 2>err || fail "perf script, $options: $(cat err)"
	[ "$(grep -c cpu-clock out)" = "$(count ours.data SAMPLE)" ] || fail "perf script, $options: other samples than we"
done
"$RETICLE" record -q -o - -- "${BUSY[@]}" >pipe.data
perf report -i - --stdio <pipe.data >out 2>err || fail "perf report of a pipe: $(cat err)"
grep -q '^# Samples: ' out || fail "perf report of a pipe: no samples"
perf buildid-list -i ours.data | grep -q 'kernel.kallsyms' || fail "no build id of the kernel"
exit 0
