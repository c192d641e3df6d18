"""A fleet for a test: lockservers of which one leads, with three Sentinels or as a raft group, run by the program in tests/fleet/serve."""

import json
import subprocess

from server import PROGRAM, ROOT

FLEET = ROOT / "bin" / "fleet"


class Fleet:
    """Three servers of which one leads, and the Sentinels that see to it; or a raft group, whose clients see a "cluster" or ask
    a "sentinel", which each member is. With several shards there are so many groups of three, and the command is about the first one.

    The command is what is done next to all of them: "kill", "pause" or "plan", and then "mend"; in the end "same".
    """

    def __init__(self, *conf, group=None, shards=1):
        assert FLEET.exists(), f"there is no {FLEET}: run 'make fleet'"
        lines = [word for line in conf for word in ("-conf", line)]
        form = ["-group", group, "-shards", str(shards)] if group else []
        self._process = subprocess.Popen([str(FLEET), *form, *lines, *[PROGRAM] * 3], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        answer = self._answer()
        self.name = answer["name"]
        self.sentinels, self.nodes = self._addresses(answer, "sentinels"), self._addresses(answer, "nodes")

    @staticmethod
    def _addresses(answer, of):
        return [(host, int(port)) for host, port in (addr.split(":") for addr in answer.get(of, []))]

    def _answer(self):
        line = self._process.stdout.readline()
        assert line, "the fleet has ended"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer

    def __call__(self, command):
        """Does it, waits until it is done, and returns who leads then."""
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        return self._answer()["leader"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
