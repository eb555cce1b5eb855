#include "runtime/cost/engine_costs.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "core/error.h"
#include "model/language_model.h"

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

/// What each pass takes at least. Rounds, so that a disturbance affects all of them. The second of
/// two passes counts, as in decoding, where a pass mostly follows one of the same width.
std::vector<double> least_seconds(const std::vector<std::function<double()>>& passes) {
  std::vector<double> least(passes.size(), std::numeric_limits<double>::infinity());
  double taken = 0;
  for (int round = 0; round < kRounds && taken < kEnoughSeconds; ++round) {
    for (size_t i = 0; i < passes.size(); ++i) {
      double seconds = passes[i]();
      taken += seconds;
      if (taken < kEnoughSeconds) {
        seconds = passes[i]();
        taken += seconds;
      }
      least[i] = std::min(least[i], seconds);
    }
  }
  return least;
}

/// So many cached tokens, whose keys and values are zeros, and one that is pending.
Sequence sequence_of_zeros(KvPool& pool, int64_t num_cached, int64_t capacity) {
  const KvLayout& layout = pool.layout();
  std::unique_ptr<SequenceState> state = pool.make_state(capacity);
  state->reserve(capacity);
  for (int64_t i = 0; i < layout.num_layers; ++i) {
    const auto [num_heads, head_dim] = layout.heads(i);
    const at::Tensor zeros_1HSD = at::zeros({1, num_heads, num_cached, head_dim}, layout.options);
    state->append(i, zeros_1HSD, zeros_1HSD);
  }
  std::vector<NewStates> states;  // as at the beginning
  if (layout.num_states > 0) {
    states.push_back({.num_new = num_cached,
                      .layers = std::vector<LayerState>(static_cast<size_t>(layout.num_states))});
  }
  state->commit(num_cached, std::move(states));
  Sequence sequence(std::move(state));
  sequence.append(TokenIds(static_cast<size_t>(num_cached + 1), 0));
  return sequence;
}

}  // namespace

PassCosts measure_costs(Engine& engine, int64_t widest, const Clock& clock) {
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
  std::vector<std::function<double()>> passes;
  for (const int64_t width : widths) {
    passes.emplace_back([&, drafted = TokenSpan(draft).first(static_cast<size_t>(width))] {
      return seconds_of_pass(engine, sequence, drafted, clock);
    });
  }
  const std::vector<double> least = least_seconds(passes);
  std::vector<PassCosts::Point> points;
  for (size_t i = 0; i < widths.size(); ++i) points.push_back({1 + widths[i], Seconds(least[i])});
  return PassCosts::measured(std::move(points));
}

ReadingCosts measure_reading(Engine& engine, const Clock& clock) {
  constexpr int64_t kLong = 2048, kBytes = int64_t{256} << 20, kDrafted = 7;
  KvPool pool(engine.model().kv_layout());
  const int64_t longest = std::min({kLong, kBytes / pool.layout().bytes_per_position(),
                                    engine.model().max_positions() - kDrafted - 1});
  if (longest < 2 * kContext) return {};
  Sequence after_short = sequence_of_zeros(pool, kContext, kContext + kDrafted + 1),
           after_long = sequence_of_zeros(pool, longest, longest + kDrafted + 1);
  const TokenIds draft(kDrafted, 0);
  const auto pass = [&](Sequence& sequence, TokenSpan drafted) {
    return [&engine, &clock, on = &sequence, drafted] {
      return seconds_of_pass(engine, *on, drafted, clock);
    };
  };
  const std::vector<double> least =
      least_seconds({pass(after_short, {}), pass(after_long, {}), pass(after_short, draft),
                     pass(after_long, draft)});
  const double one = least[1] - least[0], all = least[3] - least[2];
  const double scale = static_cast<double>(longest - kContext) * least[0];
  return {.first = std::max(0.0, one / scale),
          .further = std::max(0.0, (all - one) / (static_cast<double>(kDrafted) * scale))};
}

std::function<void(const PassSize&)> charge_passes(VirtualClock& clock, const PassCosts& costs) {
  return [&clock, costs](const PassSize& pass) { clock.advance(costs.of(pass.num_tokens)); };
}

}  // namespace predgen
