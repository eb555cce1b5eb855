"""How long passes of a 7B shape take on cards that we have not, computed from what the kernels' code asks for.

usage: gpu_pass_table.py LAUNCHES [--check PAGE]       (--check: the page's table is this one)

Computed, not measured: a launch takes the longest of what its bytes take, its instructions, its products of tiles,
its inputs from the L2 cache, and the waits for memory that its blocks cannot hide; then comes what a launch costs
in itself. Bytes that the launches before a product read ahead, in their time, it finds in the L2 cache. Bytes,
blocks, rows and shared memory are what the code launches (gpu_launches); registers and instructions are the
compiler's (gpu_budget.tsv). Of the other kernels it is the time that was measured on the H100, by the clock. The
cards' numbers are those of their data sheets but for those marked as assumed.
"""

import dataclasses
import math
import pathlib
import sys

from gpu_code import Launches, chunk_weights, product_arguments, read_budget

LAYERS, WIDTHS, KINDS = 28, (1, 8, 17, 33, 65), ("int4", "int8", "bf16", "q4_k", "mxfp4")
PADDED = (1, 2, 4, 8, 16, 24, 32, 40, 48, 64, 72, 128)  # kWidths of model/gpu/gpu_pass.cpp
LATENCY = 0.7e-6  # of memory under load: assumed
FILL = 2.5e-6  # of a product, before its first block has its data and after the last one: assumed
GAP = 1.0e-6  # between launches: measured on the H100
TILE_OPERATIONS = 2 * 16 * 8 * 16
# Of one token, measured on the H100 (docs/kernels.md): seconds at its clock.
MEASURED = {"norm": 6e-6, "heads": 4e-6, "attend": 19e-6, "gate": 3e-6}
MEASURED_CLOCK = 1.755e9
# At the end of attention its last blocks merge, in as many turns as a tile has tokens: assumed. As a launch it took 4e-6.
MERGE, MERGE_TURN, TILE = 0.5e-6, 0.75e-6, 4


@dataclasses.dataclass
class Card:
    name: str
    capability: int
    processors: int
    clock: float
    bandwidth: float  # bytes/s
    tensor: float  # operations/s in bfloat16 with float32 sums
    cache: float  # bytes/s of the L2 cache: assumed
    cache_bytes: float
    reached: float = 0.93  # share of the bandwidth that reading reaches: assumed, measured on the H100


CARDS = [Card("RTX 3090", 86, 82, 1.695e9, 0.936e12, 71e12, 2.2e12, 6 * 2**20),
         Card("RTX 4090", 89, 128, 2.52e9, 1.008e12, 165e12, 5.0e12, 72 * 2**20),
         Card("RTX 5090", 120, 170, 2.41e9, 1.792e12, 209e12, 6.0e12, 96 * 2**20),
         Card("H100", 90, 132, 1.755e9, 3.35e12, 600e12, 5.5e12, 50 * 2**20, 0.90)]  # mma.sync reaches 0.6 of its tensor cores


def read_ahead(small: dict[str, float], sizes: dict[str, float], parts: dict[str, int], card: Card) -> dict[str, float]:
    """Bytes of a layer's products that are in the L2 cache when they begin, if each of the `small` launches takes so
    long and reads its part of the cache ahead."""
    def asked(launch: str) -> float:
        return min(card.cache_bytes / parts[launch], (small[launch] + GAP) * card.bandwidth * card.reached)

    out = min(asked("attend"), sizes["o"])
    return {"qkv": asked("norm"), "o": out, "gate+up": asked("attend") - out + asked("norm"), "down": asked("gate")}


