#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# check: plain
"""reticle-push.service: what it starts does its work as another user, with the rights that the unit gives and no
others. It sends samples of root's programs, with the files that they had mapped before and the kernel's names."""
import ctypes.util
import gzip
import http.server
import os
import pathlib
import queue
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading

from lib.machine import need, no_recording
from lib.profiles import Otlp
from lib.readers import need_readers

NOBODY = 65534
MOST = 60  # profiles in which the program must have come
UNIT = pathlib.Path(os.environ["SRCDIR"]) / "systemd/reticle-push.service.in"


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        assert self.headers["X-Key"] == "right", self.headers
        self.server.got.put(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def setting(name):
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.M)


def command():
    """What the unit runs, with everything that systemd puts in."""
    [line], [options] = (setting("ExecStart"),
                         re.findall(r'^Environment="RETICLE_OPTIONS=(.*)"$', UNIT.read_text(), re.M))
    for word, value in ("@bindir@", "."), ("%d", "."), ("$RETICLE_OPTIONS", options), ("10s", "1s"):
        assert word in line, line
        line = line.replace(word, value)
    return shlex.split(line)


need(None if os.geteuid() == 0 else "only root can give rights to another user")
need(None if shutil.which("setpriv") else "setpriv is not installed")
need(no_recording())
need_readers()
need(None if ctypes.util.find_library("curl") else "libcurl is not installed")
need(None if subprocess.run(["pkg-config", "--exists", "libcurl"]).returncode == 0
     else "libcurl4-openssl-dev is not installed")
[given], [bounded] = setting("AmbientCapabilities"), setting("CapabilityBoundingSet")
assert given == bounded and "DynamicUser=yes" in UNIT.read_text()
caps = "-all," + ",".join("+" + c.removeprefix("CAP_").lower() for c in given.split())
as_service = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs",
              "--bounding-set", caps, "--inh-caps", caps, "--ambient-caps", caps]
need(None if subprocess.run([*as_service, "true"], stderr=subprocess.DEVNULL).returncode == 0
     else f"{given} cannot be given here")


def shows(body):
    """Has it samples of the program, in a file that it has mapped and in functions of the kernel?"""
    pathlib.Path("sent").write_bytes(gzip.decompress(body))
    frames = {f for p in Otlp("sent").profiles if p.resource["process.executable.name"] == "dd" for s in p.samples
              for f in s.stack}
    print(sorted({(f.file, *(line[0] for line in f.lines)) for f in frames}, key=str))
    return (any(f.file == "[kernel.kallsyms]" and f.lines for f in frames) and
            any((f.file or "").startswith("/") for f in frames))


def wait_until_sent(recorder, got):
    for n in range(MOST):
        while True:
            try:
                if shows(got.get(timeout=0.2)):
                    return
                break
            except queue.Empty:
                assert recorder.poll() is None, (recorder.returncode, recorder.stderr.read())
    raise AssertionError(f"not in {MOST} profiles")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
server.got = queue.Queue()
threading.Thread(target=server.serve_forever, daemon=True).start()
busy = subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1M"], stderr=subprocess.DEVNULL)
place = pathlib.Path(tempfile.mkdtemp(prefix="reticle-push-", dir="/tmp"))  # the only one that the user may write to
try:
    shutil.copy(os.environ["RETICLE"], place / "reticle")
    (place / "push").write_text(f"http://127.0.0.1:{server.server_address[1]}/\nX-Key: right\n")
    for path in place, place / "push":
        os.chown(path, NOBODY, NOBODY)
    env = ({k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")} |
           {"XDG_CACHE_HOME": str(place / "cache")})
    p = subprocess.Popen([*as_service, *command()], cwd=place, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         text=True, env=env)
    wait_until_sent(p, server.got)
    p.send_signal(signal.SIGTERM)
    said = p.communicate()[1]
    assert p.returncode == 0 and not said, (p.returncode, said)
    assert {path.name for path in place.iterdir()} <= {"reticle", "push", "cache"}, list(place.iterdir())
finally:
    busy.kill()
    shutil.rmtree(place)
