#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Recordings made to take memory: no more than twice the file, and what any report takes. Rows and call trees are what was
# asked for, and larger than samples that are nothing but an address.
set -u
hostile=$(dirname "$RETICLE")/tests/hostile/hostile
MIB=16
FREE=16384 # KiB
if grep -q __asan_init "$RETICLE"; then
	echo "sanitizers take memory of their own"
	exit 77
fi
failed=0
for kind in $("$hostile"); do
	mib=$MIB times=2
	case $kind in samples-*) mib=4 times=20 ;; esac
	"$hostile" "$kind" $mib >hostile.data
	size=$(($(stat -c %s hostile.data) / 1024))
	"$hostile" --peak "$RETICLE" report --threads 2 --kallsyms /dev/null -i hostile.data >out 2>err
	status=$?
	peak=$(tail -1 err)
	if [ $status -gt 1 ]; then
		echo "$kind: exit status $status: $(head -1 err)"
		failed=1
	elif [ "$peak" -gt $((times * size + FREE)) ]; then
		echo "$kind: $peak KiB of memory for a file of $size KiB"
		failed=1
	fi
done
exit $failed
