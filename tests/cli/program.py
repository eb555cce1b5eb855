"""The program under test, for scripts that need no model of their own: this imports nothing that is slow."""

import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PREDGEN = os.environ.get("PREDGEN", str(REPOSITORY / "build" / "predgen"))
sys.path.append(str(REPOSITORY / "tests" / "model"))  # for reference_models.py, which imports LibTorch
ESPEAK = (Path(PREDGEN).parent / "predgen-espeak").exists()


FORK_SERVER = os.environ.pop("PREDGEN_FORK_SERVER", None)  # fork_server.cpp, compiled


class ForkServer(threading.local):
    """Runs the program in forks of one process, where LibTorch has started already. A thread has its own."""

    def __init__(self):
        self.socket, theirs = socket.socketpair()
        self.environment = dict(os.environ)
        with theirs:
            subprocess.Popen([PREDGEN], pass_fds=[theirs.fileno()], env={
                **self.environment, "LD_PRELOAD": FORK_SERVER, "FORK_SERVER_SOCKET": str(theirs.fileno())})

    def number(self):
        data = self.socket.recv(4, socket.MSG_WAITALL)
        assert len(data) == 4, "the fork server has ended"
        return struct.unpack("i", data)[0]

    def run(self, words, cwd, streams, timeout):
        """The exit status, as subprocess gives it."""
        text = b"".join(os.fsencode(word) + b"\0" for word in (cwd, *words))
        socket.send_fds(self.socket, [struct.pack("I", len(text))], streams)
        self.socket.sendall(text)
        child = self.number()
        self.socket.settimeout(timeout)
        try:
            return os.waitstatus_to_exitcode(self.number())
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            self.socket.settimeout(None)
            self.number()
            raise subprocess.TimeoutExpired(words, timeout) from None
        finally:
            self.socket.settimeout(None)


fork_server = None


def run(*arguments, binary_output=False, input=None, stdin=None, cwd=None, env=None, timeout=None, check=False,
        alone=False):
    """Like subprocess.run(), with both outputs. With an environment of its own, or alone, it is no fork."""
    global fork_server
    words = [PREDGEN, *map(str, arguments)]
    if binary_output and input is not None:
        input = input.encode()
    if FORK_SERVER is not None and fork_server is None:
        fork_server = ForkServer()
    if alone or fork_server is None or (env or os.environ) != fork_server.environment:
        return subprocess.run(words, capture_output=True, text=not binary_output, input=input, stdin=stdin, cwd=cwd, env=env,
                              timeout=timeout, check=check)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, \
            open(os.devnull) as nothing:
        if input is not None:
            given.write(input if binary_output else input.encode())
            given.seek(0)
        read = given if input is not None else nothing if stdin == subprocess.DEVNULL else sys.stdin
        status = fork_server.run(words, os.path.abspath(cwd or "."), [read.fileno(), out.fileno(), err.fileno()], timeout)
        texts = []
        for file in out, err:
            file.seek(0)
            texts.append(file.read() if binary_output else file.read().decode())
    done = subprocess.CompletedProcess(words, status, *texts)
    if check:
        done.check_returncode()
    return done


def check(condition, message):
    if not condition:
        print("FAILED:", message)
        sys.exit(1)
    print("ok:", message)


def missing_for(*models):
    """Which of these fetched models are missing, or predgen-ears; empty: nothing is."""
    folder = Path(os.environ.get("PREDGEN_MODELS") or
                  Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "predgen/models")
    missing = [name for name in models if not (folder / name).is_dir()]
    return ", ".join(missing if Path(PREDGEN).with_name("predgen-ears").exists() else [*missing, "predgen-ears"])
