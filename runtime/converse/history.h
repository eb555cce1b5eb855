#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace predgen {

/// The conversation so far, and prompts with as much of it as the context holds. A round is a user
/// message and what follows it; the oldest rounds are dropped first, system messages stay. Used by
/// one thread; borrows the tokenizer.
class History {
 public:
  /// Tokens of the whole context, and how many a prompt with history leaves for the answer.
  struct Room {
    int64_t context_length = 0, answer_length = 0;
  };

  /// `system_prompt` empty: none.
  History(const Tokenizer& tokenizer, const std::string& system_prompt);

  /// All but the system messages.
  std::vector<Message> rounds() const;
  /// Replaces the system prompt; the rounds stay.
  void set_system_prompt(const std::string& text);
  /// What the model may call from now on.
  void set_tools(const ToolSet& tools);
  /// Variables of the chat template, as Tokenizer::render_chat() takes them.
  void set_variables(const std::string& variables);
  /// Whether no user text is added, because it is blank: the answer goes on after a function's
  /// result, or the assistant speaks by itself.
  static bool goes_on_without(const std::string& user_text);
  /// Replaces the rounds; the system prompt stays.
  void replace(const std::vector<Message>& messages);
  void add(const Message& message);
  /// Cuts the last message, an answer, to this text; if that is empty and it has no calls, forgets
  /// it and the user message before it. No change if it has this text already.
  void cut_answer(const std::string& text);
  /// Forgets the oldest rounds.
  void drop(int64_t num_rounds);

  struct Prompt {
    TokenIds ids;
    int64_t dropped_rounds = 0;
  };
  /// History, `user_text` (unless goes_on_without() it; then an empty message only if the template
  /// has to have one) and the generation prompt. If that leaves
  /// too little room, the history is shortened to half of the context, so that the next turns find
  /// their prefix cached again; to less if need be. A prompt that is too long without any history
  /// is still returned.
  Prompt prompt(const std::string& user_text, const Room& room) const;

  /// The history's own tokens, which the next prompt most likely begins with; may be empty.
  TokenIds tokens(const Room& room) const;

  /// What the prompts of all conversations with this system prompt and these tools begin with,
  /// before the user's first word, and one token more. Empty: there is nothing like that.
  TokenIds opening() const;

 private:
  int64_t num_rounds() const;
  /// The messages from round `first` on, after the system messages.
  std::vector<Message> from_round(int64_t first) const;
  TokenIds render(int64_t first) const;
  TokenIds render(int64_t first, const std::string& user_text) const;
  /// The messages with the generation prompt; nullopt: the template wants a user's message at the
  /// end.
  std::optional<TokenIds> render_without_user(const std::vector<Message>& messages) const;
  /// How the history is shortened.
  struct Cut {
    int64_t context_length = 0;
    /// The fewest rounds to drop, at least one, so that the rest takes at most half the context.
    int64_t num_dropped = 1;
    bool is_far_too_long = false;  // without dropping rounds, whatever is asked next
  };
  /// Looks at the newest rounds only, a few times as many as the context holds.
  const Cut& cut(int64_t context_length) const;
  bool is_far_too_long(int64_t context_length) const;

  const Tokenizer& tokenizer_;
  std::vector<Message> messages_;
  ToolSet tools_;
  std::string variables_;
  mutable std::optional<Cut> cut_;  // of these messages
};

}  // namespace predgen
