#include "text/grammar/grammar.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/error.h"
#include "text/grammar/compiled_grammar.h"

namespace predgen {

Grammar::Grammar(std::string name, std::shared_ptr<const Compiled> compiled)
    : name_(std::move(name)), compiled_(std::move(compiled)) {}

int64_t Grammar::num_bytes() const {
  return static_cast<int64_t>(compiled_->grammar.MemorySizeBytes());
}

struct GrammarMatcher::State {
  xgrammar::GrammarMatcher matcher;
  std::shared_ptr<const Grammar::Compiled> compiled;
};

GrammarMatcher::GrammarMatcher(const Grammar& grammar)
    : state_(std::make_unique<State>(
          State{xgrammar::GrammarMatcher(grammar.compiled_->grammar), grammar.compiled_})) {}
GrammarMatcher::GrammarMatcher(std::unique_ptr<State> state) : state_(std::move(state)) {}
GrammarMatcher::~GrammarMatcher() = default;
GrammarMatcher::GrammarMatcher(GrammarMatcher&&) noexcept = default;

GrammarMatcher GrammarMatcher::fork() const {
  return GrammarMatcher(std::make_unique<State>(State{state_->matcher.Fork(), state_->compiled}));
}

bool GrammarMatcher::accept(TokenId token) {
  const xgrammar::TokenizerInfo vocabulary = state_->compiled->grammar.GetTokenizerInfo();
  const std::vector<std::string>& texts = vocabulary.GetDecodedVocab();
  if (token < 0 || token >= std::ssize(texts) || texts[static_cast<size_t>(token)].empty()) {
    return false;
  }
  if (std::ranges::count(vocabulary.GetStopTokenIds(), token) > 0) return false;
  return state_->matcher.AcceptToken(static_cast<int32_t>(token));
}

bool GrammarMatcher::may_end() const { return state_->matcher.IsCompleted(); }

void GrammarMatcher::allow(std::span<uint32_t> words) const {
  int64_t size = std::ssize(words);
  DLTensor mask{.data = words.data(),
                .device = {kDLCPU, 0},
                .ndim = 1,
                .dtype = xgrammar::GetBitmaskDLType(),
                .shape = &size,
                .strides = nullptr,
                .byte_offset = 0};
  const xgrammar::TokenizerInfo vocabulary = state_->compiled->grammar.GetTokenizerInfo();
  PREDGEN_CHECK(size == xgrammar::GetBitmaskSize(vocabulary.GetVocabSize()), "{} words", size);
  state_->matcher.FillNextTokenBitmask(&mask);
  for (const int32_t token : vocabulary.GetStopTokenIds()) {
    words[static_cast<size_t>(token) / 32] &= ~(uint32_t{1} << (token % 32));
  }
  const auto used = static_cast<unsigned>(vocabulary.GetVocabSize() % 32);
  if (used != 0) words.back() &= (uint32_t{1} << used) - 1;
}

std::string GrammarMatcher::forced_text() const { return state_->matcher.FindJumpForwardString(); }

TokenIds GrammarMatcher::forced_tokens() const {
  const std::vector<int32_t> tokens = state_->matcher.FindJumpForwardTokens();
  return {tokens.begin(), tokens.end()};
}

}  // namespace predgen