def product_seconds(launch: dict, card: Card, code, blocks: int, ahead: float) -> float:
    *_, stages = product_arguments(launch["kernel"])
    chunks = launch["out"] * launch["in"] / chunk_weights(launch["kernel"])  # that warps take, in all
    inputs = launch["blocks"] * launch["launch_rows"] * launch["in"] * 2
    if launch["kernel"].startswith("wide"):  # blocks share them, and the last one to arrive reads all sums
        columns = math.ceil(launch["out"] / 128)
        splits = launch["blocks"] / columns
        inputs = inputs / splits + (2 * 4 * launch["out"] * launch["launch_rows"] * splits if splits > 1 else 0)
    # What the blocks of a processor have asked for at a time.
    under_way = blocks * launch["memory"] * (stages - 1) / stages
    held = min(1.0, launch["blocks"] / (blocks * card.processors))
    return FILL + max(max(0.0, launch["bytes"] - ahead) / (card.bandwidth * card.reached),
                      chunks * code.instructions / (4 * card.processors * card.clock),
                      chunks * code.tensor * TILE_OPERATIONS / card.tensor,
                      inputs / card.cache,
                      (launch["bytes"] + inputs) / (under_way * held * card.processors) * LATENCY)


def pass_seconds(launches: Launches, all_launches: list[dict], kind: str, card: Card, budget) -> tuple[float, int, int]:
    """Of a pass; its launches, and the bytes of its weights."""
    layer = [one for one in all_launches if one.get("kind", kind) == kind and not one["what"].startswith(("head of", "embed"))]
    head = [one for one in all_launches if one["what"] == f"head of {kind}"]
    products = [one for one in layer + head if "kind" in one]
    codes = [budget[one["kernel"], card.capability] for one in products]
    held = launches.blocks([(card.capability, code, one) for code, one in zip(codes, products)])
    tokens = products[0]["rows"]
    merge = MERGE + MERGE_TURN * min(tokens, TILE)
    at_clock = MEASURED_CLOCK / card.clock
    small = {name: seconds * at_clock for name, seconds in MEASURED.items()}
    small["attend"] = (MEASURED["attend"] + merge) * at_clock * max(1, math.ceil(tokens / 16))
    parts = {one["what"]: one["parts"] for one in layer if one.get("parts")}
    ahead = read_ahead(small, {one["what"]: one["bytes"] for one in products}, parts, card)
    of_launch = [product_seconds(one, card, code, blocks, ahead.get(one["what"], 0))
                 for one, code, blocks in zip(products, codes, held)]
    num_head = len(head)
    num_layer = len(layer) + 1  # the norm comes twice
    seconds = LAYERS * (sum(of_launch[:len(of_launch) - num_head]) + sum(small.values()) + small["norm"] + num_layer * GAP)
    seconds += sum(of_launch[len(of_launch) - num_head:]) + 4 * GAP
    one_reading = {(one["what"]): one["bytes"] for one in products}
    weights = sum(LAYERS * size if not what.startswith("head") else size for what, size in one_reading.items())
    return seconds, LAYERS * num_layer + 4, weights


def table(launches: Launches) -> str:
    budget = read_budget()
    lines = ["| computed, ms | weights | launches of a token | " + " | ".join("1 token" if w == 1 else f"{w} rows" for w in WIDTHS) +
             " | bandwidth of a token |", "| --- |" + " --- |" * (len(WIDTHS) + 3)]
    passes = {width: launches.ask("pass", str(min(p for p in PADDED if p >= width))) for width in WIDTHS}
    for card in CARDS:
        for kind in KINDS:
            found = [pass_seconds(launches, passes[width], kind, card, budget) for width in WIDTHS]
            share = found[0][2] / found[0][0] / card.bandwidth
            lines.append(f"| {card.name}, {kind} | {found[0][2] / 1e9:.2f} GB | {found[0][1]} | " +
                         " | ".join(f"{seconds * 1e3:.1f}" for seconds, *_ in found) + f" | {share:.2f} |")
    return "\n".join(lines) + "\n"


launches = Launches(pathlib.Path(sys.argv[1]).resolve())
text = table(launches)
if "--check" in sys.argv:
    page = pathlib.Path(sys.argv[sys.argv.index("--check") + 1])
    if text not in page.read_text():
        print(f"{page} has another table than this:\n{text}")
        sys.exit(1)
    print(f"{page} has the table that the code gives")
else:
    print(text, end="")
