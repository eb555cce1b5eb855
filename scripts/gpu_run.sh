#!/usr/bin/env bash
# Tests and measures predgen on this machine's GPU. Part of a bundle made by scripts/gpu_bundle.sh.
#
#   ./run.sh [--torch DIR] [--only PART,..] [--jobs N] [--cpu]
#
#   --torch DIR    the torch package or LibTorch folder to use; else that of $PREDGEN_PYTHON or python3
#   --only PART,.. of: tests (every CUDA test), demo (the demo model's text on both devices), voice
#                  (Zonos' sizes, random weights), model (the same for a 7B language model), train
#                  (some steps of every objective: of the demo model against the CPU; of the 7B one whole,
#                  in few bits and offloaded; and, with more than one GPU, on 2 and all of them, sharded)
#   --jobs N       tests that run at a time; default: 4
#   --cpu          all of it on the CPU with small shapes: shows that the bundle is complete
#
# Needs x86-64, a GPU, a Python with torch (voice also safetensors and transformers) and 20 GB temporarily
# in $TMPDIR. Logs and results go to $OUT, by default out/. Every step runs, even if earlier ones failed;
# the exit status is 1 if one failed.
set -uo pipefail
bundle=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
die() { echo "run: $*" >&2; exit 2; }

torch='' parts=tests,demo,voice,model,train device=cuda jobs=4
while [ $# -gt 0 ]; do
  case $1 in
    --torch) [ $# -ge 2 ] || die "--torch needs a folder"; torch=$2; shift ;;
    --only) [ $# -ge 2 ] || die "--only needs parts"; parts=$2; shift ;;
    --jobs) [ $# -ge 2 ] || die "--jobs needs a number"; jobs=$2; shift ;;
    --cpu) device=cpu ;;
    -h | --help) sed -n '2,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
    *) die "unknown option $1; try --help" ;;
  esac
  shift
done
case $jobs in '' | 0 | *[!0-9]*) die "--jobs $jobs: must be a number from 1 on" ;; esac
[ -n "${parts//,/}" ] || die "--only needs parts; try --help"
for part in ${parts//,/ }; do
  case $part in tests | demo | voice | model | train) ;; *) die "unknown part $part; try --help" ;; esac
done
out=${OUT:-$bundle/out}
mkdir -p "$out" || die "cannot make $out"
chmod +x "$bundle"/bin/* 2>/dev/null  # some ways of copying lose it
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export PYTHONNOUSERSITE=1 HF_HUB_OFFLINE=1 PYTHONDONTWRITEBYTECODE=1

# ---- The torch of this machine, and whether it fits the programs.
python=${PREDGEN_PYTHON:-python3}
if found=$("$python" -c 'import os, torch; print(os.path.dirname(torch.__file__))' 2>/dev/null); then
  torch=${torch:-$found}
else
  python=''
fi
[ -n "$torch" ] || die "no ${PREDGEN_PYTHON:-python3} with torch: set PREDGEN_PYTHON or give --torch DIR"
[ -e "$torch/lib/libtorch_cpu.so" ] || die "--torch $torch: no lib/libtorch_cpu.so in it"
torch=$(cd "$torch" && pwd)
if [ -e "$torch/version.py" ]; then  # of the wheel; a LibTorch folder has build-version
  version=$(sed -n "s/^__version__ = '\(.*\)'.*/\1/p" "$torch/version.py")
  cuda=$(sed -n "s/^cuda[^=]*= '\(.*\)'.*/\1/p" "$torch/version.py")
else
  version=$(cat "$torch/build-version" 2>/dev/null || echo unknown)
  cuda=$(sed -n 's/.*+cu\(.*\)\(.\)$/\1.\2/p' <<<"$version")
