#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: plain
# The script of doc/ci-metrics.md, run as it stands there on two commits: it passes when nothing changed, and names
# what grew.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/sim_lib.bash"
need_sim
need_program git
need_program cc
# The script's empty environment would hide where the plugin of a tree with sanitizers is.
cat >reticle <<END
#!/bin/sh
exec env ${RETICLE_VPMU:+RETICLE_VPMU="$RETICLE_VPMU"} "$RETICLE" "\$@"
END
chmod +x reticle
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$SRCDIR/doc/ci-metrics.md" >counts
[ -s counts ] || fail "no script in doc/ci-metrics.md"
git init -q project || fail "git init"
mkdir -p "$TESTDIR/home"
export HOME=$TESTDIR/home RETICLE=$PWD/reticle TMPDIR=$TESTDIR
git config --global user.email nobody@example.org
git config --global user.name nobody
cd project || exit 1
commit() {
	cat >app.c <<-END
		volatile unsigned long sum;
		void steady(int n) { for (int i = 0; i < n; i++) sum += i; }
		void changes(int n) { for (int i = 0; i < n; i++) sum ^= i; }
		int main(void) { for (int i = 0; i < 8000; i++) { steady(400); changes($1); } return 0; }
	END
	git add app.c
	git commit -q -m "$2"
}
commit 400 first
commit 404 second
commit 500 third
counts() {
	sh ../counts "$1" "$2" 1 'cc -O1 -g -fno-inline -o app app.c' ./app >out 2>err
}
counts HEAD~2 HEAD~1 || fail "a change of half a percent: $(cat out err)"
counts HEAD~2 HEAD && fail "a change of a tenth passes: $(cat out err)"
grep -q 'instructions/period=10007/: app changes: [0-9]* -> [0-9]*, +1[0-9.]*% of the whole' err ||
	fail "changes is not named: $(cat err)"
grep -q 'app steady' err && fail "steady is blamed: $(cat err)"
grep -q 'instructions/period=10007/: the whole' err || fail "the whole is not named: $(cat err)"
# Nothing is left behind, and what cannot be told is no growth.
sh ../counts HEAD~1 HEAD 1 false ./app >out 2>err
[ $? = 2 ] || fail "a build that fails: not status 2"
sh ../counts HEAD~1 nowhere 1 true ./app >out 2>err
[ $? = 2 ] || fail "no such commit: not status 2"
[ "$(git worktree list | wc -l)" = 1 ] || fail "worktrees are left: $(git worktree list)"
exit 0
