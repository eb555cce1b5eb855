#include "runtime/converse/words_end.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "text/end_marks.h"

namespace predgen {
namespace {

constexpr const char* kMoreWords = " and";  // that differ from the first token on

// Log-odds by the likeliest end, in nats, fitted to spoken requests after each of their words:
// docs/measurements.md, "The end of a turn by its words".
constexpr double kBias = 3.7, kSlope = 1.04;

/// Where two prompts part.
int64_t common_tokens(const TokenIds& a, const TokenIds& b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

}  // namespace

std::optional<int64_t> words_end(const History::Prompt& prompt, const std::string& words,
                                 const RenderPrompt& render) {
  // The prefix shared with a prompt that has another word ends where the words do.
  const History::Prompt other = render(words + kMoreWords);
  const int64_t end = common_tokens(prompt.ids, other.ids);
  if (other.dropped_rounds != prompt.dropped_rounds || end == 0 || end == std::ssize(prompt.ids)) {
    return std::nullopt;
  }
  return end;
}

EndByWords::EndByWords(const Tokenizer& tokenizer, std::shared_ptr<const EndReadout> readout)
    : readout_(std::move(readout)) {
  const auto said = [&](const std::string& text) {
    return tokenizer.render_chat({{.role = "user", .content = text}});
  };
  const std::string words = "yes";
  const int64_t end = common_tokens(said(words), said(words + kMoreWords));
  TokenIds ends;  // what comes after the words, with a mark or without
  for (const char* mark : {"", ".", "?", "!"}) {
    const TokenIds whole = said(words + mark);
    const bool is_behind = common_tokens(whole, said(words + kMoreWords)) == end;
    if (is_behind && end < std::ssize(whole)) ends.push_back(whole[static_cast<size_t>(end)]);
  }
  ends_ = at::tensor(ends, at::kLong);
}

std::string EndByWords::without_marks(const std::string& words) {
  return std::string(without_end_marks(words));
}

double EndByWords::probability(const at::Tensor& logits_V) const {
  if (readout_) return readout_->probability(logits_V);
  const at::Tensor logprobs_V = logits_V.to(at::kDouble).log_softmax(0);
  const double likeliest =
      logprobs_V.index_select(0, ends_.to(logits_V.device())).max().item<double>();
  return 1 / (1 + std::exp(-(kBias + kSlope * likeliest)));
}

}  // namespace predgen