fi
made_for() { sed -n "s/^$1=//p" "$bundle/made_for"; }
libraries=$torch/lib
for folder in "$torch"/../nvidia/*/lib "$bundle/lib" /usr/local/nvidia/lib64; do
  [ ! -d "$folder" ] || libraries=$libraries:$folder
done
libraries=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Only for predgen's programs: the bundle's libraries are not for python or anything else here.
predgen_env=(env "LD_LIBRARY_PATH=$libraries" "ESPEAK_DATA_PATH=$bundle/share")
predgen=("${predgen_env[@]}" "$bundle/bin/predgen")

: >"$out/summary.txt"
say() { echo "$*" | tee -a "$out/summary.txt"; }
num_failed=0
fail() { say "FAILED  $*"; num_failed=$((num_failed + 1)); }
# try SECONDS LOG NAME COMMAND..: one step; stdout and stderr are appended to $out/LOG.
try() {
  local limit=$1 log=$out/$2 name=$3 begin=$SECONDS status=0
  shift 3
  echo "==== $name: $*" >>"$log"
  timeout --foreground -k 5 "$limit" "$@" >"$scratch/stdout" 2>"$scratch/stderr" </dev/null || status=$?
  cat "$scratch/stdout" "$scratch/stderr" >>"$log"
  if [ "$status" = 0 ]; then
    say "ok      $name ($((SECONDS - begin)) s)"
  else
    fail "$name (exit status $status after $((SECONDS - begin)) s; ${log##*/})"
    cat "$scratch/stdout" "$scratch/stderr" | tail -n 15 | cut -c1-300 | sed 's/^/        | /'
  fi
  return "$status"
}
rm -f "$out"/{tests,demo,voice,model,train}.log "$out"/{bench.jsonl,cuda_test.json}

say "bundle  commit $(made_for commit); made for torch $(made_for torch), CUDA $(made_for cuda)"
say "here    torch $version, CUDA ${cuda:-none}, $(getconf GNU_LIBC_VERSION), in $torch"
if [ "${version%%+*}" != "$(made_for torch)" ]; then
  say "WARNING torch differs from the version that the programs were compiled against: its C++" \
    "interface may too (undefined symbols, crashes); use torch $(made_for torch)"
fi
made_cuda=$(made_for cuda)
if [ "$device" = cuda ] && [ "${cuda%%.*}" != "${made_cuda%%.*}" ]; then
  say "WARNING torch here is for CUDA ${cuda:-none}, the programs were compiled against CUDA $made_cuda;" \
    "their own kernels need a driver for that one"
fi
here_glibc=$(getconf GNU_LIBC_VERSION | cut -d' ' -f2) made_glibc=$(made_for glibc)
if [ "$(printf '%s\n' "$made_glibc" "$here_glibc" | sort -V | head -1)" != "$made_glibc" ]; then
  say "WARNING glibc $here_glibc is older than the $made_glibc of the machine that made the bundle"
fi
if [ "$device" = cuda ]; then
  say "gpu     $(nvidia-smi --query-gpu=name,memory.total,driver_version --format=csv,noheader 2>&1 | tr '\n' ';')"
fi
say "cpu     $(nproc) processors, $(awk '/^MemTotal/ {printf "%d", $2 / 1048576}' /proc/meminfo) GiB"
for program in "$bundle"/bin/*; do
  missing=$("${predgen_env[@]}" ldd "$program" 2>&1 | grep "not found" | sort -u | tr -s '\t\n' ' ')
  [ -z "$missing" ] || fail "${program##*/} does not find its libraries:$missing"
done
# Binds all symbols now, not when they are called, so a different torch shows here. ldd reports those of the
# file that predgen opens for CUDA, and does not fail itself.
try 120 tests.log "every symbol is there" "${predgen_env[@]}" LD_BIND_NOW=1 "$bundle/bin/predgen" --version
missing=$("${predgen_env[@]}" ldd -r "$bundle/bin/libpredgen_cuda.so" 2>&1 | grep "undefined symbol" | head -n 3)
[ -z "$missing" ] || fail "libpredgen_cuda.so does not find its symbols: $missing"

if [ -n "$python" ]; then
  num_gpus=$("$python" -c 'import torch; print(torch.cuda.device_count())' 2>/dev/null)
else
  num_gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
