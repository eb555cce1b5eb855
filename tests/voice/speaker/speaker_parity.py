"""Speaker embeddings against a reference in Python, with random weights of the published shape.

The reference is `../reference/speaker.py`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "model"))
from reference_models import REPOSITORY, check  # noqa: E402

import torch
from safetensors.torch import load_file

sys.dont_write_bytecode = True
sys.path[:0] = [str(REPOSITORY / "tests" / "voice" / "reference"), str(REPOSITORY / "scripts")]
import convert_pickled  # noqa: E402
import speaker  # noqa: E402

RUN_CODEC = sys.argv[1] if len(sys.argv) > 1 else "build/run_codec"
TOLERANCE = 1e-4
BLOCKS = (10, 20, 64, 3)


class Block(torch.nn.Module):
    """Only what makes the names of the state dict."""

    def __init__(self, size_in, size_out, halves):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(size_in, size_out, 3, bias=False)
        self.bn1 = torch.nn.BatchNorm2d(size_out)
        self.conv2 = torch.nn.Conv2d(size_out, size_out, 3, bias=False)
        self.bn2 = torch.nn.BatchNorm2d(size_out)
        if halves:
            self.downsample = torch.nn.Sequential(torch.nn.Conv2d(size_in, size_out, 1, bias=False),
                                                  torch.nn.BatchNorm2d(size_out))


def make_network():
    network, front, pooling = (torch.nn.Module() for _ in range(3))
    front.conv1, front.bn1 = torch.nn.Conv2d(1, 64, 3, bias=False), torch.nn.BatchNorm2d(64)
    size_in = 64
    for stage, count in enumerate(BLOCKS):
        size = 64 << stage
        blocks = [Block(size_in if i == 0 else size, size, stage > 0 and i == 0) for i in range(count)]
        setattr(front, f"layer{stage + 1}", torch.nn.Sequential(*blocks))
        size_in = size
    pooling.attention = torch.nn.Sequential(
        torch.nn.Conv1d(5120, 128, 1), torch.nn.ReLU(), torch.nn.BatchNorm1d(128), torch.nn.Conv1d(128, 5120, 1),
        torch.nn.Softmax(dim=2))
    network.front, network.pooling, network.bottleneck = front, pooling, torch.nn.Linear(10240, 256)
    torch.manual_seed(1)
    for name, tensor in network.state_dict().items():
        if name.endswith("running_var"):
            tensor.uniform_(0.5, 1.5)
        elif "bn2.weight" in name:
            tensor.uniform_(0.1, 0.3)  # 97 blocks add up
        elif name.endswith(".weight") and tensor.dim() == 1:
            tensor.uniform_(0.5, 1.5)
        elif name.endswith(("bias", "running_mean")):
            tensor.normal_(0, 0.1)
        elif tensor.dim() > 1:
            tensor.normal_(0, (2 / tensor[0].numel()) ** 0.5)
    return network


def embed(network, projection, samples, rate, scratch):
    from safetensors.torch import save_file
    save_file({"samples": samples, "rate": torch.tensor(rate)}, scratch / "wav.safetensors")
    done = subprocess.run([RUN_CODEC, "embed", network, projection, scratch / "wav.safetensors",
                           scratch / "out.safetensors"], capture_output=True, text=True)
    check(done.returncode == 0, f"{rate} Hz, {samples.shape[0]} channels: {done.stderr}")
    return load_file(scratch / "out.safetensors")["embedding"]


@torch.no_grad()
def main():
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        projection = torch.nn.Linear(256, 128)
        projection.weight.mul_(0.2)
        for stem, module in (("network", make_network()), ("lda", projection)):
            torch.save(module.state_dict(), scratch / f"{stem}.pt")
            code = convert_pickled.main(["--input", str(scratch / f"{stem}.pt"), "--output",
                                         str(scratch / f"{stem}.safetensors")])
            check(code == 0, f"{stem}.pt is converted")
        files = scratch / "network.safetensors", scratch / "lda.safetensors"
        weights = load_file(files[0])
        check(len(weights) == 1199, f"{len(weights)} tensors, as many as published")
        generator = torch.Generator().manual_seed(4)
        embeddings = []
        for rate, channels, seconds in ((44100, 2, 1.3), (16000, 1, 0.5), (22050, 1, 0.1)):
            samples = torch.randn(channels, int(rate * seconds), generator=generator) * 0.1
            time = torch.arange(samples.shape[1]) / rate
            samples += 0.3 * torch.sin(2 * torch.pi * (150 + 100 * channels) * time)
            _, expected = speaker.embed(weights, samples, rate, projection.weight, projection.bias)
            found = embed(*files, samples, rate, scratch)
            embeddings.append(found)
            check(expected.std() > 0.05, f"{rate} Hz: the embedding is not flat ({expected.std():.2f})")
            difference = (found - expected[0]).abs().max().item()
            check(difference <= TOLERANCE, f"{rate} Hz, {channels} channels: differs by {difference:.1e}")
        apart = (embeddings[0] - embeddings[1]).abs().max().item()
        check(apart > 100 * TOLERANCE, f"sounds are told apart ({apart:.1e})")

        def fault(key, change):
            spoiled = dict(weights, **{key: change(weights[key])})
            _, expected = speaker.embed(spoiled, samples, rate, projection.weight, projection.bias)
            difference = (found - expected[0]).abs().max().item()
            check(difference > 3 * TOLERANCE, f"planted fault is seen: {key} ({difference:.1e})")

        fault("front.layer3.60.bn2.running_var", lambda x: x * 1.5)
        fault("front.layer2.0.downsample.1.bias", lambda x: x + 0.1)
        fault("pooling.attention.2.running_var", lambda x: x * 2)


if __name__ == "__main__":
    main()
