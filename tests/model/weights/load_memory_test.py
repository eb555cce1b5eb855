"""Peak memory while a model is loaded: its weights, and no second copy of them.

The models are small enough for every test run (about 200 MB), so the bound is a share: at most a quarter more than
the weights, over what the program takes for a tiny model. Pages of mapped files count too.

Argument: the program rewrite_weights.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from reference_models import check, make_config, make_model  # noqa: E402

LOADER = sys.argv[1]


def peak_megabytes(folder, dtype, quantization="none"):
    # Not wait4's ru_maxrss, which holds this process's own memory too.
    result = subprocess.run([LOADER, "load", folder, dtype, quantization], capture_output=True, text=True, check=True)
    return int(re.search(r"VmHWM:\s+(\d+)", result.stdout).group(1)) / 1024


def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        make_model(make_config(num_hidden_layers=1)).bfloat16().save_pretrained(scratch / "tiny")
        own = peak_megabytes(scratch / "tiny", "fp32")
        for tied in (True, False):
            folder = scratch / "model"
            model = make_model(make_config(vocab_size=24000, hidden_size=768, intermediate_size=3072, num_hidden_layers=8,
                                           tie_word_embeddings=tied)).bfloat16()
            model.save_pretrained(folder)
            count = sum(parameter.numel() for parameter in model.parameters())
            embeddings = model.get_input_embeddings().weight.numel()
            del model
            for dtype, size in (("bf16", 2), ("fp32", 4)):
                weights = count * size / 2**20
                peak = peak_megabytes(folder, dtype) - own
                print(f"tied {tied}, {dtype}: {weights:.0f} MB of weights, {peak:.0f} MB at the peak")
                check(0.8 * weights < peak < 1.25 * weights, f"tied {tied}, {dtype}: no second copy")
            for kind in ("int8", "int4"):
                peak = peak_megabytes(folder, "bf16", kind) - own
                print(f"tied {tied}, {kind}: {peak:.0f} MB at the peak, {count * 2 / 2**20:.0f} MB in bf16")
                # The embeddings are copied to an aligned place if the file does not have them at one.
                check(peak < (1.25 * count + embeddings) * 2 / 2**20,
                      f"tied {tied}, {kind}: never more than the bfloat16 model and its embeddings")
            shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
