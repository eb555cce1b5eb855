#!/usr/bin/env bash
# Makes an adapter with which a small model calls Home Assistant's functions: invented homes (scripts/home_data.py), then
# training. Each step is kept in runs/home and not repeated; a step that was killed resumes. docs/training.md says how
# long it takes.
#
#   scripts/train_home.sh [--homes 1000] [--tools FILE] [--not-in FILE..] [--train KEY=VALUE..]
#
#   --homes    how many; 1000
#   --tools    a request as your Home Assistant sends it, whose functions and instructions are used
#   --not-in   files of evaluations whose requests the data must not have
#   --train    settings of the training, for example model=qwen-coder-0.5b
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

data=() train=() into=data
for word in "$@"; do
  case $word in
    -h | --help) sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit ;;
    --train) into=train ;;
    --*) into=data data+=("$word") ;;
    *) if [ $into = train ]; then train+=("$word"); else data+=("$word"); fi ;;
  esac
done

runs=${PREDGEN_RUN:-runs/home}
predgen=${PREDGEN:-$root/build/predgen}
[ -n "${PREDGEN:-}" ] || scripts/build.sh

. scripts/step.sh

python=$(scripts/setup.sh)
step "$runs/sentences/hassil" "Home Assistant's sentences (CC BY 4.0)" \
  "$python" -m pip install --quiet --no-deps --target "$runs/sentences" $(grep -E '^(hassil|home-assistant|unicode-rbnf)' requirements-clients.txt)
step "$runs/homes.jsonl" "Invented homes" \
  "$python" scripts/home_data.py --output "$runs/homes.jsonl" --sentences "$runs/sentences" "${data[@]}"
step "$runs/adapter/final/adapter_config.json" "Adapter" \
  "$predgen" train --config configs/train/home.yaml --resume auto "${train[@]}"
of_run() { sed -n "s/^$1: *//p" "$runs/adapter/config.yaml"; }
echo "Try it: $predgen serve --model $(of_run model) --adapter $runs/adapter/final --chat-template $(of_run chat_template) --constrain-names"
