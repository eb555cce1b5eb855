#include "runtime/generate/token_constraint.h"

#include <utility>

#include "core/text.h"
#include "text/utf8.h"

namespace predgen {

std::unique_ptr<TokenConstraint> GrammarConstraint::fork() const {
  return std::unique_ptr<TokenConstraint>(
      new GrammarConstraint(grammar_, tokenizer_, matcher_.fork()));
}

TokenIds GrammarConstraint::forced(int64_t most) const {
  std::string text = matcher_.forced_text();
  text.resize(complete_utf8_length(text));
  if (text.empty() || !begins_character(text.front())) return {};
  // Marks of calls and channels are control tokens; others that a form spells are not allowed.
  TokenIds tokens = tokenizer_.encode_special(text);
  if (tokenizer_.decode_next(tokens, /*keep_special=*/true) != text) {
    tokens = matcher_.forced_tokens();
  }
  if (std::ssize(tokens) > most) tokens.resize(static_cast<size_t>(most));
  return tokens;
}

}  // namespace predgen
