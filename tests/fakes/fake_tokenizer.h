#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "text/tokenizer.h"

namespace predgen {

/// Bytes are ids 0..255; then the control ids; then whole words given by the test, longest match
/// first. A message is <role> content <end>; <end> is the stop token.
class FakeTokenizer : public Tokenizer {
 public:
  static constexpr TokenId kSystem = 256, kUser = 257, kAssistant = 258, kEnd = 259;
  static constexpr TokenId kFirstWord = 260;

  explicit FakeTokenizer(std::vector<std::string> words = {}) : words_(std::move(words)) {}

  TokenIds encode(std::string_view text) const override { return encode_with(text, false); }
  TokenIds encode_special(std::string_view text) const override { return encode_with(text, true); }

  std::string decode(TokenSpan tokens, bool keep_special = false) const override {
    std::string text;
    for (const TokenId token : tokens) {
      if (token < 0 || token >= vocab_size()) throw UserError("unknown token id {}", token);
      if (token < kSystem) {
        text.push_back(static_cast<char>(token));
      } else if (token >= kFirstWord) {
        text += words_[static_cast<size_t>(token - kFirstWord)];
      } else if (keep_special) {
        text += special_names()[static_cast<size_t>(token - kSystem)];
      }
    }
    return text;
  }

  std::string decode_next(TokenSpan tokens, bool keep_special = false) const override {
    return decode(tokens, keep_special);
  }
  const TextFrame& text_frame() const override { return text_frame_; }

  TokenIds render_chat(const std::vector<Message>& messages,
                       bool add_generation_prompt = true) const override {
    if (messages.empty()) throw UserError("no messages");
    TokenIds ids;
    for (const Message& message : messages) {
      ids.push_back(role_id(message.role));
      const TokenIds content = message.ids.empty() ? encode(message.content) : message.ids;
      ids.insert(ids.end(), content.begin(), content.end());
      ids.push_back(kEnd);
    }
    if (add_generation_prompt) ids.push_back(kAssistant);
    return ids;
  }

  const TokenIds& stop_tokens() const override { return stop_tokens_; }
  std::optional<TokenId> answer_end() const override { return kEnd; }
  int64_t vocab_size() const override { return kFirstWord + static_cast<int64_t>(words_.size()); }
  std::string content_hash() const override { return "fake"; }

 private:
  static const std::vector<std::string>& special_names() {
    static const std::vector<std::string> names{"<system>", "<user>", "<assistant>", "<end>"};
    return names;
  }
  static TokenId role_id(const std::string& role) {
    if (role == "system") return kSystem;
    if (role == "user") return kUser;
    if (role == "assistant") return kAssistant;
    throw UserError("no role '{}'", role);
  }

  TokenIds encode_with(std::string_view text, bool parse_special) const {
    TokenIds ids;
    while (!text.empty()) {
      TokenId best = static_cast<unsigned char>(text.front());
      size_t length = 1;
      const auto offer = [&](const std::string& word, TokenId id) {
        if (word.size() >= length && text.starts_with(word)) {
          best = id;
          length = word.size();
        }
      };
      for (size_t i = 0; i < words_.size(); ++i) {
        offer(words_[i], kFirstWord + static_cast<TokenId>(i));
      }
      if (parse_special) {
        for (size_t i = 0; i < 4; ++i) {
          offer(special_names()[i], kSystem + static_cast<TokenId>(i));
        }
      }
      ids.push_back(best);
      text.remove_prefix(length);
    }
    return ids;
  }

  std::vector<std::string> words_;
  TokenIds stop_tokens_{kEnd};
  TextFrame text_frame_;
};

}  // namespace predgen
