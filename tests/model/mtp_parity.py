"""What Qwen3.5's MTP layer guesses, against `transformers`' own modules, on small random models.

`transformers` has no class for the layer and leaves its tensors out. The reference is a model of one layer whose
inputs are made here as vLLM's qwen3_5_mtp.py makes them.
"""

import json
import shutil
import tempfile
from pathlib import Path

import torch
from reference_models import (REPOSITORY, THREADS, change_config, check, make_config, make_model, predgen,
                              predgen_greedy, random_rows, run)
from safetensors.torch import load_file, save_file

LENGTH, GUESSES = 40, 4
EVAL = """
model: {model}
draft_model: {draft_model}
output: {output}
methods: [baseline, draft_model, best+draft_model]
turns: {{kind: conversations, file: {file}, count: 4, min_characters: 20, seed: 0}}
clock: {{kind: virtual, cost: table}}
generation: {{max_new_tokens: 24}}
threads: 1
device: cpu
dtype: fp32
"""
CASES = {"Qwen3.5": ("qwen3_5", {}), "Qwen3.5, untied, biases": ("qwen3_5", dict(
             tie_word_embeddings=False, attention_bias=True, rope={"partial_rotary_factor": 0.5})),
         "Qwen3.5 MoE": ("qwen3_5_moe", {}),
         "Qwen3.5 MoE, untied": ("qwen3_5_moe", dict(tie_word_embeddings=False, num_experts_per_tok=1))}


class Layer:
    """An MTP layer of `model`."""

    def __init__(self, model, arch, changes):
        self.model = model
        self.one = make_model(make_config(arch, **dict(changes, num_hidden_layers=1, layer_types=["full_attention"])),
                              seed=7)
        E = model.config.hidden_size
        generator = torch.Generator().manual_seed(8)
        self.fc = torch.randn(E, 2 * E, generator=generator) * 0.15
        self.norms = {name: torch.randn(E, generator=generator) * 0.2 for name in ("embedding", "hidden")}

    def tensors(self):
        own = {name.replace("model.", "mtp.", 1): weight for name, weight in self.one.state_dict().items()
               if name.startswith(("model.layers.", "model.norm."))}
        own |= {f"mtp.pre_fc_norm_{name}.weight": weight for name, weight in self.norms.items()}
        return {name: weight.clone().contiguous() for name, weight in (own | {"mtp.fc.weight": self.fc}).items()}

    def norm(self, name, x):
        norm = type(self.one.model.norm)(x.shape[-1], eps=self.model.config.rms_norm_eps)
        norm.weight.data.copy_(self.norms[name])
        return norm(x)

    @torch.no_grad()
    def guesses(self, ids):
        """[T-1,GUESSES] after each token but the first, and the smallest lead of a guess over the next token."""
        hidden = self.model.model(ids[None]).last_hidden_state[0]  # after the last norm
        all_guesses, lead = [], float("inf")
        for length in range(2, len(ids) + 1):
            tokens, given = ids[1:length], hidden[:length - 1]
            for _ in range(GUESSES):
                embedded = self.model.model.embed_tokens(tokens)
                inputs = torch.cat([self.norm("embedding", embedded), self.norm("hidden", given)], -1) @ self.fc.T
                last = self.one.model(inputs_embeds=inputs[None]).last_hidden_state[0, -1:]
                top = self.model.lm_head(last)[0].topk(2)
                lead = min(lead, (top.values[0] - top.values[1]).item())
                tokens, given = torch.cat([tokens, top.indices[:1]]), torch.cat([given, last])
            all_guesses.append(tokens[-GUESSES:])
        return torch.stack(all_guesses), lead


def predgen_guesses(folder, ids, scratch, draft_model="own"):
    file = scratch / "guesses.safetensors"
    predgen("score", "--model", folder, "--draft-model", draft_model, "--token-ids", ",".join(map(str, ids.tolist())),
            "--device", "cpu", "--dtype", "fp32", "--guesses", file, *THREADS)
    return load_file(file)["guesses"]


def change_weights(folder, change):
    weights = load_file(folder / "model.safetensors")
    change(weights)
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def halves_swapped(weights):
    E = weights["mtp.fc.weight"].shape[0]
    weights["mtp.fc.weight"] = weights["mtp.fc.weight"].roll(E, 1).contiguous()


def norms_swapped(weights):
    names = [f"mtp.pre_fc_norm_{name}.weight" for name in ("embedding", "hidden")]
    weights[names[0]], weights[names[1]] = weights[names[1]], weights[names[0]]


def last_norm_of_the_model(weights):
    weights["mtp.norm.weight"] = weights["model.norm.weight"].clone()


