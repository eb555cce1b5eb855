"""predgen chat, fed through pipes, on a small random model."""

import json
import os
import sys
import tempfile
import wave
from pathlib import Path

from program import ESPEAK, check, run
from tiny_model import WORDS, make_draft_model, make_folder


def lines(prompt):
    """A recogniser that hears word by word, the last one final."""
    words = prompt.split()
    heard = [" ".join(words[: i + 1]) for i in range(len(words))]
    rows = [{"text": text, "revision": i} for i, text in enumerate(heard)]
    return [*rows, {"text": prompt, "final": True}]


def main(scratch):
    model = ["--model", make_folder(scratch), "--dtype", "fp32", "--threads", "1",
             "--max-new-tokens", "24"]
    transcripts = "".join(json.dumps(row) + "\n" for words in WORDS for row in lines(words))

    answers = {}
    for verifier in ("off", "greedy", "topk"):
        result = run("chat", *model, "--verifier", verifier, "--transcripts", "-", "--json",
                     input=transcripts)
        check(result.returncode == 0, f"--verifier {verifier} {result.stderr[-300:]}")
        turns = json.loads(result.stdout)["turns"]
        check([turn["prompt"] for turn in turns] == WORDS, "one turn for each final transcript")
        check(all(turn["text"] and turn["ttfs"] is not None for turn in turns), "every turn answers")
        answers[verifier] = [turn["text"] for turn in turns]
    check(answers["greedy"] == answers["off"], "greedy speculation does not change the answers")
    check(len(set(answers["off"])) > 1, "answers depend on the prompt")
    jacobi = run("chat", *model, "--decoder", "jacobi", "--transcripts", "-", "--json",
                 input=transcripts)
    check([turn["text"] for turn in json.loads(jacobi.stdout)["turns"]] == answers["off"],
          "neither does the Jacobi decoder")

    result = run("chat", *model, "--verifier", "reflection", "--transcripts", "-", input=transcripts)
    check(result.returncode == 2 and 'no token "yes"' in result.stderr and result.stderr.count("\n") == 1,
          "a vocabulary without the words to judge by is said in one line")
    demo = Path(__file__).resolve().parents[2] / "checkpoints" / "demo"
    for sentences in "1", "3":
        result = run("chat", "--model", demo, "--threads", "1", "--max-new-tokens", "24", "--verifier", "reflection",
                     "--judged-sentences", sentences, "--transcripts", "-", "--json", input=transcripts)
        check(result.returncode == 0, f"--verifier reflection {result.stderr[-300:]}")
        check(all(turn["text"] for turn in json.loads(result.stdout)["turns"]), "every turn answers")

    demo_model = ["--model", demo, "--threads", "1", "--max-new-tokens", "24", "--transcripts", "-", "--json"]
    texts, passes = [], []
    draft_model = ["--draft-model", make_draft_model(scratch, demo)]
    # It drafts by costs that are measured, so it may be nothing on a busy machine.
    for more in (["--verifier", "off"], draft_model, draft_model, draft_model):
        result = run("chat", *demo_model, *more, input=transcripts)
        check(result.returncode == 0, f"{more}: {result.stderr[-300:]}")
        turns = json.loads(result.stdout)["turns"]
        texts.append([turn["text"] for turn in turns])
        passes.append(sum(turn["draft_model_total_nfe"] for turn in turns))
    check(all(text == texts[0] for text in texts), "nor does a draft model")
    check(passes[0] == 0 < sum(passes), f"whose passes are counted: {passes}")
    result = run("chat", *model, "--draft-model", demo, input="hi\n")
    check(result.returncode == 2 and "another tokenizer" in result.stderr and str(demo) in result.stderr,
          f"one with another tokenizer is refused: {result.stderr.strip()}")

    # A context too short for the whole conversation: the oldest rounds go, in every method.
    many = "".join(json.dumps(row) + "\n" for words in 3 * WORDS for row in lines(words))
    short = {}
    for verifier in ("off", "greedy"):
        result = run("chat", *model, "--max-context", "160", "--verifier", verifier, "--transcripts",
                     "-", "--json", input=many)
        check(result.returncode == 0, f"a full context does not end it {result.stderr[-300:]}")
        short[verifier] = json.loads(result.stdout)["turns"]
        dropped = [turn["dropped_rounds"] for turn in short[verifier]]
        check(len(dropped) == 9 and dropped[0] == 0 and sum(dropped) > 0, f"rounds go: {dropped}")
        check(result.stderr.count("the context is full") == sum(count > 0 for count in dropped),
              f"one line of warning each: {result.stderr}")
    check([(turn["text"], turn["dropped_rounds"]) for turn in short["off"]] ==
          [(turn["text"], turn["dropped_rounds"]) for turn in short["greedy"]], "the same for all")
    alone = run("chat", *model, "--max-context", "8", input="\n".join(WORDS) + "\n")
    check(alone.returncode == 2 and alone.stdout == "" and
          alone.stderr.count("context holds 8") == len(WORDS) and "3 of 3 turns failed" in alone.stderr,
          f"prompts that do not fit alone are refused: {alone.stderr.strip()}")
    mixed = run("chat", *model, "--max-context", "60", "--json", input="hi\n" + 50 * "tell me " + "\nhi\n")
    turns = json.loads(mixed.stdout)["turns"]
    check(mixed.returncode == 2 and [turn["error"] is None for turn in turns] == [True, False, True],
          f"a turn that fails ends no other: {mixed.stderr.strip()}")

    # A recording keeps its times: the words before the final one are heard, and answered ahead.
    file = scratch / "recording.jsonl"
    file.write_text("".join(json.dumps({**row, "time": 0.05 * i}) + "\n"
                            for i, row in enumerate(lines(WORDS[0]))))
    recorded = json.loads(run("chat", *model, "--transcripts", file, "--json").stdout)["turns"]
    check(recorded[0]["text"] == answers["off"][0], "a recorded turn gives the same answer")
    check(recorded[0]["speculative_nfe"] > 0, "and was speculated on")

    # Messages of speech services as they come.
    services = {"Deepgram Flux": lambda text, end: {"type": "TurnInfo", "event": "EndOfTurn" if end else "Update",
                                                    "turn_index": 0, "transcript": text},
                "sherpa-onnx": lambda text, end: {"text": text, "segment": 0, "is_final": end, "is_eof": False},
                "RTVI": lambda text, end: {"label": "rtvi-ai", "type": "user-transcription",
                                           "data": {"text": text, "user_id": "", "timestamp": "", "final": end}}}
    for name, message in services.items():
        heard = [message(row["text"], "final" in row) for words in WORDS for row in lines(words)]
        result = run("chat", *model, "--transcripts", "-", "--json",
                     input="".join(json.dumps(row) + "\n" for row in heard) + "Done!\n")
        texts = [turn["text"] for turn in json.loads(result.stdout)["turns"]]
        check(texts == answers["off"], f"{name}'s messages are turns: {result.stderr.strip()}")

    typed = run("chat", *model, input="\n".join(WORDS) + "\n")
    check(typed.returncode == 0 and typed.stdout == "".join(text + "\n" for text in answers["off"]),
          "typed lines are turns; stdout holds the answers alone")
    check(typed.stderr.count("first sentence") == len(WORDS), "a line of metrics for each turn")

    # Lines that wait: their time begins with their turn.
    waiting = json.loads(run("chat", *model, "--json", input="\n".join(4 * WORDS) + "\n").stdout)["turns"]
    before = sum(turn["ttfs_paper"] for turn in waiting[:-1])
    check(waiting[-1]["ttfs"] - waiting[-1]["ttfs_paper"] < before / 2,
          f"the last of {len(waiting)} lines did not wait for {before} s: {waiting[-1]}")

    cut = run("chat", *model[:-2], "--max-new-tokens", "3", input=WORDS[0] + "\n")
    check("[stopped after 3 tokens; --max-new-tokens allows more]" in cut.stderr, f"a cut is said: {cut.stderr}")
    looping = ["--max-new-tokens", "400", "--json"]
    ended, whole = (json.loads(run("chat", *model[:-2], *looping, *more, input=WORDS[0] + "\n").stdout)["turns"][0]
                    for more in ([], ["--let-repeat"]))
    check(ended["stop_reason"] == "repetition" and len(ended["token_ids"]) < len(whole["token_ids"]) == 400 and
          whole["text"].startswith(ended["text"]), f"an answer that is stuck ends: {ended} {whole}")
    said = run("chat", *model[:-2], *looping[:2], input=WORDS[0] + "\n")
    check("[stopped, as it repeats itself; --let-repeat goes on]" in said.stderr, f"which is said: {said.stderr}")

    for more, given, part in ((["--tts", "zonos"], "hi\n", "--tts-model"),
                              (["--tts", "espeak", "--audio-out", "x.mp3"], "hi\n", "x.mp3"),
                              (["--transcripts", scratch / "none.jsonl"], "", "none.jsonl"),
                              (["--transcripts", "-"], '{"text": "a"}\n{oops\n', "2"),
                              (["--transcripts", "-"], '{"type": "Error"}\n', "AssemblyAI")):
        bad = run("chat", *model, *more, input=given)
        check(bad.returncode == 2 and part in bad.stderr, f"{more} is refused: {bad.stderr.strip()}")

    if not ESPEAK:
        print("skipped: speech (no predgen-espeak)")
        return
    wav = scratch / "answer.wav"
    spoken = run("chat", *model, "--tts", "espeak", "--audio-out", wav, "--json", input="hello\n")
    turn = json.loads(spoken.stdout)["turns"][0]
    check(spoken.returncode == 0 and turn["audio_latency"] > 0, f"speaks {spoken.stderr[-300:]}")
    with wave.open(str(wav)) as audio:
        check(audio.getnchannels() == 1 and audio.getnframes() > 1000, "the WAV holds speech")
    before = wav.read_bytes()
    again = run("chat", *model, "--tts", "espeak", "--audio-out", wav, input="hello\n")
    check(again.returncode == 2 and "--overwrite" in again.stderr and wav.read_bytes() == before, "which is not lost unasked")
    again = run("chat", *model, "--tts", "espeak", "--audio-out", wav, "--overwrite", input="hello there\n")
    check(again.returncode == 0 and wav.read_bytes() != before, f"but if asked: {again.stderr[-300:]}")


os.environ.setdefault("OMP_NUM_THREADS", "1")
with tempfile.TemporaryDirectory() as folder:
    main(Path(folder))
sys.exit(0)
