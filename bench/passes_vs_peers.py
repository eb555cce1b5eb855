"""Times passes of the same model in predgen, llama.cpp, transformers and CTranslate2, in turn in every round.

python scripts/random_model.py m05 0.5b checkpoints/demo
pip install ctranslate2
python bench/passes_vs_peers.py --predgen build/predgen --model m05 --work /tmp/peers
A GGUF file as --model runs as it is stored, only in predgen and in llama.cpp. One with experts:
    python scripts/random_model.py a3b a3b checkpoints/demo
    build/predgen export --model a3b --output a3b.gguf --dtype q4_0 --check weights
Prefill of 512 tokens; after 256 tokens of context decoding, and passes over 8, 16, 32 and 64 tokens.
Weights in bfloat16, 8 bits (predgen: groups of 128; llama.cpp: Q8_0, of 32; CTranslate2: rows) and 4 bits
(128; Q4_0, of 32). Prints the medians of the rounds with their spread and ratios to predgen (above 1: predgen
is faster), the load of the machine, and predgen's share of the memory bandwidth that `predgen bench` measures,
by the weights, keys and values that a token reads in decoding. llama.cpp is the one in the source distribution
of llama-cpp-python, built for this machine in --work, which also keeps the converted weights. Its passes over 8
to 64 tokens are those of llama_verify.cpp, which asks for the logits of all of them, as predgen does
(transformers computes only the last one's). The peak is that of a process that loads the model and runs the
prompt (for llama.cpp it includes the mapped file).

CTranslate2 is left out where it is not installed, in 4 bits, and in types that it does not have on this CPU
(bfloat16, in 4.8.5 on an AMD EPYC). Its passes over 8 to 64 tokens are left out: after a cached prompt it
runs given tokens without logits and the last one in a pass of its own. It runs prompts likewise, in less
time than forward_batch, which computes the logits of all tokens: a prompt of 512 is a pass over 511 and one
over the last. Decoding is the time of a prompt and 65 tokens less that of a prompt and one.
"""
import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "scripts"))
import fetch_jinja  # noqa: E402

PREFILL, CONTEXT, GENERATE = 512, 256, 64
WIDTHS = (8, 16, 32, 64)
KINDS = {"bf16": "BF16", "int8": "Q8_0", "int4": "Q4_0"}  # ours, llama.cpp's
STORED = "stored"  # a GGUF file, by both as it is
CTRANSLATE2 = {"bf16": "bfloat16", "int8": "int8"}


