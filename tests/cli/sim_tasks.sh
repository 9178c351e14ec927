#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check: plain
# Programs that start programs under the virtual PMU: they behave as natively, and all of them are recorded.
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/record_lib.bash"
# shellcheck source=/dev/null
. "$SRCDIR/tests/cli/sim_lib.bash"
need_sim
need_program cc

# Runs a command natively and recorded: output, errors and status must be the same. same NAME COMMAND...
same() {
	local what=$1
	shift
	env _=_ "$@" >native.out 2>native.err </dev/null
	local native=$?
	env _=_ "$RETICLE" record -q --pmu=sim -c 1000000 -o sim.data -- "$@" >sim.out 2>sim.err </dev/null
	local sim=$?
	[ $native = $sim ] || fail "$what: status $sim, natively $native: $(cat sim.err)"
	cmp -s native.out sim.out || fail "$what: output differs: $(diff native.out sim.out | head -5)"
	cmp -s native.err sim.err || fail "$what: errors differ: $(diff native.err sim.err | head -5)"
}
# What COMM records with the exec flag name, in order of time.
execs() {
	"$RETICLE" dump -i sim.data --json --type COMM | grep '"exec":true' | sed 's/.*"comm":"\([^"]*\)".*/\1/' |
		sort | tr '\n' ' '
}
expect_execs() {
	[ "$(execs)" = "$2 " ] || fail "$1: ran $(execs), not $2"
}

cat >outer.sh <<'SH'
#!/bin/sh -u
echo "$0 $# $*"
./middle 'a b' ''
echo piped | sed s/p/P/ | cat -
(exit 3) || echo "three $?"
no-such-program || echo "none $?"
./empty || echo "empty $?"
./not-executable || echo "denied $?"
exec ./args last "$@"
SH
printf '#!./inner  two words  \n' >middle
printf '#!./args\n' >inner
: >empty
echo 'echo never' >not-executable
chmod +x outer.sh middle inner empty
build args <<-'C'
	#include <stdio.h>
	#include <signal.h>
	#include <unistd.h>
	extern char **environ;
	int main(int argc, char **argv)
	{
		sigset_t set;
		char exe[4096] = "";
		for (int i = 0; i < argc; i++)
			printf("%d '%s'\n", i, argv[i]);
		for (char **e = environ; *e; e++)
			printf("%s\n", *e);
		sigprocmask(SIG_BLOCK, NULL, &set);
		printf("blocked %d, ignored %d\n", sigismember(&set, SIGUSR1), signal(SIGUSR2, SIG_DFL) == SIG_IGN);
		for (int fd = 0; fd < 20; fd++)
			printf("%d", lseek(fd, 0, SEEK_CUR) != -1);
		printf("\n%d\n", (int)readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0 && access(exe, X_OK) == 0);
		return argc;
	}
C
export ONE=1 EMPTY='' TWO='x=y  z'
same 'a script' ./outer.sh 1 '2 3'
expect_execs 'a script' 'args cat middle outer.sh sed sh'

# The environment in its order, the loader's variables with it, and nothing of ours.
same 'environment' env -i B=1 A=2 C=3 ./args
same 'no environment' env -i ./args
same 'environment of the loader' env -i B=1 LD_BIND_NOW=1 sh -c './args | sort'

