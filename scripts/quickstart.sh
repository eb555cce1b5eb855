#!/usr/bin/env bash
# From nothing to an answer: sets up, builds, and lets SmolLM2, a small model that set-up fetches, answer a typed
# and a spoken question. Compiling takes most of the time.
#
#   scripts/quickstart.sh [--all] [--short]
#
#   --all     then the whole chain: a dataset, training, export, and a comparison of methods (minutes more)
#   --short   the same steps with less work in each, as a check that all of them run
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

all=0 short=0
for argument in "$@"; do
  case $argument in
    --all) all=1 ;;
    --short) all=1 short=1 ;;
    *) sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; [ "$argument" = --help ] || [ "$argument" = -h ]; exit ;;
  esac
done

began=$SECONDS
export PREDGEN_PARTS=5
scripts/build.sh

predgen=build/predgen
runs=runs/quickstart
mkdir -p "$runs"
step() {  # step TITLE COMMAND..
  printf '\n== %s\n$ %s\n' "$1" "${*:2}"
  "${@:2}"
}

echo "quickstart: [5/5] answers"
step "A question is answered" "$predgen" generate --model smollm2 --user "What is the capital of France?"
answer=$runs/answer.wav
rm -f "$answer"  # of an earlier quickstart
python=$(scripts/setup.sh)
if [ -x build/predgen-ears ] && [ -z "$("$python" scripts/fetch_model.py silero smart-turn whisper-base --absent)" ]; then
  step "The same question is heard, and answered in a voice" \
    "$predgen" talk --input data/samples/question.wav --output "$answer"
else
  echo "quickstart: no spoken answer, because a model that hears or speaks is missing: see $predgen doctor" >&2
fi
echo "quickstart: from the start to an answer .. $((SECONDS - began)) s"

if [ $all = 1 ]; then
  rm -rf "$runs"/{dataset,trajectories,adapter,merged,eval}  # of an earlier quickstart
  few_records=() few_steps=() few_turns=()
  if [ $short = 1 ]; then
    few_records=(max_records=4)
    few_steps=(max_steps=2)
    few_turns=(turns.count=1)
  fi
  step "Conversations become a dataset of prompts cut as if still being spoken" \
    "$predgen" data build --config configs/data/quickstart.yaml
  step "What SmolLM2 answers, and how it decodes that in parallel: Jacobi trajectories" \
    "$predgen" data trajectories --config configs/data/quickstart_trajectories.yaml "${few_records[@]}"
  step "A few LoRA steps towards a consistency model, too few to be of use" \
    "$predgen" train --config configs/train/quickstart.yaml "${few_steps[@]}"
  step "The adapter and its model become one checkpoint" \
    "$predgen" export --model smollm2 --adapter "$runs/adapter/final" --output "$runs/merged"
  echo '[{"role": "user", "content": "Why do cats purr?"}]' >"$runs/messages.json"
  step "It answers" \
    "$predgen" generate --model "$runs/merged" --messages "$runs/messages.json" --max-new-tokens 48
  step "SmolLM2 answers while questions are still being spoken, beside a plain cascade" \
    "$predgen" eval --config configs/eval/quickstart.yaml "${few_turns[@]}"
  wav=$(find "$runs/eval" -name '*.wav' | sort | head -n 1)
  [ -n "$wav" ] || { echo "quickstart: eval left no spoken answer in $runs/eval" >&2; exit 1; }
fi

echo
[ ! -s "$answer" ] || echo "Listen to the answer:  $root/$answer"
[ $all = 0 ] || echo "All figures:           $root/$runs/eval/report.html"
cat <<'END'
Speak with it:         build/predgen talk
Type:                  build/predgen chat
A model that knows more, and what it costs in wait:  docs/models.md
END
[ $all = 1 ] || echo "Data, training and measurements:  scripts/quickstart.sh --all"
