#pragma once

#include <algorithm>

#include "text/token_ids.h"

namespace predgen {

/// Whether `token` ends an answer; `stop_tokens` as from Tokenizer::stop_tokens().
inline bool is_stop_token(TokenSpan stop_tokens, TokenId token) {
  return std::ranges::find(stop_tokens, token) != stop_tokens.end();
}

/// `answer` without the stop token at its end, if it has one.
inline TokenSpan without_stop_token(TokenSpan answer, TokenSpan stop_tokens) {
  const bool stopped = !answer.empty() && is_stop_token(stop_tokens, answer.back());
  return stopped ? answer.first(answer.size() - 1) : answer;
}

}  // namespace predgen
