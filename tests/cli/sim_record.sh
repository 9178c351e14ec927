#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: leaks
# record --pmu=sim: the file, its readers, the options; the same run gives the same bytes.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/sim_lib.bash"
need_sim
need_program cc
build_busy
E=("$RETICLE" record -q --pmu=sim)
R=("${E[@]}" -e cycles:u)
samples() {
	count "$1" SAMPLE
}

# The program is as it would be without us. Of the few samples of a frequency one may be outer's, of 700 few are.
"${R[@]}" -c 9973 -o a.data -- ./busy 40 3 >out 2>err
[ $? = 3 ] || fail "exit status: not the program's"
[ "$(cat out)" = "busy is done" ] || fail "its output: $(cat out)"
[ -s err ] && fail "something on standard error: $(cat err)"

# Reports: marked, and the right function.
"$RETICLE" report -i a.data --no-children >out 2>err || fail "report: $(cat err)"
grep -q '^# Source: simulated (generic-x86)$' out || fail "report: not marked: $(head -3 out)"
grep -qE '^ +(9[0-9.]+|100.00)% +busy +busy +\[.\] inner' out ||
	fail "report: inner is not the hottest: $(grep -v '^#' out | head -3)"
"$RETICLE" report -i a.data --json | grep -q '"simulated":"generic-x86"' || fail "report --json: not marked"
"$RETICLE" report -i a.data --csv | head -1 | grep -q ',simulated$' || fail "report --csv: not marked"
"$RETICLE" export --to svg -i a.data | grep -q 'simulated (generic-x86)' || fail "flame graph: not marked"
"$RETICLE" script --header -i a.data | grep -q '# cpuid : reticle-sim:generic-x86,1,0,0' ||
	fail "script --header: no CPUID"
[ "$("$RETICLE" evlist -i a.data)" = "cycles:u" ] || fail "evlist: $("$RETICLE" evlist -i a.data)"

# Byte for byte, wherever it is written.
"${R[@]}" -g -o b.data -- ./busy 5 >/dev/null
"${R[@]}" -g --output=c.data -- ./busy 5 >/dev/null
cmp b.data c.data || fail "two runs differ"
"${R[@]}" -g -od.data --truth d.json -- ./busy 5 >/dev/null
"${R[@]}" -g --outp e.data --truth=e.json -- ./busy 5 >/dev/null
cmp d.data e.data || fail "two runs with --truth differ"
"$RETICLE" report -i b.data --children -g caller --stdio | grep -q -- '--outer' ||
	fail "call chains: no outer below main"
"${R[@]}" -z -o z.data -g -- ./busy 5 >/dev/null
"$RETICLE" script -i z.data >z; "$RETICLE" script -i b.data >b
cmp z b || fail "-z: other samples"
"${R[@]}" -g -o - -- ./busy 5 2>err >pipe.data
grep -q 'busy is done' err || fail "-o -: the program's output is not on standard error"
"$RETICLE" script -i pipe.data >p 2>err || fail "-o -: $(cat err)"
cmp p b || fail "-o -: other samples"

# Random bytes come from the seed, each process's own.
cat >dice.c <<'E'
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	static unsigned char many[10001];
	unsigned char b[21] = { 0 };

	fork();
	wait(NULL);
	if (getrandom(b, sizeof(b) - 1, 0) != sizeof(b) - 1)
		return 1;
	for (unsigned i = 0; i < sizeof(b); i++)
		printf("%02x", b[i]);
	printf(" %lx", *(unsigned long *)getauxval(AT_RANDOM));
	if (getrandom(many, sizeof(many) - 1, 0) != sizeof(many) - 1 || many[sizeof(many) - 1])
		return 1;
	for (unsigned i = sizeof(many) - 9; i < sizeof(many); i++)
		printf(" %02x", many[i]);
	puts("");
	return 0;
}
E
cc -o dice dice.c || fail "dice.c does not compile"
"${R[@]}" -o dice.data -- ./dice >one
"${R[@]}" -o dice.data -- ./dice >two
"$RETICLE" record -q --pmu=sim,seed=2 -o dice.data -- ./dice >other
cmp one two || fail "random bytes: not the seed's"
[ "$(cut -d' ' -f1 one other | sort -u | wc -l)" = 4 ] ||
	fail "random bytes: two processes or seeds have the same: $(cat one other)"
