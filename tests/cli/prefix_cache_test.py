"""predgen serve --prefix-cache: the beginning of a prompt is read once, whatever is restarted between."""

import os
import tempfile
from pathlib import Path

from program import check
from serving import PROMPTS, client, server, user

HOME = "You run a home. " + " ".join(f"There is a lamp {i} in room {i % 7}." for i in range(40))


def ask(process, prompt):
    answer = client(process).chat.completions.create(
        model="demo", messages=[{"role": "system", "content": HOME}, *user(prompt)], temperature=0, max_tokens=20)
    return answer.choices[0].message.content, answer.usage.prompt_tokens_details.cached_tokens, answer.usage.prompt_tokens


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    kept = Path(folder) / "kept"
    with server() as process:
        expected = [ask(process, prompt)[0] for prompt in PROMPTS[:2]]
    with server("--prefix-cache", kept) as process:
        text, cached, _ = ask(process, PROMPTS[0])
        check(text == expected[0] and cached == 0, f"it is new: {cached}")
    files = list(kept.iterdir())
    check(len(files) == 1 and kept.stat().st_mode & 0o77 == 0, f"one prefix, for its owner: {files}")
    with server("--prefix-cache", kept) as process:
        text, cached, length = ask(process, PROMPTS[1])
        check(cached > 128 and cached > 0.8 * length, f"its beginning is not read again: {cached} of {length}")
        check(text == expected[1], f"the same text: {text!r}, not {expected[1]!r}")
    files[0].write_bytes(files[0].read_bytes()[:-100])
    with server("--prefix-cache", kept) as process:
        text, cached, _ = ask(process, PROMPTS[1])
        check(text == expected[1] and cached == 0, f"a broken file is not read: {cached}")
    check(process.log.count("left alone") == 1, f"which is said: {process.log}")
