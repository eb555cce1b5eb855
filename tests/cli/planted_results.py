"""A results.json of sixteen turns in two rounds: greedy takes half of the baseline's time with its texts, top3 a quarter, with
other texts on every other turn."""

TURNS = 16


def interval(name, value):
    return {name: value, "low": 0.9 * value, "high": 1.1 * value, "n": TURNS}


def share_of(method):
    return {"greedy": 0.5, "top3": 0.25}.get(method, 1)


def mean(value):
    return {"mean": value, "p50": value, "p90": value}


def method_of(method):
    share, drafts = share_of(method), share_of(method) < 1
    return {"ttfs": mean(0.8 * share), "audio_latency": mean(1.0 * share), "nfe_paper": mean(20 * share),
            "speculative_nfe": mean(40 if drafts else 0), "spec_tokens_drafted": mean(60 if drafts else 0),
            "spec_tokens_accepted": mean(15 if drafts else 0), "spec_tokens_wasted": mean(45 if drafts else 0),
            "speedup": 1 / share, "sooner": interval("seconds", 1 - share), "top_k": 3 if method == "top3" else None}


def comparison_of(method):
    changed = 0.5 if method == "top3" else 0
    return {"nfe_saving_paper": interval("ratio", 1 / share_of(method)),
            "changed_text": {"share": changed, "low": 0.8 * changed, "high": 1.2 * changed, "n": TURNS}}


def row_of(method, turn):
    share, drafts = share_of(method), share_of(method) < 1
    return {"turn": turn, "id": f"id-{turn}", "method": method, "prompt": " ".join(["Please"] + turn * ["now"]),
            "text": "It is not done." if method == "top3" and turn % 2 == 1 else "It is done.", "ttfs": 0.8 * share,
            "ttfs_paper": 0.7 * share, "ttft": 0.3 * share, "audio_latency": 1.0 * share,
            "nfe_paper": 1 if turn % 4 == 0 and drafts else 20 * share, "lead_time": 0.0, "round": 1 + turn % 2,
            "revised_share": None, "model": "models/tiny", "cost": "given"}


def timeline_of(method):
    sentence = 1.0 + 0.8 * share_of(method)
    return {"turn": 2, "id": "id-2", "method": method, "why": "typical", "against": "greedy",
            "events": [[0.5, "transcript", "Please"], [0.9, "draft", "It was."], [0.92, "transcript", "Please now"],
                       [0.97, "draft", "It was all."], [1.0, "final", "Please now now"],
                       [sentence, "first_sentence", "It is done."], [1.9, "done", "It is done."]]}


def group_of(passes, saving=None):
    return {"n": TURNS, "saving": saving, "nfe_paper": passes, "wait_from_last_word": 0.5, "joules": None}


def planted_results(methods=("baseline", "greedy", "top3")):
    run = {"methods": {method: method_of(method) for method in methods},
           "comparisons": {method: comparison_of(method) for method in methods if method != "baseline"},
           "unseen": None, "model": "models/tiny",
           "cost": {"name": "given", "basis": "the configuration", "seconds_per_pass": 0.027, "seconds_per_token": 0.0},
           "timelines": [timeline_of(method) for method in methods]}
    return {"runs": [run], "turns": [row_of(method, turn) for turn in range(TURNS) for method in methods], "failed": [],
            "skipped": [], "training_overlap": None, "num_turns": TURNS,
            "config": "turns:\n  kind: conversations\n  file: sets/talk.jsonl\n", "environment": {}}


def planted_row(results, method, turn):
    return next(row for row in results["turns"] if (row["method"], row["turn"]) == (method, turn))
