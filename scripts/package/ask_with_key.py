"""Starts a server that needs a key, and asks it with and without that key; for the Containerfile.

usage: ask_with_key.py COMMAND..        what starts the server, without port and key
"""
import hashlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

KEY = "only for this test"
SECONDS = 60


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


def ask(port, path, **headers):
    """Status and JSON of an answer; none while nobody listens."""
    try:
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
    except OSError:
        return None, {}


def main(command):
    port = free_port()
    digits = hashlib.sha256(KEY.encode()).hexdigest()
    server = subprocess.Popen([*command, "--port", str(port), f"api_keys_sha256=[{digits}]"])
    try:
        end = time.monotonic() + SECONDS
        while ask(port, "/health")[0] != 200:
            if server.poll() is not None or time.monotonic() > end:
                sys.exit("FAILED  it does not answer")
            time.sleep(0.2)
        refused, _ = ask(port, "/v1/models")
        taken, models = ask(port, "/v1/models", Authorization=f"Bearer {KEY}")
    finally:
        server.terminate()
    if (refused, taken) != (401, 200):
        sys.exit(f"FAILED  without the key {refused}, with it {taken}")
    print(f"ok      {models['data'][0]['id']} is served to those who have the key")
    if server.wait(SECONDS) != 130:
        sys.exit(f"FAILED  it ended with {server.returncode}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
