#include "evaluate/turn_schedule.h"

#include <algorithm>

#include "hear/transcripts/scheduled_source.h"

namespace predgen::evaluate {
namespace {

/// Delays the final transcript by `wait`; its words come as before.
void delay_end(std::vector<Transcript>& transcripts, Seconds wait) {
  if (wait <= Seconds(0) || transcripts.empty()) return;
  Transcript words = transcripts.back();
  words.is_final = false;
  transcripts.back().time += wait;
  transcripts.insert(transcripts.end() - 1, std::move(words));
}

/// The final transcript comes at `end`, but not before its words were heard.
void end_at(std::vector<Transcript>& transcripts, Seconds end) {
  Transcript last = transcripts.back();
  Seconds known = last.time;
  for (auto heard = transcripts.rbegin(); heard != transcripts.rend() && heard->text == last.text;
       ++heard) {
    known = heard->time;
  }
  last.time = std::max(end, known);
  std::erase_if(transcripts, [&](const Transcript& heard) { return heard.time >= last.time; });
  if (!transcripts.empty() && transcripts.back().is_final) transcripts.pop_back();
  transcripts.push_back(std::move(last));
}

/// Adds an event at `time` if transcript i stands until then. Returns whether it does.
bool add_pause(std::vector<Transcript>& transcripts, size_t i, Seconds time) {
  if (i + 1 >= transcripts.size() || time >= transcripts[i + 1].time) return false;
  Transcript stable = transcripts[i];
  stable.time = time;
  stable.is_stable = true;
  transcripts.insert(transcripts.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(stable));
  return true;
}

/// Adds an event where one of the transcripts [first, last) stands for longer than `pause`.
void add_pauses(std::vector<Transcript>& transcripts, size_t first, size_t last, Seconds pause) {
  for (size_t i = first; i < last; ++i) {
    if (add_pause(transcripts, i, transcripts[i].time + pause)) ++i, ++last;
  }
}

}  // namespace

double end_of_turn_wait(const EvalConfig& config, const Method& method) {
  return method.end_of_turn_wait.value_or(config.end_of_turn_wait);
}

double end_of_turn_wait(const EvalConfig& config, const EvalTurn& turn, const Method& method,
                        const std::vector<Transcript>& schedule, Seconds start) {
  if (!turn.voice) return end_of_turn_wait(config, method);
  return (schedule.back().time - start - turn.voice->ended).count();
}

std::vector<Transcript> turn_schedule(const EvalConfig& config, const EvalTurn& turn,
                                      const Method& method, Seconds start) {
  const bool is_typed = turn.recorded.empty(),
             hears_pauses = method.work == InputTimeWork::kPreempt ||
                            method.preset.waits_for_pauses || method.early;
  const double rate = method.characters_per_minute > 0 ? method.characters_per_minute
                                                       : config.characters_per_minute;
  std::vector<Transcript> transcripts =
      is_typed ? type_text(turn.prompt_text, rate, start) : shifted(turn.recorded, start);
  const Seconds wait(end_of_turn_wait(config, method));
  if (turn.voice) {
    const Seconds silence = start + turn.voice->ended;
    if (wait > Seconds(0)) end_at(transcripts, silence + wait);
    if (!hears_pauses || transcripts.size() < 2) return transcripts;
    const size_t last = transcripts.size() - 2;  // that is heard before the end is known
    add_pause(transcripts, last, std::max(transcripts[last].time, silence + kStablePause));
    add_pauses(transcripts, 0, last, kRecordedPause);
    return transcripts;
  }
  delay_end(transcripts, wait);
  if (!hears_pauses) return transcripts;
  const size_t num_spoken = transcripts.size() - (wait > Seconds(0) ? 2 : 1);
  if (wait > Seconds(0)) add_pauses(transcripts, num_spoken, num_spoken + 1, kStablePause);
  // Typing has no pauses between words.
  if (!is_typed) add_pauses(transcripts, 0, num_spoken, kRecordedPause);
  return transcripts;
}

}  // namespace predgen::evaluate
