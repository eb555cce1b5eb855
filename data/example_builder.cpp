#include "data/example_builder.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"
#include "runtime/converse/session_options.h"

namespace predgen::data {
namespace {

bool has_system(const CorpusConversation& conversation) {
  return !conversation.messages.empty() && conversation.messages.front().role == "system";
}

int64_t first_target(const Record& record) {
  return std::ranges::find(record.loss_mask, 1) - record.loss_mask.begin();
}

/// Whether a message may come after `before`, which is null for the first.
bool may_follow(const Message* before, const Message& message) {
  const std::string& last = before != nullptr ? before->role : "assistant";
  if (message.role == "assistant") return last == "user" || last == "tool";
  if (message.role == "tool") {
    return last == "tool" || (before != nullptr && !before->tool_calls.empty());
  }
  return message.role == "user" && last == "assistant";
}

}  // namespace

std::string drop_name(Drop drop) {
  switch (drop) {
    case Drop::kEmptyConversation:
      return "empty_conversation";
    case Drop::kToolCalls:
      return "tool_calls";
    case Drop::kUnknownRole:
      return "unknown_role";
    case Drop::kNoText:
      return "no_text";
    case Drop::kBrokenText:
      return "broken_text";
    case Drop::kWrongRoles:
      return "wrong_roles";
    case Drop::kEmptyMessage:
      return "empty_message";
    case Drop::kMinTurns:
      return "min_turns";
    case Drop::kNoAnswer:
      return "no_answer";
    case Drop::kLanguage:
      return "language";
    case Drop::kNoLanguage:
      return "no_language";
    case Drop::kRedacted:
      return "redacted";
    case Drop::kFlagged:
      return "flagged";
  }
  throw Error("drop {} has no name", static_cast<int>(drop));
}

int64_t num_rounds(const CorpusConversation& conversation) {
  return std::ranges::count(conversation.messages, "assistant", &Message::role);
}

std::optional<Drop> check_conversation(const CorpusConversation& conversation,
                                       const FilterConfig& filters, ExampleLaw law) {
  if (conversation.fault) return conversation.fault;
  const std::vector<Message>& messages = conversation.messages;
  const size_t first = has_system(conversation) ? 1 : 0;
  if (messages.size() == first) return Drop::kEmptyConversation;
  for (size_t i = first; i < messages.size(); ++i) {
    const Message& message = messages[i];
    const bool is_of_tools = message.role == "tool" || !message.tool_calls.empty();
    if (is_of_tools && law == ExampleLaw::kTruncated) return Drop::kToolCalls;
    if (!may_follow(i == first ? nullptr : &messages[i - 1], message)) return Drop::kWrongRoles;
  }
  for (const Message& message : messages) {
    if (is_blank(message.content) && message.tool_calls.empty()) return Drop::kEmptyMessage;
  }
  const int64_t rounds = num_rounds(conversation);
  if (rounds == 0 && law != ExampleLaw::kTruncated) return Drop::kNoAnswer;
  if (std::max<int64_t>(1, rounds) < filters.min_turns) return Drop::kMinTurns;
  return check_filters(conversation, filters);
}

std::optional<Drop> check_filters(const CorpusConversation& conversation,
                                  const FilterConfig& filters) {
  const auto& languages = filters.languages;
  if (!languages.empty() &&
      std::find(languages.begin(), languages.end(), conversation.language) == languages.end()) {
    return conversation.language.empty() ? Drop::kNoLanguage : Drop::kLanguage;
  }
  if (filters.drop_redacted && conversation.redacted) return Drop::kRedacted;
  if (filters.drop_flagged && conversation.flagged) return Drop::kFlagged;
  return std::nullopt;
}

ExampleBuilder::ExampleBuilder(const Tokenizer& tokenizer, const std::string& system_prompt)
    : tokenizer_(tokenizer) {
  if (system_prompt != "row") system_text_ = system_prompt_text(system_prompt);
}

std::vector<Message> ExampleBuilder::first_messages(const CorpusConversation& conversation) const {
  if (!system_text_) {
    if (!has_system(conversation)) return {};
    return {conversation.messages.front()};
  }
  if (system_text_->empty()) return {};
  return {{"system", *system_text_}};
}

bool ExampleBuilder::replaces_system(const CorpusConversation& conversation) const {
  return system_text_ && has_system(conversation) &&
         conversation.messages.front().content != *system_text_;
}

/// What the template makes of a message's calls, behind its `prompt`: the tokens that the model
/// itself writes, marks among them.
TokenIds ExampleBuilder::ids_of_calls(const std::vector<Message>& messages, const ToolSet& tools,
                                      const TokenIds& prompt, TokenId end) const {
  TokenIds all = tokenizer_.render_chat(messages, /*add_generation_prompt=*/false, tools);
  const auto last = std::ranges::find(all.rbegin(), all.rend(), end);
  const auto begin = all.begin() + std::min(std::ssize(prompt), std::ssize(all));
  if (!std::equal(prompt.begin(), prompt.end(), all.begin(), begin) || last == all.rend() ||
      last.base() - 1 < begin) {
    throw UserError("the chat template does not put calls of functions where answers begin");
  }
  return {begin, last.base() - 1};
}

/// `messages` ends in an answer with its ids, or with calls: sets record.tokens to the template's
/// text before it, the answer and its stop token, and extends the mask by the prompt and the last
/// two. The whole is not rendered at once: some templates put other text before an answer that
/// already exists.
void ExampleBuilder::append_target(const std::vector<Message>& messages, const ToolSet& tools,
                                   Record& record) const {
  const std::optional<TokenId> end = tokenizer_.answer_end();
  if (!end) {
    throw UserError(
        "the chat template does not have one token after an answer, or its answers do "
        "not follow its generation prompt");
  }
  TokenIds prompt = tokenizer_.render_chat({messages.begin(), messages.end() - 1},
                                           /*add_generation_prompt=*/true, tools);
  const Message& said = messages.back();
  const TokenIds answer =
      said.tool_calls.empty() ? said.ids : ids_of_calls(messages, tools, prompt, *end);
  if (record.tokens.size() > prompt.size() ||
      !std::equal(record.tokens.begin(), record.tokens.end(), prompt.begin())) {
    throw UserError(
        "the chat template changes earlier turns (some move the system message to the "
        "last question), so not every answer can be a target; use the law \"truncated\""
        ", or no system message");
  }
  record.prompt_length = static_cast<int64_t>(prompt.size());
  record.loss_mask.resize(prompt.size(), 0);
  record.tokens = std::move(prompt);
  record.tokens.insert(record.tokens.end(), answer.begin(), answer.end());
  record.tokens.push_back(*end);
  record.loss_mask.resize(record.tokens.size(), 1);
}

Record ExampleBuilder::truncated(const CorpusConversation& conversation, Random random) const {
  Record record;
  record.conversation_id = conversation.id;
  const bool has_answer = num_rounds(conversation) > 0;
  if (has_answer) {
    record.round =
        static_cast<int64_t>(random.below(static_cast<uint64_t>(num_rounds(conversation))));
  }
  std::vector<Message> messages = first_messages(conversation);
  const size_t first = has_system(conversation) ? 1 : 0;
  const size_t last = first + 2 * static_cast<size_t>(record.round);
  for (size_t i = first; i <= (has_answer ? last + 1 : last); ++i) {
    Message message = conversation.messages[i];
    if (message.role == "assistant" || i == last) message.ids = tokenizer_.encode(message.content);
    if (i == last) {
      message.ids.resize(random.below(message.ids.size() + 1));
      message.content.clear();  // replaced by ids; used if k = 0
    }
    messages.push_back(std::move(message));
  }
  if (has_answer) {
    append_target(messages, {}, record);
  } else {
    record.tokens = tokenizer_.render_chat(messages, /*add_generation_prompt=*/true);
    record.prompt_length = static_cast<int64_t>(record.tokens.size());
    record.loss_mask.resize(record.tokens.size(), 0);
  }
  return record;
}

Record ExampleBuilder::whole(const CorpusConversation& conversation) const {
  Record record;
  record.conversation_id = conversation.id;
  record.round = num_rounds(conversation) - 1;
  std::vector<Message> messages = first_messages(conversation);
  for (size_t i = has_system(conversation) ? 1 : 0; i < conversation.messages.size(); ++i) {
    messages.push_back(conversation.messages[i]);
    Message& message = messages.back();
    if (message.role != "assistant") continue;
    if (message.tool_calls.empty()) message.ids = tokenizer_.encode(message.content);
    append_target(messages, conversation.tools, record);
  }
  return record;
}

Record ExampleBuilder::alone(const CorpusConversation& conversation) const {
  std::vector<CorpusConversation> questions;
  const size_t first = has_system(conversation) ? 1 : 0;
  CorpusConversation before = conversation;  // the system message alone
  before.messages.resize(first);
  for (size_t i = first; i < conversation.messages.size(); ++i) {
    const Message& message = conversation.messages[i];
    if (message.role == "user") questions.push_back(before);
    questions.back().messages.push_back(message);
  }
  if (questions.back().messages.back().role == "user") questions.pop_back();  // has no answer
  Record record = whole(questions.front());
  record.round = num_rounds(conversation) - 1;
  if (questions.size() == 1) return record;
  std::vector<Record> others;
  int64_t shared = first_target(record) - 1;
  for (size_t i = 1; i < questions.size(); ++i) {
    const Record& other = others.emplace_back(whole(questions[i]));
    // A branch's first token is never a target, as nothing in it predicts it.
    shared = std::min(shared, first_target(other) - 1);
    const auto begin = record.tokens.begin();
    shared = std::mismatch(begin, begin + shared, other.tokens.begin()).first - begin;
  }
  if (shared < 1) {
    throw UserError("the questions share no token to begin with: use the law \"whole\"");
  }
  record.branches.push_back(shared);
  for (const Record& other : others) {
    record.branches.push_back(std::ssize(record.tokens));
    record.prompt_length = std::ssize(record.tokens) + other.prompt_length - shared;
    record.tokens.insert(record.tokens.end(), other.tokens.begin() + shared, other.tokens.end());
    record.loss_mask.insert(record.loss_mask.end(), other.loss_mask.begin() + shared,
                            other.loss_mask.end());
  }
  return record;
}

}  // namespace predgen::data
