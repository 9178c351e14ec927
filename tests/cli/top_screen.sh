#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The screen of top, in a terminal: keys, sizes, and the terminal afterwards.
set -u
command -v tmux >/dev/null || { echo "skip: tmux is not installed"; exit 77; }
term=(tmux -L "reticle-$$" -f /dev/null)
trap '"${term[@]}" kill-server 2>/dev/null; kill %1 %2 2>/dev/null' EXIT
fail() {
	echo "$1"
	"${term[@]}" capture-pane -p
	exit 1
}
# await TEXT WHAT: until the screen has a line with TEXT
await() {
	for _ in $(seq 300); do
		"${term[@]}" capture-pane -p 2>/dev/null | grep -q -- "$1" && return
		sleep 0.1
	done
	fail "$2: no '$1' on the screen"
}
press() { "${term[@]}" send-keys "$@"; }
# The numbers of the rows on the screen that a call graph is drawn below.
drawn()
{
	"${term[@]}" capture-pane -p | awk '/^ *[0-9.]+%/ { row++; own = NR } /^ *\|$/ && own == NR - 1 { print row }'
}
# await_drawn ROWS WHAT: until call graphs are below these rows and no others
await_drawn()
{
	for _ in $(seq 300); do
		[ "$(drawn | tr '\n' ' ')" = "$1" ] && return
		sleep 0.1
	done
	fail "$2: call graphs are below rows '$(drawn | tr '\n' ' ')', not below '$1'"
}

"$RETICLE" top --help >help && [ -s help ] || fail "top --help: exit status $?"

# A busy process, so that there are rows.
(while :; do :; done) &
"${term[@]}" new-session -d -x 100 -y 20 "bash --norc --noprofile" || fail "tmux does not start"
press "stty -a >before; TERM=screen '$RETICLE' top -d 1 -g; echo status=\$?; stty -a >after" Enter
await 'samples/s of' 'the head'
await '% .*\[' 'rows'
await 'q quit' 'the line of keys'
press h
await 'move through the rows' 'help'
press x
await 'samples/s of' 'after help'
press Down Down d
await 'only ' 'one shared object'
press Escape
press k
await 'only .kernel.kallsyms' 'the kernel'
press F
press Escape
press E
await '|--\|---' 'call graphs'
press C
press z
await 'zero' 'zero'
press /
await 'in their names' 'the question'
press 'no_such_function' Enter
await 'with no_such_function' 'the filter'
press Escape
press P
await 'the table is in reticle.hist.0' 'a table written'
grep -q 'samples/s' reticle.hist.0 || fail "reticle.hist.0 has no table"
"${term[@]}" resize-window -x 50 -y 8
await 'q quit' 'a small terminal'
press q
await 'status=0' 'quit'
for _ in $(seq 50); do [ -s after ] && break; sleep 0.1; done
cmp <(grep -v rows before) <(grep -v rows after) || fail "the terminal is not as it was"

