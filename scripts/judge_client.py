"""Asks the judge, and keeps its replies. Part of judge.py."""
import email.utils
import hashlib
import json
import os
import sys
import time
from typing import NamedTuple

from judge_prompts import BadInput

FAILURES_IN_A_ROW = 3
LONGEST_PAUSE = 60  # seconds, unless the endpoint asks for more
MAX_REPLY_BYTES = 16 << 20
SHOWN = 200  # characters of a reply in an error
SAID_PAUSE = 5  # seconds; of a shorter one nothing is said


class Reply(NamedTuple):
    """What the endpoint sent. The status is 0 where nothing came, and `body` says why."""
    status: int
    body: str
    retry_after: float | None = None


class Verdict(NamedTuple):
    text: str | None
    problem: str = ""  # one line, where there is no text


def first_line(text):
    return json.dumps((text.strip().splitlines() or [""])[0].rstrip()[:SHOWN])


def reason(error):
    """The library's own words are as general as "Connection error."."""
    error = error.__cause__ or error
    return (str(error).splitlines() or [""])[0] or type(error).__name__


def seconds_to_wait(headers):
    """Of the header Retry-After, which has seconds or a date."""
    text = headers.get("retry-after") or ""
    try:
        seconds = float(text)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(text).timestamp() - time.time()
        except (TypeError, ValueError):
            return None
    return seconds if 0 < seconds < float("inf") else None


def connect(endpoint, key, timeout):
    """A function of a request that gives the endpoint's Reply. BadInput if nothing listens there."""
    try:
        import openai
    except ImportError as error:
        raise BadInput(f"needs the Python package openai, and {sys.executable} has no {error.name}: pip install openai, "
                       "or use the Python that scripts/setup.sh --with-tests prints") from error
    try:
        client = openai.OpenAI(base_url=endpoint, api_key=key or "none", timeout=timeout, max_retries=0)
    except Exception as error:  # a bad proxy in the environment, by the HTTP library of this version of openai
        raise BadInput(f"{endpoint} cannot be asked: {reason(error)}") from error
    headers = {} if key else {"Authorization": openai.Omit()}
    try:
        client.models.with_raw_response.list(extra_headers=headers)
    except openai.APIConnectionError as error:
        raise BadInput(f"{endpoint} cannot be reached: {reason(error)}; check --endpoint") from error
    except openai.APIStatusError:
        pass  # some have no list of models

    def post(request):
        deadline = time.monotonic() + timeout
        body = b""
        try:
            with client.chat.completions.with_streaming_response.create(**request, extra_headers=headers) as response:
                for part in response.iter_bytes():
                    body += part
                    if time.monotonic() > deadline:  # some send spaces for as long as the model writes
                        raise TimeoutError(f"timeout: not complete after {timeout:g} s")
                    if len(body) > MAX_REPLY_BYTES:
                        raise OSError(f"longer than {MAX_REPLY_BYTES >> 20} MiB")
                return Reply(response.status_code, body.decode(errors="replace"))
        except openai.APIStatusError as error:
            return Reply(error.status_code, error.response.text, seconds_to_wait(error.response.headers))
        except openai.APITimeoutError:
            return Reply(0, f"timeout: nothing came for {timeout:g} s")
        except Exception as error:  # of the HTTP library, which depends on the version of openai
            return Reply(0, reason(error))

    return post


def write_file(path, text):
    """Whoever reads it sees the old file or the new one."""
    part = path.with_name(path.name + ".tmp")
    try:
        with open(part, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def may_pass(status):
    return status in (0, 200, 408, 429) or status >= 500


class JudgeClient:
    """Asks the endpoint, or the folder that keeps its replies by what was asked.

    A call that fails for a time (429, 5xx, no reply, an invalid one) is repeated after 1, 2, 4, .. seconds, or when the
    endpoint says. After three failed requests in a row, other than by their own fault, it gives up: BadInput.
    """

    def __init__(self, options, key, post, clock=time, say=lambda line: None):
        """`options` are the command's; the folder `options.cache` exists, and `key` is kept out of problems."""
        self._options, self._key, self._post, self._clock, self._say = options, key, post, clock, say
        self._next_call = clock.monotonic()
        self._failed_in_a_row = 0
        self._failed = {}  # verdicts that are missing, by the file that would keep the reply
        self.usage = {"calls": 0, "from_cache": 0, "prompt_tokens": 0, "reply_tokens": 0}

    def ask(self, request, is_usable):
        """Of (system, user) the judge's Verdict. A reply that `is_usable` rejects is a problem, and not kept."""
        body = request_body(self._options, request)
        file = kept_file(self._options, body)
        if file.exists():
            self.usage["from_cache"] += 1
            return Verdict(read_kept(file))
        if file in self._failed:
            return self._failed[file]
        verdict = self._call(body)
        if verdict.text is not None and not is_usable(verdict.text):
            verdict = Verdict(None, f"the judge's reply has no verdict: {first_line(verdict.text)}")
        if verdict.text is None:
            self._failed[file] = verdict
        else:
            write_file(file, json.dumps({"reply": verdict.text}, ensure_ascii=False, indent=1))
        return verdict

    def _call(self, body):
        for attempt in range(self._options.retries + 1):
            self._clock.sleep(max(0, self._next_call - self._clock.monotonic()))
            if self._options.calls_per_minute > 0:
                self._next_call = self._clock.monotonic() + 60 / self._options.calls_per_minute
            self.usage["calls"] += 1
            reply = self._post(body)
            verdict = self._read(reply)
            if verdict.text is not None or not may_pass(reply.status) or attempt == self._options.retries:
                break
            pause = reply.retry_after or min(LONGEST_PAUSE, 2**attempt)
            if pause >= SAID_PAUSE:
                self._say(f"{verdict.problem}; asks again in {pause:.0f} s")
            self._next_call = max(self._next_call, self._clock.monotonic() + pause)
        is_answered = verdict.text is not None or reply.status in (400, 413, 422)
        self._failed_in_a_row = 0 if is_answered else self._failed_in_a_row + 1
        if self._failed_in_a_row == FAILURES_IN_A_ROW:
            raise BadInput(f"the judge failed three times in a row, at last: {verdict.problem}; results.json stays, replies "
                           "are kept, and the same command goes on")
        return verdict

    def _read(self, reply):
        body = reply.body.replace(self._key, "***") if self._key else reply.body
        if reply.status == 0:
            return Verdict(None, f"no reply: {body}")
        if reply.status != 200:
            return Verdict(None, f"HTTP {reply.status}: {first_line(body)}")
        try:
            completion = json.loads(body)
            text = completion["choices"][0]["message"]["content"].encode(errors="replace").decode()
            usage = completion.get("usage") or {}
            self.usage["prompt_tokens"] += int(usage.get("prompt_tokens") or 0)
            self.usage["reply_tokens"] += int(usage.get("completion_tokens") or 0)
            return Verdict(text)
        except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
            return Verdict(None, f"the reply is no chat completion: {first_line(body)}")


def request_body(options, request):
    system, user = request
    messages = [{"role": "system", "content": system}] if system else []
    return {"model": options.model, "messages": [*messages, {"role": "user", "content": user}], "temperature": 0,
            "max_tokens": options.max_reply_tokens}


def kept_file(options, body):
    """Where the reply to this request is kept."""
    asked = json.dumps([options.endpoint, body], sort_keys=True)
    return options.cache / (hashlib.sha256(asked.encode()).hexdigest()[:32] + ".json")


def read_kept(file):
    try:
        return str(json.loads(file.read_text(encoding="utf-8"))["reply"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{file}: is no kept reply; remove it, and the judge is asked again") from error