build starter -pthread <<-'C'
	#define _GNU_SOURCE
	#include <errno.h>
	#include <fcntl.h>
	#include <pthread.h>
	#include <signal.h>
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/wait.h>
	#include <unistd.h>
	static char *volatile wild = (char *)8;
	static char *const args[] = { "zero", "one", NULL }, *const none[] = { NULL };
	static void *run(void *path) { execv(path, args); return NULL; }
	int main(int argc, char **argv)
	{
		pthread_t thread;
		sigset_t set;
		int fd = open("args", O_RDONLY | (strstr(argv[1], "cloexec") ? O_CLOEXEC : 0));
		sigemptyset(&set);
		sigaddset(&set, SIGUSR1);
		sigprocmask(SIG_BLOCK, &set, NULL);
		signal(SIGUSR2, SIG_IGN);
		if (!strcmp(argv[1], "execve"))
			execve("./args", args, none);
		if (!strcmp(argv[1], "no-args"))
			execve("./args", none, NULL);
		if (!strcmp(argv[1], "fexecve") || !strcmp(argv[1], "fexecve-cloexec"))
			fexecve(fd, args, none);
		if (!strcmp(argv[1], "at"))
			execveat(open(".", O_RDONLY | O_DIRECTORY), "args", args, none, 0);
		if (!strcmp(argv[1], "thread")) {
			pthread_create(&thread, NULL, run, "./args");
			pause();
		}
		if (!strcmp(argv[1], "self") && argc == 2)
			execl("/proc/self/exe", "self", "self", "again", NULL);
		if (!strcmp(argv[1], "self"))
			return 7;
		if (!strcmp(argv[1], "fails")) {
			char big[200000];
			memset(big, 'x', sizeof(big));
			big[sizeof(big) - 1] = 0;
			printf("%d", execl("./nowhere", "x", NULL) + errno == ENOENT - 1);
			printf("%d", execl(".", "x", NULL) + errno == EACCES - 1);
			printf("%d", execl("./empty", "x", NULL) + errno == ENOEXEC - 1);
			printf("%d", execl("./args", "x", big, NULL) + errno == E2BIG - 1);
			printf("%d", execve(wild, args, none) + errno == EFAULT - 1);
			printf("%d\n", execve("./args", (char **)wild, none) + errno == EFAULT - 1);
		}
		if (!strcmp(argv[1], "vfork")) {
			int status;
			for (int i = 0; i < 3; i++)
				if (!vfork()) {
					execv("./args", args);
					_exit(9);
				}
			while (wait(&status) > 0)
				printf("%x\n", status);
		}
		return 5;
	}
C
for how in execve no-args fexecve fexecve-cloexec at thread self fails vfork; do
	same "$how" ./starter $how
done
# A long list of arguments.
seq 1 20000 >numbers
same 'xargs' sh -c 'xargs ./args <numbers | md5sum; xargs -n 5000 echo <numbers | wc'

# Real programs.
start='import subprocess; print(subprocess.run([\"./args\", \"x\"], capture_output=True).returncode)'
for what in 'gzip:gzip -c -9 numbers | gzip -d | md5sum' 'xz:xz -c numbers | xz -d | md5sum' \
	"python3:python3 -S -c \"$start\"" \
	'sqlite3:echo "select sum(x) from (values (1), (2)) as t(x);" >q; sqlite3 :memory: 2>&1 <q' \
	'make:printf "all: a b\n%%:\n\t@echo \$@ && sleep 0\n" | make -s -j2 -f - | sort'; do
	command -v "${what%%:*}" >/dev/null && same "${what%%:*}" sh -c "${what#*:}"
done

# More threads and processes at once than the recorder has chunks, all of which wait for each other.
build many -pthread <<-'C'
	#include <pthread.h>
	#include <stdio.h>
	#include <string.h>
	#include <sys/wait.h>
	#include <unistd.h>
	#define NR 300
	static pthread_barrier_t all;
	static void *meet(void *arg) { return (void *)(long)(pthread_barrier_wait(&all) + (arg != NULL)); }
	int main(int argc, char **argv)
	{
		pthread_t threads[NR];
		int ends[2], ended = 0;
		pthread_barrier_init(&all, NULL, NR);
		for (int i = 0; i < NR && argc == 1; i++)
			pthread_create(&threads[i], NULL, meet, NULL);
		for (int i = 0; i < NR && argc == 1; i++)
			pthread_join(threads[i], NULL);
		if (pipe(ends))
			return 1;
		for (int i = 0; i < NR && argc > 1; i++)
			if (!fork())
				return close(ends[1]) | (int)read(ends[0], argv[1], 1);
		close(ends[1]);
		while (wait(NULL) > 0)
			ended++;
		printf("%d\n", ended);
		return 0;
	}
