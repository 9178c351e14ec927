#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python module: what the thread's record says at each place, read back with the library's own
activity_capture."""
import asyncio
import ctypes
import contextvars
import gc
import sys
import threading
import types
import warnings

import reticle_activity
from reticle_activity import SpanContext, span


def seen():
    """-> (trace id, span id, flags, attributes) of this thread's record, or None"""
    r = ctypes.create_string_buffer(112)
    reticle_activity._capture(r)
    raw = r.raw
    if raw[24] != 1:
        return None
    size = int.from_bytes(raw[26:28], "little")
    return int.from_bytes(raw[:16], "big"), int.from_bytes(raw[16:24], "big"), raw[25], raw[28:28 + size]


def same():
    """Does the record say what the context variable says?"""
    context = reticle_activity.current()
    record = seen()
    assert (record and record[:3]) == (context and tuple(context)), (record, context)
    return context


def raises(error, function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except error as e:
        return str(e)
    raise AssertionError(f"no {error.__name__}")


def test_spans():
    assert same() is None
    with span() as outer:
        assert same() == outer and outer.trace_id and outer.span_id
        with span(attributes={"http.route": "/cart", "user": 7}) as inner:
            assert same() == inner and inner.trace_id == outer.trace_id and inner.span_id != outer.span_id
            assert seen()[3] == b"\x00\x05/cart\x01\x017"
        assert same() == outer
    given = SpanContext(0x0102 << 100, 0xFF << 50, 0)
    with span(given):
        assert same() == given
    raises(ZeroDivisionError, divide)
    assert same() is None
    assert "among the keys" in raises(ValueError, span, attributes={"other": 1})


@reticle_activity.traced(attributes={"http.route": "/divide"})
def divide():
    assert same() and seen()[3] == b"\x00\x07/divide"
    with span():
        return 1 / 0


def test_attributes_without_room():
    # With -W error.
    assert "'user' is left out: it takes 85 bytes" in raises(RuntimeWarning, span, attributes={"user": "u" * 83})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with span(attributes={"user": "é" * 35, "http.route": "/longer/route", "more": "shorter"}):
            assert seen()[3] == b"\x01\x46" + "é".encode() * 35 + b"\x02\x07shorter"
        with span(attributes={"user": "u" * 300}):
            assert seen()[3] == b""
        with span(attributes={"user": "u" * 82}):
            assert seen()[3] == b"\x01\x52" + b"u" * 82
    assert [(w.category, w.filename) for w in told] == [(RuntimeWarning, __file__)] * 2


def test_keys():
    reticle_activity.publish("again", ["more", "user"])  # those that were there keep their places
    with span(attributes={"user": "x", "more": "y"}):
        assert seen()[3] == b"\x01\x01x\x02\x01y"


def test_bind():
    with span() as context:
        bound = reticle_activity.bind(same)
    assert same() is None and bound() == context and same() is None
    found = []
    thread = threading.Thread(target=lambda: found.extend((bound(), same())))
    thread.start()
    thread.join()
    assert found == [context, None]


def test_generators():
    def values():
        yield 1

    async def later():
        yield 1

    raises(TypeError, reticle_activity.traced, values)
    raises(TypeError, reticle_activity.traced, later)
    for function in values, later, cancelled:
        raises(TypeError, reticle_activity.bind, function)


async def turns(n):
    """Changes places with all others, with a span that is open, and ends it again."""
    outside = same()
    for _ in range(n):
        with span() as context:
            await asyncio.sleep(0)
            assert same() == context
            with span() as inner:
                await asyncio.sleep(0)
                assert same() == inner
        assert same() == outside
        await asyncio.sleep(0)
    return outside


@reticle_activity.traced
async def fails():
    await asyncio.sleep(0)
    same().no_such_attribute


async def cancelled():
    with span() as context:
        try:
            await asyncio.sleep(3600)
        finally:
            assert same() == context


async def everything():
    assert same() is None
    with span() as context:
        # Tasks begin within the span in which they were made.
        assert await asyncio.gather(*(turns(i) for i in range(20))) == [context] * 20
        assert isinstance((await asyncio.gather(fails(), return_exceptions=True))[0], AttributeError)
        assert await asyncio.to_thread(reticle_activity.bind(same)) == context
        for yields in 0, 1, 2:  # before it has begun, and after that
            task = asyncio.create_task(cancelled(), name="to be cancelled")
            assert "cancelled" in repr(task)
            for _ in range(yields):
                await asyncio.sleep(0)
            task.cancel()
            assert isinstance((await asyncio.gather(task, return_exceptions=True))[0], asyncio.CancelledError)
        assert same() == context
        called = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(lambda: called.set_result(seen()))
        assert await called is None
        assert same() == context
    assert same() is None
    return await turns(2)


def test_tasks():
    assert reticle_activity.run(everything()) is None
    assert same() is None
    stacks = len(reticle_activity._stacks)
    assert stacks >= 21  # all have been given back,
    reticle_activity.run(everything())
    gc.collect()
    assert len(reticle_activity._stacks) == stacks and len(set(reticle_activity._stacks)) == stacks  # and used again
    assert same() is None


async def connections():
    """A server is started within a span, and its connections are served by tasks that callbacks make."""
    served, ended = [], asyncio.Event()

    async def serve(_reader, writer):
        try:
            with span() as inner:
                served.append((same() == inner, inner.trace_id))
            served.append((same(), seen()[3]))
        finally:
            writer.close()
            ended.set()

    with span(attributes={"http.route": "/startup"}) as startup:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        await ended.wait()
        writer.close()
        await writer.wait_closed()
    assert served == [(True, startup.trace_id), (startup, b"\x00\x08/startup")], served
    assert same() is None


def test_tasks_that_callbacks_make():
    reticle_activity.run(connections())


async def called(function):
    """-> what a callback gets from the function"""
    result = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(lambda: result.set_result(function()))
    return await result


async def bound_in_callback():
    with span(attributes={"user": 1}) as context:
        assert await called(seen) is None and await called(reticle_activity.current) == context
        bound = await called(lambda: reticle_activity.bind(lambda: (same(), seen()[3])))
    assert same() is None and bound() == (context, b"\x01\x011") and same() is None


def test_bind_in_callbacks():
    reticle_activity.run(bound_in_callback())


async def not_coroutines():
    for thing in 42, len, called:
        assert "coroutine" in raises(TypeError, asyncio.get_running_loop().create_task, thing)
    return True


def test_tasks_of_no_coroutine():
    assert reticle_activity.run(not_coroutines())
    gc.collect()


async def many(n):
    await asyncio.gather(*(asyncio.sleep(0) for _ in range(n)))


def test_stacks_that_are_kept():
    """After very many tasks at a time, those that begin next still find stacks, and most of the memory is free
    again."""
    reticle_activity.run(many(3 * reticle_activity._STACKS))
    gc.collect()
    assert len(reticle_activity._stacks) == reticle_activity._STACKS
    assert reticle_activity.run(everything()) is None and same() is None


class Emptied(list):
    """Another thread takes the last stack between two steps."""

    def __bool__(self):
        return True


def test_stacks_that_others_take():
    kept, reticle_activity._stacks = reticle_activity._stacks, Emptied()
    try:
        assert reticle_activity.run(turns(1)) is None
    finally:
        reticle_activity._stacks = kept


@types.coroutine
def stop():
    yield


async def dropped(ended):
    with span() as context:
        try:
            await stop()
        finally:
            ended.append(seen()[:3] == tuple(context))


def test_coroutines_that_are_dropped():
    ended, stacks = [], len(reticle_activity._stacks)
    for steps in 0, 1:
        followed = reticle_activity._Followed(dropped(ended))
        for _ in range(steps):
            contextvars.copy_context().run(followed.send, None)
        assert same() is None
        del followed
        gc.collect()
    assert ended == [True] and same() is None and len(reticle_activity._stacks) == stacks


def test_tasks_that_nobody_follows():
    async def main():
        with span():
            pass
    assert "not followed" in raises(RuntimeError, asyncio.run, main())


def test_loops_in_threads():
    threads, good = [], []
    for _ in range(4):
        threads.append(threading.Thread(target=lambda: good.append(reticle_activity.run(everything()))))
        threads[-1].start()
    for t in threads:
        t.join()
    assert good == [None] * 4


ignored = []  # by Python: errors in destructors, coroutines that nobody waited for
sys.unraisablehook = ignored.append
reticle_activity.publish("tests", ["http.route", "user", "more"])
for name, test in list(globals().items()):
    if name.startswith("test_"):
        test()
        assert not ignored, ignored
        print("ok", name)
