#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace predgen::cli {

/// A language model that is here, and what it would do on this machine's processors.
struct SuitingModel {
  std::string name;
  int64_t num_bytes = 0;
  double tokens_per_second = 0;  // one after the other
  bool fits = true;              // into the memory
};

/// Tokens of a second of speech; and what a model should manage, as it drafts while one types; and
/// where it is spoken to, so that the twenty tokens of a first sentence take half a second beside
/// the recogniser (docs/measurements.md, "Larger models").
constexpr double kSpokenTokens = 4.0, kTypedTokens = 2 * kSpokenTokens, kTalkTokens = 40.0;

/// The largest that fits and makes `least` tokens a second; else the fastest that fits. None if
/// none does.
std::optional<size_t> choose_suiting(std::span<const SuitingModel> models, double least);

/// Lines about them, and which of them suits this machine; empty if there are none.
std::string describe_suiting(std::span<const SuitingModel> models);

/// Which of them suits typing on this machine better than `used`; empty if that one suits best, or
/// is none of them.
std::string name_better(std::span<const SuitingModel> models, std::string_view used);

}  // namespace predgen::cli
