#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "hear/asr/ear.h"

namespace predgen::ears {

/// Turns sound into words. Used by one thread.
class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual DecoderPace pace() const = 0;
  /// nullopt if it was stopped, from any thread; a decoder may run to its end nevertheless.
  virtual std::optional<Decoded> decode(const DecodeJob& job, const std::stop_token& stop) = 0;
  /// The stream has ended.
  virtual void forget(uint32_t stream) = 0;
};

/// The likeliest token after each of `tokens`, of which the first is at position `offset`: tokens
/// given at earlier positions count, tokens given at this position or later no longer do.
using LikeliestNext =
    std::function<std::vector<int64_t>(std::span<const int64_t> tokens, int64_t offset)>;

/// The likeliest token of each row of [.., num_tokens].
std::vector<int64_t> likeliest_of_rows(std::span<const float> logits, int64_t num_tokens);

/// The probability of the likeliest token of each row.
std::vector<double> certainties_of_rows(std::span<const float> logits, int64_t num_tokens);

/// The tokens of a stream's segment, which draft those of its next decode.
struct SegmentTokens {
  int64_t segment = -1;
  std::vector<int64_t> tokens{};
  /// Forgets those of another segment.
  void begin(int64_t now) {
    if (segment != now) *this = {.segment = now};
  }
};

/// What of a draft may follow `text`, which has left it.
using RestOfDraft = std::function<std::vector<int64_t>(std::span<const int64_t> text)>;

struct TokenLimits {
  int64_t end = 0;   // the token that ends the text
  int64_t most = 0;  // tokens of the text
};

/// Greedy decoding after `prompt` in fewer passes: the first pass also runs `draft`, and where the
/// model disagrees, what may be left of it continues after the model's token: `rest`, or without
/// that what follows the same token in the draft. The tokens are those of one-at-a-time decoding,
/// whatever the draft. Without the end token.
std::vector<int64_t> decode_drafted(const LikeliestNext& next, const std::vector<int64_t>& prompt,
                                    std::vector<int64_t> draft, const TokenLimits& limits,
                                    const RestOfDraft& rest = {});

/// Where `draft` goes on behind `said`, which differs from its beginning: in spelling
/// ("light-roast" for "light roast"), by a word in another's place, or by one more or less. In
/// bytes; compares letters and digits only; marks that `said` has there are not repeated.
size_t draft_place(std::string_view draft, std::string_view said);

/// The tokens of a recogniser as bytes, and texts as tokens.
class TokenTexts {
 public:
  /// No two tokens have the same bytes: then the first is the one that texts get.
  void add(int64_t token, std::string bytes);

  /// Tokens that are not text have none.
  std::string bytes_of(std::span<const int64_t> tokens) const;
  /// By the longest token at each place, which need not be the recogniser's choice: for drafts.
  /// Ends where no token fits.
  std::vector<int64_t> tokens_of(std::string_view text) const;

 private:
  std::map<int64_t, std::string> bytes_;
  std::map<std::string, int64_t, std::less<>> numbers_;
};

}  // namespace predgen::ears
