#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Exit status 2 and one clear line for words that are not understood; help on standard output.
set -u
fail() {
	echo "$1"
	exit 1
}

"$RETICLE" 2>err && fail "no command: no error"
grep -q '^usage: reticle' err || fail "no command: no usage"
"$RETICLE" frobnicate 2>err
[ $? = 2 ] || fail "unknown command: not status 2"
[ "$(cat err)" = "reticle: 'frobnicate' is not a command (see reticle --help)" ] || fail "unknown command: $(cat err)"
# A word that is nearly right, and one that is perf's, say what to write instead.
said() {
	local want=$1
	shift
	"$RETICLE" "$@" >out 2>err </dev/null
	[ $? = 2 ] || fail "$*: not status 2"
	grep -qF -- "$want" err || fail "$*: $(cat err)"
	[ -s out ] && fail "$*: writes to standard output"
}
said "did you mean 'report'?" reprot
said "reticle record -a -g" sched
said "did you mean '--children'?" report --chidlren
said "pipe them into less -R" report --tui
said "--stats and --tasks exclude each other" report --tasks --stats
said "it cannot be combined with --csv" report --mmaps --csv
# What is asked of all records is not of some, nor sorted.
for option in "-c x" "--pid 1" "--tid 1" "-C 0" "--time 0,1" "-d x" "-S x" "--symbol-filter x" -U "-s sym" "-F sym" \
	"-p x" -x "--ignore-callees x" -b --hierarchy --group -t:; do
	for which in --stats --tasks --mmaps; do
		# shellcheck disable=SC2086 # words, not one
		said "$which is not a table: it cannot be combined with " report $which $option
	done
done
said "it cannot be combined with -t" report --hierarchy -t,
said "it cannot be combined with --show-cpu-utilization" report --hierarchy --show-cpu-utilization
said "it cannot be combined with measured columns" report --hierarchy --sort weight_mean,comm
for command in report diff "mem report" spe; do
	# shellcheck disable=SC2086 # words, not one
	"$RETICLE" $command --csv --json >out 2>err
	[ $? = 2 ] && [ ! -s out ] || fail "$command --csv --json is accepted"
	grep -qE "exclude each other|choose one" err || fail "$command --csv --json: $(cat err)"
done
said "there can be no windows: -n takes no samples. Use --no-window to record without" record --window -n -- true
said "'reticle dump' prints each record" script -D
said "no field 'srccode'; srcline" script -F srccode
# What is nearly right is named; what there is, is listed.
said "did you mean 'symbol'?" report --sort symbl
said "did you mean 'sym'" script -F ip,smy
said "no field 'smy'; there are comm, tid, pid, time," script -F ip,smy
said "did you mean '--no-children'" report --no-childern
"$(dirname "$RETICLE")/tests/recipe/recipe" "$SRCDIR/tests/recipe/windows.recipe" w.data || fail "no recording"
for command in report "mem report" "diff w.data w.data" spe; do
	for words in "symbl|did you mean 'symbol'?" "wrong|'wrong' is not one of comm, pid, tid"; do
		# shellcheck disable=SC2086 # words, not one
		said "${words#*|}" $command --sort "${words%%|*}"
	done
done
said "did you mean 'discarded'" report -i w.data --columns discadred
said "did you mean 'IPC'" report -i w.data --columns IPCC
said "did you mean 'cache'" report -i w.data --metrics cahe
said "is not one of basic, ipc, branch" report -i w.data --metrics cahe
said "there are CPI, BM/KI, %CY" report -i w.data --columns bogus
# The option that is blamed is the one that has the word.
said "option --fields: 'bogus'" report -F overhead,bogus -s bogus2
said "option --sort: 'bogus'" report -F +bogus2 -s bogus
said "none of these events writes into an AUX area" record -S -e cpu-clock -o x.data true
said "is not a size in bytes" record -Sx -e cpu-clock -o x.data true
said "the virtual one writes operations as they come" record -Se --pmu=sim -o x.data true
said "--snapshot keeps the last operations" record --aux-sample true
said "--activity: the virtual PMU does not say" record --activity --waits --pmu=sim -o x.data true
said "--waits needs --activity" record --waits -o x.data true
said "one recording is read at a time" script a.data b.data
said "one recording is read at a time" dump -i a.data b.data
said "one recording is read at a time" report a b
# Options behind a recording are options.
for command in report script export dump evlist buildid-list diff spe activity "mem report" "c2c report"; do
	# shellcheck disable=SC2086 # words, not one
	said "unknown option '--nope-x'" $command a.data --nope-x
