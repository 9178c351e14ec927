#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tasks of asyncio: requests that one thread serves in turn, with nested spans, a worker thread, an exception, and
tasks that are cancelled while they wait.

Where the other examples say which function works in which span, this one says when: TID BEGIN END SPAN ATTRIBUTE, in
ns of CLOCK_MONOTONIC."""
import asyncio
import contextlib
import threading
import time

import reticle_activity

ROUTES = "/cart", "/search", "/login"
ROUNDS = 10
truth = []


def work(route, steps=50_000):
    """Takes time, and notes for which span."""
    context = reticle_activity.current()
    begin = time.monotonic_ns()
    x = 0
    for i in range(steps):
        x += i * i
    end = time.monotonic_ns()
    span = f"{context.trace_id:032x}/{context.span_id:016x}" if context else "-"
    truth.append(f"{threading.get_native_id()} {begin} {end} {span} {route}")
    return x


@reticle_activity.traced
async def query():
    work("-")
    await asyncio.sleep(0)
    work("-")
    raise LookupError("no such row")


async def part():
    """A task within the span of the one that makes it."""
    for _ in range(2):
        work(parts_of[asyncio.current_task()])
        await asyncio.sleep(0)


parts_of = {}


async def serve(route):
    with reticle_activity.span(attributes={"http.route": route}):
        work(route)
        await asyncio.sleep(0.001)
        work(route)
        with contextlib.suppress(LookupError):
            await query()
        work(route)
        await asyncio.to_thread(reticle_activity.bind(work), route)
        task = asyncio.create_task(part())
        parts_of[task] = route
        await task
        waiting = asyncio.create_task(wait(route))
        await asyncio.sleep(0)
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
        work(route)
    work("-")  # for no one


async def wait(route):
    with reticle_activity.span(attributes={"http.route": route}):
        try:
            await asyncio.sleep(3600)
        finally:
            work(route)  # still for its span


async def main():
    for _ in range(ROUNDS):
        asyncio.get_running_loop().call_soon(work, "-")  # callbacks work for no one
        await asyncio.gather(*(serve(route) for route in ROUTES))


reticle_activity.publish("tasks", ["http.route"])
reticle_activity.run(main())
print("\n".join(truth))
