#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check and record say the same of what a user without rights may do on whole CPUs: the setting, and what it has to
be."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from lib.machine import need, need_recording

need_recording()
reticle = os.environ["RETICLE"]
with tempfile.TemporaryDirectory() as scratch:
    os.chmod(scratch, 0o777)
    if os.geteuid() == 0:  # the build may lie where nobody else may look
        shutil.copy(reticle, f"{scratch}/reticle")
        reticle = f"{scratch}/reticle"

    def run(*words):
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        return subprocess.run([reticle, *words], capture_output=True, text=True, cwd=scratch, stdin=subprocess.DEVNULL,
                              **user)

    recorded = run("record", "-a", "-e", "cpu-clock", "-o", f"{scratch}/a.data", "--", "true")
    checked = next(line for line in re.split(r"\n(?=\S)", run("check").stdout) if line.startswith("rights to record"))
need(None if recorded.returncode else "whoever asks may record whole CPUs here")
asked = re.search(r"on whole CPUs: not allowed with kernel.perf_event_paranoid at (\d+) .*sysctl "
                  r"kernel.perf_event_paranoid=(-?\d+)", recorded.stderr)
if not asked:
    sys.exit(f"record -a: {recorded.stderr}")
level, wanted = asked.groups()
if (f"perf_event_paranoid is {level};" not in checked or
        not re.search(rf"-a: (sysctl kernel.perf_event_paranoid=)?{wanted}\b|{wanted} \(and whole CPUs\)", checked)):
    sys.exit(f"record says {level} and {wanted}, check:\n{checked}")
