#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""record --push: all samples arrive, while the server is busy, away, or known by a wrong address; what it refuses
keeps nothing waiting, and what has no room on the disk is dropped and counted. SIGHUP reads @FILE anew, SIGTERM sends
what is left, and what cannot be sent then is sent by the next run."""
import ctypes.util
import gzip
import http.server
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import threading

from lib.machine import need, no_recording
from lib.profiles import Otlp, Pprof
from lib.readers import need_readers

RETICLE = os.environ["RETICLE"]
RECIPE = pathlib.Path(RETICLE).parent / "tests/recipe/recipe"
ENV = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
BUSY = ["sh", "-c", "while :; do :; done"]


class Receiver(http.server.BaseHTTPRequestHandler):
    """Answers as the server is told to at that time, and lets the test wait for requests."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        with server.changed:
            status = server.status(body, self) if callable(server.status) else server.status
            server.got.append((status, body, dict(self.headers)))
            server.changed.notify_all()
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


RUNNING = []  # recorders that are to run


class Server:
    def __init__(self, status, port=0):
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver)
        self.http.status, self.http.got, self.http.changed = status, [], threading.Condition()
        self.url = "http://127.0.0.1:%d/v1development/profiles" % self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, status):
        with self.http.changed:
            self.http.status = status

    def wait(self, n, status):
        """Until so many requests were answered like this."""
        with self.http.changed:
            while sum(s == status for s, _, _ in self.http.got) < n:
                self.http.changed.wait(1)
                ended = [r for r in RUNNING if r.p.poll() is not None]
                assert not ended, [(r.p.returncode, r.said + r.p.stderr.read()) for r in ended]

    def bodies(self, status=200):
        with self.http.changed:
            return [body for s, body, _ in self.http.got if s == status]

    def samples(self, read=Otlp):
        total = 0
        for body in self.bodies():
            pathlib.Path("sent").write_bytes(gzip.decompress(body) if read is Otlp else body)
            total += read("sent").totals()["cpu", "samples", "count"] if read is Otlp else pprof_samples()
        return total


def pprof_samples():
    return next(n for key, n in Pprof("sent").totals().items() if "samples" in key)


class Recorder:
    def __init__(self, to, *args, interval="1s", name="host.data", **how):
        self.p = subprocess.Popen([RETICLE, "record", "-e", "cpu-clock:u", "-F", "500", "--push", to, "--interval",
                                   interval, "-o", name, *args, "--", *BUSY], stdin=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, env=ENV, **how)
        self.name, self.said = name, ""
        RUNNING.append(self)

    def hear(self, text):
        """Until it has said this."""
        while text not in self.said:
            line = self.p.stderr.readline()
            assert line, (text, self.said)
            self.said += line

    def rest(self):
        """What it says until its end, which is to be."""
        RUNNING.remove(self)
        self.said += self.p.stderr.read()

    def send(self, number):
        os.kill(self.p.pid, number)

    def end(self, status, number=signal.SIGTERM):
        """-> how many samples it has recorded, after it was told to end"""
        self.send(number)
        self.rest()
        assert self.p.wait() == status, (self.p.returncode, self.said)
        recorded = re.search(r"(\d+) samples, (\d+) lost", self.said)
        assert recorded and recorded[2] == "0", self.said
        return int(recorded[1])

    def children(self, name):
        pids = pathlib.Path(f"/proc/{self.p.pid}/task/{self.p.pid}/children").read_text().split()
        return [int(pid) for pid in pids if pathlib.Path(f"/proc/{pid}/comm").read_text() == name + "\n"]

    def waiting(self):
        return sorted(p.name for p in pathlib.Path(".").glob(self.name + ".*"))


ENDED = 128 + signal.SIGTERM  # of the command


def comes_back():
    """Busy for a while. Nothing is missed, nothing is sent twice, and nothing is left on the disk."""
    for read, args in (Otlp, ()), (Pprof, ("--push-format", "pprof")):
        server = Server(503)
        r = Recorder(server.url, *args)
        server.wait(2, 503)
        server.answer(200)
        r.send(signal.SIGHUP)  # tries at once
        server.wait(3, 200)
        recorded = r.end(ENDED)
        assert recorded and server.samples(read) == recorded, (server.samples(read), recorded, r.said)
        assert r.said.count("it answered 503") == 1 and "the server answers again" in r.said, r.said
        assert f"sent {len(server.bodies())} profile" in r.said and not r.waiting(), (r.said, r.waiting())


