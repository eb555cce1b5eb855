#pragma once

#include "runtime/engine/baton.h"
#include "text/tokenizer.h"

namespace predgen::serve {

/// A tokenizer for threads that hold a baton: they give it up while rendering a conversation, which
/// takes long if that is long. Borrows both.
class RestingTokenizer : public Tokenizer {
 public:
  RestingTokenizer(const Tokenizer& tokenizer, Baton& baton)
      : tokenizer_(tokenizer), baton_(baton) {}

  TokenIds render_chat(const std::vector<Message>& messages, bool add_generation_prompt,
                       const ToolSet& tools, const std::string& variables) const override {
    const Baton::Rest rest(baton_);
    return tokenizer_.render_chat(messages, add_generation_prompt, tools, variables);
  }

  std::string thinking_switch(bool thinks) const override {
    return tokenizer_.thinking_switch(thinks);
  }

  TokenIds encode(std::string_view text) const override { return tokenizer_.encode(text); }
  TokenIds encode_special(std::string_view text) const override {
    return tokenizer_.encode_special(text);
  }
  const TextFrame& text_frame() const override { return tokenizer_.text_frame(); }
  std::string decode(TokenSpan tokens, bool keep_special) const override {
    return tokenizer_.decode(tokens, keep_special);
  }
  std::string decode_next(TokenSpan tokens, bool keep_special) const override {
    return tokenizer_.decode_next(tokens, keep_special);
  }
  ToolFormat tool_format() const override { return tokenizer_.tool_format(); }
  const TokenIds& stop_tokens() const override { return tokenizer_.stop_tokens(); }
  std::optional<TokenId> answer_end() const override { return tokenizer_.answer_end(); }
  int64_t vocab_size() const override { return tokenizer_.vocab_size(); }
  std::string content_hash() const override { return tokenizer_.content_hash(); }

 private:
  const Tokenizer& tokenizer_;
  Baton& baton_;
};

}  // namespace predgen::serve
