#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: leaks
# bash completion offers every command, and every option of each.
set -u
# shellcheck source=/dev/null
. "$SRCDIR/completion/reticle.bash"

offered() {
	COMP_WORDS=("$RETICLE" "$@")
	COMP_CWORD=$#
	COMP_LINE="reticle $*"
	COMP_POINT=${#COMP_LINE}
	COMPREPLY=()
	_reticle
	printf '%s\n' "${COMPREPLY[@]}" | sort -u
}

"$RETICLE" complete >table && [ -s table ] || {
	echo "reticle complete: exit status $?, $(wc -l <table) lines"
	exit 1
}
cut -f1 table | sort >commands
for command in record report script stat top; do
	grep -qx "$command" commands || {
		echo "not among the commands: $command"
		exit 1
	}
done
offered '' | comm -13 - commands >missing
if [ -s missing ]; then
	echo "commands that are not offered: $(cat missing)"
	exit 1
fi
while read -r command; do
	"$RETICLE" complete "$command" | cut -f1,2 | tr '\t' '\n' | grep . | sort -u >options
	[ -s options ] || [ "$command" = complete ] || {
		echo "$command has no options"
		exit 1
	}
	offered "$command" - | comm -13 - options >missing
	if [ -s missing ]; then
		echo "$command: not offered: $(cat missing)"
		exit 1
	fi
done <commands

# Values: the line as it is typed, in the words that bash makes of it, and what has to be among the offers.
typed() {
	local want=$1 line=$2
	COMP_LINE=$line
	COMP_POINT=${#line}
	# Words are parted at blanks, and at colons and equals signs, which are words themselves.
	read -ra COMP_WORDS <<<"$(sed 's/\([:=]\)/ \1 /g' <<<"$line")"
	[[ $line == *' ' || $line == *: || $line == *= ]] && COMP_WORDS+=('')
	COMP_WORDS[0]=$RETICLE
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	_reticle
	printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -- "$want" || {
		echo "'$line': no '$want' in: ${COMPREPLY[*]:0:20}"
		exit 1
	}
}
typed symbol 'reticle report --sort sy'
typed comm,dso 'reticle report --sort comm,ds'
typed dwarf 'reticle record --call-graph d'
typed dwarf 'reticle record --call-graph=d'
typed page-faults 'reticle record -g -e page-f'
typed cpu-clock,page-faults 'reticle stat -e cpu-clock,page-f'
typed IPC,cache 'reticle stat -M IPC,ca'
typed brstack 'reticle script -F brst'
typed folded 'reticle export --to f'
typed record 'reticle help rec'
typed discard 'reticle report --attribution d'
typed sim 'reticle record --pmu=s'
typed sim 'reticle stat --pmu s'
typed monotonic 'reticle record -k mo'
typed any_call 'reticle record -j a'
typed any,u 'reticle top -j any,u'
typed max 'reticle record -F m'
typed relative 'reticle diff --percentage r'
typed pprof 'reticle record --push-format p'
typed MMAP2 'reticle dump --type MM'
typed symbol 'reticle mem report -s sy'
typed store 'reticle mem -t st'
typed report 'reticle mem re'
typed record 'reticle c2c -f re'
touch file
typed file 'reticle mem report f'
typed file 'reticle record -- ls f'
typed file 'reticle report -i f'
COMPREPLY=()
typed '' 'reticle record -- ls -' # no options of ours
if "$RETICLE" complete record event | grep -q '^sched:sched_switch$'; then
	typed sched_switch 'reticle record -e sched:sched_swi'
fi
# Each option that has values is one of its command.
while read -r command option; do
	"$RETICLE" complete "$command" | cut -f2 | grep -qx -- "--$option" || {
		echo "$command has no option --$option"
		exit 1
	}
done < <(sed -n 's/^\t{ "\([a-z0-9]*\)", [^,]*, "\([a-z-][a-z-]*\)", .*},$/\1 \2/p' \
	"$SRCDIR/src/cmd/complete_values.c")
exit 0
