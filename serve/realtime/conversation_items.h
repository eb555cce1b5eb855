#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace predgen::serve {

/// One message of a conversation, as a client sees it; or a function call, or its result.
struct ConversationItem {
  std::string id, role;  // "system", "user" or "assistant"; "tool": a function's result
  std::string text;
  std::string status = "completed";
  int64_t num_samples = 0;         // of its sound; 0: it has none
  bool is_forgotten = false;       // it says nothing, nobody heard it, or its answer failed
  bool is_spoken = false;          // by the user; the text is what was understood
  bool is_own = false;             // an answer, whose length is bounded separately
  TokenIds ids{};                  // of a generated text that was not changed
  std::optional<ToolCall> call{};  // the assistant's, instead of a text
  std::string call_id{};           // of the call that a function's result belongs to
  /// Of an answer's first item: the messages of the answer that call tools of the server, and of
  /// what these said. The client sees nothing of them but their texts, as the beginning of `text`.
  std::vector<Message> rounds{};
};

/// The messages of a conversation, and the part of them that the model sees, which has the calls of
/// the server's tools, too. Consecutive user messages become one message, each on its own line.
/// Used by one thread at a time.
class ConversationItems {
 public:
  /// Adds it after the item `previous`; empty: at the end; "root": before all. ApiError if there is
  /// no such item or call, the new one's id is taken, or the conversation is too long.
  const ConversationItem& add(ConversationItem item, const std::string& previous = {});
  bool contains(const std::string& id) const;
  /// ApiError if there is none. `param`: the name of the event's field.
  ConversationItem& find(const std::string& id, const std::string& param = "item_id");
  void remove(const std::string& id);
  /// Cuts the text to what was heard in `milliseconds` of its sound, whole words only. ApiError if
  /// it has none.
  void truncate(const std::string& id, int64_t milliseconds);
  /// Messages that got no answer will not be asked again.
  void forget_pending();

  /// Empty: there is none.
  std::string last_id() const { return items_.empty() ? "" : items_.back().id; }
  /// The item before this one; empty: none.
  std::string previous(const std::string& id) const;
  /// The texts of system messages, a paragraph each.
  std::string system_text() const;
  /// Alternating user and assistant messages, without pending ones. Function results come before
  /// those.
  std::vector<Message> history() const;
  /// Whether the assistant can go on without the user: there is a function result.
  bool goes_on() const;
  /// What the user has said since the last answer; empty: nothing.
  std::string pending() const;

 private:
  /// Adds the rounds of an item, with as much of their texts as it has, and without calls of the
  /// client's functions whose items are gone. Returns the text behind them.
  std::string add_rounds(const ConversationItem& item, std::vector<Message>& rounds) const;

  std::list<ConversationItem> items_;
  size_t num_bytes_ = 0;  // of all that were ever added
};

}  // namespace predgen::serve