fi
if [ "$device" = cuda ] && [ "${num_gpus:-0}" = 0 ]; then
  why="no GPU is visible here"
  # nvidia-smi says "CUDA Version: 12.4": its driver runs what was built for any 12.x.
  driver=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/\1/p' | head -1)
  if [ -n "$driver" ] && [ -n "$cuda" ] && [ "${driver%%.*}" -lt "${cuda%%.*}" ]; then
    why="the NVIDIA driver here is for CUDA $driver, torch here needs one for CUDA $cuda"
  fi
  say "STOPPED $why, so nothing was run on a GPU; --cpu runs all of it on the CPU, with small shapes"
  exit 1
fi

# ---- Tests, some at a time, each in its own process, because a GPU fault spoils the process.
run_tests() {
  local suite='' line begin=$SECONDS name status seconds num_tests=0
  mkdir -p "$scratch/tests"
  export bundle scratch
  while read -r line; do
    case $line in
      *.) suite=$line ;;
      */"$device"*) echo "$suite${line%% *}" ;;
    esac
  done < <("${predgen_env[@]}" "$bundle/bin/cuda_test" --gtest_list_tests) >"$scratch/names"
  xargs -P "$jobs" -I{} "${predgen_env[@]}" "PREDGEN_REQUIRE_CUDA=$([ "$device" = cuda ] && echo 1)" bash -c '
    log=$scratch/tests/$(tr / - <<<"{}") begin=$SECONDS status=0
    GTEST_OUTPUT=json:$log.json timeout --foreground -k 5 300 "$bundle/bin/cuda_test" \
      --gtest_filter="{}" --gtest_brief=1 >"$log.log" 2>&1 </dev/null || status=$?
    echo "{} $status $((SECONDS - begin))" >"$log.status"' <"$scratch/names"
  while read -r name; do
    num_tests=$((num_tests + 1))
    line=$scratch/tests/$(tr / - <<<"$name")
    { echo "==== $name"; cat "$line.log"; } >>"$out/tests.log"
    read -r _ status seconds <"$line.status"
    if [ "$status" = 0 ]; then
      say "ok      $name ($seconds s)"
    else
      fail "$name (exit status $status after $seconds s; tests.log)"
      tail -n 15 "$line.log" | cut -c1-300 | sed 's/^/        | /'
    fi
  done <"$scratch/names"
  say "$num_tests tests in $((SECONDS - begin)) s, $jobs at a time"
  [ "$num_tests" -gt 0 ] || fail "cuda_test lists no tests for $device"
  [ -z "$python" ] || "$python" - "$scratch/tests" "$out/cuda_test.json" <<'PYTHON' || fail "cuda_test.json"
import json
import pathlib
import sys

suites = [suite for file in sorted(pathlib.Path(sys.argv[1]).glob("*.json"))
          for suite in json.loads(file.read_text())["testsuites"]]
pathlib.Path(sys.argv[2]).write_text(json.dumps({"testsuites": suites}, indent=1))
PYTHON
}

# ---- The demo model: float32 on the device gives the CPU's text, however it is generated.
run_demo() {
  local generate=("${predgen[@]}" generate --model "$bundle/share/checkpoints/demo" --dtype fp32
    --max-new-tokens 64 --prompt "The weather in Berlin is")
  try 120 demo.log "demo: text on the CPU" "${generate[@]}" --device cpu || return
  cp "$scratch/stdout" "$scratch/expected"
  for decoder in ar jacobi; do
    try 120 demo.log "demo: $decoder on $device" "${generate[@]}" --device "$device" --decoder "$decoder" &&
      ! cmp -s "$scratch/stdout" "$scratch/expected" && fail "demo: $decoder on $device gives another text"
  done
  # Its matrices have 704 inputs: groups of 64 in 4 bits.
  for kind in int8 int4; do
    try 120 demo.log "demo: $kind on $device" "${predgen[@]}" generate --model "$bundle/share/checkpoints/demo" \
      --device "$device" --quantize "$kind" --max-new-tokens 64 --prompt "The weather in Berlin is"
  done
}

