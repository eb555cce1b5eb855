#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace predgen {

/// What was said so far, and prompts made of as much of it as the context holds. A round is a
/// user's message and what follows it; the oldest rounds go first, system messages stay. Used by
/// one thread; borrows the tokenizer.
class History {
 public:
  /// Tokens of the whole context, and how many of them a prompt with history leaves to its answer.
  struct Room {
    int64_t context_length = 0, answer_length = 0;
  };

  /// `system_prompt` empty: none.
  History(const Tokenizer& tokenizer, const std::string& system_prompt);

  /// All but the system messages.
  std::vector<Message> rounds() const;
  /// Another one; the rounds stay.
  void set_system_prompt(const std::string& text);
  /// What the model may call from now on.
  void set_tools(const ToolSet& tools);
  /// Whether nothing new of the user is needed: the last message is what a function said.
  bool goes_on_without(const std::string& user_text) const;
  /// Other rounds; the system prompt stays.
  void replace(const std::vector<Message>& messages);
  void add(const Message& message);
  /// The last message, an answer, has this text; empty, and no calls: it is forgotten, with what
  /// the user said before it. Nothing changes if it has this text already.
  void cut_answer(const std::string& text);
  /// Forgets the oldest rounds.
  void drop(int64_t num_rounds);

  struct Prompt {
    TokenIds ids;
    int64_t dropped_rounds = 0;
  };
  /// History, `user_text` (unless it goes on without) and the generation prompt. If that leaves too
  /// little room, the history is shortened to half of the context, so that the next turns find
  /// their prefix cached again; to less if need be. A prompt that is too long without any history
  /// is still returned.
  Prompt prompt(const std::string& user_text, const Room& room) const;

  /// The history's own tokens, which the next prompt most likely begins with; may be empty.
  TokenIds tokens(const Room& room) const;

 private:
  int64_t num_rounds() const;
  /// The messages from round `first` on, after the system messages.
  std::vector<Message> from_round(int64_t first) const;
  TokenIds render(int64_t first) const;
  TokenIds render(int64_t first, const std::string& user_text) const;
  /// How it is made shorter.
  struct Cut {
    int64_t context_length = 0;
    /// The fewest rounds to drop, at least one, to have at most half of the context taken.
    int64_t num_dropped = 1;
    bool is_far_too_long = false;  // without it, whatever is asked next
  };
  /// Looks at the newest rounds only, a few times as many as the context holds.
  const Cut& cut(int64_t context_length) const;
  bool is_far_too_long(int64_t context_length) const;

  const Tokenizer& tokenizer_;
  std::vector<Message> messages_;
  ToolSet tools_;
  mutable std::optional<Cut> cut_;  // of these messages
};

}  // namespace predgen
