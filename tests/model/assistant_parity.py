"""What Gemma 4's assistants guess, against `transformers`' own candidate generator, on small random models."""

import json
import shutil
import tempfile
from pathlib import Path

import torch
from mtp_parity import (GUESSES, LENGTH, change_weights, check_drafted_turns, check_texts, copy_tokenizer,
                        predgen_guesses)
from reference_models import (REPOSITORY, check, make_config, make_model, norm_mean, predgen, predgen_greedy,
                              random_rows, run)
from transformers import (Gemma4AssistantConfig, Gemma4AssistantForCausalLM, Gemma4UnifiedAssistantConfig,
                          Gemma4TextConfig, Gemma4UnifiedAssistantForCausalLM)
from transformers.generation.candidate_generator import SinglePositionMultiTokenCandidateGenerator



def kv_sharing_modes(config):
    """As in the comments of transformers 5.23, whose own code refuses its assistants, which share every layer, and lets
    them read nothing of a model that shares none."""
    first = config.num_hidden_layers - config.num_kv_shared_layers
    modes = [None] * first + ["reuse"] * config.num_kv_shared_layers
    for kind in set(config.layer_types[:first]):
        modes[max(i for i in range(first) if config.layer_types[i] == kind)] = "store"
    return modes


Gemma4TextConfig.kv_sharing_modes = property(kv_sharing_modes)

TYPES = ["sliding_attention", "full_attention"] * 2
CASES = {
    "Gemma 4": (dict(num_hidden_layers=4, layer_types=TYPES), {}),
    "Gemma 4, shared rows, clusters": (
        dict(num_hidden_layers=6, num_kv_shared_layers=2, use_double_wide_mlp=True, vocab_size=200,
             vocab_size_per_layer_input=200, layer_types=["sliding_attention", "full_attention"] * 3),
        dict(use_ordered_embeddings=True, num_centroids=20, centroid_intermediate_top_k=4)),
    "Gemma 4, keys that are values": (
        dict(hidden_size_per_layer_input=0, attention_k_eq_v=True, num_global_key_value_heads=1, num_hidden_layers=4,
             layer_types=TYPES, final_logit_softcapping=4.0), {}),
}


def make_assistant(model, of_model, changes, is_unified=False):
    """An assistant of `model`, which make_config() made with the changes `of_model`: half as wide, the same heads."""
    hidden_size = model.config.hidden_size
    shared = ("vocab_size", "num_global_key_value_heads", "attention_k_eq_v", "max_position_embeddings")
    text = make_config("gemma4", **{key: of_model[key] for key in shared if key in of_model},
                       hidden_size=hidden_size // 2, num_hidden_layers=4, intermediate_size=48, layer_types=TYPES,
                       hidden_size_per_layer_input=0, vocab_size_per_layer_input=0)
    kinds = ((Gemma4UnifiedAssistantConfig, Gemma4UnifiedAssistantForCausalLM) if is_unified else
             (Gemma4AssistantConfig, Gemma4AssistantForCausalLM))
    text.num_kv_shared_layers = text.num_hidden_layers
    torch.manual_seed(3)
    assistant = kinds[1](kinds[0](text_config=text, backbone_hidden_size=hidden_size, **changes)).float().eval()
    with torch.no_grad():
        for name, weight in assistant.named_parameters():
            if "norm" in name:
                weight.normal_(norm_mean(text, name), 0.2)
            else:
                weight.normal_(0, 0.3 if "embed" in name or "lm_head" in name else 0.15)
        for name, weight in assistant.named_buffers():
            if name.endswith("layer_scalar"):
                weight.uniform_(0.6, 1.4)
            if name.endswith("token_ordering"):
                weight.copy_(torch.randperm(len(weight)))
    return assistant


@torch.no_grad()
def reference_guesses(model, assistant, ids):
    """[T-1,GUESSES] after each token but the first, and the smallest lead of a guess over the next token."""
    assistant.generation_config.num_assistant_tokens = GUESSES
    how = assistant.generation_config.__class__(max_length=1000)
    all_guesses, lead = [], float("inf")
    for length in range(2, len(ids) + 1):
        read = model(ids[None, :length - 1], output_hidden_states=True, return_shared_kv_states=True)
        generator = SinglePositionMultiTokenCandidateGenerator(assistant, model.get_input_embeddings(), how)
        candidates, logits = generator.get_candidates(ids[None, :length], {}, read, is_first_iteration=False,
                                                      n_last_matches=0)
        top = logits[0].topk(2).values
        lead = min(lead, (top[:, 0] - top[:, 1]).min().item())
        all_guesses.append(candidates[0, length:])
    return torch.stack(all_guesses), lead