C
for how in '' processes; do
	# shellcheck disable=SC2086
	timeout 100 "$RETICLE" record -q --pmu=sim -c 1000 -o many.data -- ./many $how >many.out ||
		fail "300 at once: $how"
	"$RETICLE" dump -i many.data --json --type EXIT >exits.json
	[ "$(wc -l <exits.json)" = 301 ] || fail "300 at once: $(wc -l <exits.json) EXIT $how"
	# shellcheck disable=SC2086
	timeout 100 "$RETICLE" stat --pmu=sim,models=none -- ./many $how >many.out 2>many.stat ||
		fail "300 counted at once: $how"
	grep -q " 301 threads" many.stat || fail "300 counted at once: $how: $(cat many.stat)"
done

# A program that may not reach the recorder any more runs as it is, and that is said.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	"$RETICLE" record --pmu=sim -o sim.data -- setpriv --reuid=65534 --clear-groups sh -c 'id -u; exit 3' \
		>other.out 2>other.err
	[ $? = 3 ] && [ "$(cat other.out)" = 65534 ] || fail "another user: $(cat other.out other.err)"
	grep -q 'warning: 1 program ran without' other.err || fail "another user: $(cat other.err)"
	"$RETICLE" stat --pmu=sim -- setpriv --reuid=65534 --clear-groups true 2>other.err
	grep -q 'warning: 1 program ran without' other.err || fail "another user, counted: $(cat other.err)"
fi

# Every process and thread has one FORK (but the first) and one EXIT, and runs nothing outside of them, for reticle and
# perf alike. tasks NAME FILE FORKS
tasks() {
	"$RETICLE" dump -i "$2" --json >tasks.json
	python3 - "$3" <<-'PY' || fail "$1: records of tasks"
		import json, sys
		born, gone, first = set(), set(), None
		def time_of(r):
		    return r.get("sample_id", r).get("time", 0)
		for r in sorted(map(json.loads, open("tasks.json")), key=time_of):
		    kind, task = r.get("kind"), (r.get("pid"), r.get("tid"))
		    if kind == "FORK":
		        assert task not in born and (r["ppid"], r["ptid"]) in born - gone, r
		        born.add(task)
		    elif kind == "EXIT":
		        assert task in born and task not in gone, r
		        gone.add(task)
		    elif kind in ("SAMPLE", "COMM", "MMAP2"):
		        if first is None:
		            first = task
		            born.add(task)
		        assert task in born and task not in gone, r
		assert len(born) == int(sys.argv[1]) + 1 and gone == born, (born, gone)
	PY
	command -v perf >/dev/null || return
	perf script --show-task-events -i "$2" >tasks.txt 2>/dev/null || fail "$1: perf cannot read it"
	[ "$(grep -c RECORD_FORK tasks.txt) $(grep -c RECORD_EXIT tasks.txt)" = "$3 $(($3 + 1))" ] ||
		fail "$1: perf sees $(grep -c RECORD_FORK tasks.txt) FORK and $(grep -c RECORD_EXIT tasks.txt) EXIT"
}
same 'a tree' sh -c 'for i in 1 2 3; do (sh -c "true; true" & wait); done'
tasks 'a tree' sim.data "$(count sim.data FORK)"
[ "$(count sim.data FORK)" -ge 5 ] || fail "a tree: $(count sim.data FORK) FORK"

