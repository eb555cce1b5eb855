#!/usr/bin/env bash
# Makes the demo model and its CLLM adapter again, from the dialogues in $PREDGEN_DATA/sgd (default
# data_sets; see docs/data.md), and measures both. About two hours on two CPU cores. Each step is kept in
# runs/demo and not repeated; delete that folder, or a part of it, to start over.
#
#   scripts/train_demo.sh [--install]
#
#   --install   replace checkpoints/demo and checkpoints/demo-cllm by the result
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

install=0
case ${1:-} in
  '') ;;
  --install) install=1 ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; [ "$1" = --help ] || [ "$1" = -h ]; exit ;;
esac

dialogues=${PREDGEN_DATA:-data_sets}/sgd
[ -f "$dialogues/dev.jsonl" ] ||
  { echo "train_demo: no $dialogues/dev.jsonl: get it as docs/data.md says and set PREDGEN_DATA" >&2; exit 2; }

scripts/build.sh
python=$(scripts/setup.sh --with-tests)
predgen=$root/build/predgen
runs=runs/demo

step() {  # step RESULT TITLE COMMAND..: runs the command unless its result is there
  if [ -e "$1" ]; then
    printf '\n== %s: %s is there\n' "$2" "$1"
    return
  fi
  printf '\n== %s\n$ %s\n' "$2" "${*:3}"
  "${@:3}"
}

held_out=("held_out=$runs/data/held_out" held_out_records=300)

step $runs/tokenizer/tokenizer.json "Vocabulary" \
  "$python" scripts/train_tokenizer.py --input "$dialogues"/train-*.parquet --output $runs/tokenizer
step $runs/data/train/manifest.json "Dialogues to train on" \
  "$predgen" data build --config configs/data/demo.yaml
step $runs/data/held_out/manifest.json "Dialogues kept apart" \
  "$predgen" data build --config configs/data/demo_held_out.yaml
step $runs/base/final/config.json "Base model" \
  "$predgen" train --config configs/train/demo.yaml --resume auto
step $runs/demo/config.json "Base model in bfloat16" \
  "$predgen" export --model $runs/base/final --output $runs/demo --dtype bf16
step $runs/truncated/manifest.json "Cut prompts" \
  "$predgen" data build --config configs/data/demo_truncated.yaml
step $runs/trajectories/manifest.json "Jacobi trajectories" \
  "$predgen" data trajectories --config configs/data/demo_trajectories.yaml
step $runs/cllm/final/adapter_config.json "CLLM adapter" \
  "$predgen" train --config configs/train/demo_cllm.yaml "${held_out[@]}" --resume auto
# A short second part with small steps, closer to the model without the adapter: it gives back most of
# what the first part cost in held-out loss, and little of the speed.
step $runs/cllm_settled/final/adapter_config.json "CLLM adapter, settled" \
  "$predgen" train --config configs/train/demo_cllm.yaml start_from=$runs/cllm/final max_steps=450 \
  learning_rate=6e-4 objective.ar_weight=16 output=$runs/cllm_settled "${held_out[@]}" --resume auto
step $runs/eval/results.json "Methods side by side" \
  "$predgen" eval --config configs/eval/sgd_dev.yaml \
  model=$runs/demo adapter=$runs/cllm_settled/final output=$runs/eval

printf '\n== Held-out loss of assistant tokens, nats/token\n'
for run in base cllm cllm_settled; do
  printf '%-12s ' $run
  grep -o '"held_out/[^,}]*' $runs/$run/metrics.jsonl | tail -n 1
done

if [ $install = 1 ]; then
  rm -rf checkpoints/demo checkpoints/demo-cllm
  cp -r $runs/demo checkpoints/demo
  cp -r $runs/cllm_settled/final checkpoints/demo-cllm
  sed -i "s#\"$runs/demo\"#\"checkpoints/demo\"#" checkpoints/demo-cllm/adapter_config.json
  du -sh checkpoints/demo checkpoints/demo-cllm
else
  echo "The result is in $runs/demo and $runs/cllm_settled/final; --install puts it into checkpoints/."
fi
