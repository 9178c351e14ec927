// SPDX-License-Identifier: Apache-2.0
// The module for Node: what the thread's record says at each place, read back with the library's own activity_capture.
'use strict';
const assert = require('node:assert/strict');
const { AsyncResource } = require('node:async_hooks');
const { EventEmitter, once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const { promisify } = require('node:util');
const { Worker, isMainThread } = require('node:worker_threads');

const activity = require('../node');
const addon = require(process.env.RETICLE_ACTIVITY_ADDON);

/** -> what this thread's record says, or undefined */
function seen() {
  const record = Buffer.from(addon.seen());
  if (record[24] !== 1)
    return undefined;
  return {
    ids: { traceId: record.toString('hex', 0, 16), spanId: record.toString('hex', 16, 24), traceFlags: record[25] },
    attributes: record.subarray(28, 28 + record.readUInt16LE(26)).toString('latin1'),
  };
}

/** Does the record say what the store says? */
function same() {
  const context = activity.current();
  assert.deepEqual(seen()?.ids, context);
  return context;
}

const given = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 0 };
const turn = promisify(setImmediate);

const tests = {
  spans() {
    assert.equal(same(), undefined);
    activity.run(() => {
      const outer = same();
      assert.match(outer.traceId, /^[0-9a-f]{32}$/);
      activity.run({ attributes: { 'http.route': '/cart', user: 7 } }, () => {
        const inner = same();
        assert.equal(inner.traceId, outer.traceId);
        assert.notEqual(inner.spanId, outer.spanId);
        assert.equal(seen().attributes, '\x00\x05/cart\x01\x017');
      });
      assert.deepEqual(same(), outer);
    });
    activity.run({ context: given }, () => assert.deepEqual(same(), given));
    assert.equal(activity.run({}, (a, b) => a + b, 1, 2), 3);
    assert.equal(activity.run((a) => a, 4), 4);
    assert.throws(() => activity.run(() => { same(); throw new Error('inside'); }), /inside/);
    assert.equal(same(), undefined);
  },

  refusals() {
    assert.throws(() => activity.run({ attributes: { other: 1 } }, same), /among the keys/);
    assert.throws(() => activity.run({ context: { ...given, spanId: 'b7' } }, same), /16 hexadecimal digits/);
    assert.throws(() => activity.run({ context: { ...given, traceId: 'x'.repeat(32) } }, same), TypeError);
    assert.throws(() => activity.publish('s', [1]), TypeError);
    assert.throws(() => activity.publish('s', ['x'.repeat(2000)]), TypeError);
    assert.throws(() => activity.publish('s', Array.from({ length: 300 }, (_, i) => `k${i}`)), /too long/);
    assert.throws(() => addon.show(Buffer.alloc(111)), TypeError);
    assert.throws(() => addon.show(7), TypeError);
  },

  async attributesWithoutRoom() {
    const warned = once(process, 'warning');
    activity.run({ attributes: { user: 'é'.repeat(35), 'http.route': '/longer/route', more: 'shorter' } }, () =>
      assert.equal(seen().attributes,
        '\x01\x46' + Buffer.from('é'.repeat(35)).toString('latin1') + '\x02\x07shorter'));
    assert.match((await warned)[0].message, /'http.route' is left out: it takes 15 bytes, and 12 of 84 are left/);
  },

  keys() {
    activity.publish('again', ['more', 'user']); // those that were there keep their places
    activity.run({ attributes: { user: 'x', more: 'y' } }, () =>
      assert.equal(seen().attributes, '\x01\x01x\x02\x01y'));
  },

  /** Several at once, each through all ways in which Node calls back. */
  async callbacks() {
    const emitter = new EventEmitter();
    async function serve(n) {
      const context = same();
      const check = () => assert.deepEqual(same(), context);
      await null;
      check();
      await turn();
      check();
      await new Promise((done) => setTimeout(() => { check(); done(); }, n % 3));
      check();
      await new Promise((done) => process.nextTick(() => { check(); done(); }));
      await new Promise((done) => queueMicrotask(() => { check(); done(); }));
      await fs.promises.readFile(__filename);
      check();
      await new Promise((done) => fs.readFile(__filename, () => { check(); done(); }));
      await activity.run(async () => {
        const inner = same();
        assert.equal(inner.traceId, context.traceId);
        assert.notEqual(inner.spanId, context.spanId);
        await turn();
        assert.deepEqual(same(), inner);
        await assert.rejects(activity.run(async () => { await turn(); same(); throw new Error('late'); }), /late/);
        assert.deepEqual(same(), inner);
      });
      check();
      for await (const value of (async function* () { yield 1; await turn(); yield 2; })())
        check(value);
      const heard = new Promise((done) => emitter.once(`event ${n}`, activity.bind(() => { check(); done(); })));
      setImmediate(() => emitter.emit(`event ${n}`));
      await heard;
      check();
      return context.spanId;
    }
    const requests = Array.from({ length: 50 }, (_, n) => activity.run(serve, n));
    assert.equal(same(), undefined);
    assert.equal(new Set(await Promise.all(requests)).size, 50);
    assert.equal(same(), undefined);
  },

  async bind() {
    let bound, context;
    activity.run(() => {
      context = same();
      bound = activity.bind((n) => (assert.deepEqual(same(), context), n));
    });
    assert.equal(bound(7), 7);
    activity.run(() => {
      const other = same();
      assert.equal(bound(8), 8);
      assert.deepEqual(same(), other);
      assert.throws(() => activity.bind(() => { throw new Error('bound'); })(), /bound/);
      assert.deepEqual(same(), other);
    });
    assert.equal(same(), undefined);
  },

  /** An error that nobody catches leaves callbacks within callbacks. */
  async uncaught() {
    const caught = new Promise((done) => process.once('uncaughtException', done));
    setImmediate(() => activity.run(() => new AsyncResource('test').runInAsyncScope(() => activity.run(() => {
      same();
      throw new Error('nobody');
    }))));
    assert.equal((await caught).message, 'nobody');
    await turn();
    assert.equal(same(), undefined);
    await activity.run(async () => {
      const context = same();
      await turn();
      assert.deepEqual(same(), context);
    });
    assert.equal(same(), undefined);
  },

  async server() {
    const spans = new Set();
    const server = http.createServer((request, response) => activity.run(async () => {
      const context = same();
      spans.add(context.spanId);
      const body = [];
      for await (const part of request)
        body.push(part);
      assert.deepEqual(same(), context);
      await turn();
      assert.deepEqual(same(), context);
      response.end(Buffer.concat(body));
      response.on('finish', () => assert.deepEqual(same(), context));
    }));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const agent = new http.Agent({ keepAlive: true, maxSockets: 3 }); // connections serve one request after another
    await Promise.all(Array.from({ length: 30 }, (_, n) => new Promise((done, failed) => {
      const request = http.request({ port: server.address().port, method: 'POST', agent }, async (response) => {
        let text = '';
        for await (const part of response)
          text += part;
        assert.equal(text, `body ${n}`);
        done();
      });
      request.on('error', failed);
      request.end(`body ${n}`);
    })));
    agent.destroy();
    server.close();
    assert.equal(spans.size, 30);
    assert.equal(same(), undefined);
  },

  /** Each thread has a record of its own, and the keys are the process's. */
  async workers() {
    await activity.run(async () => {
      const context = same();
      const workers = Array.from({ length: 4 }, () => new Worker(__filename, { argv: ['worker'] }));
      const codes = await Promise.all(workers.map(async (worker) => (await once(worker, 'exit'))[0]));
      assert.deepEqual(codes, [0, 0, 0, 0]);
      assert.deepEqual(same(), context);
    });
  },
};

async function worker() {
  assert.equal(seen(), undefined);
  activity.publish('again', ['user']);
  for (let i = 0; i < 100; i++)
    await activity.run({ attributes: { user: i } }, async () => {
      const context = same();
      assert.equal(seen().attributes[0], '\x01');
      await turn();
      assert.deepEqual(same(), context);
    });
  assert.equal(same(), undefined);
}

async function main() {
  if (!isMainThread)
    return worker();
  activity.publish('test', ['http.route', 'user']);
  activity.publish('test', ['more']);
  for (const [name, test] of Object.entries(tests)) {
    await test();
    global.gc();
    console.log('ok', name);
  }
}

main();
