# SPDX-License-Identifier: Apache-2.0
"""Which request does this thread work for? For Python, with the library of activities (libreticle-activity.so).

    import reticle_activity

    reticle_activity.publish("shop", ["http.route"])

    async def serve(request):
        with reticle_activity.span(attributes={"http.route": "/cart"}):
            ...

    reticle_activity.run(main())        # in place of asyncio.run

A span is an activity of the thread, for profilers, and the value of a context variable, for who makes spans within it.
The tasks of asyncio each have a stack of activities of their own, which is switched when the event loop goes from one
task to another: `run` and `follow_tasks` see to that. A task begins within the span in which it was made; one that a
callback makes, such as those of a server's connections, begins within the span in which the callback was asked for.

Ids are those of OpenTelemetry for Python: numbers called trace_id, span_id and trace_flags. A span that its SDK has
made can be said with span(context=otel_span.get_span_context()).

Callbacks and functions that other threads run belong to no span; bind(function) makes one that belongs to the present
one. In a callback, current() still is the span in which it was asked for, and spans that it makes are within that one.
A `with` block in a generator, or in an asynchronous one, must not contain a yield: who takes the generator's values
would work for its span.

The library is found by its name, or in the file that RETICLE_ACTIVITY_LIBRARY names. Python 3.11 or later.
"""
import asyncio
import collections.abc
import contextvars
import ctypes
import functools
import inspect
import os
import random
import typing
import warnings

__all__ = ["SpanContext", "bind", "current", "follow_tasks", "publish", "run", "span", "traced"]


class SpanContext(typing.NamedTuple):
    trace_id: int
    span_id: int
    trace_flags: int = 1


class _Process(ctypes.Structure):
    _fields_ = [("service", ctypes.c_char_p), ("keys", ctypes.POINTER(ctypes.c_char_p)), ("nr_keys", ctypes.c_size_t)]


_ROOM = 84  # bytes for attributes, ACTIVITY_ATTRS
_Snapshot = ctypes.c_char * 112

# These calls are shorter than it takes to let other threads run meanwhile, so they do not.
_library = ctypes.PyDLL(os.environ.get("RETICLE_ACTIVITY_LIBRARY", "libreticle-activity.so.0"))


def _function(name, result, *arguments):
    f = _library[name]
    f.restype, f.argtypes = result, arguments
    return f


_push = _function("activity_push", None, ctypes.c_char_p)
_attribute = _function("activity_attribute", ctypes.c_bool, ctypes.c_uint, ctypes.c_char_p, ctypes.c_size_t)
_depth = _function("activity_depth", ctypes.c_uint)
_unwind = _function("activity_unwind", None, ctypes.c_uint)
_clear = _function("activity_clear", None)
_capture = _function("activity_capture", None, ctypes.c_void_p)
_adopt = _function("activity_adopt", None, ctypes.c_void_p)
_free_stack = _function("activity_stack_free", None, ctypes.c_void_p)
_new_stack = _function("activity_stack_new", ctypes.c_void_p)
_switch = _function("activity_switch", ctypes.c_void_p, ctypes.c_void_p)
_publish = _function("activity_publish", ctypes.c_int, ctypes.POINTER(_Process))

# Of a span: context, ids and attributes, as the library wants them.
_current = contextvars.ContextVar("reticle_activity", default=None)
_keys = {}  # name of an attribute: its index
_stacks = []  # of tasks that have ended, for those that begin: some
_STACKS = 256


def publish(service, keys=()):
    """Says to profilers what this process is, and what its attributes are called. Keys may be added by later calls."""
    names = list(dict.fromkeys([*_keys, *keys]))
    encoded = (ctypes.c_char_p * len(names))(*(name.encode() for name in names))
    error = _publish(_Process(service.encode(), encoded, len(names)))
    if error:
        raise OSError(-error, os.strerror(-error))
    _keys.update((name, i) for i, name in enumerate(names))


def current():
    """-> the SpanContext that the caller is in, or None"""
    present = _current.get()
    return present and present[0]


def _random_id(bits):
    return random.getrandbits(bits) or 1  # all zero means none


def _below(parent):
    if parent is None:
        return SpanContext(_random_id(128), _random_id(64))
    return SpanContext(parent.trace_id, _random_id(64), parent.trace_flags)


def _key(name):
    if name not in _keys:
        raise ValueError(f"{name!r} is not among the keys that were given to publish")
    return _keys[name]


def _push_span(ids, attributes):
    _push(ids)
    for key, value in attributes:
        _attribute(key, value, len(value))


def _snapshot():
    """-> what the thread's record says in the present span. In a callback it says nothing, and the context variable
    does."""
    snapshot, present = _Snapshot(), _current.get()
    _capture(snapshot)
    if present and snapshot.raw[:24] != present[1][:24]:
        before = _depth()
        _push_span(*present[1:])
        _capture(snapshot)
        _unwind(before)
    return snapshot


