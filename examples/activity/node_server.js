// SPDX-License-Identifier: Apache-2.0
/*
 * An HTTP server in Node: node node_server.js REQUESTS. One thread serves all requests in turn, and hands a part of
 * their work to a worker thread. It prints the port that it listens at on 127.0.0.1, and ends when it has answered so
 * many.
 *
 * A request is a span. Its trace is that of the client, if the request has a header `traceparent` (W3C Trace Context).
 * What it prints at its end is when each thread worked for which span: TID BEGIN END SPAN ROUTE, in ns of
 * CLOCK_MONOTONIC.
 */
'use strict';
const crypto = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const { promisify } = require('node:util');
const { Worker, isMainThread, parentPort } = require('node:worker_threads');

const activity = require(process.env.RETICLE_ACTIVITY_MODULE || '../../activity/node');

const turn = promisify(setImmediate);
const tid = fs.readlinkSync('/proc/thread-self').split('/').pop();
const truth = [];

/** Takes time, and notes for which span. */
function work(route, steps = 150_000) {
  const span = activity.current();
  const begin = process.hrtime.bigint();
  let x = 0;
  for (let i = 0; i < steps; i++)
    x = (x + i * i) % 1_000_003;
  truth.push(`${tid} ${begin} ${process.hrtime.bigint()} ${span ? `${span.traceId}/${span.spanId}` : '-'} ${route}`);
  return x;
}

/** The worker's part: what it is told to do, within the span that the message names. */
function startWorker() {
  activity.publish('node-server', ['http.route']);
  parentPort.on('message', ({ n, context, route }) => {
    if (context)
      activity.run({ context, attributes: { 'http.route': route } }, work, route);
    work('-');
    parentPort.postMessage(context ? { n } : { truth });
  });
}

const traceOf = ({ headers }) => headers.traceparent?.match(/^00-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/)?.[1];
const newSpan = (trace) => ({ traceId: trace ?? crypto.randomBytes(16).toString('hex'),
                              spanId: crypto.randomBytes(8).toString('hex'), traceFlags: 1 });

async function query() {
  work('-');
  await turn();
  work('-');
  throw new Error('no such row');
}

function startServer(requests) {
  const worker = new Worker(__filename), waiting = new Map();
  let asked = 0, answered = 0;

  const askWorker = (route) => new Promise((done) => {
    waiting.set(asked, done);
    worker.postMessage({ n: asked++, context: activity.current(), route });
  });
  worker.on('message', ({ n, truth: workers }) => {
    work('-', 15_000); // for no one
    if (!workers)
      return waiting.get(n)();
    console.log([...truth, ...workers].join('\n'));
    worker.terminate();
  });

  async function serve(route, response) {
    work(route);
    await new Promise((done) => setTimeout(done, 1));
    work(route);
    await activity.run(query).catch(() => {}); // a span within
    work(route);
    await Promise.all([fs.promises.readFile(__filename).then(() => work(route)), askWorker(route)]);
    work(route);
    // In a thread of Node's own:
    await new Promise((done) => crypto.pbkdf2('password', 'salt', 1000, 32, 'sha256', done));
    work(route);
    response.end('ok\n', () => {
      work(route);
      if (++answered === requests)
        server.close(() => worker.postMessage({}));
    });
  }

  const server = http.createServer({ keepAlive: false }, (request, response) =>
    activity.run({ context: newSpan(traceOf(request)), attributes: { 'http.route': request.url } },
      serve, request.url, response));

  activity.publish('node-server', ['http.route']);
  worker.once('online', () => server.listen(0, '127.0.0.1', () => console.log(`port ${server.address().port}`)));
}

if (isMainThread)
  startServer(Number(process.argv[2]));
else
  startWorker();