done

"$RETICLE" --version | grep -qE '^reticle [0-9]+\.[0-9]+' || fail "--version"
for option in -v -vv; do
	"$RETICLE" $option report | cmp -s - <("$RETICLE" --version) || fail "$option is not --version, as perf's is"
done
said "reticle record -a -g" kwork

while IFS=$'\t' read -r command summary; do
	"$RETICLE" "$command" --help >out 2>err || fail "$command --help: status $?"
	[ -s err ] && fail "$command --help writes to standard error"
	grep -qF "$summary" out || fail "$command --help: no summary"
	"$RETICLE" help "$command" | cmp -s - out || fail "help $command differs from $command --help"
	"$RETICLE" "$command" --no-such-option >out 2>err </dev/null
	[ $? = 2 ] || fail "$command --no-such-option: not status 2"
	grep -q "unknown option '--no-such-option'" err || fail "$command: $(cat err)"
	[ -s out ] && fail "$command --no-such-option writes to standard output"
done < <("$RETICLE" complete)

# What cannot be written is an error; a pipe that nobody reads any more is the reader's business.
# Behind other options, too.
for words in "record -q" "report -q" "script -i nothing" "stat -a" "export --to svg" "top -d 1"; do
	for help in --help -h; do
		# shellcheck disable=SC2086 # words, not one
		"$RETICLE" $words $help 2>err | grep -q "^usage: reticle ${words%% *}" ||
			fail "$words $help: $(cat err)"
	done
done
for words in --help --version "help report" complete "complete report" "check --json" list; do
	# shellcheck disable=SC2086 # words, not one
	"$RETICLE" $words >/dev/full 2>err </dev/null
	[ $? = 1 ] || fail "$words to a full device: not status 1"
	grep -q 'standard output: cannot write: No space left' err || fail "$words to a full device: $(cat err)"
	# shellcheck disable=SC2086
	(trap '' PIPE; "$RETICLE" $words 2>err </dev/null) | :
	# Where no tracepoints can be listed, list says so.
	[ "$words" = list ] && sed -i '/warning: tracepoints are not listed: /d' err
	[ -s err ] && fail "$words to a closed pipe: $(cat err)"
done
"$RETICLE" help frobnicate 2>err
[ $? = 2 ] || fail "help for what is no command: not status 2"
"$RETICLE" report --threads 5000 2>err
[ $? = 2 ] || fail "--threads 5000: not status 2"
grep -q 'more than 1024' err || fail "--threads 5000: $(cat err)"

# A recording that is named without -i is read all the same; other words are a part of a function's name.
"$(dirname "$RETICLE")/tests/recipe/recipe" "$(dirname "$0")/../recipe/file.recipe" rec || fail "recipe"
"$RETICLE" report rec >named 2>&1 || fail "report rec: $(cat named)"
"$RETICLE" report -i rec | cmp -s - named || fail "report rec is not report -i rec"
said "one recording is read at a time" export -i rec rec
"$RETICLE" report -i rec rec | grep -q 'main' && fail "report -i rec rec: does not take the word as a name"

# A filter on what samples do not say is no empty report.
printf 'mode=file\nevent "cycles:u" type=hardware config=0 period=1000 sample=IP|TID|PERIOD ids=7\n' >bare.recipe
printf 'sample pid=1 period=1000 ip=0x400123\n' >>bare.recipe
"$(dirname "$RETICLE")/tests/recipe/recipe" bare.recipe bare || fail "bare recipe"
for command in report script "export --to folded"; do
	# shellcheck disable=SC2086
	said "on which CPU they were taken" $command -i bare -C 0
done
said "when they were taken" report -i bare --time 10%-20%
# What hints say to write is understood: here by what it says of samples that have no such data.
said "cannot show field 'addr'" script -i bare -F +addr,+weight,+data_src