grep -qv ' 00 00 00 00 00 00 00 00 00$' one || fail "random bytes: the last of many are not there: $(cat one)"
grep -q '^[0-9a-f]*00 ' one || fail "random bytes: one too many: $(cat one)"

# What is sampled.
"${E[@]}" -c 100000 -e instructions:u -o i.data -- ./busy 5 >/dev/null
n=$("$RETICLE" stat --pmu=sim --json -e instructions:u -- ./busy 5 2>&1 >/dev/null |
	sed -n 's/.*"value":\([0-9]*\).*/\1/p')
[ "$(samples i.data)" = $((n / 100000)) ] || fail "-c 100000: $(samples i.data) samples of $n instructions"
"${E[@]}" -e '{cycles,instructions,branch-misses}:S' -c 50000 -o group.data -- ./busy 5 >/dev/null || fail "group"
"$RETICLE" dump -i group.data --type SAMPLE | head -1 | grep -q 'read' || fail "group: no values are read"
"${E[@]}" -e cycles/period=90000,alt-period=1000,burst=3/ -o alt.data -- ./busy 5 >/dev/null || fail "alt-period"
[ "$("$RETICLE" script -i alt.data -F period | tail -n +5 | sort -n | uniq -c | wc -l)" -ge 2 ] ||
	fail "alt-period: one period"
