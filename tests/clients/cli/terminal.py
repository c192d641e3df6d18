"""redis-cli in a terminal, with a person typing."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from server import PATIENCE

# What moves the cursor or sets a colour.
_CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


class Terminal:
    """A pseudo terminal of 200 columns with redis-cli in it."""

    def __init__(self, server, *args):
        self._fd, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
        env = {**os.environ, "TERM": "xterm", "REDISCLI_HISTFILE": "/dev/null", "REDISCLI_RCFILE": "/dev/null"}
        self._process = subprocess.Popen(["redis-cli", "-p", str(server.port), *args], stdin=child, stdout=child, stderr=child,
                                         env=env, start_new_session=True)
        os.close(child)
        self._seen = ""
        self.prompt = f"127.0.0.1:{server.port}> "
        self.expect(self.prompt)

    def type(self, keys):
        os.write(self._fd, keys.encode())

    def expect(self, text):
        """Reads until text has been shown; returns what was shown up to its end, and goes on behind it."""
        end = time.monotonic() + PATIENCE
        while text not in self._seen:
            left = end - time.monotonic()
            assert left > 0 and select.select([self._fd], [], [], left)[0], f"no {text!r} in {self._seen!r}"
            self._seen += _CONTROL.sub("", os.read(self._fd, 65536).decode(errors="replace"))
        before, self._seen = self._seen.split(text, 1)
        return before + text

    def run(self, line):
        """Types a line and returns what is printed until the next prompt, without the line's own echo."""
        self.type(line)
        self.expect(line)
        self.type("\r")
        self.expect("\n")
        return self.expect(self.prompt)[:-len(self.prompt)].replace("\r", "")

    def clear(self):
        """Empties the line that is being typed."""
        self.type("\x15")
        self.expect(self.prompt)

    def close(self):
        self._process.kill()
        self._process.wait()
        os.close(self._fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