def waits_for_next_run():
    """Away until the end: what is left is sent by the next run, and no other file."""
    server = Server(503)
    server.http.shutdown()
    server.http.server_close()
    r = Recorder(server.url)
    r.hear("cannot send to")
    recorded = r.end(1)
    left = r.waiting()
    assert left and f"left as host.data.push.* for the next run: {len(left)} ]" in r.said, (r.said, left)
    others = ["host.data.2026", "host.data.note", "host.data.push.12345678901234567", "host.data.push.note",
              "host.data.2026112006071234"]
    made = left[0]
    shutil.copy(made, "host.data.2026112006071235")  # a recording, as --switch-output names it
    shutil.copy(made, "host.data.pushed.2026112006071235")
    others += ["host.data.2026112006071235", "host.data.pushed.2026112006071235"]
    for name in others[:5]:
        pathlib.Path(name).write_text("not a recording")
    pathlib.Path("elsewhere").write_text("not ours")
    os.symlink("elsewhere", "host.data.push.1234567890123456")
    server = Server(200, port=server.http.server_address[1])
    r = Recorder(server.url)
    server.wait(len(left) + 1, 200)
    recorded += r.end(ENDED)
    assert server.samples() == recorded, (server.samples(), recorded, r.said)
    assert (r.waiting() == sorted([*others, "host.data.push.1234567890123456"]) and
            os.path.exists("elsewhere")), r.waiting()
    for name in r.waiting():
        os.unlink(name)


def refused():
    """One profile is refused: the next ones do not wait for it."""
    server = Server(400)
    r = Recorder(server.url)
    server.wait(1, 400)
    server.answer(200)
    server.wait(2, 200)
    r.send(signal.SIGTERM)
    r.rest()
    n = len(server.bodies(400))
    assert (r.p.wait() == 1 and f"the server refused {n}" in r.said and r.said.count("it answered 400") == 1 and
            not r.waiting()), r.said


def told_anew():
    """A wrong address and a wrong key are kept in @FILE: nothing is dropped, and SIGHUP is when the file is read."""
    server = Server(lambda body, request: 404 if "wrong" in request.path else 200
                    if request.headers.get("X-Key") == "right" else 401)
    target = pathlib.Path("target")
    target.write_text("# where profiles go\n" + server.url + "/wrong\n\nX-Key: old\n")
    r = Recorder("@target")
    server.wait(1, 404)
    target.write_text(server.url + "\nX-Key: old\n")
    r.send(signal.SIGHUP)
    server.wait(1, 401)
    target.write_text("")  # as somebody who writes it at this moment
    r.send(signal.SIGHUP)
    r.hear("there is no URL in target")
    target.write_text(server.url + "\r\n  X-Key: right  \n")
    r.send(signal.SIGHUP)
    server.wait(1, 200)
    recorded = r.end(ENDED)
    assert server.samples() == recorded, (server.samples(), recorded, r.said)
    assert "right" not in r.said and "old" not in r.said, r.said


def told_while_sending():
    """@FILE changes, and SIGHUP comes, while a profile is on its way to the old address: what is wrong with the new
    one is said."""
    came, go = threading.Event(), threading.Event()

    def slow(*_):
        came.set()
        go.wait()
        return 401
    server = Server(slow)
    target = pathlib.Path("target")
    target.write_text(server.url + "\n")
    r = Recorder("@target")
    came.wait()
    target.write_text("")
    before = len(r.waiting())
    r.send(signal.SIGHUP)
    while len(r.waiting()) == before:  # the file that it began ends the one before
        threading.Event().wait(0.02)
    go.set()
    r.hear("there is no URL in target")
    server.answer(200)
    target.write_text(server.url + "\n")
    r.send(signal.SIGHUP)
    server.wait(1, 200)
    recorded = r.end(ENDED)
    assert server.samples() == recorded, (server.samples(), recorded, r.said)