def _encode(attributes):
    """-> [(index of the key, value in UTF-8), ...] of those for which there is room"""
    encoded, left = [], _ROOM
    for key, value in attributes.items():
        index, value = _key(key), str(value).encode()
        if len(value) + 2 > left:
            warnings.warn(f"the attribute {key!r} is left out: it takes {len(value) + 2} bytes, and {left} of {_ROOM} "
                          "are left", RuntimeWarning, stacklevel=3)
            continue
        encoded.append((index, value))
        left -= len(value) + 2
    return encoded


def _check_task():
    """In a task that is not followed, others would run within its spans."""
    if asyncio._get_running_loop() is None:
        return
    task = asyncio.current_task()
    if task is not None and type(task.get_coro()) is not _Followed:
        raise RuntimeError(
            "this task is not followed: use reticle_activity.run, or follow_tasks before the task is made")


class span:
    """with span(): a new span within the present one, or the first one of a new trace. with span(context): that one.

    There are 84 bytes for attributes, each of which takes 2 more than its value in UTF-8. One for which there is no
    room left is left out, with a RuntimeWarning."""

    __slots__ = ("context", "_ids", "_attributes", "_before", "_token")

    def __init__(self, context=None, attributes=None):
        self.context = context = _below(current()) if context is None else context
        self._ids = (context.trace_id.to_bytes(16, "big") + context.span_id.to_bytes(8, "big") +
                     bytes((context.trace_flags & 255,)))
        self._attributes = _encode(attributes) if attributes else ()

    def __enter__(self):
        _check_task()
        self._before = _depth()
        _push_span(self._ids, self._attributes)
        self._token = _current.set((self.context, self._ids, self._attributes))
        return self.context

    def __exit__(self, *_error):
        _unwind(self._before)
        try:
            _current.reset(self._token)
        except ValueError:  # in another context: a coroutine that nobody has run to its end is closed
            pass


def _refuse_generators(function):
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError("who takes a generator's values would work for its span")


def traced(function=None, *, attributes=None):
    """A decorator: each call of the function, also of an asynchronous one, is a span of its own."""
    if function is None:
        return functools.partial(traced, attributes=attributes)
    _refuse_generators(function)
    if inspect.iscoroutinefunction(function):
        @functools.wraps(function)
        async def call(*args, **kwargs):
            with span(attributes=attributes):
                return await function(*args, **kwargs)
    else:
        @functools.wraps(function)
        def call(*args, **kwargs):
            with span(attributes=attributes):
                return function(*args, **kwargs)
    return call


def bind(function):
    """-> a function that does the same within the present span, whichever thread calls it, and when"""
    _refuse_generators(function)
    if inspect.iscoroutinefunction(function):
        raise TypeError(
            "calling a coroutine function does not run it; a task begins within the span in which it is made")
    snapshot, context = _snapshot(), contextvars.copy_context()

    @functools.wraps(function)
    def call(*args, **kwargs):
        before = _depth()
        _adopt(snapshot)
        try:
            return context.copy().run(function, *args, **kwargs)
        finally:
            _unwind(before)
    return call


class _Followed(collections.abc.Coroutine):
    """A coroutine that is on a stack of activities of its own whenever it runs."""

    __slots__ = ("_coro", "_stack")

    def __init__(self, coro):
        self._coro, self._stack = coro, None
        try:
            self._stack = _stacks.pop()
        except IndexError:
            self._stack = _new_stack()
        if self._stack is None:
            raise MemoryError("no stack of activities for a task")
        if _current.get() is not None:
            snapshot = _snapshot()
            before = _switch(self._stack)
            _adopt(snapshot)
            _switch(before)

    def throw(self, *error):
        before = _switch(self._stack)
        try:
            return self._coro.throw(*error)
        except BaseException:
            self._leave(before)
            raise
        finally:
            _switch(before)

    def _leave(self, before):
        """It has ended, on its stack, which another task may have as soon as the thread does not use it any more."""
        if self._stack is not None:
            ended, self._stack = self._stack, None
            _unwind(0)
            _clear()
            _switch(before)
            if len(_stacks) < _STACKS:
                _stacks.append(ended)
            else:
                _free_stack(ended)

    def send(self, value):
        before = _switch(self._stack)
        try:
            return self._coro.send(value)
        except BaseException:
            self._leave(before)
            raise
        finally:
            _switch(before)

    def close(self):
        before = _switch(self._stack)
        try:
            self._coro.close()
        finally:
            self._leave(before)
            _switch(before)

    def __del__(self):
        if self._stack is not None:
            self.close()

    def __await__(self):
        return (yield from self._coro.__await__())

    def __getattr__(self, name):  # what asyncio shows of coroutines: __qualname__, cr_code, cr_frame, ...
        return getattr(self._coro, name)


def _make_task(loop, coro, **options):
    if not asyncio.iscoroutine(coro):
        raise TypeError(f"a coroutine was expected, got {coro!r}")
    return asyncio.Task(_Followed(coro), loop=loop, **options)


def follow_tasks(loop):
    """From now on, each task that is made in this loop has a stack of activities of its own."""
    loop.set_task_factory(_make_task)


def run(main, *, debug=None):
    """As asyncio.run, with all tasks followed."""
    def make_loop():
        loop = asyncio.new_event_loop()
        follow_tasks(loop)
        return loop

    with asyncio.Runner(debug=debug, loop_factory=make_loop) as runner:
        return runner.run(main)
