#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/random.h"
#include "data/build_config.h"
#include "data/conversation.h"
#include "data/dataset_store.h"
#include "text/tokenizer.h"

namespace predgen::data {

/// The name of the counter.
std::string drop_name(Drop drop);

/// The first rule that drops the conversation as a whole. A last user message without an answer is
/// allowed: only complete rounds are used. If there is nothing else, `law` must be kTruncated; for
/// calls of functions and their results it must not.
std::optional<Drop> check_conversation(const CorpusConversation& conversation,
                                       const FilterConfig& filters, ExampleLaw law);

/// Only the checks of the row's fields: language, redacted and flagged.
std::optional<Drop> check_filters(const CorpusConversation& conversation,
                                  const FilterConfig& filters);

/// The answers of a conversation that check_conversation() passed, or calls in their place; a bare
/// prompt has none.
int64_t num_rounds(const CorpusConversation& conversation);

/// Makes token records of conversations that check_conversation() passed. History answers and
/// targets are encoded apart from the template, so that their tokens match those of a running
/// conversation. Thread-safe.
class ExampleBuilder {
 public:
  /// `system_prompt`: "row", the row's own system message, or what system_prompt_text() takes, in
  /// its place. `tokenizer` must outlive this.
  ExampleBuilder(const Tokenizer& tokenizer, const std::string& system_prompt);

  /// Round i ~ U[0, rounds) becomes the last; its prompt of L tokens keeps the first k ~ U[0, L];
  /// its answer and stop token are the target. A bare prompt becomes a record that ends with it and
  /// has no target.
  Record truncated(const CorpusConversation& conversation, Random random) const;
  /// All rounds; every answer and stop token is a target, and so are calls of functions, as the
  /// chat template writes them. UserError if it does not.
  Record whole(const CorpusConversation& conversation) const;
  /// whole() of each question, up to the next, with the system message alone before it: what all
  /// begin with stands once, and the rest of each is a branch.
  Record alone(const CorpusConversation& conversation) const;

  /// Whether the row has a system message that its examples lack.
  bool replaces_system(const CorpusConversation& conversation) const;

 private:
  std::vector<Message> first_messages(const CorpusConversation& conversation) const;
  TokenIds ids_of_calls(const std::vector<Message>& messages, const ToolSet& tools,
                        const TokenIds& prompt, TokenId end) const;
  void append_target(const std::vector<Message>& messages, const ToolSet& tools,
                     Record& record) const;

  const Tokenizer& tokenizer_;
  std::optional<std::string> system_text_;  // nullopt: the row's own; empty: none
};

}  // namespace predgen::data