"${R[@]}" -n -o n.data -- ./busy 5 >/dev/null
[ "$(samples n.data)" = 0 ] || fail "-n: $(samples n.data) samples"
"${R[@]}" -c 9973 -D 1 -o d.data -- ./busy 40 >/dev/null || fail "-D"
[ "$(samples d.data)" -lt "$(samples a.data)" ] || fail "-D 1: as many samples as without"
"${R[@]}" -F 20000 --max-size=8K -o max.data -- ./busy 400 >/dev/null 2>&1 || fail "--max-size: status $?"
[ "$(stat -c %s max.data)" -lt 2000000 ] || fail "--max-size: $(stat -c %s max.data) bytes"
"${R[@]}" -c 500 -o whole.data -- ./busy 100 >/dev/null || fail "-c 500"
"${R[@]}" -c 500 --switch-output=500K -o sw.data -- ./busy 100 >/dev/null 2>err || fail "--switch-output: $(cat err)"
set -- sw.data.*
[ $# -ge 2 ] || fail "--switch-output: $# files"
"$RETICLE" report -i "$1" --no-children 2>/dev/null | grep -q ' busy  *busy  *\[.\] inner' ||
	fail "--switch-output: $1 has no names"
# Each file names what it holds, as one file does; where one begins is chance, and the last may be empty.
names() {
	"$RETICLE" script -i "$1" -F comm,ip,sym,dso || fail "script: $1" >&2
}
names whole.data >whole
for f; do names "$f"; done >parts
cmp whole parts || fail "--switch-output: other samples or names than in one file"

# Registers stand in the first instruction of a block, as the sample's address does.
"${R[@]}" --user-regs=ip,sp -I --code-page-size -o regs.data -- ./busy 5 >/dev/null 2>err ||
	fail "--user-regs: $(cat err)"
"$RETICLE" script -i regs.data --json -F ip,uregs,iregs,code_page_size >out
like='^\{"ip":"(0x[0-9a-f]+)","iregs":\{"abi":2,"AX":.*\},'
like+='"uregs":\{"abi":2,"SP":"0x[0-9a-f]+","IP":"\1"\},"code_page_size":4096\}$'
grep -qvE "$like" out &&
	fail "--user-regs: $(grep -vE '"ip":"(0x[0-9a-f]+)".*"IP":"\1"\}' out | head -1)"

# What it cannot do is refused before anything runs.
refused() {
	local says=$1
	shift
	rm -f ran
	"$RETICLE" record --pmu=sim -o refused.data "$@" >out 2>err
	[ $? = 2 ] || fail "$*: not refused"
	grep -q -- "$says" err || fail "$*: $(cat err)"
	[ -e ran ] && fail "$*: the command ran"
	[ -e refused.data ] && fail "$*: a file is there"
}
refused 'records a command, not the machine' -a -- touch ran
refused 'name a command' -p 1
refused 'needs a command'
refused 'no branch records' -j any,k -- touch ran
mkfifo ctl
refused 'cannot be switched while it runs' --control fifo:ctl -- touch ran
refused "the virtual PMU never overwrites records" --overwrite -- touch ran
refused 'no transactional memory' --transaction -- touch ran
refused "no register 'frob'; there are: AX" --user-regs=frob -- true
refused "no event 'page-faults'" -e page-faults -- touch ran
refused 'user code only' -e cycles:k -- touch ran
refused "no event 'cycles:G'" -e cycles:G -- touch ran
refused "no event 'cycels'" -e cycels -- touch ran
"$RETICLE" record --pmu=sim,sede=2 -- touch ran 2>err
[ $? = 2 ] || fail "a wrong key: not status 2"
grep -q "did you mean 'seed'" err || fail "a wrong key: $(cat err)"
"$RETICLE" record --pmu=sim,help | grep -q '^    seed=N' || fail "--pmu=sim,help"
"$RETICLE" record -q --pmu=sim -o d.data --truth - -- ./busy 5 >out 2>err || fail "--truth -: $(cat err)"
[ "$(head -1 out)" = "busy is done" ] && sed 1d out | python3 -m json.tool >/dev/null ||
	fail "--truth -: $(head -3 out)"
for file in nowhere/truth.json .; do
	"$RETICLE" record --pmu=sim -o refused.data --truth $file -- touch ran 2>err && fail "--truth $file: status 0"
	grep -q "^reticle record: $file: cannot write" err || fail "--truth $file: $(cat err)"
	[ -e ran ] && fail "--truth $file: the command ran"
done

# Branch records, loads, and operations of Arm SPE: what they say is tested elsewhere (sim_lbr.py, sim_operations.py,
# sim_spe.py), without sanitizers; here it is that they are recorded and read.
"${R[@]}" --call-graph lbr -o lbr.data -- ./busy 5 >/dev/null 2>err || fail "--call-graph lbr: $(cat err)"
"$RETICLE" report -i lbr.data --children -g caller --stdio | grep -q -- '--outer' || fail "lbr: no outer below main"
"${E[@]}" -e cpu/mem-loads/P,cpu/mem-stores/P -c 50 -d -W -o mem.data -- ./busy 5 >/dev/null 2>err ||
	fail "mem-loads: $(cat err)"
"$RETICLE" mem report -i mem.data >out 2>err && grep -q inner out || fail "mem report: $(cat err)"
if command -v aarch64-linux-gnu-gcc >/dev/null; then
	echo 'volatile long sum; void inner(void) { for (int i = 0; i < 20000; i++) sum += i; }
		int main(void) { inner(); return 0; }' |
		aarch64-linux-gnu-gcc -O1 -fno-inline -static -o arm -x c - || fail "aarch64-linux-gnu-gcc"
	"${E[@]}" -e arm_spe_0/ts_enable=1/ -c 50 -o spe.data -- ./arm 2>err || fail "arm_spe: $(cat err)"
	"$RETICLE" spe -i spe.data >out 2>err && grep -q inner out || fail "spe: $(cat err)"
fi

# perf reads it.
need_program perf
perf report -i a.data --stdio >out 2>err || fail "perf report: $(cat err)"
grep -qE '(9[0-9.]+|100.00)% +busy +busy +\[.\] inner' out || fail "perf report: $(grep -v '^#' out | head -3)"
if perf annotate --help >/dev/null 2>&1 && command -v objdump >/dev/null; then
	perf annotate -i a.data inner --stdio >out 2>err || fail "perf annotate: $(cat err)"
	grep -q 'for cycles:u' out || fail "perf annotate: $(head -3 out err)"
fi
perf script -i b.data >theirs 2>err || fail "perf script: $(cat err)"
cmp theirs b || fail "perf script prints other lines"
for f in a b z group alt; do
	perf report -D -i $f.data >out 2>err || fail "perf report -D of $f: $(cat err)"
	[ -s err ] && fail "perf report -D of $f: $(cat err)"
	[ "$(grep -c PERF_RECORD_SAMPLE out)" = "$(samples $f.data)" ] || fail "perf report -D of $f: other samples"
done
exit 0
