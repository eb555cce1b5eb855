#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "text/tokenizer.h"

namespace predgen {

/// Bytes are ids 0..255; then the control ids; then whole words given by the test, longest match
/// first. A message is <role> content <end>; <end> is the stop token. Tools are another system
/// message, calls are written as Hermes does, and what a function says is a user's. If the variable
/// enable_thinking is true, the generation prompt begins a thought.
class FakeTokenizer : public Tokenizer {
 public:
  static constexpr TokenId kSystem = 256, kUser = 257, kAssistant = 258, kEnd = 259;
  static constexpr TokenId kFirstWord = 260;

  explicit FakeTokenizer(std::vector<std::string> words = {},
                         ToolFormat tool_format = ToolFormat::kHermes)
      : words_(std::move(words)), tool_format_(tool_format) {}

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

  TokenIds render_chat(const std::vector<Message>& messages, bool add_generation_prompt = true,
                       const ToolSet& tools = {},
                       const std::string& variables = {}) const override {
    if (messages.empty()) throw UserError("no messages");
    TokenIds ids;
    const auto add = [&](TokenId role, const TokenIds& content) {
      ids.push_back(role);
      ids.insert(ids.end(), content.begin(), content.end());
      ids.push_back(kEnd);
    };
    if (!tools.empty()) add(kSystem, encode(tools.json));
    for (const Message& message : messages) {
      const bool has_ids = !message.ids.empty() && message.tool_calls.empty();
      add(role_id(message.role), has_ids ? message.ids : encode(content_of(message)));
    }
    if (!add_generation_prompt) return ids;
    ids.push_back(kAssistant);
    if (variables.find(R"("enable_thinking":true)") == std::string::npos) return ids;
    const TokenIds thought = encode("<think>");
    ids.insert(ids.end(), thought.begin(), thought.end());
    return ids;
  }

  std::string thinking_switch(bool thinks) const override {
    if (!can_think) return {};
    return thinks ? R"({"enable_thinking":true})" : R"({"enable_thinking":false})";
  }
  ToolFormat tool_format() const override { return tool_format_; }
  const TokenIds& stop_tokens() const override { return stop_tokens_; }
  std::optional<TokenId> answer_end() const override { return kEnd; }
  int64_t vocab_size() const override { return kFirstWord + static_cast<int64_t>(words_.size()); }
  std::string content_hash() const override { return "fake"; }

  bool can_think = false;  // there is a switch

 private:
  static const std::vector<std::string>& special_names() {
    static const std::vector<std::string> names{"<system>", "<user>", "<assistant>", "<end>"};
    return names;
  }
  static TokenId role_id(const std::string& role) {
    if (role == "system") return kSystem;
    if (role == "user" || role == "tool") return kUser;
    if (role == "assistant") return kAssistant;
    throw UserError("no role '{}'", role);
  }

  static std::string content_of(const Message& message) {
    std::string text = message.role == "tool" ? "<" + message.tool_call_id + ">" + message.content
                                              : message.content;
    for (const ToolCall& call : message.tool_calls) {
      text += "<tool_call>{\"name\": \"" + call.name + "\", \"arguments\": " + call.arguments +
              "}</tool_call>";
    }
    return text;
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
  ToolFormat tool_format_;
  TokenIds stop_tokens_{kEnd};
  TextFrame text_frame_;
};

}  // namespace predgen
