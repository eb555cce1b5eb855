#!/usr/bin/env bash
# Jacobi forcing in two stages, from LMSYS-Chat-1M in $PREDGEN_DATA (docs/data.md) to an adapter: prompts,
# the base model's trajectories with blocks of 16, stage 1, that model's trajectories with blocks of 32,
# stage 2. PREDGEN_MODEL names the folder of the base (default models/Qwen2.5-7B-Instruct), PREDGEN_RUN
# that of all results (default runs/lmsys). Started again, it resumes where it was stopped. A step whose
# result exists is skipped, so delete a result to make it again with other settings.
#
#   scripts/train_jacobi_forcing.sh [--nproc N | --launch 'COMMAND'] [--data KEY=VALUE].. \
#                                   [--trajectories KEY=VALUE].. [--train KEY=VALUE]..
#
#   --nproc N      ranks of the trainings on this machine
#   --launch CMD   starts the trainings instead: 'torchrun --no-python --nproc-per-node 4', 'srun --ntasks 4'
#   --data, --trajectories, --train KEY=VALUE
#                  other settings than those of configs/data/lmsys.yaml, lmsys_trajectories.yaml and
#                  configs/train/lmsys_jacobi_forcing.yaml, in both stages
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

usage() { sed -n '2,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }
launch=() ranks=() data=() trajectories=() train=()
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage; exit ;;
    --nproc | --launch | --data | --trajectories | --train)
      [ $# -gt 1 ] || { echo "train_jacobi_forcing: $1 needs a value" >&2; exit 2; } ;;
    *) echo "train_jacobi_forcing: unknown option $1; --help lists them" >&2; exit 2 ;;
  esac
  case $1 in
    --nproc) ranks=(--nproc "$2") ;;
    --launch) read -ra launch <<<"$2" ;;
    --data) data+=("$2") ;;
    --trajectories) trajectories+=("$2") ;;
    --train) train+=("$2") ;;
  esac
  shift 2
done
if [ ${#launch[@]} -gt 0 ] && [ ${#ranks[@]} -gt 0 ]; then
  echo "train_jacobi_forcing: --launch and --nproc both start ranks; keep one" >&2
  exit 2
fi

predgen=${PREDGEN:-$root/build/predgen}
[ -x "$predgen" ] || { echo "train_jacobi_forcing: no $predgen: run scripts/build.sh or set PREDGEN" >&2; exit 2; }
run=${PREDGEN_RUN:-runs/lmsys}
dataset=$run/dataset
runs=$run/jacobi_forcing

. scripts/step.sh

collect() {  # collect BLOCK_SIZE KEY=VALUE..
  step "$runs/trajectories_$1/manifest.json" "Trajectories with blocks of $1" \
    "$predgen" data trajectories --config configs/data/lmsys_trajectories.yaml \
    "dataset=$dataset" "output=$runs/trajectories_$1" "block_size=$1" ar_labels=fixed_point \
    "${@:2}" "${trajectories[@]}"
}

train() {  # train STAGE KEY=VALUE..
  step "$runs/stage_$1/final/adapter_config.json" "Stage $1" \
    "${launch[@]}" "$predgen" train --config configs/train/lmsys_jacobi_forcing.yaml --resume auto \
    "${ranks[@]}" "output=$runs/stage_$1" "${@:2}" "${train[@]}"
}

step "$dataset/manifest.json" "Truncated prompts" \
  "$predgen" data build --config configs/data/lmsys.yaml "output=$dataset" "${data[@]}"
collect 16
train 1 "dataset=$runs/trajectories_16"
collect 32 "adapter=$runs/stage_1/final"
train 2 "dataset=$runs/trajectories_32" "start_from=$runs/stage_1/final"
echo "The adapter is in $runs/stage_2/final."
