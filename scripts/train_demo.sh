#!/usr/bin/env bash
# Makes the demo model, its draft model and its CLLM adapter again, from the dialogues in $PREDGEN_DATA/sgd (default
# data_sets; see docs/data.md), and measures them. Six to nine hours on two CPU cores. Each step is kept in
# runs/demo and not repeated; delete that folder, or a part of it, to start over.
#
#   scripts/train_demo.sh [--install]
#
#   --install   replace checkpoints/demo, demo-draft and demo-cllm by the result
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

. scripts/step.sh

held_out=("held_out=$runs/data/held_out" held_out_records=300)

step $runs/tokenizer/tokenizer.json "Vocabulary" \
  "$python" scripts/train_tokenizer.py --input "$dialogues"/train-*.parquet --output $runs/tokenizer
# Copies of the dialogues with other values, if there are any: docs/data.md.
copies=("$dialogues"/relex-*.parquet)
[ -f "${copies[0]}" ] || copies=()
list() { local IFS=,; echo "[$*]"; }

build() {  # build NAME TITLE FILE..: dialogues, whole
  step $runs/data/$1/manifest.json "$2" \
    "$predgen" data build --config configs/data/demo.yaml output=$runs/data/$1 "sources=$(list "${@:3}")"
}
build train "Dialogues to train on" "$dialogues"/train-*.parquet "${copies[@]}"
step $runs/renamed.parquet "Copies with other names" \
  "$python" scripts/rename_values.py $runs/renamed.parquet 4 "$dialogues"/train-*.parquet
build renamed "Copies with other names, as tokens" $runs/renamed.parquet
step $runs/repeat.parquet "Names to repeat" \
  "$python" scripts/repeat_exercises.py $runs/repeat.parquet 24000 "$dialogues"/train-*.parquet
build repeat "Names to repeat, as tokens" $runs/repeat.parquet
step $runs/data/held_out/manifest.json "Dialogues kept apart" \
  "$predgen" data build --config configs/data/demo_held_out.yaml

stage() {  # stage NAME TITLE KEY=VALUE..
  step $runs/$1/final/config.json "Base model, $2" \
    "$predgen" train --config configs/train/demo.yaml output=$runs/$1 "${@:3}" --resume auto
}
after() { echo initialize= tokenizer= model=$runs/$1/final warmup_steps=50; }
# Dialogues alone never taught the model to repeat a value, however many copies there were; 500 steps of only
# that did, and it keeps this through the dialogues that follow.
stage dialogues "1 of 5: dialogues"
stage renamed "2 of 5: and copies with other names" $(after dialogues) \
  "replay=[$runs/data/renamed]" max_steps=1300 seed=2
stage repeat "3 of 5: names to repeat" $(after renamed) \
  dataset=$runs/data/repeat batch_size=16 max_steps=510 seed=4
stage mixed "4 of 5: all of them" $(after repeat) \
  "replay=[$runs/data/renamed,$runs/data/repeat]" max_steps=1920 seed=5
stage base "5 of 5: the learning rate falls" $(after mixed) \
  "replay=[$runs/data/renamed]" max_steps=800 schedule=cosine warmup_steps=20 seed=6
step $runs/demo/config.json "Base model in bfloat16" \
  "$predgen" export --model $runs/base/final --output $runs/demo --dtype bf16
step $runs/draft/final/config.json "Draft model" \
  "$predgen" train --config configs/train/demo.yaml initialize=configs/train/demo_draft_model.json \
  learning_rate=4e-3 schedule=cosine max_steps=4000 save_dtype=bf16 output=$runs/draft "${held_out[@]}" --resume auto
step $runs/truncated/manifest.json "Cut prompts" \
  "$predgen" data build --config configs/data/demo_truncated.yaml \
  "sources=$(list "$dialogues"/train-*.parquet "${copies[@]:0:1}")"
step $runs/trajectories/manifest.json "Jacobi trajectories" \
  "$predgen" data trajectories --config configs/data/demo_trajectories.yaml
step $runs/cllm/final/adapter_config.json "CLLM adapter" \
  "$predgen" train --config configs/train/demo_cllm.yaml "${held_out[@]}" --resume auto
# A short second part with small steps, closer to the model without the adapter: it regains most of the
# held-out loss that the first part cost, and gives up little of the speed.
step $runs/cllm_second/final/adapter_config.json "CLLM adapter, second part" \
  "$predgen" train --config configs/train/demo_cllm.yaml start_from=$runs/cllm/final max_steps=450 \
  learning_rate=6e-4 objective.ar_weight=16 output=$runs/cllm_second "${held_out[@]}" --resume auto
# Longer, from twice as many prompts; then again small steps, only as many as keep the loss within 2 %.
step $runs/truncated_more/manifest.json "Cut prompts, two of a dialogue" \
  "$predgen" data build --config configs/data/demo_truncated.yaml examples_per_conversation=2 \
  output=$runs/truncated_more "sources=$(list "$dialogues"/train-*.parquet "${copies[@]:0:1}")"
step $runs/trajectories_more/manifest.json "Jacobi trajectories of these" \
  "$predgen" data trajectories --config configs/data/demo_trajectories.yaml \
  dataset=$runs/truncated_more output=$runs/trajectories_more
step $runs/cllm_third/final/adapter_config.json "CLLM adapter, third part" \
  "$predgen" train --config configs/train/demo_cllm.yaml start_from=$runs/cllm_second/final \
  dataset=$runs/trajectories_more max_steps=5000 seed=1 output=$runs/cllm_third "${held_out[@]}" --resume auto
step $runs/cllm_fourth/final/adapter_config.json "CLLM adapter, fourth part" \
  "$predgen" train --config configs/train/demo_cllm.yaml start_from=$runs/cllm_third/final \
  dataset=$runs/trajectories_more max_steps=60 learning_rate=6e-4 objective.ar_weight=16 \
  output=$runs/cllm_fourth "${held_out[@]}" --resume auto
step $runs/eval/results.json "Methods side by side" \
  "$predgen" eval --config configs/eval/sgd_dev.yaml \
  model=$runs/demo draft_model=$runs/draft/final adapter=$runs/cllm_fourth/final output=$runs/eval

printf '\n== Held-out loss of assistant tokens, nats/token\n'
for run in base draft cllm cllm_second cllm_third cllm_fourth; do
  printf '%-12s ' $run
  grep -o '"held_out/[^,}]*' $runs/$run/metrics.jsonl | tail -n 1
done

if [ $install = 1 ]; then
  rm -rf checkpoints/demo checkpoints/demo-draft checkpoints/demo-cllm
  cp -r $runs/demo checkpoints/demo
  cp -r $runs/draft/final checkpoints/demo-draft
  cp -r $runs/cllm_fourth/final checkpoints/demo-cllm
  sed -i "s#\"$runs/demo\"#\"checkpoints/demo\"#" checkpoints/demo-cllm/adapter_config.json
  du -sh checkpoints/demo checkpoints/demo-draft checkpoints/demo-cllm
else
  echo "The result is in $runs/demo, $runs/draft/final and $runs/cllm_fourth/final; --install puts it into checkpoints/."
fi