# So is it for what is printed of a recording.
"$(dirname "$RETICLE")/tests/recipe/recipe" "$(dirname "$0")/../recipe/file.recipe" rec || fail "recipe"
for words in "script --header-only" "report --header-only" dump evlist; do
	# shellcheck disable=SC2086
	"$RETICLE" $words -i rec >/dev/full 2>err
	[ $? = 1 ] || fail "$words to a full device: not status 1"
	grep -q 'standard output: cannot write: No space left' err || fail "$words to a full device: $(cat err)"
done

# Options stand behind words, too; a recording needs no -i. A word that is no recording and in no name is an error, and
# so that a filter leaves nothing is said.
"$(dirname "$RETICLE")/tests/recipe/recipe" "$SRCDIR/tests/recipe/windows.recipe" w.data || fail "no recording"
for command in report script dump evlist buildid-list; do
	"$RETICLE" "$command" -i w.data >want 2>err || fail "$command: $(cat err)"
	"$RETICLE" "$command" w.data >got 2>err || fail "$command w.data: $(cat err)"
	cmp -s want got || fail "$command w.data is not $command -i w.data"
done
"$RETICLE" report w.data --no-metrics -q -s symbol >got 2>err || fail "report w.data --no-metrics: $(cat err)"
"$RETICLE" report w.data prog_a -q --no-metrics -s symbol >one 2>err || fail "report w.data prog_a: $(cat err)"
[ "$(grep -c bpf_prog_b one)" = 0 ] && grep -q bpf_prog_b got || fail "a part of a name: $(cat one)"
"$RETICLE" report missing.data -i w.data >got 2>err && fail "report missing.data: $(cat got)"
grep -q "'missing.data' is neither a recording nor a part of a function's name in w.data" err ||
	fail "missing.data: $(cat err)"
"$RETICLE" mem report missing.data -i w.data >got 2>err && fail "mem report missing.data: $(cat got)"
grep -q "'missing.data' is neither a recording nor a part of a function's name in w.data" err ||
	fail "mem report: $(cat err)"
mkdir none
for command in report "mem report"; do
	# shellcheck disable=SC2086 # words, not one
	(cd none && "$RETICLE" $command missing.data </dev/null >../got 2>../err)
	[ $? = 1 ] && grep -q "'missing.data' is not a recording, and there is no perf.data" err ||
		fail "$command: $(cat err)"
done
for option in --header-only --stats --tasks --mmaps --total-cycles; do
	"$RETICLE" report missing.data -i w.data $option >got 2>err && fail "report missing.data $option: $(cat got)"
	grep -q "'missing.data' is not a recording, and $option cannot be" err && [ ! -s got ] ||
		fail "$option: $(cat err)"
done
# A list of no names is a mistake, and not a recording without a filter.
for command in report script "export --to folded" "mem report" "c2c report" spe activity "diff w.data"; do
	for list in "" "," ",,"; do
		# shellcheck disable=SC2086 # words, not one
		said "option --comms: there is no name in '$list'" $command w.data --comms "$list"
	done
done
said "option --dsos: there is no name in ''" report w.data --dsos=
said "option --symbols: there is no name in ''" script w.data -S ""
for filter in "--dsos nope" "--symbols nope" "--comms nope" "--pid 1"; do
	# shellcheck disable=SC2086 # words, not one
	"$RETICLE" report w.data --no-metrics $filter >got 2>err || fail "$filter: $(cat err)"
	grep -q "nothing is left of 17 samples by $filter" err || fail "$filter: $(cat err)"
	# shellcheck disable=SC2086 # words, not one
	"$RETICLE" script w.data $filter >got 2>err || fail "script $filter: $(cat err)"
	grep -q "nothing is left of [0-9]* samples by $filter" err && [ ! -s got ] || fail "script $filter: $(cat err)"
done
"$RETICLE" script w.data >got 2>err && [ ! -s err ] && [ -s got ] || fail "script: $(cat err)"

# Each of perf's verbs is there, or has a line that says what to write instead.
for verb in annotate archive bench buildid-cache config daemon data ftrace inject iostat kallsyms kmem kvm kwork lock \
	probe sched test timechart trace; do
	"$RETICLE" $verb >out 2>err </dev/null
	[ $? = 2 ] && [ "$(wc -l <err)" = 2 ] && [ ! -s out ] || fail "$verb: $(cat err)"
done
for verb in buildid-list c2c diff evlist list mem record report script stat top version; do
	"$RETICLE" help $verb >out 2>err || [ $verb = version ] || fail "$verb: $(cat err)"
done
