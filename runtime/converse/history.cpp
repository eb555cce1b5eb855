#include "runtime/converse/history.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "core/error.h"
#include "core/text.h"

namespace predgen {
namespace {

bool is_role(const Message& message, const char* role) { return message.role == role; }

/// The first of [begin, end) that fits, else `end`; after one that fits, all do.
int64_t first_that_fits(int64_t begin, int64_t end, const std::function<bool(int64_t)>& fits) {
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (fits(middle)) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

int64_t size_of(const TokenIds& ids) { return static_cast<int64_t>(ids.size()); }

}  // namespace

History::History(const Tokenizer& tokenizer, const std::string& system_prompt)
    : tokenizer_(tokenizer) {
  set_system_prompt(system_prompt);
}

void History::set_system_prompt(const std::string& text) {
  cut_.reset();
  messages_ = rounds();
  if (!text.empty()) messages_.insert(messages_.begin(), {.role = "system", .content = text});
}

std::vector<Message> History::rounds() const {
  std::vector<Message> rounds;
  std::ranges::copy_if(messages_, std::back_inserter(rounds),
                       [](const Message& message) { return !is_role(message, "system"); });
  return rounds;
}

void History::set_tools(const ToolSet& tools) {
  cut_.reset();
  tools_ = tools;
}

void History::set_variables(const std::string& variables) {
  cut_.reset();
  variables_ = variables;
}

void History::add(const Message& message) {
  cut_.reset();
  messages_.push_back(message);
}

void History::cut_answer(const std::string& text) {
  Message& answer = messages_.back();
  PREDGEN_CHECK(is_role(answer, "assistant"), "the last message is no answer");
  if (answer.content == text) return;
  cut_.reset();
  answer.content = text;
  answer.ids.clear();
  if (!text.empty() || !answer.tool_calls.empty()) return;
  messages_.pop_back();
  if (!messages_.empty() && is_role(messages_.back(), "user")) messages_.pop_back();
}

void History::replace(const std::vector<Message>& messages) {
  cut_.reset();
  messages_.erase(std::ranges::find_if_not(
                      messages_, [](const Message& message) { return is_role(message, "system"); }),
                  messages_.end());
  messages_.insert(messages_.end(), messages.begin(), messages.end());
}

bool History::goes_on_without(const std::string& user_text) { return is_blank(user_text); }

void History::drop(int64_t num_rounds) {
  cut_.reset();
  messages_ = from_round(num_rounds);
}

TokenIds History::opening() const {
  std::vector<Message> messages = messages_;
  std::erase_if(messages, [](const Message& message) { return !is_role(message, "system"); });
  const auto asked = [&](const std::string& text) {
    messages.push_back({.role = "user", .content = text});
    const TokenIds ids =
        tokenizer_.render_chat(messages, /*add_generation_prompt=*/true, tools_, variables_);
    messages.pop_back();
    return ids;
  };
  try {
    TokenIds ids = asked("?");
    const TokenIds other = asked("a");
    const auto differs = std::ranges::mismatch(ids, other).in1;
    if (differs == ids.begin() || differs == ids.end()) return {};
    ids.erase(std::next(differs), ids.end());
    return ids;
  } catch (const UserError&) {  // which the first turn tells
    return {};
  }
}

int64_t History::num_rounds() const {
  return std::ranges::count_if(messages_,
                               [](const Message& message) { return is_role(message, "user"); });
}

std::vector<Message> History::from_round(int64_t first) const {
  if (first == 0) return messages_;
  std::vector<Message> kept;
  int64_t round = -1;
  for (const Message& message : messages_) {
    round += is_role(message, "user");
    if (round >= first || is_role(message, "system")) kept.push_back(message);
  }
  return kept;
}

TokenIds History::render(int64_t first) const {
  const std::vector<Message> messages = from_round(first);
  if (messages.empty()) return {};
  return tokenizer_.render_chat(messages, /*add_generation_prompt=*/false, tools_, variables_);
}

TokenIds History::render(int64_t first, const std::string& user_text) const {
  std::vector<Message> messages = from_round(first);
  if (goes_on_without(user_text)) {
    if (std::optional<TokenIds> ids = render_without_user(messages)) return *std::move(ids);
  }
  messages.push_back({.role = "user", .content = user_text});
  return tokenizer_.render_chat(messages, /*add_generation_prompt=*/true, tools_, variables_);
}

std::optional<TokenIds> History::render_without_user(const std::vector<Message>& messages) const {
  if (messages.empty()) return std::nullopt;
  const bool is_result = is_role(messages.back(), "tool");
  try {
    return tokenizer_.render_chat(messages, /*add_generation_prompt=*/true, tools_, variables_);
  } catch (const UserError&) {
    if (is_result) throw;
    return std::nullopt;
  }
}

bool History::is_far_too_long(int64_t context_length) const {
  constexpr int64_t kBytesPerToken = 8;  // more than usual
  int64_t num_bytes = 0;
  for (const Message& message : messages_) num_bytes += std::ssize(message.content);
  const bool is_known = cut_ && cut_->context_length == context_length;
  return (is_known || num_bytes > kBytesPerToken * context_length) &&
         cut(context_length).is_far_too_long;
}

const History::Cut& History::cut(int64_t context_length) const {
  if (cut_ && cut_->context_length == context_length) return *cut_;
  const int64_t num_rounds = this->num_rounds(), half = context_length / 2;
  Cut found{.context_length = context_length};
  int64_t begin = 1, end = num_rounds;
  for (int64_t newest = 1; newest < num_rounds && !found.is_far_too_long; newest *= 2) {
    const int64_t first = num_rounds - newest, size = size_of(render(first));
    if (size <= half) {
      end = first;
    } else {
      begin = std::max(begin, first + 1);
    }
    found.is_far_too_long = size > 2 * context_length;
  }
  found.num_dropped =
      first_that_fits(begin, end, [&](int64_t first) { return size_of(render(first)) <= half; });
  return cut_.emplace(found);
}

History::Prompt History::prompt(const std::string& user_text, const Room& room) const {
  const int64_t limit = room.context_length - room.answer_length;
  // The round that the answer continues has to stay.
  const int64_t most = num_rounds() - (goes_on_without(user_text) ? 1 : 0);
  if (most <= 0 || !is_far_too_long(room.context_length)) {
    TokenIds whole = render(0, user_text);
    if (most <= 0 || size_of(whole) <= limit) return {std::move(whole), 0};
  }
  int64_t first = std::min(cut(room.context_length).num_dropped, most);
  TokenIds ids = render(first, user_text);
  if (size_of(ids) > limit && first < most) {
    first = first_that_fits(first + 1, most, [&](int64_t candidate) {
      return size_of(render(candidate, user_text)) <= limit;
    });
    ids = render(first, user_text);
  }
  return {std::move(ids), first};
}

TokenIds History::tokens(const Room& room) const {
  if (num_rounds() == 0 || !is_far_too_long(room.context_length)) {
    TokenIds whole = render(0);
    const bool fits = size_of(whole) <= room.context_length - room.answer_length;
    if (fits || num_rounds() == 0) return whole;
  }
  return render(cut(room.context_length).num_dropped);
}

}  // namespace predgen
