// SPDX-License-Identifier: Apache-2.0
// What the module for Node costs: a span, and steps of an asynchronous function, without anything, with an
// AsyncLocalStorage of Node's own, and within a span. Medians of rounds that take turns, in ns of CPU time.
'use strict';
const { AsyncLocalStorage } = require('node:async_hooks');
const { promisify } = require('node:util');
const { Worker, isMainThread, workerData, parentPort } = require('node:worker_threads');

const N = 20_000, ROUNDS = 15;
const turn = promisify(setImmediate);

async function awaits() {
  for (let i = 0; i < N; i++)
    await null;
}

async function turns() {
  for (let i = 0; i < N; i++)
    await turn();
}

const WAYS = {
  plain: () => ({ 'await': awaits, 'setImmediate': turns }),
  storage() {
    const storage = new AsyncLocalStorage();
    return { 'await': () => storage.run({}, awaits), 'setImmediate': () => storage.run({}, turns) };
  },
  span() {
    const activity = require('../node');
    activity.publish('cost', ['http.route']);
    const spans = (options) => () => {
      for (let i = 0; i < N; i++)
        activity.run(options, () => {});
    };
    return {
      'await': () => activity.run(awaits), 'setImmediate': () => activity.run(turns),
      'run': spans({}), 'run, an attribute': spans({ attributes: { 'http.route': '/cart' } }),
    };
  },
};

/** In a thread of its own, since hooks that were enabled once cost everybody. */
async function measure() {
  const took = {};
  const ways = Object.entries(WAYS[workerData]());
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, way] of ways) {
      const begin = process.cpuUsage();
      await way();
      const { user, system } = process.cpuUsage(begin);
      (took[name] ??= []).push((user + system) * 1000 / N);
    }
  for (const [name, times] of Object.entries(took))
    console.log(`${workerData}: ${name}`.padEnd(30), `${times.sort((a, b) => a - b)[ROUNDS >> 1].toFixed(0)} ns`);
  parentPort.close();
}

async function main() {
  for (const workerData of Object.keys(WAYS))
    await new Promise((done) => new Worker(__filename, { workerData }).once('exit', done));
}

isMainThread ? main() : measure();