# Killed ones too: a child before its first instruction, the whole program with its threads, a parent by its child.
build dies -pthread <<-'C'
	#include <pthread.h>
	#include <signal.h>
	#include <stdlib.h>
	#include <string.h>
	#include <sys/wait.h>
	#include <unistd.h>
	static volatile long sum;
	static void work(void) { for (int i = 0; i < 100000; i++) sum += i; }
	static void *run(void *arg)
	{
		work();
		if (arg)
			kill(getpid(), *(int *)arg);
		pause();
		return arg;
	}
	static void *other(void *arg) { execl("./args", "args", NULL); return arg; }
	int main(int argc, char **argv)
	{
		int sig = atoi(argv[2]), ends[2];
		pthread_t threads[8];
		char none;
		pid_t pid;
		work();
		if (!strcmp(argv[1], "itself"))
			raise(sig);
		if (!strcmp(argv[1], "threads") || !strcmp(argv[1], "exec"))
			for (int i = 0; i < 8; i++)
				pthread_create(&threads[i], NULL, run, i < 7 || *argv[1] == 'e' ? NULL : &sig);
		if (!strcmp(argv[1], "exec"))
			execl("./args", "args", NULL);
		if (!strcmp(argv[1], "thread-execs")) {
			pthread_create(&threads[0], NULL, other, NULL);
			pause();
		}
		for (int i = 0; i < 10 && !strcmp(argv[1], "children"); i++) {
			pid = fork();
			if (!pid)
				pause();
			kill(pid, sig);
			waitpid(pid, NULL, 0);
		}
		if (!strcmp(argv[1], "parent")) {
			if (pipe(ends))
				return 1;
			pid = fork();
			if (!pid && !fork())
				return kill(getppid(), sig);
			close(ends[1]);
			waitpid(pid, NULL, 0);
			return (int)read(ends[0], &none, 1); /* until the grandchild has ended */
		}
		if (!strcmp(argv[1], "threads"))
			pause();
		return 0;
	}
C
for ids in own real; do
	for how in 'itself 6 0' 'itself 9 0' 'itself 11 0' 'itself 15 0' 'threads 9 8' 'threads 15 8' 'exec 0 8' \
		'children 9 10' 'parent 9 2'; do
		read -r what sig forks <<<"$how"
		(
			ulimit -c 0
			timeout 60 "$RETICLE" record -q --pmu=sim,ids=$ids -e cycles -c 1000 -o dies.data -- \
				./dies "$what" "$sig"
		) >dies.out 2>&1
		tasks "$what, signal $sig, ids=$ids" dies.data "$forks"
	done
	# The first thread ends, and its id goes on as that of the thread that called exec: no other EXIT is the
	# kernel's.
	timeout 60 "$RETICLE" record -q --pmu=sim,ids=$ids -e cycles -c 1000 -o dies.data -- ./dies thread-execs 0 \
		>dies.out 2>&1
	for kind in FORK EXIT; do
		"$RETICLE" dump -i dies.data --json --type $kind
	done >dies.json
	python3 - <<-'PY' || fail "exec by a thread, ids=$ids: $(cat dies.json)"
		import json
		fork, *exits = map(json.loads, open("dies.json"))
		assert fork["pid"] != fork["tid"] and [e["tid"] for e in exits] == [fork["pid"]] * 2, (fork, exits)
	PY
done

# Names that threads give themselves and each other, by a call and through /proc; no other file of that name is one.
build names -pthread <<-'C'
	#define _GNU_SOURCE
	#include <fcntl.h>
	#include <pthread.h>
	#include <stdio.h>
	#include <sys/prctl.h>
	#include <sys/uio.h>
	#include <sys/wait.h>
	#include <unistd.h>
	static void *run(void *arg) { pause(); return arg; }
	int main(void)
	{
		pthread_t threads[4];
		char name[16], path[64];
		int fd = open("/proc/self/comm", O_WRONLY), file = open("comm", O_WRONLY | O_CREAT | O_TRUNC, 0600);
		if (write(file, "no name", 7) != 7 || write(fd, "longer than a name can be", 25) != 25)
			return 1;
		prctl(PR_SET_NAME, "called");
		if (writev(fd, &(struct iovec){ "writev", 6 }, 1) != 6)
			return 2;
		for (int i = 0; i < 4; i++) {
			pthread_create(&threads[i], NULL, run, NULL);
			snprintf(name, sizeof(name), "thread %d", i);
			if (pthread_setname_np(threads[i], name))
				return 3;
		}
		if (fork())
			return wait(NULL) < 0;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", getpid(), gettid());
		fd = open(path, O_WRONLY);
		return write(fd, "child", 5) != 5;
	}
