# SPDX-License-Identifier: Apache-2.0
"""A program in Go whose goroutines change their labels every few milliseconds. Each of its functions computes under
one set of labels only, so the function in which a sample is says which labels that sample must have."""
import bisect
import collections
import pathlib
import subprocess
import sys

from lib.activity_truth import NOT_YET, samples

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
MANY = 12  # more than a bucket of a map has room for

# function -> what reticle has to say: ids or their absence, and attributes
TRUTH = {
    "main.cart": ("without ids", {"http.route": "/cart"}),
    "main.login": ("without ids", {"http.route": "/login"}),
    "main.hash": ("without ids", {"http.route": "/login", "step": "hash"}),
    "main.before": ("without ids", {"http.route": "/before"}),
    "main.after": ("without ids", {"http.route": "/after"}),
    "main.child": ("without ids", {"http.route": "/child", "size": "größer"}),
    "main.traced": (f"{TRACE}/{SPAN}", {"http.route": "/traced"}),
    "main.numbered": (f"-/{5:016x}", {"trace endpoint": "/numbered", "datadog.local_root_span_id": f"{7:016x}"}),
    "main.many": ("without ids", {f"key{i}": f"value{i}" for i in range(MANY)}),
    "main.long": ("without ids", {"http.route": "/long"}),
    "main.nothing": ("none", {}),
}
IN_C = {"in_c": ("without ids", {"http.route": "/c"})}

PROGRAM = r"""
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"
)

WORKERS

func under(ctx context.Context, f func(context.Context), labels ...string) {
	pprof.Do(ctx, pprof.Labels(labels...), f)
}

func manyLabels() (labels []string) {
	for i := 0; i < MANY; i++ {
		labels = append(labels, fmt.Sprint("key", i), fmt.Sprint("value", i))
	}
	return
}

func serve(n int, until time.Time) {
	none := context.Background()
	long := strings.Repeat("x", 300)
	for time.Now().Before(until) {
		under(none, func(context.Context) { cart(n) }, "http.route", "/cart")
		nothing(n)
		under(none, func(ctx context.Context) {
			login(n)
			under(ctx, func(context.Context) { hash(n) }, "step", "hash")
			login(n)
		}, "http.route", "/login")
		under(none, func(ctx context.Context) {
			before(n)
			pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("http.route", "/after")))
			after(n)
		}, "http.route", "/before")
		under(none, func(context.Context) {
			done := make(chan bool)
			go func() {
				child(n)
				done <- true
			}()
			<-done
		}, "http.route", "/child", "size", "größer")
		under(none, func(context.Context) { traced(n) }, "http.route", "/traced", "trace_id", "TRACE",
			"span_id", "SPAN")
		under(none, func(context.Context) { numbered(n) }, "span id", "5", "local root span id", "7",
			"trace endpoint", "/numbered")
		under(none, func(context.Context) { many(n) }, manyLabels()...)
		under(none, func(context.Context) { long_(n) }, "http.route", "/long", "text", long)
		inC(n)
		nothing(n)
	}
}

func main() {
	const enough = 1 << 20
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	runtime.GOMAXPROCS(4)
	begin := time.Now()
	for time.Since(begin) < 500*time.Millisecond {
		warmUp(enough)
	}
	begin = time.Now()
	warmUp(enough)
	n := int(float64(enough) * 2 * float64(time.Millisecond) / float64(time.Since(begin)))
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	fmt.Println("ready")
	var all sync.WaitGroup
	for i := 0; i < 12; i++ {
		all.Add(1)
		go func() {
			serve(n, until)
			all.Done()
		}()
	}
	garbage := [][]byte{}
	for time.Now().Before(until) {
		garbage = append(garbage, make([]byte, 1<<16))
		if len(garbage) > 64 {
			garbage = nil
			time.Sleep(time.Millisecond)
		}
	}
	all.Wait()
}
"""

WORKER = r"""
//go:noinline
func NAME(n int) (x uint32) {
	for i := 0; i < n; i++ {
		x = x*1664525 + uint32(i)
	}
	return
}
"""

C_PART = r"""
package main

/*
__attribute__((noinline)) static unsigned in_c(int n)
{
	unsigned x = 0;

	for (int i = 0; i < n; i++) {
		x = x * 1664525 + (unsigned)i;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}
*/
import "C"

import "context"

func inC(n int) {
	under(context.Background(), func(context.Context) { C.in_c(C.int(n)) }, "http.route", "/c")
}
"""

NO_C_PART = "package main\n\nfunc inC(int) {}\n"


def write_sources(folder, with_c):
    folder = pathlib.Path(folder)
    folder.mkdir()
    names = [name.removeprefix("main.") for name in TRUTH] + ["warmUp"]
    workers = "".join(WORKER.replace("NAME", "long_" if name == "long" else name) for name in names)
    (folder / "main.go").write_text(PROGRAM.replace("WORKERS", workers).replace("MANY", str(MANY))
                                    .replace('"TRACE"', f'"{TRACE}"').replace('"SPAN"', f'"{SPAN}"'))
    (folder / "part.go").write_text(C_PART if with_c else NO_C_PART)
    (folder / "go.mod").write_text("module labels\n")


def functions_of(program):
    """-> addresses where functions of the program begin, and their names"""
    lines = subprocess.run(["nm", "-n", program], check=True, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split(maxsplit=2) for line in lines]
    rows = [(int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "Tt"]
    return [row[0] for row in rows], [row[1] for row in rows]


def is_right(said, ids, attributes):
    """Attributes are in any order."""
    for key, value in attributes.items():
        text = f" {key}={value}"
        if text not in said:
            return False
        said = said.replace(text, "", 1)
    return said == ids


def check(name, reticle, program, truth):
    """program: one that has symbols, and in which functions are at the same addresses."""
    starts, names = functions_of(program)
    right, missed, early = collections.Counter(), collections.Counter(), 0
    for sample in samples(reticle, "ip,activity"):
        at = bisect.bisect_right(starts, int(sample["ip"], 16)) - 1
        function = names[at].replace("long_", "long") if at >= 0 else ""
        if function not in truth:
            continue
        ids, attributes = truth[function]
        if is_right(sample["activity"], ids, attributes):
            right[function] += 1
        elif sample["activity"] == NOT_YET and not right:
            early += 1
        elif sample["activity"] in ("none", "unreadable", NOT_YET, "unknown"):
            missed[sample["activity"]] += 1
        else:
            sys.exit(f"{name}: {function} has to be {ids} {attributes}, and reticle says {sample['activity']}")
    total = sum(right.values())
    print(f"{name}: {total} right, 0 wrong, missed: {dict(missed)}, {early} {NOT_YET}; {dict(right)}")
    if min(right[function] for function in truth) < 10 or sum(missed.values()) > total // 100:
        sys.exit(f"{name}: too many were missed, or there are too few")
