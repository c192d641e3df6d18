"""The wheel and the sdist, each installed from its file into an empty environment; types; the plugin."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile

import pytest

import lockserver as package
from conftest import ROOT
from server import PATIENCE, Server

HERE = ROOT / "clients" / "python"
DIST = ROOT / "bin" / "packages" / "python"


def run(*words, **options):
    result = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            universal_newlines=True, timeout=4 * PATIENCE, **options)
    assert result.returncode == 0, result.stdout
    return result.stdout


def built(end):
    found = [path for path in DIST.glob(f"lockserver-{package.__version__}*{end}")]
    assert len(found) == 1, f"{DIST} has {found}: run 'make clients-python-build'"
    return found[0]


def test_what_is_in_them():
    with zipfile.ZipFile(built(".whl")) as wheel:
        names = wheel.namelist()
        info = f"lockserver-{package.__version__}.dist-info"
        for name in ("lockserver/__init__.py", "lockserver/py.typed", f"{info}/METADATA", f"{info}/entry_points.txt"):
            assert name in names
        assert any(name.startswith(info) and name.endswith("LICENSE") for name in names)
        assert all(name.startswith(("lockserver/", info)) for name in names)
        text = wheel.read(f"{info}/METADATA").decode()
        assert "lock_class=lockserver.Lock" in text and "Requires-Python: >=3.9" in text
    with tarfile.open(built(".tar.gz")) as sdist:
        names = [name.split("/", 1)[1] for name in sdist.getnames()]
        assert {"README.md", "LICENSE", "pyproject.toml", "src/lockserver/py.typed"} <= set(names)


def test_the_version_is_the_servers():
    program = os.environ.get("LOCKSERVER") or str(ROOT / "bin" / "lockserver")
    assert f"lockserver v={package.__version__} " in run(program, "--version")


@pytest.mark.parametrize("end", [".whl", ".tar.gz"])
def test_installed_into_an_empty_environment(end, tmp_path):
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", built(end), "pytest")
    with Server() as server:
        where = f"redis://{server.host}:{server.port}"
        code = ("import lockserver, sys\nlocks = lockserver.Locks.from_url(sys.argv[1])\n"
                "with locks.lock('k') as held: print(held.token, lockserver.__file__)\nlocks.close()")
        said = run(python, "-c", code, where, cwd=tmp_path).split()
        assert int(said[0]) > 0 and str(tmp_path) in said[1]
    (tmp_path / "test_own.py").write_text("def test(lockserver, clock):\n    clock.advance(5)\n"
                                          "    with lockserver.locks().lock('k'): pass\n")
    said = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "test_own.py", cwd=tmp_path, env={
        **os.environ, "LOCKSERVER": os.environ.get("LOCKSERVER") or str(ROOT / "bin" / "lockserver")})
    assert "1 passed" in said


def test_types(tmp_path):
    run(sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache", cwd=HERE)
    (tmp_path / "use.py").write_text(
        "import lockserver\n"
        "locks = lockserver.Locks.from_url('redis://x')\n"
        "with locks.lock('k') as held:\n    token: int = held.token\n"
        "@locks.exclusive('k:{0}')\ndef pay(number: int) -> str: return ''\n"
        "text: str = pay(7)\n"
        "async def f(a: lockserver.AsyncLocks) -> None:\n    async with a.lock('k') as h: h.check()\n")
    run(sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", tmp_path / "use.py")
    (tmp_path / "wrong.py").write_text("import lockserver\nlockserver.Locks.from_url('x').lock('k', wait='5')\n")
    said = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", tmp_path / "wrong.py"],
                          stdout=subprocess.PIPE, universal_newlines=True)
    assert said.returncode == 1 and "incompatible type" in said.stdout


def test_the_lines_of_the_readme(tmp_path):
    """They are followed as they are written, in a checkout that has only the files of the repository."""
    section = (HERE / "README.md").read_text().split("\n## Install\n")[1].split("\n## ")[0]
    lines, program = (re.search(rf"```{language}\n(.*?)```", section, re.DOTALL).group(1) for language in ("sh", "python"))
    extras, command = re.search(r"`'(\./clients/python\[.*?\])'`", section).group(1), re.search(r"`(shop/bin/python .*?)`", section).group(1)
    checkout = tmp_path / "checkout"
    for name in run("git", "ls-files", "--cached", "--others", "--exclude-standard", "clients/python", cwd=ROOT).split():
        if (ROOT / name).exists():
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, checkout / name)
    run("bash", "-e", "-c", lines, cwd=checkout)
    with Server() as server:
        address = "127.0.0.1:6379"
        assert address in program
        (checkout / "first.py").write_text(program.replace(address, f"{server.host}:{server.port}"))
        assert re.fullmatch(r"held, with the token \d+\n", run("bash", "-e", "-c", command, cwd=checkout))
    run("bash", "-e", "-c", f"shop/bin/pip install -q '{extras}'", cwd=checkout)
    run(checkout / "shop" / "bin" / "python", "-c", "import lockserver.metrics, lockserver.otel", cwd=checkout)
