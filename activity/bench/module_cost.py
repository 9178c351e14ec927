#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the Python module costs: a span, and a step of a task of asyncio with and without a stack of activities.
Medians of rounds that take turns, in ns of CPU time."""
import asyncio
import statistics
import time

import reticle_activity
from reticle_activity import span

N, ROUNDS = 20000, 15


def spans():
    for _ in range(N):
        with span():
            pass


def spans_with_attribute():
    for _ in range(N):
        with span(attributes={"http.route": "/cart"}):
            pass


async def steps():
    async def task():
        for _ in range(N // 10):
            await asyncio.sleep(0)
    await asyncio.gather(*(task() for _ in range(10)))


async def tasks():
    async def task():
        pass
    for _ in range(N):
        await asyncio.create_task(task())


WAYS = {
    "with span()": spans,
    "with span(), an attribute": spans_with_attribute,
    "a step of a task, not followed": lambda: asyncio.run(steps()),
    "a step of a task, followed": lambda: reticle_activity.run(steps()),
    "a task from begin to end, not followed": lambda: asyncio.run(tasks()),
    "a task from begin to end, followed": lambda: reticle_activity.run(tasks()),
}
reticle_activity.publish("cost", ["http.route"])
took = {name: [] for name in WAYS}
for _ in range(ROUNDS):
    for name, way in WAYS.items():
        begin = time.process_time_ns()
        way()
        took[name].append((time.process_time_ns() - begin) / N)
for name, times in took.items():
    print(f"{name:40} {statistics.median(times):8.0f} ns")
