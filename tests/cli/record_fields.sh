#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What samples are told to hold: registers, page sizes.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
"$RETICLE" record '--user-regs=?' >out 2>err || fail "--user-regs=?: $(cat err)"
grep -qE '^available registers: .*\<(SP|sp)\>' out || fail "--user-regs=?: $(cat out)"
"$RETICLE" record '-I?' | cmp -s - out || fail "-I? lists others"
need_recording
"$RETICLE" record -q -o regs.data -e cpu-clock --user-regs=sp,frob -- touch ran 2>err
[ $? = 2 ] || fail "no such register: not status 2"
grep -q "^reticle record: --user-regs: no register 'frob'; there are:$(cut -d: -f2 out)$" err ||
	fail "no such register: $(cat err)"
[ -e ran ] && fail "no such register: the command ran"
[ -e regs.data ] && fail "no such register: a file is there"

# In user space what was interrupted is what the program has; the instruction pointer is the sample's.
sample() {
	"$RETICLE" record -q -o regs.data -e cpu-clock:u "$@" -- sh -c "$BURN" 2>err || fail "$*: $(cat err)"
}
ip=ip
[ "$(uname -m)" = aarch64 ] && ip=pc
sample --user-regs=$ip,sp -I --code-page-size --data-page-size
"$RETICLE" script -i regs.data --json -F ip,uregs,iregs,code_page_size,data_page_size >out || fail "script"
[ "$(wc -l <out)" -gt 5 ] || fail "$(wc -l <out) samples"
both='"SP":"0x[0-9a-f]+","IP":"\1"' pc='"IP":"\1"'
[ $ip = pc ] && both='"sp":"0x[0-9a-f]+","pc":"\1"' pc='"pc":"\1"'
like='^\{"ip":"(0x[0-9a-f]+)","iregs":\{"abi":2,[^}]*'$pc'[^}]*\},"uregs":\{"abi":2,'$both'\},'
like+='"data_page_size":0,"code_page_size":[1-9]'
# Of the very first instruction of a program, whose page is not there yet, the kernel knows no size.
first='"AX":"0x0","BX":"0x0","CX":"0x0","DX":"0x0".*"code_page_size":0'
grep -vE "$first" out | grep -qvE "$like" && fail "registers: $(grep -vE "$first" out | grep -vE "$like" | head -1)"
"$RETICLE" script -i regs.data -F +uregs | grep -q ' ABI:2 .*[Ss][Pp]:0x7' ||
	fail "+uregs: $("$RETICLE" script -i regs.data -F +uregs | head -1)"
# With a clock that can be told in time of day, a sample was taken while this ran.
before=$(date +%s)
sample -k monotonic
"$RETICLE" script -i regs.data -F tod >out 2>err || fail "tod: $(cat err)"
tod=$(date -d "$(sed -n '1s/^ *//; 1s/[: ]*$//p' out)" +%s) || fail "tod: $(head -1 out)"
{ [ "$tod" -ge $((before - 1)) ] && [ "$tod" -le $(($(date +%s) + 1)) ]; } ||
	fail "tod: $(head -1 out), from $before on"
sample --call-graph dwarf --user-regs=$ip
grep -q 'most stacks cannot be unwound' err && fail "-q: $(cat err)"
"$RETICLE" record -o regs.data -e cpu-clock:u --call-graph dwarf --user-regs=$ip -- true 2>err ||
	fail "dwarf: $(cat err)"
grep -q 'most stacks cannot be unwound' err || fail "dwarf with one register: $(cat err)"
# What will be done with copies is said before the command starts, once, with their size; not where none are kept.
told='stacks are copied into the samples (up to 4096 bytes each), and are unwound when report, script, export or diff '
told+='read them'
"$RETICLE" record -o told.data -e cpu-clock:u,task-clock:u --call-graph dwarf,4096 -- sh -c 'cp err before' 2>err ||
	fail "dwarf: $(cat err)"
[ "$(grep -cF "$told" before)" = 1 ] && [ "$(grep -cF "$told" err)" = 1 ] ||
	fail "not said before it starts: $(cat before)"
grep -q 'call-graph unwind' before || fail "the smaller way is not named: $(cat before)"
"$RETICLE" record -o told.data -e cpu-clock/call-graph=dwarf,stack-size=4096/u -- true 2>err || fail "term: $(cat err)"
grep -qF "$told" err || fail "not said of an event of its own: $(cat err)"
for words in "-q --call-graph dwarf" "--call-graph unwind" -g; do
	# shellcheck disable=SC2086 # words, not one
	"$RETICLE" record -o told.data -e cpu-clock:u $words -- true 2>err || fail "$words: $(cat err)"
	grep -q 'stacks are copied' err && fail "$words: $(cat err)"
done
# Copies of stacks become call chains; how many could be followed to their end stands in the head.
"$RETICLE" record -o stacks.data -e cpu-clock:u --call-graph dwarf -- sh -c "$BURN" 2>err || fail "dwarf: $(cat err)"
"$RETICLE" report -i stacks.data >out || fail "report of stacks"
grep -q '^# Stacks: [1-9][0-9]*, [0-9.]*% whole' out || fail "not in the head: $(head -9 out)"
# A field of newer kernels is taken, or it is what the message names.
if "$RETICLE" record -q -o newer.data -e cpu-clock/config4=1/ -- true 2>err; then
	"$RETICLE" evlist -v -i newer.data | grep -q 'config4: 0x1,' || fail "config4 is not in newer.data"
else
	grep -q ' cpu-clock/config4=1/: this kernel is too old for config4$' err || fail "config4: $(cat err)"
fi
# Nor is the kernel too old for a group that none can read.
many=cpu-clock$(printf ',page-faults%.0s' $(seq 900))
"$RETICLE" record -q -o many.data -e "{$many}:S" -- true 2>err && fail "a group of 901: recorded"
grep -q ' page-faults: with it, the values of its group do not fit into a sample' err || fail "a group: $(cat err)"
exit 0
