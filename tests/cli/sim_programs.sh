#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: plain
# Real programs under the virtual PMU do what they do without it, and their recordings tell where they were.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/sim_lib.bash"
need_sim
need_program cc
build_busy
R=("$RETICLE" record -F 16000 -q --pmu=sim -g)
# The report of $1 names all of the other words.
names() {
	local file=$1 word
	shift
	"$RETICLE" report -i "$file" --children -g none --sort comm,dso,symbol >report 2>err ||
		fail "$file: $(cat err)"
	for word; do
		grep -q -- "$word" report || fail "$file: no $word in: $(grep -v '^#' report | head -20)"
	done
}
# The same command with and without: same output, same status.
same() {
	local file=$1
	shift
	"$@" >without 2>without.err
	local status=$?
	"${R[@]}" -o "$file" -- "$@" >with 2>with.err
	[ $? = $status ] || fail "$*: not status $status: $(cat with.err)"
	cmp -s with without || fail "$*: other output"
	cmp -s with.err without.err || fail "$*: other words on standard error: $(cat with.err)"
}

head -c 300000 "$(command -v bash)" >input
same gzip.data gzip -c input
names gzip.data gzip
same sort.data sh -c 'od -An -v -tx1 input | head -2000 | sort | uniq -c | sort -rn | head -5; exit 3'
names sort.data 'sort  *' 'od  *' 'uniq  *'
if command -v xz >/dev/null; then
	head -c 60000 input >small
	same xz.data xz -c small
	names xz.data liblzma
fi
if command -v sqlite3 >/dev/null; then
	same sqlite.data sqlite3 :memory: \
		'create table t(a,b); with recursive n(i) as (select 1 union all select i+1 from n where i<500)
		insert into t select i, i*7%13 from n; select b, count(*), sum(a) from t group by b order by 2, 1;'
	names sqlite.data sqlite3
fi

# Scripts, by their own name.
printf '#!/bin/sh -e\n./busy 9 "$1"\necho "script: $0 $1"\n' >script.sh
chmod +x script.sh
same script.data ./script.sh 0
names script.data 'script.sh' 'busy  *busy  *\[.\] inner'
printf './busy 1 "$1"; echo "no interpreter named: $0"\n' >bare
chmod +x bare
same bare.data ./bare 0
python=$(command -v /usr/bin/python3 || command -v python3)
if [ -n "$python" ]; then
	cat >script.py <<-'PY'
		import hashlib, json, subprocess, sys
		print(sum(i * i % 7 for i in range(3000)), json.dumps({"a": [1, 2]}), hashlib.sha256(b"x").hexdigest())
		print(subprocess.run(["./busy", "9", "4"], capture_output=True, text=True))
		sys.exit(9)
	PY
	same python.data "$python" -S script.py
	names python.data python 'busy  *busy  *\[.\] inner'
fi

# Threads, fork, exec, signals, longjmp, dlopen, code made at run time.
build many -pthread -ldl <<-'C'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <pthread.h>
	#include <setjmp.h>
	#include <signal.h>
	#include <stdio.h>
	#include <string.h>
	#include <sys/mman.h>
	#include <sys/wait.h>
	#include <unistd.h>
	volatile unsigned long sum;
	static jmp_buf back;
	void spin(int n) { for (int i = 0; i < n; i++) sum += (unsigned long)i * sum; }
	void in_thread(void) { spin(2000000); }
	void in_child(void) { spin(2000000); }
	void in_handler(void) { spin(2000000); }
	void before_jump(void) { spin(1000000); longjmp(back, 1); }
	static void *thread(void *arg) { in_thread(); return arg; }
	static void handler(int sig) { (void)sig; in_handler(); }
	int main(void)
	{
		static const unsigned char code[] = { 0xb8, 7, 0, 0, 0, 0xc3 }; /* mov $7, %eax; ret */
		pthread_t t[3];
		int status = 0;
		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], NULL, thread, NULL);
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
		if (!fork()) {
			in_child();
			execl("./busy", "renamed", "9", "5", NULL);
		}
		wait(&status);
		signal(SIGUSR1, handler);
		raise(SIGUSR1);
		if (!setjmp(back))
			before_jump();
		void *lib = dlopen("libm.so.6", RTLD_NOW);
		double (*cosine)(double) = lib ? (double (*)(double))dlsym(lib, "cos") : NULL;
		void *made = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void *sealed = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		memcpy(made, code, sizeof(code));
		memcpy(sealed, code, sizeof(code));
		mprotect(sealed, 4096, PROT_READ | PROT_EXEC);
		printf("%d %.3f %d\n", WEXITSTATUS(status), cosine ? cosine(1) : 0,
		       ((int (*)(void))made)() + ((int (*)(void))sealed)());
		return 0;
	}
C
same many.data ./many
names many.data in_thread in_child in_handler before_jump 'busy  *busy  *\[.\] inner'
tids=$("$RETICLE" script -i many.data -F comm,pid,tid | awk '$1 == "many" { print $2 }' | sort -u | wc -l)
[ "$tids" -ge 4 ] || fail "many.data: $tids threads"

# Memory with code in it is as the program asked for it, though QEMU protects the page.
maps=$("$RETICLE" script -i many.data --show-mmap-events | sed -n 's/.*\((0x[0-9a-f]*)\) @ .*: \(.*\)/\1 \2/p' |
	grep //anon)
[ "$(sort <<<"$maps")" = "(0x1000) r-xp //anon
(0x2000) rwxp //anon" ] || fail "anonymous mappings: $maps"

# The environment and the arguments arrive as they are; what the loader is told is told to the program.
build env <<-'C'
	#include <stdio.h>
	extern char **environ;
	int main(int argc, char **argv)
	{
		for (int i = 0; i < argc; i++) puts(argv[i]);
		for (char **e = environ; *e; e++) puts(*e);
	}
C
same env.data env -i LD_LIBRARY_PATH=/nonexistent A=1 B=2 "C=a b,c" D= ./env one '' 'two words' ,x
[ "$(grep -c . with)" = 9 ] || fail "env: $(cat with)"

# Other architectures: static programs need nothing but QEMU.
if command -v qemu-aarch64 >/dev/null && command -v aarch64-linux-gnu-gcc >/dev/null; then
	printf '%s\n' '#include <stdio.h>' 'volatile unsigned long sum;' \
		'void inner(int n) { for (int i = 0; i < n; i++) sum += (unsigned long)i * sum; }' \
		'int main(void) { for (int i = 0; i < 5000; i++) inner(100); puts("arm"); return 6; }' |
		aarch64-linux-gnu-gcc -static -O1 -g -fno-inline -x c -o arm - || fail "cannot build for aarch64"
	"${R[@]}" -o arm.data -- ./arm >out
	[ $? = 6 ] || fail "aarch64: status"
	[ "$(cat out)" = arm ] || fail "aarch64: $(cat out)"
	names arm.data 'simulated (neoverse-n1)' 'arm  *arm  *\[.\] inner'
	"$RETICLE" script --header -i arm.data | grep -q '^# arch : aarch64' ||
		fail "aarch64: the header says otherwise"
	aarch64-linux-gnu-gcc -O1 -x c -o armdyn - <<<'int main(void) { return 8; }' && {
		"${R[@]}" -o armdyn.data -- ./armdyn
		[ $? = 8 ] || fail "aarch64, dynamically linked: status"
	}
fi
exit 0
