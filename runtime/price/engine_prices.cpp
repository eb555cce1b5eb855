#include "runtime/price/engine_prices.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/most_likely.h"

namespace predgen {
namespace {

constexpr int64_t kContext = 128;
constexpr int kRounds = 5;
constexpr double kEnoughSeconds = 0.2;  // after them no pass is repeated

double seconds_of_pass(Engine& engine, Sequence& sequence, TokenSpan draft, const Clock& clock) {
  const Seconds start = clock.now();
  // Masks cost more than other tokens: an adapter applies to them.
  const bool has_masks = !engine.model().mask_tokens().empty();
  const at::Tensor logits = *engine
                                 .run({.sequence = &sequence,
                                       .draft = draft,
                                       .num_masks = has_masks ? std::ssize(draft) : 0})
                                 .logits;
  most_likely(logits).cpu();  // a GPU has finished only now
  const double elapsed = (clock.now() - start).count();
  sequence.truncate(sequence.size());
  return elapsed;
}

}  // namespace

PassPrices measure_prices(Engine& engine, int64_t widest, const Clock& clock) {
  const int64_t room = engine.model().max_positions() - widest;
  if (room < 1) {
    throw UserError("a draft width of {} leaves no room in a context of {}: choose a smaller one",
                    widest, engine.model().max_positions());
  }
  const int64_t context = std::min(kContext, room);
  Sequence sequence = engine.make_sequence(context + widest);
  sequence.append(TokenIds(static_cast<size_t>(context), 0));
  const TokenIds draft(static_cast<size_t>(widest), 0);
  std::vector<int64_t> widths{0};
  while (widths.back() < widest) {
    widths.push_back(std::min(2 * widths.back() + 1, widest));  // 2, 4, 8, .. tokens a pass
  }
  seconds_of_pass(engine, sequence, {}, clock);  // runs the context
  // Rounds, so that a disturbance affects all widths. The second of two passes counts, as in
  // decoding, where a pass mostly follows one of the same width.
  std::vector<double> least(widths.size(), std::numeric_limits<double>::infinity());
  double taken = 0;
  for (int round = 0; round < kRounds && taken < kEnoughSeconds; ++round) {
    for (size_t i = 0; i < widths.size(); ++i) {
      const TokenSpan drafted = TokenSpan(draft).first(static_cast<size_t>(widths[i]));
      double seconds = seconds_of_pass(engine, sequence, drafted, clock);
      taken += seconds;
      if (taken < kEnoughSeconds) {
        seconds = seconds_of_pass(engine, sequence, drafted, clock);
        taken += seconds;
      }
      least[i] = std::min(least[i], seconds);
    }
  }
  std::vector<PassPrices::Point> points;
  for (size_t i = 0; i < widths.size(); ++i) points.push_back({1 + widths[i], Seconds(least[i])});
  return PassPrices::measured(std::move(points));
}

std::function<void(const PassSize&)> charge_passes(VirtualClock& clock, const PassPrices& prices) {
  return [&clock, prices](const PassSize& pass) { clock.advance(prices.of(pass.num_tokens)); };
}

}  // namespace predgen