# Ctrl-C ends it as q does; an event that there is not, with the terminal as it was.
"${term[@]}" resize-window -x 100 -y 20
press "clear; TERM=screen '$RETICLE' top; echo ended=\$?" Enter
await 'samples/s of' 'a second time'
press C-c
await 'ended=0' 'Ctrl-C'
press "clear; TERM=screen '$RETICLE' top -e nosuch; echo refused=\$?" Enter
await 'refused=2' 'an unknown event'
# A command that has ended leaves its table, until Ctrl-C (or q).
press "clear; TERM=screen '$RETICLE' top -d 1 -- sh -c 'exit 3'; echo passed=\$?" Enter
await 'it has ended' 'a command that has ended'
press C-c
await 'passed=3' 'Ctrl-C behind the end'
# The call graph of the row under the cursor, from its own line and from one of its graph.
dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
"${term[@]}" resize-window -x 100 -y 60
press "clear; TERM=screen '$RETICLE' top -d 1 -g -p $!; echo one=\$?" Enter
await '% .*dd ' 'rows of dd'
sleep 2
press f
await 'held' 'a table that is held'
press E
await '^ *|$' 'call graphs of all rows'
row=$(drawn | head -n 1)
press C
await_drawn '' 'no call graphs'
press Home
for _ in $(seq 2 "$row"); do press Down; done
press e
await_drawn "$row " 'e'
press Down Down Enter
await_drawn '' 'Enter in a call graph'
press +
await_drawn "$row " 'the row itself, where the cursor has gone to'
press C
await_drawn '' 'C behind +'
press E
await '^ *|$' 'call graphs of all rows again'
press e
for _ in $(seq 100); do [ "$(drawn | head -n 1)" = "$row" ] || break; sleep 0.1; done
[ "$(drawn | head -n 1)" != "$row" ] || fail "the call graph of row $row is not hidden"
press q
await 'one=0' 'the end of call graphs'
kill $!
press "clear; TERM=screen '$RETICLE' top -d 1; echo none=\$?" Enter
await '% .*\[' 'rows without call chains'
press e
await 'no call chains are recorded' 'e without call chains'
press q
await 'none=0' 'the end of rows without call chains'
"${term[@]}" resize-window -x 100 -y 20
# The last line shows names as the rows do.
(printf 'e\tv\ail' >"/proc/$BASHPID/comm"; while :; do :; done) &
press "clear; TERM=screen '$RETICLE' top -d 1 -s comm -p $!; echo named=\$?" Enter
await '% .*e?v?il' 'a hostile name'
press t
await 'only e?v?il' 'a hostile name in the last line'
press q
await 'named=0' 'the end of a hostile name'
kill $!
# A terminal that cannot move the cursor gets tables.
press "clear; TERM=nonsense '$RETICLE' top -d 1 --refreshes 1 -E 2; echo plain=\$?" Enter
await 'plain=0' 'an unknown terminal'
# Waits for a table of metrics and stops it; rows: the shared object of each row.
hold_table()
{
	await '(all)' "$1"
	sleep 3
	press f
	await 'held' "$1 that is held"
	rows=$("${term[@]}" capture-pane -p | grep -B99 '(all)' | grep '^ .*%.*[^)]$' | awk '{ print $NF }')
}
# Rows in order of a metric: what is under the cursor is what is shown there. Python's are of several shared objects.
if python3 -B "$SRCDIR/tests/cli/lib/machine.py" sim >/dev/null && command -v python3 >/dev/null; then
	[ ! -e "$SRCDIR/build/vpmu/reticle-vpmu.so" ] || export RETICLE_VPMU=$SRCDIR/build/vpmu/reticle-vpmu.so
	"${term[@]}" resize-window -x 230 -y 30
	busy="python3 -c 'while 1: sorted(map(str, range(999)))'"
	top="TERM=screen '$RETICLE' top -d 1 --pmu=sim"
	press "clear; export RETICLE_VPMU=$RETICLE_VPMU; $top -s dso,cpi -- $busy; echo metric=\$?" Enter
	hold_table 'a table of metrics'
	for row in $rows; do
		press d
		await "only $row *held" "the shared object of row $row"
		press Escape
		await '(all)' 'all rows again'
		press Home
		moves=$((${moves:-0} + 1))
		for _ in $(seq $moves); do press Down; done
	done
	[ "${moves:-0}" -gt 1 ] || fail "one shared object at most: $rows"
	press q
	await 'metric=' 'the end of a table of metrics'
	# Two tables, and both keys before the next one is drawn: the row is still that of the one that is shown. The
	# other one has other rows, more of them, and another order.
	events="-e '{cycles:u,instructions:u}:S' -e branches/period=5000/u"
	press "clear; $top $events -s dso,cpi -- $busy; echo both=\$?" Enter
	hold_table 'a table of metrics, of two'
	moves=0
	for row in $rows; do
		press Tab d
		await "only $row *held" "the shared object of row $row before the next table"
		await 'of branches' 'the next table'
		press Escape
		await 'find  *held' 'all rows of the next table'
		press Tab
		await 'of cycles' 'the table before'
		press Home
		moves=$((moves + 1))
		for _ in $(seq $moves); do press Down; done
	done
	press q
	await 'both=' 'the end of two tables'
	"${term[@]}" resize-window -x 100 -y 20
fi
# What has to be said meanwhile is on the screen. The list of CPUs is a file of ours, where root can mount it.
mounted="mount --bind $PWD/online /sys/devices/system/cpu/online"
echo 0,0 >online
if unshare -m sh -c "$mounted" 2>/dev/null; then
	press "clear; TERM=screen unshare -m sh -c '$mounted && exec \"$RETICLE\" top -a -d 1'; echo gone=\$?" Enter
	await 'samples/s of' 'with a list of CPUs'
	printf 0,5 1<>online # in place: nobody reads half of it
	await 'CPU 5 came online' 'a message'
	press q
	await 'gone=0' 'the end of a message'
	await 'reticle top: CPU 5 came online' 'the message once more'
else
	echo "no mount namespaces here: messages on the screen are not tried"
fi
# The terminal goes.
press "clear; TERM=screen '$RETICLE' top & echo \$! >pid; fg" Enter
await 'samples/s of' 'a third time'
pid=$(cat pid)
"${term[@]}" kill-server
for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || exit 0; sleep 0.1; done
fail "top goes on without a terminal"
