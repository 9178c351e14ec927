#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: plain
# zsh completion, run by zsh itself: which words it offers behind a line. The functions that would put them on the
# screen print them instead, as completion itself works only in a terminal that somebody types into.
set -u
command -v zsh >/dev/null || {
	echo "zsh is not installed"
	exit 77
}
cat >offers.zsh <<'ZSH'
# offers.zsh FILE WORD...: runs the completion in FILE behind these words, the last of which is the one that is typed.
typeset file=$1 kept prefix
shift
words=("$@") CURRENT=$# prefix=$words[-1]
# What the pattern covers at the beginning of the word stays as it is.
compset() { # -P PATTERN
	kept=${(M)prefix##${~2}} prefix=${prefix##${~2}}
}
offer() {
	local word
	for word; do
		[[ $word == ${(b)prefix}* ]] && print -r -- $kept$word
	done
}
compadd() { # [-S ''] -a ARRAY
	[[ $* == *'-a '* ]] || return 1
	offer "${(@P)argv[-1]}"
}
_describe() { # WHAT ARRAY, each being WORD:TEXT
	local row
	for row in "${(@P)2}"; do
		[[ $row == *:?* ]] && offer "${row%%:*}"
	done
}
_files() { offer *(N) }
source $file
ZSH
offered() {
	zsh -f offers.zsh "$SRCDIR/completion/_reticle" "$RETICLE" "$@" 2>err
	[ ! -s err ] || echo "$*: $(cat err)"
}
bad=0
# Behind these words there is this offer; with ! in front there is not.
typed() {
	local want=$1 offers
	shift
	offers=$(offered "$@")
	if [ "${want#!}" = "$want" ]; then
		grep -qxF -- "$want" <<<"$offers" && return
	else
		grep -qxF -- "${want#!}" <<<"$offers" || return 0
	fi
	echo "'$*': $want is not so in: $(head -20 <<<"$offers" | tr '\n' ' ')"
	bad=1
}
touch file
typed report re
typed help h
typed record help rec
typed symbol report --sort sy
typed comm,dso report --sort comm,ds
typed dwarf record --call-graph d
typed --call-graph=dwarf record --call-graph=d
typed page-faults record -g -e page-f
typed cpu-clock,page-faults stat -e cpu-clock,page-f
typed brstack script -F brst
typed folded export --to f
typed max record -F m
typed store mem -t st
typed report mem re
typed record c2c -f re
typed --no-inline report --no-i
typed file mem report f
typed file report -i f
typed file record -- ls f
typed '!--output' record -- ls -
typed '!-o' record -- ls -
if "$RETICLE" complete record event | grep -q '^sched:sched_switch$'; then
	typed sched:sched_switch record -e sched:sched_swi
fi
# Each command, and each option of each that has a text.
offered '' >commands
while read -r command; do
	grep -qxF -- "$command" commands || {
		echo "not offered: $command"
		bad=1
	}
	offered "$command" - >options
	"$RETICLE" complete "$command" | cut -f1,2 | tr '\t' '\n' | grep . | sort -u |
		comm -23 - <(sort -u options) >missing
	[ ! -s missing ] || {
		echo "$command: not offered: $(tr '\n' ' ' <missing)"
		bad=1
	}
done < <("$RETICLE" complete | cut -f1)
[ "$(wc -l <commands)" -gt 10 ] || {
	echo "only $(wc -l <commands) commands are offered"
	bad=1
}
exit $bad