C
for ids in own real; do
	"$RETICLE" record -q --pmu=sim,ids=$ids -o names.data -- ./names || fail "names, ids=$ids: status $?"
	"$RETICLE" dump -i names.data --json --type COMM >names.json
	python3 - <<-'PY' || fail "names, ids=$ids: $(cat names.json)"
		import json
		records = sorted(map(json.loads, open("names.json")), key=lambda r: r["sample_id"]["time"])
		names = [(r["pid"], r["tid"], r["comm"]) for r in records]
		first = [comm for pid, tid, comm in names if (pid, tid) == names[0][:2]]
		assert first == ["names", "longer than a n", "called", "writev"], first
		threads = [(tid, comm) for pid, tid, comm in names if pid == names[0][0] and tid != pid]
		assert [comm for _, comm in threads] == [f"thread {i}" for i in range(4)], threads
		assert len(dict(threads)) == 4, threads
		assert [comm for pid, _, comm in names if pid != names[0][0]] == ["child"], names
	PY
done

# Virtual CPUs: threads and processes take turns, each CPU counts on, and its time does not go back.
build turns -pthread <<-'C'
	#include <pthread.h>
	#include <sys/mman.h>
	#include <sys/wait.h>
	#include <unistd.h>
	/* Three tasks that want to run at the same time. */
	static pthread_barrier_t *all;
	static void *run(void *arg)
	{
		pthread_barrier_wait(all);
		for (volatile int i = 0; i < 5000000; i++) ; /* so long that a busy machine runs all of them */
		return arg;
	}
	int main(void)
	{
		pthread_t threads[2];
		pthread_barrierattr_t shared;
		all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		pthread_barrierattr_init(&shared);
		pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
		pthread_barrier_init(all, &shared, 3);
		if (!fork())
			return run(NULL) != NULL;
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, run, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		return wait(NULL) < 0;
	}
C
# take_turns CPUS: 3 if some CPU has had one thread only, as it may where the machine is so busy that nobody who waits
# for a virtual CPU gets to run in the millisecond for which one is offered.
take_turns()
{
	timeout 60 "$RETICLE" record -q --pmu=sim,cpus=$1,quantum=50000 -e cycles -c 10000 -o turns.data -- \
		./turns ||
		fail "$1 CPUs: status $?"
	"$RETICLE" dump -i turns.data --json --type SAMPLE >turns.json
	python3 - $1 <<'PY'
import json, sys
cpus, lines = int(sys.argv[1]), [json.loads(line) for line in open("turns.json")]
assert {s["cpu"] for s in lines} <= set(range(cpus)), {s["cpu"] for s in lines}
fewest = len(lines)
for cpu in range(cpus):
    here = sorted((s for s in lines if s["cpu"] == cpu), key=lambda s: s["time"])
    fewest = min(fewest, sum(a["tid"] != b["tid"] for a, b in zip(here, here[1:])))
    # At 3 GHz a period takes 3333 ns of a CPU; a long operation may end the one before late.
    gaps = [b["time"] - a["time"] for a, b in zip(here, here[1:])]
    assert min(gaps, default=2500) >= 2500, (cpu, min(gaps))
assert len({s["tid"] for s in lines}) == 4 and len({s["pid"] for s in lines}) == 2
sys.exit(3 if fewest < 2 else 0)
PY
}
for cpus in 1 2; do
	for _ in $(seq 20); do
		take_turns $cpus
		status=$?
		[ $status = 3 ] || break
	done
	[ $status = 0 ] || fail "$cpus CPUs: status $status"
done

# Data maps: those of the program, by the kernel's names; QEMU's own are none of them.
"$RETICLE" record -q --pmu=sim -d -o data.data -- sh -c ./args >/dev/null
"$RETICLE" dump -i data.data --type MMAP2 >data.txt
for name in '\[stack\]' '\[heap\]' "$PWD/args" 'libc.so.6'; do
	grep -q "rw-p .*$name" data.txt || fail "data maps: no $name"
done
grep -q qemu data.txt && fail "data maps: $(grep qemu data.txt)"

# The same twice, byte by byte.
"$RETICLE" record -q --pmu=sim -g -o one.data -- sh -c './args; ./args' >/dev/null
"$RETICLE" record -q --pmu=sim -g -o two.data -- sh -c './args; ./args' >/dev/null
"$RETICLE" dump -i one.data --json >one.json
"$RETICLE" dump -i two.data --json >two.json
cmp one.json two.json || fail "two recordings of the same differ"
