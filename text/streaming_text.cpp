#include "text/streaming_text.h"

#include "text/utf8.h"

namespace predgen {

std::string StreamingText::push(TokenSpan tokens) {
  if (begun_) {
    pending_ += tokenizer_->decode_next(tokens);
  } else {
    // Together with earlier tokens, which had no text: the part dropped at the start may span
    // several tokens.
    first_.insert(first_.end(), tokens.begin(), tokens.end());
    pending_ = tokenizer_->decode(first_);
    begun_ = !pending_.empty();
  }
  const size_t length = complete_utf8_length(pending_);
  std::string complete = replace_ill_formed_utf8(pending_.substr(0, length));
  pending_.erase(0, length);
  text_ += complete;
  return complete;
}

std::string StreamingText::finish(TextEnd end) {
  std::string rest = end == TextEnd::kCut ? "" : replace_ill_formed_utf8(pending_);
  pending_.clear();
  text_ += rest;
  return rest;
}

}  // namespace predgen
