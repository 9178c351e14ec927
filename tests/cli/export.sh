#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: leaks
# Where exports go: a file appears when it is complete, keeps its rights, and a failure leaves the older one alone.
# shellcheck disable=SC2015,SC2002 # "a && b || fail": fail ends the script; the pipe is what is tested
set -u
fail() {
	echo "$1"
	exit 1
}

tool="$(dirname "$RETICLE")/tests/recipe/recipe"
"$tool" "$SRCDIR/tests/recipe/report-views.recipe" perf.data || fail "the recipe does not compile"

umask 027
"$RETICLE" export -o flame.svg 2>err </dev/null || fail "export: $(cat err)"
[ "$(stat -c %a flame.svg)" = 640 ] || fail "rights of a new file: $(stat -c %a flame.svg)"
[ "$(head -c 5 flame.svg)" = '<?xml' ] || fail "not a picture"
if command -v xmllint >/dev/null; then
	xmllint --noout flame.svg || fail "not well-formed"
fi
"$RETICLE" export --to svg 2>err </dev/null | cmp - flame.svg || fail "standard output differs from a file"
"$RETICLE" export --to svg -o - 2>err </dev/null | cmp - flame.svg || fail "-o - differs from a file"

# The name's end decides, --to is stronger.
"$RETICLE" export -o x.folded 2>err </dev/null && grep -q '^alpha;bpf_prog_outer' x.folded ||
	fail "x.folded: $(cat err)"
"$RETICLE" export --to json -o x.folded 2>err </dev/null && grep -q '^{"meta"' x.folded || fail "--to json: $(cat err)"
"$RETICLE" export -o x.csv </dev/null && grep -q '^event,whole,total' x.csv || fail "x.csv"
"$RETICLE" export -o nothing 2>err </dev/null
[ $? = 2 ] || fail "no format: not status 2"

# One event's stacks, the same on one thread and on two.
"$RETICLE" export -o one.svg --threads 1 2>err </dev/null
"$RETICLE" export -o two.svg --threads 2 2>err </dev/null
cmp one.svg two.svg || fail "the picture depends on the number of threads"

# Failures: an unreadable recording, a directory that is not there, a device that is full.
echo old >keep.svg
"$RETICLE" export -i /etc/passwd -o keep.svg 2>err </dev/null && fail "no recording: status 0"
[ "$(cat keep.svg)" = old ] || fail "a failed export touched the older file"
"$RETICLE" export -o missing/x.svg 2>err </dev/null
[ $? = 1 ] || fail "missing directory: not status 1"
grep -q 'missing/x.svg: cannot write: No such file' err || fail "missing directory: $(cat err)"
"$RETICLE" export --to svg >/dev/full 2>err </dev/null
[ $? = 1 ] || fail "full device: not status 1"
grep -q 'cannot write: No space left' err || fail "full device: $(cat err)"
"$RETICLE" export --to svg -o /dev/full 2>err </dev/null
[ $? = 1 ] || fail "-o /dev/full: not status 1"
[ -c /dev/full ] || fail "a device was replaced by a file"
"$RETICLE" report >/dev/full 2>err </dev/null
[ $? = 1 ] || fail "report to a full device: not status 1"
[ -z "$(ls -- *.svg.?????? 2>/dev/null)" ] || fail "temporary files are left behind"

# A pipe at standard input is the recording; colours and progress stay away from what is no terminal.
"$RETICLE" report -i perf.data >named 2>err
cat perf.data | "$RETICLE" report >piped 2>err || fail "pipe: $(cat err)"
cmp named piped || fail "a piped recording reads differently"
grep -q $'\033' named err && fail "escape sequences outside a terminal"
# A link of somebody else to what is no file is not written to; one's own is, and root's, as /dev/stdout.
ln -s /dev/null own.svg
"$RETICLE" export -o own.svg 2>err </dev/null && [ -L own.svg ] || fail "a link of one's own: $(cat err)"
"$RETICLE" export --to svg -o /dev/stdout 2>err </dev/null | cmp - flame.svg || fail "-o /dev/stdout: $(cat err)"
if [ "$(id -u)" = 0 ]; then
	mkfifo foreign.fifo && ln -s foreign.fifo foreign.svg && chown -h 65534 foreign.svg
	timeout 10 "$RETICLE" export -o foreign.svg 2>err </dev/null
	[ $? = 1 ] || fail "a link of somebody else to a FIFO: not status 1"
	grep -q 'a link that belongs to another user' err || fail "a link of somebody else to a FIFO: $(cat err)"
fi
exit 0
