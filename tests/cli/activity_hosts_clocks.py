#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reticle activity of several recordings whose every record is known: what bounds the difference of two clocks and
what does not, the order of a trace's stops, and which traces are shown when only some samples are asked for."""
import json
import os
import sys

from lib.activity_file import NO_RECORD, NONE, NOT_YET, Recording
from lib.activity_truth import run

reticle = os.environ["RETICLE"]
AHEAD = 1000000  # of the database's clock
A, B, ALONE = b"aaaa", b"bbbb", b"cccc"
WEB, DB = 10, 20


def expect(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def visit(r, tid, trace, first, last, after):
    """Two samples, and one that says that it is over."""
    r.works_for(tid, trace, first)
    r.clock(tid, first)
    r.clock(tid, last)
    r.works_for(tid, b"", after, NONE)
    r.clock(tid, after)


def hosts(*words):
    return json.loads(run(reticle, "activity", "--json", *words, "web.data", "db.data"))


def traces(found):
    return [trace["trace_id"][:8] for trace in found["traces"]]


# The web server is at work for A when it is first looked at, and again when its record cannot be read: these samples
# say nothing of when A began and ended. B is seen to begin and to end.
web = Recording()
web.comm(WEB, "web")
web.works_for(WEB, b"", 1000, NOT_YET)
web.clock(WEB, 1000)
web.works_for(WEB, A, 2000)
web.clock(WEB, 2000)
web.works_for(WEB, b"", 3000, NO_RECORD)
web.clock(WEB, 3000)
web.works_for(WEB, b"", 10000, NONE)
web.clock(WEB, 10000)
web.clock(WEB, 20000)
visit(web, WEB, B, 21000, 29000, 30000)
visit(web, WEB, ALONE, 31000, 32000, 33000)
web.write("web.data")
db = Recording()
db.comm(DB, "db")
visit(db, DB, A, AHEAD + 500, AHEAD + 9000, AHEAD + 9500)
visit(db, DB, B, AHEAD + 20500, AHEAD + 29500, AHEAD + 29600)
db.write("db.data")
found = hosts()
print(json.dumps(found, indent=1))
of_db = found["recordings"][1]
expect((of_db.get("ahead"), of_db.get("error")) == (AHEAD, 500), "the clock is said to be ahead by", of_db)
expect(sorted(traces(found)) == [A.hex(), B.hex()] and found["alone"] == 1, "traces:", found["traces"])

# Only what is asked for.
only_b = "trace_id=" + B.hex().ljust(32, "0")
found = hosts("--activity", only_b)
expect(traces(found) == [B.hex()] and found["alone"] == 0, "other traces than", only_b, "are shown:", found["traces"])
expect([stop["samples"] for stop in found["traces"][0]["stops"]] == [2, 2], found["traces"])
expect(found["recordings"][1]["ahead"] == AHEAD, "the clock is another one:", found["recordings"])
expect(hosts("-c", "web")["traces"] == [], "-c shows another thread")

# A host whose clock cannot be compared, as its part of B is longer than the whole, comes last in a trace. The database
# is first: the web server's first sample is a later one.
odd = Recording()
visit(odd, 30, B, 5000000, 5900000, 5910000)
odd.write("odd.data")
found = json.loads(run(reticle, "activity", "--json", "web.data", "odd.data", "db.data"))
stops = next(trace["stops"] for trace in found["traces"] if trace["trace_id"].startswith(B.hex()))
expect([stop["recording"] for stop in stops] == ["db.data", "web.data", "odd.data"], "the order is", stops)
expect("from" not in stops[2], "times of a clock that is not known:", stops[2])
