#!/usr/bin/env bash
# From nothing to an answer: sets up, builds, then runs the whole chain on spoken questions and SmolLM2, a
# small model that set-up fetches. Under 4 minutes after the build, on a CPU.
#
#   scripts/quickstart.sh [--short]
#
#   --short   the same steps with less work in each, as a check that all of them run
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

short=0
case ${1:-} in
  '') ;;
  --short) short=1 ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; [ "$1" = --help ] || [ "$1" = -h ]; exit ;;
esac

scripts/build.sh

predgen=build/predgen
runs=runs/quickstart
rm -rf "$runs"  # of an earlier quickstart
few_records=() few_steps=() few_turns=()
if [ $short = 1 ]; then
  few_records=(max_records=4)
  few_steps=(max_steps=2)
  few_turns=(turns.count=1)
fi

number=0
step() {  # step TITLE COMMAND..
  number=$((number + 1))
  printf '\n== %d. %s\n$ %s\n' "$number" "$1" "${*:2}"
  "${@:2}"
}

SECONDS=0
step "SmolLM2, which set-up has fetched, answers" \
  "$predgen" generate --model smollm2 --user "What is the capital of France?"
step "Conversations become a dataset of prompts cut as if still being spoken" \
  "$predgen" data build --config configs/data/quickstart.yaml
step "What SmolLM2 answers, and how it decodes that in parallel: Jacobi trajectories" \
  "$predgen" data trajectories --config configs/data/quickstart_trajectories.yaml "${few_records[@]}"
step "A few LoRA steps towards a consistency model" \
  "$predgen" train --config configs/train/quickstart.yaml "${few_steps[@]}"
step "The adapter and its model become one checkpoint, which answers" \
  "$predgen" export --model smollm2 --adapter "$runs/adapter/final" --output "$runs/merged"
echo '[{"role": "user", "content": "Why do cats purr?"}]' >"$runs/messages.json"
"$predgen" generate --model "$runs/merged" --messages "$runs/messages.json" --max-new-tokens 48
step "SmolLM2 answers while questions are still being spoken, beside a plain cascade" \
  "$predgen" eval --config configs/eval/quickstart.yaml "${few_turns[@]}"

if [ -x build/predgen-ears ] && "$predgen" models | grep -q '^ *whisper-base '; then
  step "A recorded question is heard, and answered in a voice" \
    "$predgen" talk --input data/samples/question.wav --output "$runs/answer.wav"
fi

wav=$(find "$runs/eval" -name '*.wav' | sort | head -n 1)
[ -n "$wav" ] || { echo "quickstart: eval left no spoken answer in $runs/eval" >&2; exit 1; }
cat <<END

Done in $SECONDS s. Listen to an answer:  $root/$wav
All figures:                              $root/$runs/eval/results.json
Talk to it yourself:                      build/predgen talk, or build/predgen chat --model smollm2
END
