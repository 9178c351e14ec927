#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export --push: a server that is away, busy, or hangs up is asked again until it has what a file would hold; one that
refuses is not. Messages say what it answered, and no secret of the request. Who answers to https is verified."""
import ctypes.util
import gzip
import http.server
import os
import pathlib
import shutil
import ssl
import subprocess
import threading

from lib.machine import need
from lib.profiles import Otlp, Pprof
from lib.readers import need_readers

RETICLE = os.environ["RETICLE"]
RECIPE = pathlib.Path(RETICLE).parent / "tests/recipe/recipe"
ENV = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
SECRET = "s3cr3t-of-a-header"


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        status, text = self.server.answers.pop(0)
        if not status:
            return  # hangs up
        self.send_response(status)
        for key, value in self.server.more.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def samples(name, n):
    """A recording"""
    pathlib.Path("recipe").write_text("""
event "cpu-clock" config=0 period=1000000 sample=IP|TID|TIME|CALLCHAIN|IDENTIFIER ids=7
comm pid=4194301 time=1 exec "app"
""" + "".join(f"sample pid=4194301 time={10 + i} ip={0x1000 + i:#x} chain=user,{0x1000 + i:#x},0x10\n"
              for i in range(n)))
    subprocess.run([RECIPE, "recipe", name], check=True)


def serve(*answers, port=0, tls=None, more=()):
    """Answers so many requests with (status, text) each; status 0 is none."""
    server = http.server.HTTPServer(("127.0.0.1", port), Receiver)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    server.answers, server.got, server.more = list(answers), [], dict(more)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_address[1]


def command(url, *args, form="otlp", name="work"):
    return [RETICLE, "export", "-i", name + ".data", "--no-cache", "--to", form, "--push", url, *args]


def push(*args, status=0, **more):
    """-> what it said"""
    r = subprocess.run(command(*args, **more), capture_output=True, text=True, stdin=subprocess.DEVNULL, env=ENV)
    assert r.returncode == status, (args, r.returncode, r.stderr)
    for secret in SECRET, "user", "pass", "token":
        assert secret not in r.stderr, r.stderr
    return r.stderr


def same(request, form):
    """Is the body what a file would hold?"""
    subprocess.run([RETICLE, "export", "-i", "work.data", "--no-cache", "--to", form, "-o", "file." + form],
                   check=True, stdin=subprocess.DEVNULL)
    path, headers, body = request
    if form == "otlp":
        assert headers["Content-Type"] == "application/x-protobuf" and headers["Content-Encoding"] == "gzip", headers
        body = gzip.decompress(body)
        pathlib.Path("sent").write_bytes(body)
        totals = Otlp("sent").totals()
    else:
        assert headers["Content-Type"] == "application/octet-stream" and "Content-Encoding" not in headers, headers
        pathlib.Path("sent").write_bytes(body)
        totals = Pprof("sent").totals()
    assert body == pathlib.Path("file." + form).read_bytes() and sum(totals.values()) > 1000, totals
    return path, headers


def busy():
    """Busy, hangs up, busy in another way, and then takes it."""
    for form in "otlp", "pprof":
        server, port = serve((503, b"not now\nsecond line\n"), (0, b""), (429, b"too \x1b[31mmany"), (200, b""))
        said = push(f"http://user:pass@127.0.0.1:{port}/v1development/profiles?token=1", "--push-header",
                    "X-Scope-OrgID: 7", "--push-header", f"X-Key: {SECRET}", form=form)
        assert (said.count("trying again in") == 3 and "it answered 503: not now;" in said and
                "second" not in said), said
        assert "it answered 429: too ?[31mmany;" in said and f"sent {len(server.got[3][2])} bytes" in said, said
        assert len(server.got) == 4 and len({body for _, _, body in server.got}) == 1
        path, headers = same(server.got[3], form)
        assert (path == "/v1development/profiles?token=1" and headers["X-Scope-OrgID"] == "7" and
                headers["X-Key"] == SECRET)
        server.shutdown()


def away():
    """Nobody listens before the first try has failed."""
    server, port = serve()
    server.shutdown()
    server.server_close()
    p = subprocess.Popen(command(f"http://127.0.0.1:{port}/", "--push-retries", "20"), stderr=subprocess.PIPE,
                         text=True, stdin=subprocess.DEVNULL, env=ENV)
    assert "trying again in" in p.stderr.readline()
    server, _ = serve((204, b""), port=port)
    said = p.stderr.read()
    assert p.wait() == 0, said
    assert len(server.got) == 1
    same(server.got[0], "otlp")
    server.shutdown()


def refused():
    """What will not be another answer the next time is said at once; so is the last one of those that may."""
    long = "eyJ" + SECRET * 20  # the answer's line is cut within it
    server, port = serve((400, b"no such tenant\n"), (302, b""), (401, f"not with {SECRET}".encode()),
                         (401, f"not with {long}".encode()),
                         (404, b"no route /x?token=abc123"), (500, b""), (503, b"a"), (503, b"b"),
                         more={"Location": "/elsewhere"})
    url = f"http://127.0.0.1:{port}/x"
    assert f"cannot send to {url}: it answered 400: no such tenant\n" in push(url, status=1)
    assert "it answered 302\n" in push(url, status=1)
    assert "it answered 401\n" in push(url, "--push-header", f"Authorization: Bearer {SECRET}", status=1)
    assert "it answered 401\n" in push(url, "--push-header", f"Authorization: Bearer {long} ", status=1)
    assert "it answered 404\n" in push(url + "?token=abc123", status=1)
    assert "it answered 500\n" in push(url, status=1)
    said = push(url, "--push-retries", "1", status=1)
    assert said.count("trying again") == 1 and said.endswith(": it answered 503: b\n"), said
    assert len(server.got) == 8
    server.shutdown()


def nothing_left():
    """An empty profile is not sent."""
    server, port = serve((200, b""))
    said = push(f"http://127.0.0.1:{port}/", "--comms", "nobody", status=1)
    assert "nothing is left" in said and "not sent" in said and not server.got, said
    server.shutdown()


def field(number, value):
    """A field of a message of protocol buffers."""
    if isinstance(value, int):
        return bytes((number << 3, value))
    return bytes((number << 3 | 2, len(value))) + value


def messages():
    """A Collector's answers are messages: an error, whose code looks like the end of a line, and a part that was
    rejected."""
    type_ = {"Content-Type": "application/x-protobuf"}
    server, port = serve((500, field(1, 13) + field(2, b"no exporter\nsecond line")),
                         (200, field(1, field(1, 3) + field(2, b"too old"))),
                         (200, field(1, b"")), (400, b"\xff\xff"), more=type_)
    url = f"http://127.0.0.1:{port}/"
    assert push(url, status=1).endswith(": it answered 500: no exporter\n")
    said = push(url)
    assert "rejected 3 profiles" in said and said.count("too old") == 1 and "sent" in said, said
    assert "rejected" not in push(url)
    assert push(url, status=1).endswith(": it answered 400\n")
    server.shutdown()


def replaced():
    """A header that is given takes the place of ours."""
    server, port = serve((200, b""))
    push(f"http://127.0.0.1:{port}/", "--push-header", "content-type: application/other")
    assert (server.got[0][1]["content-type"] == "application/other" and
            "Content-Type" not in server.got[0][1]), server.got[0][1]
    server.shutdown()


def in_file():
    """--push @FILE: its first line is the URL, the others are headers, beside those of the command line."""
    server, port = serve((200, b""), (401, f"not with {SECRET}".encode()))
    pathlib.Path("target").write_text(f"\n# where to\n  http://127.0.0.1:{port}/x?token=1\t\r\nX-Key: {SECRET}\n\n"
                                      "X-Two: 2")
    push("@target", "--push-header", "X-One: 1")
    path, headers = same(server.got[0], "otlp")
    assert (path, headers["X-Key"], headers["X-One"], headers["X-Two"]) == ("/x?token=1", SECRET, "1", "2"), headers
    assert f"cannot send to http://127.0.0.1:{port}/x: it answered 401\n" in push("@target", status=1)
    for text, why in (("# nothing\n\n", "there is no URL in target"),
                      ("http://a/\n\nX-Key: secret\nnone\n", "line 4 of target is no header"),
                      ("a" * 70000, "cannot read target")):
        pathlib.Path("target").write_text(text)
        assert why in push("@target", status=2), text
    assert "cannot read absent" in push("@absent", status=2)
    server.shutdown()


def verified():
    """A certificate that nobody vouches for, and one that is vouched for."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "key.pem", "-out",
                    "cert.pem", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], check=True,
                   stderr=subprocess.DEVNULL)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain("cert.pem", "key.pem")
    server, port = serve((200, b""), tls=tls)
    said = push(f"https://127.0.0.1:{port}/", status=1)
    assert "certificate" in said and "trying again" not in said and not server.got, said
    server.shutdown()


def usage():
    for args in (("ftp://127.0.0.1/",), ("http://",), ("http://a b/",), ("http://a/", "--push-header", "no header"),
                 ("http://a/", "--push-header", "X: a\nY: b"), ("http://a/", "--push-header", "X:"),
                 ("http://user:pa/ss@a/",), ("http://a/", "-o", "file")):
        assert "--push" in push(*args, status=2), args
    said = push("http://a/", form="folded", status=2)
    assert "works only with --to pprof and otlp" in said, said
    r = subprocess.run([RETICLE, "export", "-i", "work.data", "--to", "otlp", "--push-header", "X: a"],
                       capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert r.returncode == 2 and "--push-header works only with --push" in r.stderr, r.stderr


need_readers()
need(None if ctypes.util.find_library("curl") else "libcurl is not installed")
need(None if subprocess.run(["pkg-config", "--exists", "libcurl"]).returncode == 0
     else "libcurl4-openssl-dev is not installed")
need(None if shutil.which("openssl") else "openssl is not installed")
samples("work.data", 200)
busy()
away()
refused()
nothing_left()
messages()
replaced()
verified()
in_file()
usage()
