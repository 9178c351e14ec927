// SPDX-License-Identifier: Apache-2.0
/*
 * Which request does this thread work for? For Node, with the library of activities.
 *
 *     const activity = require('reticle-activity');
 *
 *     activity.publish('shop', ['http.route']);
 *     http.createServer((request, response) =>
 *         activity.run({ attributes: { 'http.route': '/cart' } }, () => serve(request, response)));
 *
 * A span is the value of an AsyncLocalStorage, so it goes wherever Node takes such values: into promises, timers,
 * ticks, and callbacks of what was begun within it. It is also the activity of the thread, for profilers, for as long
 * as code runs within it: the hooks `before` and `after` of async_hooks see to that. Between callbacks, while the
 * event loop waits, the thread works for no one.
 *
 * Ids are those of OpenTelemetry for JavaScript: traceId, spanId (hexadecimal) and traceFlags. A span that its SDK has
 * made can be said with run({ context: span.spanContext() }, ...).
 *
 * Where a callback is called by someone else's code, such as a pool's, bind(function) makes one that belongs to the
 * present span, as AsyncResource.bind does. Each worker thread requires this module anew, and publishes the keys that
 * it uses; they are those of the process.
 *
 * The addon is beside this file, or is the file that RETICLE_ACTIVITY_ADDON names.
 */
'use strict';

const { AsyncLocalStorage, AsyncResource, createHook } = require('node:async_hooks');
const { randomFillSync } = require('node:crypto');
const path = require('node:path');

const addon = require(process.env.RETICLE_ACTIVITY_ADDON || path.join(__dirname, 'reticle_activity.node'));

// Of struct activity_snapshot.
const RECORD = 112, SPAN = 16, VALID = 24, FLAGS = 25, SIZE = 26, ATTRIBUTES = 28;

const storage = new AsyncLocalStorage();
const keys = new Map(); // name of an attribute: its index
let shown; // the span that the thread's record says, or undefined

function show(span) {
  if (span === shown)
    return;
  shown = span;
  if (span)
    addon.show(span.record);
  else
    addon.hide();
}

// What was shown when each callback that runs now was entered. One that is left by an error that nobody catches may
// have no `after` of its own; then that of one around it puts things right.
const entered = [], before = [];

createHook({
  before(id) {
    entered.push(id);
    before.push(shown);
    show(storage.getStore());
  },
  after(id) {
    const at = entered.lastIndexOf(id);
    if (at < 0)
      return;
    show(before[at]);
    entered.length = before.length = at;
  },
}).enable();

/** Says to profilers what this process is, and what its attributes are called. Keys may be added by later calls. */
function publish(service, names = []) {
  addon.publish(service, [...names]).forEach((name, i) => keys.set(name, i));
}

// Random numbers are taken in portions: to ask for a few bytes costs as much as to ask for many.
const pool = Buffer.allocUnsafe(4096);
let used = pool.length;

function random(record, begin, end) {
  do {
    if (used + end - begin > pool.length) {
      randomFillSync(pool);
      used = 0;
    }
    record.set(pool.subarray(used, used + end - begin), begin);
    used += end - begin;
  } while (record.subarray(begin, end).every((byte) => !byte)); // all zero means none
}

function takeHex(record, begin, end, digits, what) {
  if (typeof digits !== 'string' || digits.length !== 2 * (end - begin) || !/^[0-9a-f]*$/i.test(digits))
    throw new TypeError(`${what} has ${2 * (end - begin)} hexadecimal digits`);
  record.write(digits, begin, 'hex');
}

function writeAttributes(record, attributes) {
  let at = ATTRIBUTES;
  for (const [key, given] of Object.entries(attributes)) {
    const index = keys.get(key);
    if (index === undefined)
      throw new RangeError(`'${key}' is not among the keys that were given to publish`);
    const value = Buffer.from(String(given));
    if (at + 2 + value.length > RECORD) {
      process.emitWarning(`the attribute '${key}' is left out: it takes ${value.length + 2} bytes, and ` +
        `${RECORD - at} of ${RECORD - ATTRIBUTES} are left`, { code: 'RETICLE_ACTIVITY_ROOM' });
      continue;
    }
    record[at] = index;
    record[at + 1] = value.length;
    value.copy(record, at + 2);
    at += 2 + value.length;
  }
  record.writeUInt16LE(at - ATTRIBUTES, SIZE); // x86_64 and aarch64 are little-endian
}

class Span {
  constructor({ context, attributes } = {}) {
    const record = this.record = Buffer.alloc(RECORD), parent = storage.getStore();
    if (context) {
      takeHex(record, 0, SPAN, context.traceId, 'traceId');
      takeHex(record, SPAN, VALID, context.spanId, 'spanId');
      record[FLAGS] = context.traceFlags ?? 1;
    } else {
      if (parent)
        parent.record.copy(record, 0, 0, SPAN);
      else
        random(record, 0, SPAN);
      random(record, SPAN, VALID);
      record[FLAGS] = parent ? parent.record[FLAGS] : 1;
    }
    record[VALID] = 1;
    if (attributes)
      writeAttributes(record, attributes);
  }
}

/** -> the span that the caller is in, as OpenTelemetry's SpanContext, or undefined */
function current() {
  const span = storage.getStore();
  return span && {
    traceId: span.record.toString('hex', 0, SPAN),
    spanId: span.record.toString('hex', SPAN, VALID),
    traceFlags: span.record[FLAGS],
  };
}

/**
 * Calls the function in a new span, and returns what it returns. The span is within the present one, or the first one
 * of a new trace; with `context` it is the one that this names. What the function has begun and waits for belongs to
 * it, too.
 *
 * There are 84 bytes for `attributes`, each of which takes 2 more than its value in UTF-8. One for which there is no
 * room left is left out, with a warning.
 */
function run(options, call, ...given) {
  if (typeof options === 'function')
    return run({}, options, ...(call === undefined ? [] : [call]), ...given);
  const span = new Span(options ?? {}), outside = shown;
  return storage.run(span, () => {
    show(span);
    try {
      return call(...given);
    } finally {
      show(outside);
    }
  });
}

/** -> a function that does the same within the present span, whoever calls it, and when */
function bind(call) {
  return AsyncResource.bind(call, 'ReticleActivity');
}

module.exports = { bind, current, publish, run };
