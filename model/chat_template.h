#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/tokenizer.h"

namespace predgen {

/// How a conversation becomes one id sequence. The families that are known are recognised by what
/// their Jinja template says; Jinja itself is not run.
class ChatTemplate {
 public:
  struct Control {
    std::string token;  // a special token's text
  };
  struct Text {
    std::string text;  // encoded as one run
  };
  using Segment = std::variant<Control, Text, TokenIds>;

  /// UserError naming `where` and the known templates if `jinja` is none of them.
  static ChatTemplate recognise(const std::string& jinja, const std::string& where);

  std::vector<Segment> render(const std::vector<Message>& messages,
                              bool add_generation_prompt) const;

  /// What ends an assistant's answer.
  const std::string& end_token() const { return end_token_; }
  /// Inserted when the first message is not a system message; none for plain ChatML.
  const std::optional<std::string>& default_system() const { return default_system_; }

 private:
  std::string start_token_, end_token_;
  std::optional<std::string> default_system_;
};

}  // namespace predgen
