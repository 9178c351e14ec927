#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: threads
# The symbol cache changes how long a report takes, never what it says; and nothing that lies in it is trusted.
set -eu
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/cache_lib.bash"
dir=$XDG_CACHE_HOME/reticle

cat >spin.cc <<'EOF'
#include <map>
#include <string>
static inline __attribute__((always_inline)) int step(int x) { asm volatile("" : "+r"(x)); return x * 31 + (x >> 3); }
extern "C" __attribute__((noinline)) int spin(int n) { int x = n; for (int i = 0; i < n; i++) x = step(x); return x; }
__attribute__((noinline)) int turn(int n) { int x = n; for (int i = 0; i < n; i++) x = step(x); return x; }
int main(int argc, char **) {
	std::map<std::string, int> m;
	for (int i = 0; i < 300; i++) m[std::to_string(i % 50)] += spin(200000 + argc) + turn(100000 + argc);
	return m.size() == 0;
}
EOF
g++ -O2 -g -o spin spin.cc
why=$(python3 -B "$SRCDIR/tests/cli/lib/machine.py" recording) || { echo "no recording here: $why"; exit 77; }
"$RETICLE" record --no-cache -g -F 997 -o a.data -- ./spin 2>/dev/null || fail "record: $?"
[ -s a.data ] || fail "nothing was recorded"

report() {
	"$RETICLE" report --stdio -i a.data "$@" 2>&1
}
identities() {
	stat -c '%n %i' "$dir"/*
}

sleep 2 # of a program that was made just now nothing is kept
report --no-cache >want
grep -q 'step.*(inlined)' want || fail "no inlined call is in the report: $(cat want)"
[ ! -e "$dir" ] || fail "--no-cache makes a cache"
report >first
cmp want first
identities >made
grep -q '/s' made || fail "no symbols are kept"
grep -q '/l' made || fail "no answers are kept"
[ "$(stat -c %a "$dir")" = 700 ] || fail "the directory is not private"
[ -z "$(find "$dir" -type f ! -perm 600)" ] || fail "a file is not private"
report >second
cmp want second
identities | cmp made - || fail "the second report made entries anew: it did not find them"
# Readable names are kept without answers of DWARF, too, so that the next report starts no process that makes them.
mkdir names
XDG_CACHE_HOME=$TESTDIR/names report --no-inline >third
grep -q ' turn$' third || fail "turn is not in the report: $(cat third)"
ls "$TESTDIR"/names/reticle/l* >/dev/null || fail "no names are kept"
report --no-demangle >linked
report --no-demangle --no-cache | cmp linked -

# Debug information that stands in another file is found, too, though its reading begins before there is a question.
g++ -O2 -g -gsplit-dwarf -o split spin.cc
"$RETICLE" record -a --no-cache -g -F 997 -o split.data -- ./split 2>/dev/null || fail "record: $?"
XDG_CACHE_HOME=$TESTDIR/split.cache "$RETICLE" report --stdio -i split.data >split.out 2>&1
grep -q 'step.*(inlined)' split.out || fail "no inlined call of split DWARF: $(cat split.out)"

# Damage of every kind: the report is the same, and what was damaged is made anew.
damage() {
	"$@" "$dir"/*
	report >after
	cmp want after || fail "differs after: $*"
}
flip() {
	python3 - "$@" <<'EOF'
import sys
at = float(sys.argv[1])
for path in sys.argv[2:]:
    b = bytearray(open(path, "rb").read())
    for i in range(int(len(b) * at), len(b), 97):
        b[i] ^= 0x55
    open(path, "wb").write(b)
EOF
}
for at in 0 0.1 0.6; do damage flip $at; done
damage truncate -s 20
damage truncate -s 1000
report >/dev/null
report >after
cmp want after

# What others could have put there is not looked at, and nothing is put there.
for f in "$dir"/*; do
	mv "$f" real
	mkfifo "$f"
	break
done
report | cmp want - || fail "a FIFO as an entry"
rm -rf "$dir"
mkdir -m 777 "$dir"
report | cmp want -
[ -z "$(ls "$dir")" ] || fail "a directory that others may write to was used"
rm -rf "$dir"
mkdir elsewhere
ln -s "$TESTDIR/elsewhere" "$dir"
report | cmp want -
[ -z "$(ls elsewhere)" ] || fail "a link was followed"
rm "$dir"
if [ "$(id -u)" = 0 ]; then
	mkdir -m 755 "$dir"
	chown 65534 "$dir"
	report | cmp want -
	[ -z "$(ls "$dir")" ] || fail "another user's directory was used"
	rm -rf "$dir"
fi
XDG_CACHE_HOME=relative report | cmp want -
[ ! -e relative ] || fail "a relative XDG_CACHE_HOME was taken"
env -u HOME -u XDG_CACHE_HOME "$RETICLE" report --stdio -i a.data 2>&1 | cmp want -

# A program that is built anew has its own names, and one whose symbols go has none.
report >/dev/null
strip -o spin.new spin
"$RETICLE" report --stdio --no-inline --no-children -g none -i a.data 2>/dev/null | grep -q ' spin$' ||
	fail "spin is not there"
cp spin spin.old
cat spin.new >spin
report >stripped
report --no-cache | cmp stripped - || fail "the cache has names of a file that was changed"
