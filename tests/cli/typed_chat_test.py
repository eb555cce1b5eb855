"""predgen chat at a terminal: a pseudo terminal, keys and what is drawn."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

from program import PREDGEN, check, run
from tiny_model import WORDS, make_folder

SECONDS = 120


class Chat:
    """predgen chat with the other end of its terminal."""

    def __init__(self, *arguments, columns=100):
        self.screen, self.terminal = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self.before = termios.tcgetattr(self.terminal)
        self.process = subprocess.Popen([PREDGEN, "chat", *map(str, arguments)], stdin=self.terminal,
                                        stdout=self.terminal, stderr=subprocess.PIPE,
                                        env={**os.environ, "TERM": "xterm"})
        self.seen = ""

    def type(self, keys):
        os.write(self.screen, keys.encode())

    def wait_for(self, pattern):
        """Reads until `pattern` was drawn since the last call, and returns what was."""
        deadline = time.monotonic() + SECONDS
        while not re.search(pattern, self.seen, re.DOTALL):
            ready = select.select([self.screen], [], [], max(deadline - time.monotonic(), 0))[0]
            if not ready:
                check(False, f"{pattern!r} was drawn, not {self.seen[-2000:]!r}")
            self.seen += os.read(self.screen, 65536).decode(errors="replace")
        seen, self.seen = self.seen, ""
        return seen

    def end(self):
        """The exit code and stderr; the terminal must be as it was."""
        error = self.process.stderr.read().decode()
        code = self.process.wait(SECONDS)
        check(termios.tcgetattr(self.terminal) == self.before, "the terminal is as it was")
        os.close(self.screen)
        os.close(self.terminal)
        return code, error


def words_of(drawn):
    return re.sub(r"\x1b(\[[?0-9;]*[a-zA-Z]|[78])", "", drawn).replace("\r", "")


def change_and_save(chat, answer, scratch):
    """What commands make of a chat in which WORDS[0] was asked, and answered so."""
    chat.type("/again\r")
    drawn = words_of(chat.wait_for(r"\[first sentence [^\n]*\]"))
    check(answer in drawn.replace("\n", ""), f"the same question has the same answer: {drawn!r}")
    chat.type("/temperature\r")
    chat.wait_for(r"temperature: 0\r")
    chat.type("/temperature -1\r")
    chat.wait_for("temperature is -1, but must be 0")
    chat.type("/temperature 0.5\r")
    chat.wait_for(r"temperature: 0\.5\r")
    chat.type("/again\r")
    chat.wait_for(r"\[first sentence [^\n]*\]")
    chat.type("/temperature 0\r")
    chat.wait_for(r"temperature: 0\r")
    chat.type("/again\r")
    drawn = words_of(chat.wait_for(r"\[first sentence [^\n]*\]"))
    check(answer in drawn.replace("\n", ""), f"what is drawn is drawn at that temperature alone: {drawn!r}")
    chat.type("/system\r")
    chat.wait_for("no system prompt")
    chat.type("/system kind\r")
    chat.wait_for('system prompt "kind": no such name')
    chat.type("/system You are kind.\r")
    chat.wait_for(r"system prompt: You are kind\.\r")
    first, second = scratch / "first.json", scratch / "second.json"
    chat.type(f"/save {first}\r")
    chat.wait_for("saved in")
    saved = json.loads(first.read_text())
    check(saved[0] == {"role": "system", "content": "You are kind."} and
          [message["role"] for message in saved[1:]] == ["user", "assistant"], f"the conversation is saved: {saved}")
    check(saved[1]["content"] == WORDS[0] and saved[2]["content"].strip() == answer.strip(), f"word for word: {saved}")
    first.write_text(json.dumps(saved))
    chat.type(f"/save {first}\r")
    chat.wait_for("is there already; name a new file")
    check(first.read_text() == json.dumps(saved), "no file is overwritten")
    chat.type("/system none\r")
    chat.wait_for("no system prompt")
    chat.type("/reset\r")
    chat.wait_for("the conversation is forgotten")
    chat.type("/again\r")
    chat.wait_for("there is no question yet")
    chat.type(f"/load {scratch}/none.json\r")
    chat.wait_for("no such file")
    second.write_text(json.dumps(saved[:2]))
    chat.type(f"/load {second}\r")
    chat.wait_for("must hold questions and answers in turn")
    chat.type(f"/load {first}\r")
    chat.wait_for(r"1 round of [^\n]*\n[^\n]*system prompt: You are kind\.")
    second.unlink()
    chat.type(f"/save {second}\r")
    chat.wait_for("saved in")
    check(json.loads(second.read_text()) == saved, "and goes on as it was saved")


def main(scratch):
    model = ["--model", make_folder(scratch), "--dtype", "fp32", "--threads", "1",
             "--max-new-tokens", "24"]
    piped = run("chat", *model, input="\n".join(WORDS[:2]) + "\n")
    answers = piped.stdout.splitlines()

    chat = Chat(*model)
    chat.wait_for("/help lists the commands")
    chat.type(WORDS[0] + " ")
    chat.wait_for("-- draft")  # before the line is sent
    chat.type("\r")
    drawn = words_of(chat.wait_for(r"\[first sentence [^\n]* forward pass[^\n]*\]"))
    check(answers[0] in drawn.replace("\n", ""), f"the answer is that of a pipe: {drawn!r}")

    chat.type("/verifer topk\r")
    chat.wait_for(r'did you mean "/verifier"')
    chat.type("/verifier topk 5\r")
    chat.wait_for("verifier: topk 5")
    chat.type("/decoder jacobi\r")
    chat.wait_for("decoder: jacobi")
    chat.type("/decoder ar\r")
    chat.wait_for("decoder: ar")
    chat.type("/verifier greedy\r")
    chat.wait_for("verifier: greedy")
    chat.type(f"\x1b[200~{WORDS[1]}\x1b[201~\r")
    drawn = words_of(chat.wait_for(r"\[first sentence [^\n]*\]"))
    check(answers[1] in drawn.replace("\n", ""), f"and knows the first turn: {drawn!r}")
    chat.type("/compare\r")
    drawn = chat.wait_for("texts are the same|cascade's text")
    check("plain cascade: first sentence" in drawn and "the texts are the same" in drawn,
          f"a cascade gives the same text: {drawn!r}")
    chat.type("/reset\r")
    chat.wait_for("the conversation is forgotten")
    chat.type(WORDS[0] + "\r")
    drawn = words_of(chat.wait_for(r"\[first sentence [^\n]*\]"))
    check(answers[0] in drawn.replace("\n", ""), f"begins afresh: {drawn!r}")
    change_and_save(chat, answers[0], scratch)
    chat.type("two\x1b\rrows")  # Alt-Enter
    chat.wait_for(r"> two\r+\nrows")
    chat.type("\x03")
    chat.type("half\x03")  # empties the line
    chat.type("\x04")
    check(chat.end() == (0, ""), "Ctrl-D leaves")

    drafting = Chat("--model", Path(__file__).resolve().parents[2] / "checkpoints" / "demo", "--threads", "1")
    drafting.wait_for("/help")
    drafting.type("Hello")  # the only word is the last one
    drafting.wait_for("first sentence ready")
    drafting.type("\r")
    drawn = words_of(drafting.wait_for(r"\[first sentence [^\n]*\]"))
    check(", 0 forward passes" in drawn, f"Enter finds the answer there: {drawn!r}")
    drafting.type("\x04")
    check(drafting.end()[0] == 0, "it leaves")

    long = Chat(*model[:-2], "--max-new-tokens", "100000", "--let-repeat")
    long.wait_for("/help")
    long.type(WORDS[0] + "\r")
    long.wait_for(re.escape(answers[0][:4]) + r"[^\n]*\n[^\n>]*> ")  # some of the answer, above the line
    long.type("\x03")
    long.wait_for(r"\[stopped; what was said is kept\]")
    long.type("\x04")
    check(long.end()[0] == 0, "an answer that is stopped is not the end")

    failing = Chat(*model, "--max-context", "8")
    failing.wait_for("/help")
    failing.type(WORDS[0] + "\r")
    failing.wait_for("this turn failed and is forgotten")
    failing.type("/quit\r")
    check(failing.end()[0] == 0, "a turn that fails is not the end")

    answers_pipe = scratch / "answers.jsonl"  # nothing loads before somebody writes into it
    os.mkfifo(answers_pipe)
    loading = Chat(*model, "--past-answers", answers_pipe)
    loading.wait_for("the model is loading")
    loading.type(WORDS[0] + "\r")
    loading.wait_for("sent when the model is loaded[^\n]*: " + WORDS[0])
    loading.type("/reset\r" + WORDS[1])
    loading.wait_for("> " + WORDS[1])
    answers_pipe.write_text('{"conversation": [{"role": "assistant", "content": "' + WORDS[1] + '"}]}\n')
    drawn = words_of(loading.wait_for(r"\[first sentence [^\n]*\]"))
    check(answers[0] in drawn.replace("\n", ""), f"what was typed while it loaded is answered: {drawn!r}")
    if "the conversation is forgotten" not in drawn:
        loading.wait_for("the conversation is forgotten")
    loading.type("\r")
    drawn = words_of(loading.wait_for(r"\[first sentence [^\n]*\]"))
    alone = run("chat", *model, input=WORDS[1] + "\n").stdout.splitlines()[0]
    check(alone in drawn.replace("\n", ""), f"and what was typed behind it, line by line: {drawn!r}")
    loading.type("\x04")
    check(loading.end()[0] == 0, "it leaves")

    for keys in ("\x03", "half\x03\x04", "/quit\r"):
        loading = Chat(*model, "--past-answers", answers_pipe)
        loading.wait_for("the model is loading")
        loading.type(keys)
        check(loading.end() == (0, ""), f"{keys!r} leaves while it loads")

    missing = Chat(*model, "--tts", "piper", "--voice", scratch / "no-such-voice")
    check(missing.end()[0] == 2, "what cannot be loaded ends it")

    killed = Chat(*model)
    killed.wait_for("/help")
    killed.process.send_signal(signal.SIGTERM)
    check(killed.end()[0] == 130, "SIGTERM ends it")


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
sys.exit(0)