def no_room():
    """What waits takes no more than it may, whoever put it there; the oldest ones are dropped and counted."""
    pathlib.Path("recipe").write_text("""
event "cpu-clock" config=0 period=1000000 sample=IP|TID|TIME|IDENTIFIER ids=7
sample pid=4194301 time=10 ip=0x1000
""")
    names = [f"host.data.push.202600000000000{i}" for i in range(6)]
    for i, name in enumerate(names):
        subprocess.run([RECIPE, "recipe", name], check=True)
        os.truncate(name, 4 << 20)  # behind the recording
        os.utime(name, (i, i))
    server = Server(503)
    r = Recorder(server.url, "--push-keep", "16M")
    r.hear("dropping the oldest")
    server.wait(1, 503)
    r.send(signal.SIGTERM)
    r.rest()
    dropped = int(re.search(r"dropped (\d+), because too many waited", r.said)[1])
    left = r.waiting()
    assert r.p.wait() == 1 and dropped >= 3 and sum(os.path.getsize(name) for name in left) <= 12 << 20, (r.said, left)
    assert names[1] not in left and names[2] not in left and "could not be made" not in r.said, (r.said, left)
    for name in left:
        os.unlink(name)


def no_recording_at_all():
    """A file that is none is tried, said and dropped, and what comes after it is sent."""
    pathlib.Path("host.data.push.2026000000000000").write_text("none")
    server = Server(200)
    r = Recorder(server.url)
    r.hear("dropping host.data.push.2026000000000000: no profile can be made of it")
    server.wait(1, 200)
    r.send(signal.SIGTERM)
    r.rest()
    assert r.p.wait() == 1 and "1 could not be made" in r.said and not r.waiting(), r.said


def sender_killed():
    """Without the process that sends there is nothing to record for."""
    server = Server(200)
    r = Recorder(server.url)
    server.wait(1, 200)
    [sender] = r.children("reticle")
    os.kill(sender, signal.SIGKILL)
    r.rest()
    assert r.p.wait() == 1 and "the process that sends has ended" in r.said, r.said
    for name in r.waiting():
        os.unlink(name)


def quiet():
    """With -q, nothing is said but what is lost; and a name may begin as what else the sender is told."""
    server = Server(200)
    r = Recorder(server.url, "-q", name="!data")
    server.wait(2, 200)
    r.send(signal.SIGTERM)
    r.rest()
    assert r.p.wait() == ENDED and not r.said and not r.waiting(), (r.p.returncode, r.said, r.waiting())

    server = Server(400)
    r = Recorder(server.url, "-q")
    server.wait(2, 400)
    r.send(signal.SIGTERM)
    r.rest()
    n = len(server.bodies(400))
    assert (r.p.wait() == 1 and f"; the server refused {n} ]" in r.said and
            r.said.count("dropping host.data.push.") == 1), r.said
    for i in range(4):
        name = f"host.data.push.202600000000000{i}"
        pathlib.Path(name).touch()
        os.truncate(name, 4 << 20)
    server = Server(503)
    r = Recorder(server.url, "-q", "--push-keep", "16M")
    r.hear("dropping the oldest")
    server.wait(1, 503)  # so there is one with samples
    r.send(signal.SIGTERM)
    r.rest()
    assert r.p.wait() == 1 and re.search(r"; dropped \d+, because too many waited; left as", r.said), r.said
    for name in r.waiting():
        os.unlink(name)


def control():
    """The process that sends has none of the descriptors of --control."""
    server = Server(200)
    ours, theirs = os.pipe()
    r = Recorder(server.url, "--control", f"fd:{ours}", pass_fds=(ours,))
    server.wait(1, 200)
    [sender] = r.children("reticle")
    mine = os.readlink(f"/proc/self/fd/{ours}")
    assert mine in descriptors(r.p.pid) and mine not in descriptors(sender), descriptors(sender)
    r.end(ENDED)
    os.close(ours)
    os.close(theirs)


def descriptors(pid):
    return [os.readlink(f) for f in pathlib.Path(f"/proc/{pid}/fd").iterdir()]


def full():
    """Nothing more can be written: what was recorded until then is sent."""
    server = Server(200)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
    # SIGXFSZ stays ignored.
    r = Recorder(server.url, "-F", "5000", interval="1h", restore_signals=False, preexec_fn=limit)
    r.rest()
    assert (r.p.wait() == 1 and len(server.bodies()) == 1 and server.samples() > 0 and
            not r.waiting()), (server.bodies(), r.said)


