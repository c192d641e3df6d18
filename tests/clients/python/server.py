"""A running server for a test, and waiting for things to become so.

The program is bin/lockserver unless LOCKSERVER names another one; with LOCKSERVER=redis-server the tests run
against a real Redis, of which everything but the native commands is expected to be the same.
"""

import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import time

# How long anything may take on a busy machine, in seconds.
PATIENCE = 90

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAM = os.environ.get("LOCKSERVER") or str(ROOT / "bin" / "lockserver")
IS_REDIS = pathlib.Path(PROGRAM).name.startswith("redis-server")

_READY = re.compile(r"Ready to accept connections(?:.* addr=(\S+))?.*\n")


def eventually(condition, what, patience=PATIENCE):
    """Waits until condition() is true and returns what it returned."""
    end = time.monotonic() + patience
    while True:
        got = condition()
        if got:
            return got
        assert time.monotonic() < end, f"waited too long for: {what}"
        time.sleep(0.002)


def stop(process):
    """Stops a process, and waits until all of its threads stand: until then it may answer. SIGCONT lets it go on."""
    os.kill(process.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)


def free_port(count=1):
    """The first of so many free ports, below those that the system gives to connections: none takes it while the server is down."""
    while True:
        port = random.randrange(12000, 32000)
        if not any(is_taken(port + n) for n in range(count)):
            return port


def is_taken(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Server:
    """A server process with a folder of its own, on a free port of 127.0.0.1."""

    host = "127.0.0.1"

    def __init__(self, *directives, secure=None):
        """Directives are arguments of the program, such as "--requirepass", "secret".

        secure: the port is one for TLS, certificates are in self.certificates, and this is what tls-auth-clients says.
        """
        self._folder = tempfile.TemporaryDirectory(prefix="lockserver-clients-")
        self.dir = pathlib.Path(self._folder.name)
        self._log = self.dir / "log"
        self._directives = directives
        self.secure = secure
        self.port = free_port() if IS_REDIS or secure else 0
        if secure:
            self.certificates = self.dir / "certificates"
            subprocess.run(["bash", str(ROOT / "tests" / "clients" / "certificates.sh"), str(self.certificates)], check=True)
        self._run()

    def _arguments(self):
        if not self.secure:
            return [PROGRAM, "--port", str(self.port)]
        # The real Redis that everything is compared with is built without TLS; the one in PATH has it.
        return ["redis-server" if IS_REDIS else PROGRAM, "--port", "0", "--tls-port", str(self.port),
                "--tls-auth-clients", self.secure, "--tls-ca-cert-file", str(self.certificates / "ca.crt"),
                "--tls-cert-file", str(self.certificates / "server.crt"), "--tls-key-file", str(self.certificates / "server.key")]

    def _run(self):
        log = self._log.open("w")
        self._process = subprocess.Popen(
            [*self._arguments(), "--dir", str(self.dir), "--save", "", *self._directives],
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        log.close()

        def ready():
            assert self._process.poll() is None, f"the server has ended: {self.log}"
            return _READY.search(self.log)

        addr = eventually(ready, "the server is ready").group(1)
        if addr:
            self.port = int(addr.rsplit(":", 1)[1])

    @property
    def log(self):
        return self._log.read_text(errors="replace")

    def kill(self):
        """Ends the process as a crash would."""
        self._process.kill()
        self._process.wait()

    def replace(self):
        """Ends the process as a crash would and starts another one, without data, on the same port."""
        self.kill()
        self._run()

    def restart(self):
        """Saves the data, ends the process and starts another one on the same port."""
        with socket.create_connection((self.host, self.port)) as s:
            s.sendall(b"SHUTDOWN SAVE\r\n")
            while s.recv(1000):
                pass
        self._process.wait(PATIENCE)
        self._run()

    def close(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
