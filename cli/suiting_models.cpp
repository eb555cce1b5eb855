#include "cli/suiting_models.h"

#include <fmt/format.h>

#include <algorithm>

namespace predgen::cli {
namespace {

const char* speed_of(const SuitingModel& model) {
  if (!model.fits) return ": too large for the memory";
  if (model.tokens_per_second < kSpokenTokens) return ": slower than speech";
  return model.tokens_per_second < kTypedTokens ? ": just as fast as speech" : "";
}

}  // namespace

std::optional<size_t> choose_suiting(std::span<const SuitingModel> models, double least) {
  std::optional<size_t> best;
  const auto is_better = [&](const SuitingModel& one, const SuitingModel& other) {
    const bool is_fast = one.tokens_per_second >= least;
    if (is_fast != (other.tokens_per_second >= least)) return is_fast;
    return is_fast ? one.num_bytes > other.num_bytes
                   : one.tokens_per_second > other.tokens_per_second;
  };
  for (size_t i = 0; i < models.size(); ++i) {
    if (models[i].fits && (!best || is_better(models[i], models[*best]))) best = i;
  }
  return best;
}

std::string describe_suiting(std::span<const SuitingModel> models) {
  if (models.empty()) return "";
  std::string text = fmt::format(
      "Models here, by what our kernels read of 4-bit weights; speech takes {:.0f} tokens/s\n",
      kSpokenTokens);
  for (const SuitingModel& model : models) {
    text += fmt::format("  {:<20} {:6.0f} MB  about {:.3g} tokens/s{}\n", model.name,
                        static_cast<double>(model.num_bytes) / 1e6, model.tokens_per_second,
                        speed_of(model));
  }
  const auto talk = choose_suiting(models, kTalkTokens);
  const auto typed = choose_suiting(models, kTypedTokens);
  if (talk) text += fmt::format("  To speak with: predgen talk --model {}\n", models[*talk].name);
  if (typed) text += fmt::format("  To type to:    predgen chat --model {}\n", models[*typed].name);
  return text;
}

std::string name_better(std::span<const SuitingModel> models, std::string_view used) {
  const std::optional<size_t> best = choose_suiting(models, kTypedTokens);
  const auto own = std::ranges::find(models, used, &SuitingModel::name);
  if (!best || own == models.end() || own == models.begin() + static_cast<ptrdiff_t>(*best)) {
    return "";
  }
  return fmt::format(
      "{0}, which is here, suits this machine better (about {1:.2g} tokens/s): --model {0}",
      models[*best].name, models[*best].tokens_per_second);
}

}  // namespace predgen::cli
