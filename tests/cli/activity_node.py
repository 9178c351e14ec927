#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: alone, plain
"""The module for Node: examples/activity/node_server.js says when each of its threads worked for which span, or for
none, while it serves many requests in turn, with nested spans, timers, files, errors and a worker thread. record
--activity finds every sample there in the right one, and so does --activity=journal, without BPF."""
import os
import pathlib
import shutil

from lib.activity_programs import RECORD_JOURNALS, RECORD_TIMES, read_times, reticle, serve
from lib.activity_truth import check_times
from lib.machine import need, need_bpf, need_recording

addon = pathlib.Path(reticle).parent / "examples/activity/reticle_activity.node"
program = pathlib.Path(os.environ["SRCDIR"]) / "examples/activity/node_server.js"

need_recording()
need(None if shutil.which("node") else "node is not installed")
need(None if addon.exists() else "the addon for Node was not built: node_api.h is not there (libnode-dev)")


def check(name, record):
    output = serve(name, "node", str(program), record=record, env={**os.environ, "RETICLE_ACTIVITY_ADDON": str(addon)})
    truth = read_times(name, output)
    if len(truth) != 2:
        raise SystemExit(f"{name}: the server and its worker are two threads, not {len(truth)}")
    check_times(name, reticle, truth, early_ones=True)


check("node_server with a journal", RECORD_JOURNALS)
need_bpf()
check("node_server", RECORD_TIMES)
