#!/usr/bin/env bash
# Makes an adapter with which SmolLM2 gives several tokens a pass and the same text, from the spoken requests in
# $PREDGEN_DATA/prompts (default data_sets; see docs/data.md) and the model's own answers to them. Takes two hours of
# one core. Each step is kept in runs/smollm2 and not repeated; a step that was killed resumes.
#
#   scripts/train_smollm2.sh [--install]
#
#   --install   replace checkpoints/smollm2-mtp by the result
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

install=0
case ${1:-} in
  '') ;;
  --install) install=1 ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; [ "$1" = --help ] || [ "$1" = -h ]; exit ;;
esac

prompts=${PREDGEN_DATA:-data_sets}/prompts
[ -f "$prompts/train.jsonl" ] ||
  { echo "train_smollm2: no $prompts/train.jsonl: get it as docs/data.md says and set PREDGEN_DATA" >&2; exit 2; }

scripts/build.sh
predgen=$root/build/predgen
runs=runs/smollm2

. scripts/step.sh

step $runs/dataset/manifest.json "Requests, cut as if still being spoken" \
  "$predgen" data build --config configs/data/smollm2.yaml
step $runs/trajectories/manifest.json "What SmolLM2 answers" \
  "$predgen" data trajectories --config configs/data/smollm2_trajectories.yaml
step $runs/mtp/final/adapter_config.json "Adapter with mask tokens" \
  "$predgen" train --config configs/train/smollm2_mtp.yaml --resume auto

if [ $install = 1 ]; then
  mkdir -p checkpoints/smollm2-mtp
  cp $runs/mtp/final/adapter_config.json $runs/mtp/final/adapter_model.safetensors checkpoints/smollm2-mtp/
  du -sh checkpoints/smollm2-mtp
else
  echo "The result is in $runs/mtp/final; --install puts it into checkpoints/."
fi
