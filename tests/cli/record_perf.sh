#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# perf reads what we record: its report, its script, from a pipe, with registers and tracepoint fields.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
command -v perf >/dev/null || skip "perf is not installed"
need_recording

# How perf is told to write faster is taken, and changes nothing.
"$RETICLE" record -q -e cpu-clock -o told.data --aio --affinity=node --mmap-flush 1M --threads --tail-synthesize \
	--num-thread-synthesize=2 --timestamp-boundary -- true 2>err || fail "perf's options: $(cat err)"
rm told.data
need_root

if can_trace; then
	"$RETICLE" record -q -a -o trace.data -e sched:sched_switch -- sleep 0.2
	perf script -i trace.data 2>/dev/null | grep -q 'prev_comm=.* ==> next_comm=' ||
		fail "tracepoint: perf prints no fields"
fi

BUSY=(timeout 0.5 sh -c 'while :; do :; done')
"$RETICLE" record -q -o regs.data -e cpu-clock --user-regs=ip,sp -I --code-page-size --data-page-size -- "${BUSY[@]}"
"$RETICLE" script -i regs.data -F ip,sym,uregs,iregs,code_page_size,data_page_size >ours
perf script -i regs.data -F ip,sym,uregs,iregs,code_page_size,data_page_size >theirs 2>err ||
	fail "registers: perf script: $(cat err)"
cmp ours theirs || fail "registers: script prints $(tail -1 ours), perf $(tail -1 theirs)"
for options in "" -z "-a -g"; do
	# shellcheck disable=SC2086
	"$RETICLE" record -q -o ours.data $options -- "${BUSY[@]}"
	perf report -i ours.data --stdio >out 2>err || fail "perf report, $options: $(cat err)"
	grep -q '^# Samples: ' out || fail "perf report, $options: no samples"
	perf script -i ours.data >out 2>err || fail "perf script, $options: $(cat err)"
	[ "$(grep -c cpu-clock out)" = "$(count ours.data SAMPLE)" ] ||
		fail "perf script, $options: other samples than we"
done
"$RETICLE" record -q -o - -- "${BUSY[@]}" >pipe.data
perf report -i - --stdio <pipe.data >out 2>err || fail "perf report of a pipe: $(cat err)"
grep -q '^# Samples: ' out || fail "perf report of a pipe: no samples"
perf buildid-list -i ours.data | grep -q 'kernel.kallsyms' || fail "no build id of the kernel"
end