def halves_swapped(weights):
    name = "pre_projection.weight"
    weights[name] = weights[name].roll(weights[name].shape[1] // 2, 1).contiguous()


def no_norm_of_queries(weights):
    for name in weights:
        if name.endswith("q_norm.weight"):
            weights[name] = torch.ones_like(weights[name])


def other_state(weights):
    weights["post_projection.weight"] = -weights["post_projection.weight"]


def other_order(weights):
    name = "masked_embedding.token_ordering"
    weights[name] = weights[name].roll(1)


def check_case(name, scratch):
    changes, own = CASES[name]
    folder, drafter = scratch / "model", scratch / "assistant"
    model = make_model(make_config("gemma4", **changes))
    assistant = make_assistant(model, changes, own)
    model.save_pretrained(folder)
    assistant.save_pretrained(drafter)
    ids = random_rows(199, 1, LENGTH, seed=1)[0]
    expected, lead = reference_guesses(model, assistant, ids)
    check(len(set(expected.flatten().tolist())) >= 15, f"{name}: the guesses vary")
    found = predgen_guesses(folder, ids, scratch, drafter)
    check(torch.equal(found, expected), f"{name}: {(found == expected).sum()} of {expected.numel()} guesses are "
                                        f"transformers' (smallest lead {lead:.1e})")
    faults = [halves_swapped, no_norm_of_queries, other_state] + ([other_order] if own else [])
    for planted in faults:
        bad = scratch / "bad"
        shutil.copytree(drafter, bad)
        change_weights(bad, planted)
        equal = (predgen_guesses(folder, ids, scratch, bad) == expected).float().mean().item()
        check(equal < 0.9, f"{name}: planted fault is seen: {planted.__name__} ({equal:.0%} equal)")
        shutil.rmtree(bad)
    plain = predgen_greedy(folder, random_rows(199, 8, 12, seed=2), 24, scratch)
    check_texts(name, folder, drafter, plain, scratch)
    shutil.rmtree(folder)
    shutil.rmtree(drafter)


def check_conversations(scratch):
    folder, drafter = scratch / "model", scratch / "assistant"
    changes = dict(vocab_size=4096, vocab_size_per_layer_input=4096, num_hidden_layers=4, layer_types=TYPES,
                   max_position_embeddings=2048)
    model = make_model(make_config("gemma4", **changes))
    model.save_pretrained(folder)
    make_assistant(model, changes, {}).save_pretrained(drafter)
    copy_tokenizer(folder)
    check_drafted_turns(folder, drafter, scratch)
    doctor = predgen("doctor", "--model", drafter)
    check("none: that of the model that it guesses for" in doctor, f"doctor asks for no tokenizer: {doctor}")
    check_refused(folder, drafter, model, scratch)


def check_refused(folder, drafter, model, scratch):
    def refusal(*more):
        done = run("generate", "--token-ids", "1,2", "--max-new-tokens", "1", *more)
        lines = done.stderr.strip().splitlines()
        return done.returncode, lines[-1] if lines else ""

    code, line = refusal("--model", drafter)
    check(code == 2 and "give that as the model, and this one with --draft-model" in line, f"alone: {line}")
    code, line = refusal("--model", REPOSITORY / "checkpoints/demo", "--draft-model", drafter)
    check(code == 2 and "cannot guess for this" in line, f"of another model: {line}")
    other = scratch / "other"
    shutil.copytree(drafter, other)
    config = json.loads((other / "config.json").read_text())
    config["text_config"]["num_kv_shared_layers"] = 2
    (other / "config.json").write_text(json.dumps(config))
    code, line = refusal("--model", folder, "--draft-model", other)
    check(code == 2 and "must be all layers of an assistant" in line, f"rows of its own: {line}")


def main():
    with tempfile.TemporaryDirectory() as scratch:
        for name in CASES:
            check_case(name, Path(scratch))
        check_conversations(Path(scratch))


if __name__ == "__main__":
    main()