def check_case(name, scratch):
    arch, changes = CASES[name]
    folder = scratch / "model"
    model = make_model(make_config(arch, **changes))
    layer = Layer(model, arch, changes)
    model.save_pretrained(folder)
    ids = random_rows(199, 1, LENGTH, seed=1)[0]
    rows = random_rows(199, 8, 12, seed=2)
    plain = predgen_greedy(folder, rows, 24, scratch)
    change_weights(folder, lambda weights: weights.update(layer.tensors()))
    change_config(folder, mtp_num_hidden_layers=1)
    expected, lead = layer.guesses(ids)
    check(len(set(expected.flatten().tolist())) >= 15, f"{name}: the guesses vary")
    found = predgen_guesses(folder, ids, scratch)
    check(torch.equal(found, expected), f"{name}: {(found == expected).sum()} of {expected.numel()} guesses are "
                                        f"transformers' (smallest lead {lead:.1e})")
    for planted in (halves_swapped, norms_swapped, last_norm_of_the_model):
        bad = scratch / "bad"
        shutil.copytree(folder, bad)
        change_weights(bad, planted)
        equal = (predgen_guesses(bad, ids, scratch) == expected).float().mean().item()
        check(equal < 0.5, f"{name}: planted fault is seen: {planted.__name__} ({equal:.0%} equal)")
        shutil.rmtree(bad)

    check_texts(name, folder, "own", plain, scratch)
    check(predgen_greedy(folder, rows, 24, scratch) == plain, f"{name}: and so without the layer")
    check_refused(name, folder)
    shutil.rmtree(folder)


def check_texts(name, folder, draft_model, plain, scratch):
    """Of the rows that predgen_greedy() wrote: `plain`, however they are drafted."""
    for more in ([], ["--decoder", "jacobi"]):
        out = json.loads(predgen("generate", "--model", folder, "--draft-model", draft_model, "--input",
                                 scratch / "rows.jsonl", "--max-new-tokens", 24, "--device", "cpu", "--dtype", "fp32",
                                 "--json", *more, *THREADS))
        check([result["token_ids"] for result in out["results"]] == plain,
              f"{name}: the text is that of plain decoding {more}")


def check_refused(name, folder):
    def refusal(*more):
        done = run("generate", "--model", folder, "--token-ids", "1,2", *more)
        lines = done.stderr.strip().splitlines()
        return (done.returncode, lines[-1] if lines else "")

    weights = load_file(folder / "model.safetensors")
    without_norm = {key: weight for key, weight in weights.items() if key != "mtp.pre_fc_norm_hidden.weight"}
    save_file(without_norm, folder / "model.safetensors", {"format": "pt"})
    code, line = refusal()
    check(code == 2 and "mtp.pre_fc_norm_hidden.weight is missing" in line, f"{name}: half of the layer: {line}")
    none = {key: weight for key, weight in weights.items() if not key.startswith("mtp.")}
    save_file(none, folder / "model.safetensors", {"format": "pt"})
    code, line = refusal("--draft-model", "own")
    check(code == 2 and "has no MTP layer to draft with" in line, f"{name}: without the layer: {line}")
    check(refusal("--max-new-tokens", "1")[0] == 0, f"{name}: a configuration may promise a layer that is not there")


def check_conversations(scratch):
    folder = scratch / "model"
    changes = dict(vocab_size=4096, max_position_embeddings=2048)
    model = make_model(make_config("qwen3_5", **changes))
    model.save_pretrained(folder)
    change_weights(folder, lambda weights: weights.update(Layer(model, "qwen3_5", changes).tensors()))
    copy_tokenizer(folder)
    doctor = predgen("doctor", "--model", folder)
    check("beside it, to draft with (--draft-model own)" in doctor, f"doctor counts the layer: {doctor}")
    check_drafted_turns(folder, "own", scratch)


def copy_tokenizer(folder):
    for file in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(REPOSITORY / "checkpoints/demo" / file, folder / file)


def check_drafted_turns(folder, draft_model, scratch):
    """Drafts of turns, as in a chat: every method's text is the baseline's; what the drafts take is told."""
    config = scratch / "eval.yaml"
    config.write_text(EVAL.format(model=folder, draft_model=draft_model, output=scratch / "out",
                                  file=REPOSITORY / "data/samples/dialogues.jsonl"))
    cheap = ["clock.costs=[given]", "clock.seconds_per_pass=0.027", "clock.seconds_per_draft_pass=0.002"]
    for overrides in ([], cheap):
        results = json.loads(predgen("eval", "--config", config, "--json", *overrides))
        cost = results["runs"][0]["cost"]
        share = cost["seconds_per_draft_pass"] / cost["seconds_per_pass"]
        for method in ("draft_model", "best+draft_model"):
            equal = results["comparisons"][method]["equal_text"]
            check(equal["count"] == equal["n"] > 0, f"{method}: {equal['count']} of {equal['n']} texts are the baseline's")
        passes = sum(row["draft_model_total_nfe"] for row in results["turns"] if row["method"] == "draft_model")
        # By its bytes, most of which are the head's, it does not pay in so small a model.
        check((passes > 0) == (share < 0.5), f"{passes:.0f} passes of the drafter, each {share:.2f} of one of the model")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name in CASES:
            check_case(name, Path(scratch))
        check_conversations(Path(scratch))


if __name__ == "__main__":
    main()
