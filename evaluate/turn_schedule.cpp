#include "evaluate/turn_schedule.h"

#include "runtime/listen/recorded_source.h"
#include "runtime/listen/typed_source.h"

namespace predgen::evaluate {
namespace {

/// The final transcript comes so much later; its words are there as before.
void delay_end(std::vector<Transcript>& transcripts, Seconds wait) {
  if (wait <= Seconds(0) || transcripts.empty()) return;
  Transcript words = transcripts.back();
  words.is_final = false;
  transcripts.back().time += wait;
  transcripts.insert(transcripts.end() - 1, std::move(words));
}

/// Adds an event where one of the transcripts [first, last) stands for longer than `pause`.
void add_pauses(std::vector<Transcript>& transcripts, size_t first, size_t last, Seconds pause) {
  for (size_t i = first; i < last && i + 1 < transcripts.size(); ++i) {
    Transcript stable = transcripts[i];
    stable.time += pause;
    if (stable.time >= transcripts[i + 1].time) continue;
    stable.is_stable = true;
    ++i, ++last;
    transcripts.insert(transcripts.begin() + static_cast<std::ptrdiff_t>(i), std::move(stable));
  }
}

}  // namespace

double end_of_turn_wait(const EvalConfig& config, const Method& method) {
  return method.end_of_turn_wait.value_or(config.end_of_turn_wait);
}

std::vector<Transcript> turn_schedule(const EvalConfig& config, const EvalTurn& turn,
                                      const Method& method, Seconds start) {
  const bool is_typed = turn.recorded.empty();
  const double rate = method.characters_per_minute > 0 ? method.characters_per_minute
                                                       : config.characters_per_minute;
  std::vector<Transcript> transcripts =
      is_typed ? type_text(turn.prompt_text, rate, start) : shifted(turn.recorded, start);
  const Seconds wait(end_of_turn_wait(config, method));
  delay_end(transcripts, wait);
  if (method.work != InputTimeWork::kPreempt) return transcripts;
  const size_t num_spoken = transcripts.size() - (wait > Seconds(0) ? 2 : 1);
  if (wait > Seconds(0)) add_pauses(transcripts, num_spoken, num_spoken + 1, kVoicePause);
  // Who types does not pause between words.
  if (!is_typed) add_pauses(transcripts, 0, num_spoken, kRecordedPause);
  return transcripts;
}

}  // namespace predgen::evaluate
