#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# record leaves the symbol tables of what it met in the symbol cache, and what DWARF says of its addresses, where the
# first report finds them; no row changes for it, and options turn it off.
set -eu
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/cache_lib.bash"
dir=$XDG_CACHE_HOME/reticle

cat >spin.c <<'EOF'
#include <stdio.h>
#include <unistd.h>
static inline __attribute__((always_inline)) int step(int x) { asm volatile("" : "+r"(x)); return x * 31 + (x >> 3); }
__attribute__((noinline)) int spin(int n) { int x = n; for (int i = 0; i < n; i++) x = step(x); return x; }
int main(int argc, char **argv) {
	int sum = 0;
	for (int i = 0; i < 300; i++) {
		sum += spin(200000 + argc);
		for (int k = 0; k < 300; k++) access(argv[0], R_OK);
	}
	return sum == 1;
}
EOF
gcc -O2 -g -Wl,--build-id -o spin spin.c
ln spin spun # one file by two names
why=$(python3 -B "$SRCDIR/tests/cli/lib/machine.py" recording) || { echo "no recording here: $why"; exit 77; }
sleep 2 # of a program that was made just now nothing is kept

record() {
	"$RETICLE" record -q -e cpu-clock -g -F 997 "$@" -- sh -c "./spin; ./spun" || fail "record $*: $?"
}
for off in --no-cache -N --no-buildid-cache -B; do
	record $off -o off.data
	[ ! -e "$dir" ] || fail "$off makes a cache"
done
record -o - | cat >off.data
[ ! -e "$dir" ] || fail "a recording into a pipe makes a cache"

# On a machine that is busy enough a recording ends before all tables are there; the next ones make the others.
before=
for _ in $(seq 10); do
	record -o a.data
	there=$(ls "$dir")
	[ -z "$there" ] || [ "$there" != "$before" ] || break
	before=$there
done
[ -n "$(find "$dir" -name 's*')" ] || fail "record keeps no symbols: $(ls -la "$dir")"
[ -z "$(find "$dir" -name '.new*')" ] || fail "something else is there: $(ls -la "$dir")"
[ "$(stat -c %a "$dir")" = 700 ] || fail "the directory is not private"
[ -z "$(find "$dir" -type f ! -perm 600)" ] || fail "a file is not private"
"$RETICLE" report --stdio --no-cache -i a.data >want 2>&1
grep -q ' spin' want || fail "spin is not in the report: $(cat want)"
if grep -q '^[0-9a-f]*[1-9a-f]' /proc/kallsyms && grep -q '\[k\]' want; then
	[ -n "$(find "$dir" -name 'k*')" ] || fail "the kernel's symbols are not kept: $(ls -la "$dir")"
fi

grep -q 'spin *spin ' want && grep -q 'spun *spun ' want || fail "one of the names is not in the report: $(cat want)"

# The first report takes all as it is: it makes no table anew, and asks DWARF for no address. Where there was too
# little time for that at the end of one recording, there is at that of another.
answers_were_there() {
	[ -n "$(find "$dir" -name 'l*')" ] || return 1
	stat -c '%n %i' "$dir"/* >made
	"$RETICLE" report --stdio -i a.data >first 2>&1
	"$RETICLE" report --stdio --no-cache -i a.data 2>&1 | cmp - first || fail "a row changed"
	stat -c '%n %i' "$dir"/* >after
	cmp -s made after
}
for _ in $(seq 10); do
	! answers_were_there || break
	rm -f "$dir"/l*
	record -o a.data
done
answers_were_there || fail "the first report worked out what record could have kept: $(diff made after)"
grep -q '(inlined)' first || fail "no inlined calls: $(cat first)"
grep '/[sk][0-9a-f]* ' made >tables || fail "no tables: $(cat made)"

# What is there is not made again.
record -o b.data
while read -r name inode; do
	[ "$(stat -c %i "$name")" = "$inode" ] || fail "a second recording made a table anew"
done <tables

# A directory that others may write to is not used, and the recording is there all the same.
rm -rf "$dir"
mkdir -m 777 "$dir"
rm a.data
record -o a.data
[ -z "$(ls "$dir")" ] || fail "a directory that others may write to was used"
"$RETICLE" report --stdio -i a.data 2>&1 | grep -q ' spin' || fail "no recording"