def build_llama(work):
    source = work / fetch_jinja.FILE.removesuffix(".tar.gz") / "vendor" / "llama.cpp"
    if not source.is_dir():
        archive = work / fetch_jinja.FILE
        fetch_jinja.fetch(archive)
        subprocess.run(["tar", "-xzf", archive, "-C", work], check=True)
    build = work / "build"
    subprocess.run(["cmake", "-S", source, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                    "-DLLAMA_CURL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_SERVER=OFF",
                    "-DLLAMA_BUILD_EXAMPLES=OFF"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", build, "llama-bench", "llama-quantize"], check=True)
    binaries = build / "bin"
    subprocess.run(["c++", "-std=c++17", "-O2", f"-I{source}/include", f"-I{source}/ggml/include",
                    Path(__file__).parent / "llama_verify.cpp", f"-L{binaries}", "-lllama", "-lggml", "-lggml-base",
                    f"-Wl,-rpath,{binaries.resolve()}", "-o", binaries / "llama-verify"], check=True)
    return source, binaries


def write_gguf(source, model, path):
    """llama.cpp's converter requires a tokenizer that it knows; passes need none."""
    sys.path.insert(0, str(source / "gguf-py"))
    import gguf
    import torch
    from safetensors import safe_open

    config = json.loads((model / "config.json").read_text())
    if config["model_type"] != "qwen2":
        raise SystemExit(f"{model}: a {config['model_type']} model; only qwen2 is converted")
    layers = config["num_hidden_layers"]
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(layers)
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_BF16)
    writer.add_tokenizer_model("no_vocab")
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN2, layers)
    for shard in sorted(model.glob("*.safetensors")):
        with safe_open(shard, "pt") as tensors:
            for name in tensors.keys():
                values = tensors.get_tensor(name).to(torch.float32).numpy()
                kind = gguf.GGMLQuantizationType.BF16 if values.ndim > 1 else gguf.GGMLQuantizationType.F32
                writer.add_tensor(names.get_name(name, (".weight", ".bias")), gguf.quants.quantize(values, kind),
                                  raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def apart(function, *values):
    """Runs it in a process of its own: later measurements would start with this process's memory peak."""
    process = multiprocessing.get_context("spawn").Process(target=function, args=values)
    process.start()
    process.join()
    if process.exitcode != 0:
        raise SystemExit(f"failed: {function.__name__}")


def converted(source, binaries, model, work):
    files = {kind: work / f"{model.name}-{theirs}.gguf" for kind, theirs in KINDS.items()}
    if not files["bf16"].is_file():
        apart(write_gguf, source, model, files["bf16"])
    for kind, theirs in KINDS.items():
        if not files[kind].is_file():
            subprocess.run([binaries / "llama-quantize", "--pure", files["bf16"], files[kind], theirs],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return files


def write_ctranslate2(model, folder, kind):
    import ctranslate2

    ctranslate2.converters.TransformersConverter(str(model)).convert(str(folder), quantization=kind, force=True)


def converted_ctranslate2(kinds, model, work):
    """Folders by kind; says what is left out."""
    try:
        import ctranslate2
    except ImportError:
        print("CTranslate2 is left out: it is not installed (pip install ctranslate2)")
        return {}
    available = ctranslate2.get_supported_compute_types("cpu")
    folders = {}
    for kind in kinds:
        theirs = CTRANSLATE2.get(kind)
        if theirs not in available:
            print(f"CTranslate2 {ctranslate2.__version__} is left out in {kind}: not on this CPU, which has "
                  f"{', '.join(sorted(available))}")
            continue
        folders[kind] = work / f"{model.name}-ctranslate2-{theirs}"
        if not (folders[kind] / "config.json").is_file():  # written last
            apart(write_ctranslate2, model, folders[kind], theirs)
    return folders


def measured(command):
    """The JSON that a command prints, and the peak of its resident memory in bytes."""
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"failed: {command}")
    return json.loads(output), usage.ru_maxrss * 1024


def run_predgen(args, kind):
    """Seconds of a pass by what it does; bytes; and the share of the machine's bandwidth."""
    flags = [] if kind == STORED else ["--dtype", "bf16"] + ([] if kind == "bf16" else ["--quantize", kind])
    call = [args.predgen, "bench", "--json", "--model", args.model, "--device", "cpu", "--runs", "3",
            "--threads", args.threads, *flags]
    after, _ = measured([*call, "--prompt", CONTEXT, "--generate", GENERATE, "--draft",
                         ",".join(map(str, (width - 1 for width in WIDTHS)))])
    prompt, _ = measured([*call, "--prompt", PREFILL, "--generate", "2", "--draft", "2"])
    # bench has also the memory over which it measures the bandwidth.
    _, peak = measured([args.predgen, "generate", "--json", "--model", args.model, "--device", "cpu", "--threads",
                        args.threads, *flags, "--max-new-tokens", "2", "--token-ids", ",".join(["1"] * PREFILL)])
    after, prompt = after["model"], prompt["model"]
    seconds = {"decode": 1 / after["decode"]["tokens_per_second"]["median"],
               "prefill": PREFILL / prompt["prefill"]["tokens_per_second"]["median"], "peak": peak,
               "share": after["decode"]["share_of_bandwidth"]["median"],
               "bandwidth": after["memory_bandwidth"]["bytes_per_second"]}
    for width, verify in zip(WIDTHS, after["verify"]):  # a draft runs with the token before it
        seconds[width] = verify["seconds"]["median"]
    return seconds


def run_llama(args, binaries, file):
    call = [binaries / "llama-bench", "-m", file, "-t", args.threads, "-r", "3", "-o", "json", "-ngl", "0"]
    after, _ = measured([*call, "-d", CONTEXT, "-n", GENERATE, "-p", "0"])
    prompt, peak = measured([*call, "-p", PREFILL, "-n", "0"])
    verify, _ = measured([binaries / "llama-verify", file, args.threads, CONTEXT, 3, *WIDTHS])
    return {"decode": 1 / statistics.median(after[0]["samples_ts"]),
            "prefill": PREFILL / statistics.median(prompt[0]["samples_ts"]), "peak": peak,
            **{width: verify[str(width)] for width in WIDTHS}}


def run_transformers(args):
    """In a process of its own, bfloat16; prints seconds."""
    import torch
    import transformers

    torch.set_num_threads(args.threads)
    model = transformers.AutoModelForCausalLM.from_pretrained(args.model, dtype=torch.bfloat16)
    ids = torch.randint(0, 4000, (1, PREFILL))

    def timed(tokens, cache):
        start = time.perf_counter()
        with torch.inference_mode():
            cache = model(tokens, past_key_values=cache, use_cache=True, logits_to_keep=1).past_key_values
        return time.perf_counter() - start, cache

    seconds = {}
    runs = {what: [] for what in ("prefill", "decode", *WIDTHS)}
    for _ in range(3):
        runs["prefill"].append(timed(ids, None)[0])
        _, cache = timed(ids[:, :CONTEXT], None)
        for width in WIDTHS:
            runs[width].append(timed(ids[:, :width], cache)[0])
            cache.crop(-width)
        runs["decode"].append(sum(timed(ids[:, :1], cache)[0] for _ in range(GENERATE)) / GENERATE)
    seconds = {what: statistics.median(values) for what, values in runs.items()}
    print(json.dumps({str(what): value for what, value in seconds.items()}))


def peer_transformers(args):
    found, peak = measured([sys.executable, __file__, "--transformers", "--model", args.model,
                            "--threads", args.threads])
    return {int(what) if what.isdigit() else what: value for what, value in found.items()} | {"peak": peak}


def run_ctranslate2(args):
    """In a process of its own, --model is the converted folder; prints seconds."""
    import ctranslate2

    generator = ctranslate2.Generator(str(args.model), "cpu", compute_type=args.ctranslate2, inter_threads=1,
                                      intra_threads=args.threads)
    words = json.loads((args.model / "vocabulary.json").read_text())

    def timed(prompt, tokens):
        start = time.perf_counter()
        generator.generate_batch([words[:prompt]], max_length=tokens, min_length=tokens,
                                 include_prompt_in_result=False)
        return time.perf_counter() - start

    timed(PREFILL, 1)  # the first takes half as long again
    runs = {"prefill": [], "decode": []}
    for _ in range(3):
        runs["prefill"].append(timed(PREFILL, 1))
        runs["decode"].append((timed(CONTEXT, 1 + GENERATE) - timed(CONTEXT, 1)) / GENERATE)
    print(json.dumps({what: statistics.median(values) for what, values in runs.items()}))


def peer_ctranslate2(args, kind, folder):
    found, peak = measured([sys.executable, __file__, "--ctranslate2", CTRANSLATE2[kind], "--model", folder,
                            "--threads", args.threads])
    return found | {"peak": peak}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--predgen", default="build/predgen")
    parser.add_argument("--model", required=True, type=Path)
    parser.add_argument("--work", type=Path,
                        help="llama.cpp's source and build, and the peers' weights; 1 GB and four times the model")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--json", type=Path, help="keeps every round's figures")
    parser.add_argument("--transformers", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ctranslate2", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.transformers:
        run_transformers(args)
        return
    if args.ctranslate2:
        run_ctranslate2(args)
        return
    if not args.work:
        parser.error("--work is missing")
    args.work.mkdir(parents=True, exist_ok=True)
    source, binaries = build_llama(args.work)
    if args.model.suffix == ".gguf":
        kinds, files, folders, types = [STORED], {STORED: args.model}, {}, {STORED: STORED}
    else:
        kinds, types = args.kinds.split(","), KINDS
        files = converted(source, binaries, args.model, args.work)
        folders = converted_ctranslate2(kinds, args.model, args.work)
    rounds = []
    for _ in range(args.rounds):
        figures = {"load": os.getloadavg()[0]}
        for kind in kinds:
            figures[f"predgen {kind}"] = run_predgen(args, kind)
            figures[f"llama.cpp {types[kind]}"] = run_llama(args, binaries, files[kind])
            if kind in folders:
                figures[f"CTranslate2 {CTRANSLATE2[kind]}"] = peer_ctranslate2(args, kind, folders[kind])
        if "bf16" in kinds:
            figures["transformers bf16"] = peer_transformers(args)
        rounds.append(figures)
        if args.json:
            args.json.write_text(json.dumps(rounds))
    print("load of the machine", ", ".join(f"{figures['load']:.2f}" for figures in rounds))
    for kind in kinds:
        peers = [f"llama.cpp {types[kind]}"] + (["transformers bf16"] if kind == "bf16" else [])
        peers += [f"CTranslate2 {CTRANSLATE2[kind]}"] if kind in folders else []
        for what in ("prefill", "decode", *WIDTHS, "peak"):
            unit, scale = ("GB", 1e-9) if what == "peak" else ("ms", 1e3)
            ours = [figures[f"predgen {kind}"][what] * scale for figures in rounds]
            line = f"{kind:6} {what!s:8} predgen {statistics.median(ours):8.2f} {unit} ({min(ours):.2f} - {max(ours):.2f})"
            if what == "decode":
                shares = [figures[f"predgen {kind}"]["share"] * 100 for figures in rounds]
                bandwidth = statistics.median(figures[f"predgen {kind}"]["bandwidth"] * 1e-9 for figures in rounds)
                line += (f", {statistics.median(shares):.0f} % ({min(shares):.0f} - {max(shares):.0f}) "
                         f"of {bandwidth:.1f} GB/s")
            for peer in peers:
                if what not in rounds[0][peer]:
                    continue
                theirs = [figures[peer][what] * scale for figures in rounds]
                ratios = [b / a for a, b in zip(ours, theirs)]
                line += (f"   {peer} {statistics.median(theirs):8.2f} {unit}, "
                         f"{statistics.median(ratios):.2f}x ({min(ratios):.2f} - {max(ratios):.2f})")
            print(line)


if __name__ == "__main__":
    main()