def refused_beside(name, args=(), text="another recorder with --push writes"):
    """A second one ends at once: it says why, and has recorded nothing."""
    p = subprocess.run([RETICLE, "record", "-e", "cpu-clock:u", "--push", "http://127.0.0.1:9/", "-o", name, *args,
                        "--", "touch", "ran"],
                       stdin=subprocess.DEVNULL, capture_output=True, text=True, env=ENV)
    assert p.returncode == 1 and text in p.stderr and not os.path.exists("ran"), (p.returncode, p.stderr)
    return p.stderr


def only_one():
    """Of recorders with one name, only the first one records and sends, however the second one calls the file. Another
    name is free, and so is the first one's when that and its sender are gone: after its end, or when it was killed."""
    lock = pathlib.Path("host.data.lock")
    server = Server(200)
    r = Recorder(server.url)
    server.wait(1, 200)
    os.symlink(".", "same")
    for name in "host.data", "./same/host.data":
        assert f"writes {name}, " in refused_beside(name) and "-o" in refused_beside(name)
    beside = Server(200)
    other = Recorder(beside.url, name="other.data")
    beside.wait(1, 200)
    other.end(ENDED)
    recorded = r.end(ENDED)
    assert server.samples() == recorded and not r.waiting() and not other.waiting(), (r.waiting(), other.waiting())
    os.unlink("same")

    # Killed, and its sender lives for a while: it has the name. The file that is left keeps nobody away.
    server = Server(200)
    came, go = threading.Event(), threading.Event()

    def slow(*_):
        came.set()
        go.wait()
        return 200
    server.answer(slow)
    r = Recorder(server.url)
    came.wait()
    [command] = r.children("sh")
    r.send(signal.SIGKILL)
    r.p.wait()
    os.kill(command, signal.SIGKILL)
    refused_beside("host.data")
    go.set()
    r.rest()  # until the sender has ended, too
    assert lock.exists(), r.said
    r = Recorder(server.url)
    server.wait(len(server.bodies()) + 1, 200)
    r.end(ENDED)
    assert set(r.waiting()) <= {"host.data.old"}, r.waiting()  # that the killed one was writing
    pathlib.Path("host.data.old").unlink(missing_ok=True)

    # What is no file of this user is not taken for a lock, and stays as it is.
    os.symlink("nowhere", lock)
    refused_beside("host.data", text="cannot lock host.data.lock")
    os.unlink(lock)
    os.mkfifo(lock)
    refused_beside("host.data", text="cannot lock host.data.lock")
    os.unlink(lock)


def usage():
    os.mkfifo("fifo")
    for args, text in ((("--push", "@fifo"), "fifo is no file"),
                       (("--interval", "10s"), "--interval works only with --push"),
                       (("--push-keep", "1G"), "--push-keep works only"), (("--push", "ftp://a/"), "this is no URL"),
                       (("--push", "http://a/", "--interval", "0s"), "'0s' is not a time"),
                       (("--push", "http://a/", "-o", "-"), "needs a file"), (("--push", "@none"), "cannot read none"),
                       (("--push", "http://a/", "--push-format", "svg"), "none of otlp, pprof"),
                       (("--push", "http://a/", "--push-keep", "1M"), "16M"),
                       (("--push", "http://a/", "--push-format", "x"), "is not a format"),
                       (("--push", "http://a/", "--switch-output=5s"), "its own --switch-output"),
                       (("--push", "http://a/", "--max-size", "5M"), "exclude each other"),
                       (("--push", "http://a/", "--push-header", "none"), "is no header")):
        r = subprocess.run([RETICLE, "record", *args, "--", "true"], capture_output=True, text=True,
                           stdin=subprocess.DEVNULL)
        assert r.returncode == 2 and text in r.stderr, (args, r.returncode, r.stderr)


usage()
need(no_recording())
need_readers()
need(None if ctypes.util.find_library("curl") else "libcurl is not installed")
need(None if subprocess.run(["pkg-config", "--exists", "libcurl"]).returncode == 0
     else "libcurl4-openssl-dev is not installed")
only_one()
comes_back()
waits_for_next_run()
refused()
told_anew()
told_while_sending()
no_room()
no_recording_at_all()
sender_killed()
quiet()
control()
full()
