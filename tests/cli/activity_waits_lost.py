#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""reticle activity with waits, of recordings whose every record is known: which of the time is certain where records
are missing, or where a CPU is silent."""
import json
import os
import sys

from lib.activity_file import BLOCKED, ENDS, PREEMPTED, RUNS, SLEEPS, Recording
from lib.activity_truth import run

reticle = os.environ["RETICLE"]
CART, LIST = b"cart", b"list"
IDLE, ONE, TWO, OTHER = 0, 100, 200, 300


failures = []


def expect(condition, *what):
    if not condition:
        failures.append(" ".join(map(str, what)))


def waits(r, name):
    """-> all that reticle says, and the rows of /cart and /list"""
    r.write(f"{name}.data")
    found = json.loads(run(reticle, "activity", "--json", "--by", "trace_id", "-i", f"{name}.data"))["waits"]
    rows = {row["activity"]: row for row in found["activities"]}
    print(name, found["gaps"], json.dumps(rows, indent=1))
    return found, rows.get(CART.hex().ljust(32, "0")), rows.get(LIST.hex().ljust(32, "0"))


def begin():
    """ONE works for /cart on CPU 0 and sleeps from 2000 on; TWO works for /list on CPU 1."""
    r = Recording()
    r.works_for(ONE, CART, 900)
    r.works_for(TWO, LIST, 900, cpu=1)
    r.switch(IDLE, RUNS, ONE, 1000)
    r.switch(IDLE, RUNS, TWO, 1000, cpu=1)
    r.clock(ONE, 1100)
    r.clock(TWO, 1100, cpu=1)
    r.switch(ONE, SLEEPS, IDLE, 2000)
    return r


# All is there. CPU 0 is silent from 2000 on, which makes nothing uncertain that is seen to end.
r = begin()
r.switch(TWO, PREEMPTED, OTHER, 3000, cpu=1)
r.switch(OTHER, SLEEPS, TWO, 4000, cpu=1)
r.switch(TWO, SLEEPS, IDLE, 5000, cpu=1)
r.waking(IDLE, TWO, 5500, cpu=1)
r.switch(IDLE, RUNS, TWO, 5600, cpu=1)
r.clock(TWO, 8000, cpu=1)
found, cart, listing = waits(r, "silent")
expect(found["gaps"] == 0, "gaps:", found["gaps"])
expect((cart["running"], cart["sleeping"], cart["open"], cart["unknown"]) == (900, 6000, 1, 0), "/cart:", cart)
expect((listing["running"], listing["runnable"], listing["sleeping"]) == (1900 + 1000 + 2400, 1000 + 100, 500),
       "/list:", listing)
expect(listing["unknown"] == 0, "/list is unknown:", listing)

# What was lost at the end no LOST record tells, but the counter does: ONE may have been woken.
r = begin()
r.clock(TWO, 10000, cpu=1)
r.counted_lost(2, 0)
found, cart, listing = waits(r, "tail")
expect((cart["sleeping"], cart["unknown"], cart["lost"]) == (0, 8000, 1), "/cart:", cart)
expect(listing["running"] == 8900, "the other CPU is uncertain, too:", listing)

# The counter says no more than the LOST records, so nothing was lost behind the last of them.
r = begin()
r.lost(2, 2500, 0)
r.switch(OTHER, SLEEPS, ONE, 3000)
r.clock(ONE, 3100)
r.switch(ONE, BLOCKED, IDLE, 4000)
r.clock(TWO, 10000, cpu=1)
r.counted_lost(2, 0)
found, cart, _ = waits(r, "told")
expect((cart["sleeping"], cart["blocked"], cart["open"]) == (0, 6000, 1), "/cart:", cart)
expect(cart["unknown"] == 1000, "/cart:", cart)

# A counter that is read at the end hides no loss that a LOST record tells.
r = begin()
r.lost(2, 2500, 0)
r.clock(OTHER, 15000)
r.clock(TWO, 16000, cpu=1)
r.waking(TWO, ONE, 17000, cpu=1)
r.switch(TWO, SLEEPS, ONE, 18000, cpu=1)
r.clock(ONE, 18500, cpu=1)
r.counted_lost(2, 0)
found, cart, _ = waits(r, "hidden")
expect((cart["sleeping"], cart["waits"]) == (0, 0), "the thread may have been woken meanwhile:", cart)
expect(cart["unknown"] >= 15000, "/cart:", cart)

# CPU 0 is seen to run OTHER until 5000, so the switch that is missing there came after that.
r = begin()
r.switch(IDLE, RUNS, OTHER, 2100)
r.switch(TWO, PREEMPTED, 400, 3000, cpu=1)
r.switch(400, SLEEPS, TWO, 4000, cpu=1)
r.clock(OTHER, 5000)
r.switch(TWO, PREEMPTED, 400, 5500, cpu=1)
r.switch(400, SLEEPS, TWO, 5800, cpu=1)
r.switch(500, SLEEPS, IDLE, 6000)
r.switch(TWO, ENDS, IDLE, 7000, cpu=1)
found, _, listing = waits(r, "later")
expect(found["gaps"] == 1, "gaps:", found["gaps"])
expect((listing["runnable"], listing["unknown"]) == (1000, 300), "/list:", listing)

# What the head says of it.
for name, sentence in (("silent", "# 2 waits had not ended when the recording did, and count until then.\n"),
                       ("tail", "(1 stretch): records are missing (1 gap), nobody was seen"),
                       ("later", "records are missing (1 gap), nobody was seen")):
    text = run(reticle, "activity", "--by", "trace_id", "-i", f"{name}.data")
    expect(sentence in text, f"{name}: no '{sentence}' in", text)

if failures:
    sys.exit("\n".join(failures))