# bench LOG NAME ARGUMENTS..: adds its JSON, under NAME, as a line of bench.jsonl.
bench() {
  local log=$1 name=$2
  shift 2
  try 240 "$log" "$name" "${predgen[@]}" bench --json "$@" || return
  printf '{"name": "%s", "report": %s}\n' "$name" "$(cat "$scratch/stdout")" >>"$out/bench.jsonl"
}

run_voice() {
  local frames=430
  if [ "$device" = cuda ]; then
    try 300 voice.log "voice: random weights" "$python" "$bundle/python/cli/tiny_zonos.py" "$scratch/zonos" 26
  else
    frames=60
    try 300 voice.log "voice: random weights" "$python" -c 'import pathlib, sys
sys.path.insert(0, sys.argv[1])
import tiny_zonos
tiny_zonos.make_voice(pathlib.Path(sys.argv[2]))' "$bundle/python/cli" "$scratch/zonos"
  fi || return
  for how in "bf16 none 2.0" "bf16 none 1.0" "bf16 int8 2.0" "fp32 none 2.0"; do
    read -r dtype quantize guidance <<<"$how"
    printf '%s\n' "model: $scratch/zonos" "device: $device" "dtype: $dtype" "quantize: $quantize" \
      "cfg_scale: $guidance" "max_new_frames: $frames" "eos_penalty: 100" >"$scratch/voice.yaml"
    bench voice.log "voice: $how" --tts zonos --tts-config "$scratch/voice.yaml" --runs 3
  done
  rm -rf "$scratch/zonos"
}

shape=tiny
[ "$device" = cpu ] || shape=7b
make_model() {
  [ -e "$scratch/$shape" ] || try 400 model.log "random weights of the shape $shape" \
    "$python" "$bundle/python/random_model.py" "$scratch/$shape" "$shape" "$bundle/share/checkpoints/demo" ||
    { rm -rf "${scratch:?}/$shape"; return 1; }
}

run_model() {
  local sizes=(--generate 8 --prompt 64 --draft 4)
  [ "$device" = cpu ] || sizes=(--generate 64)
  make_model || return
  for quantize in none int8 int4; do
    bench model.log "model: $shape bf16 $quantize" --model "$scratch/$shape" --device "$device" \
      --dtype bf16 --quantize "$quantize" --runs 3 "${sizes[@]}"
  done
  bench model.log "model: $shape bf16, without our kernels" --model "$scratch/$shape" --device "$device" \
    --dtype bf16 --no-kernels --runs 3 "${sizes[@]}"
}

run_train() {
  make_model || return
  "$python" "$bundle/python/gpu_train.py" "$scratch/train" "$bundle/share" "$scratch/$shape" "$device" \
    "${num_gpus:-0}" "${predgen[@]}" 2>>"$out/train.log" </dev/null | tee -a "$out/summary.txt"
  num_failed=$((num_failed + PIPESTATUS[0]))
}

for part in ${parts//,/ }; do
  say "---- $part"
  if [ -z "$python" ] && [[ $part == voice || $part == model || $part == train ]]; then
    fail "$part: no python3 with torch to make random weights with"
  else
    "run_$part"
  fi
done

say "----"
if [ -e "$out/bench.jsonl" ] && [ -n "$python" ]; then
  "$python" - "$out/bench.jsonl" <<'PYTHON' | tee -a "$out/summary.txt"
import json
import sys


def leaves(value, path=""):
    if isinstance(value, dict):
        middle = value.get("median", value.get("p50"))
        if middle is not None:
            yield path, middle
            return
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from leaves(part, f"{path}[{index}]")


def by_chance(name):
    """How much of a draft random weights accept."""
    return "answers" in name and name.endswith(("speedup", "passes_per_token"))


for line in open(sys.argv[1]):
    entry = json.loads(line)
    print(entry["name"] + " (medians): " + ", ".join(
        f"{name} {value:.4g}" for name, value in leaves(entry["report"])
        if value is not None and not by_chance(name)))
PYTHON
fi
say "$num_failed steps failed; results are in $out"
[ "$num_failed" = 0 ]
