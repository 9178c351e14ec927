#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: plain
# Recordings made to take memory: no more than twice the file, and what any report takes. Rows and call trees are what
# was asked for, and larger than samples that are nothing but an address.
set -u
hostile=$(dirname "$RETICLE")/tests/hostile/hostile
MIB=16
FREE=16384 # KiB
failed=0
# measure KIND MIB TIMES COMMAND...: the peak is at most TIMES the file.
measure() {
	local kind=$1 size peak status
	"$hostile" "$kind" "$2" >hostile.data
	size=$(($(stat -c %s hostile.data) / 1024))
	"$hostile" --peak "$RETICLE" "${@:4}" --threads 2 --kallsyms /dev/null -i hostile.data >out 2>err
	status=$?
	peak=$(tail -1 err | cut -d' ' -f2)
	if [ $status -gt 1 ] || { [ $status = 0 ] && [ ! -s out ]; } ||
		{ [ $status = 1 ] && [ "$(wc -l <err)" -lt 2 ]; }; then
		echo "$4, $kind: exit status $status, $(wc -c <out) bytes: $(head -1 err)"
		failed=1
	elif [ "$peak" -gt $(($3 * size + FREE)) ]; then
		echo "$4, $kind: $peak KiB of memory for a file of $size KiB"
		failed=1
	fi
}
for kind in $("$hostile"); do
	case $kind in
	samples-*)
		measure "$kind" 4 20 report
		measure "$kind" 4 20 export --to parquet --stacks stacks.parquet
		;;
	*) measure "$kind" $MIB 2 report ;;
	esac
done
# Which look at every thread.
for kind in maps-of-processes comms ksymbols; do
	measure $kind $MIB 2 script --show-task-events --show-mmap-events --show-bpf-events
done
# What threads have mapped is shown once for each: of no more lines than --mmaps allows, and what threads themselves
# take.
for kind in forks forks-with-maps forks-crossed maps-nested maps-of-processes comms-of-threads; do
	"$hostile" $kind 1 >hostile.data
	(ulimit -t 10 && exec "$RETICLE" report --mmaps -i hostile.data 2>err) | wc -c >out
	if [ "${PIPESTATUS[0]}" -gt 1 ] || [ "$(cat out)" -gt $((192 << 20)) ]; then
		echo "report --mmaps, $kind: $(cat out) bytes: $(tail -1 err)"
		failed=1
	fi
done
exit $failed
