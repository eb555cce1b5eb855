#include "runtime/engine/pass_seconds.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>

#include "core/error.h"
#include "model/most_likely.h"

namespace predgen {
namespace {

double seconds_of_pass(Engine& engine, Sequence& sequence, TokenSpan draft) {
  const auto start = std::chrono::steady_clock::now();
  const at::Tensor logits = *engine.run({.sequence = &sequence, .draft = draft}).logits;
  most_likely(logits).cpu();  // a GPU is through only now
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  sequence.truncate(sequence.size());
  return elapsed.count();
}

}  // namespace

std::vector<double> measure_pass_seconds(Engine& engine, int64_t widest, int64_t num_positions) {
  const int64_t room = engine.model().max_positions() - widest;
  if (room < 1) {
    throw UserError("a draft width of {} leaves no room in a context of {}: choose a smaller one",
                    widest, engine.model().max_positions());
  }
  Sequence sequence = engine.make_sequence(std::min(num_positions, room) + widest);
  sequence.append(TokenIds(static_cast<size_t>(std::min(num_positions, room)), 0));
  const TokenIds draft(static_cast<size_t>(widest), 0);
  seconds_of_pass(engine, sequence, {});  // the context
  std::vector<double> seconds;
  int64_t before = 0;
  for (int64_t width = 0;; width = std::min(std::max<int64_t>(2 * width, 1), widest)) {
    std::array<double, 5> runs;
    const TokenSpan drafted = TokenSpan(draft).first(static_cast<size_t>(width));
    for (double& run : runs) run = seconds_of_pass(engine, sequence, drafted);
    std::ranges::nth_element(runs, runs.begin() + 2);
    const double from = seconds.empty() ? runs[2] : seconds.back();
    for (int64_t between = before + 1; between <= width; ++between) {
      seconds.push_back(from + (runs[2] - from) * static_cast<double>(between - before) /
                                   static_cast<double>(width - before));
    }
    if (width == 0) seconds.push_back(runs[2]);
    if (width == widest) return seconds;
    before = width;
  }
}

int64_t tokens_for(double steps, const std::vector<double>& pass_seconds) {
  constexpr int64_t kAny = std::numeric_limits<int64_t>::max();
  if (pass_seconds.size() < 2) return kAny;
  const double growth =
      (pass_seconds.back() - pass_seconds.front()) / static_cast<double>(pass_seconds.size() - 1);
  const double tokens = steps * pass_seconds.front() / growth;
  return growth <= 0 || tokens >= 1e9 ? kAny : static_cast<int64_t>(tokens);
}

}  // namespace predgen
