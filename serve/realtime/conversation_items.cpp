#include "serve/realtime/conversation_items.h"

#include <algorithm>
#include <utility>

#include "runtime/speech/spoken_answer.h"
#include "serve/api_error.h"
#include "serve/realtime/realtime_settings.h"
#include "serve/request_fields.h"
#include "serve/tool_request.h"

namespace predgen::serve {
namespace {

/// Limits on what a client can make the server hold.
constexpr size_t kMaxBytes = 1 << 20, kBytesPerItem = 64;

/// Adds it at the end, but before what the user has said meanwhile.
void add_output(const ConversationItem& item, std::vector<Message>& rounds) {
  if (!has_call(rounds, item.call_id)) return;  // it was deleted
  const auto place = rounds.back().role == "user" ? rounds.end() - 1 : rounds.end();
  rounds.insert(place, {.role = "tool", .content = item.text, .tool_call_id = item.call_id});
}

size_t size_of(const ConversationItem& item) {
  size_t size = kBytesPerItem + item.id.size() + item.text.size() + item.call_id.size();
  if (item.call)
    size += item.call->id.size() + item.call->name.size() + item.call->arguments.size();
  for (const Message& round : item.rounds) size += kBytesPerItem + round.content.size();
  return size;
}

}  // namespace

const ConversationItem& ConversationItems::add(ConversationItem item, const std::string& previous) {
  if (contains(item.id)) {
    RequestFields::fail_value("item.id", fmt::format("there is an item {} already", item.id));
  }
  const auto is_its_call = [&](const ConversationItem& one) {
    return one.call && one.call->id == item.call_id;
  };
  if (item.role == "tool" && std::ranges::none_of(items_, is_its_call)) {
    RequestFields::fail_value("item.call_id", fmt::format("there is no call {}", item.call_id));
  }
  const size_t size = size_of(item);
  if (!item.is_own && num_bytes_ + size > kMaxBytes) {
    throw ApiError({.param = "item", .code = "conversation_too_long"},
                   "the conversation is too long: begin another one");
  }
  auto place = previous == "root" ? items_.begin() : items_.end();
  if (!previous.empty() && previous != "root") {
    const ConversationItem& before = find(previous, "previous_item_id");
    place = std::ranges::find_if(items_, [&](const auto& one) { return &one == &before; });
    ++place;
  }
  num_bytes_ += size;
  return *items_.insert(place, std::move(item));
}

bool ConversationItems::contains(const std::string& id) const {
  return std::ranges::any_of(items_, [&](const ConversationItem& one) { return one.id == id; });
}

ConversationItem& ConversationItems::find(const std::string& id, const std::string& param) {
  const auto found = std::ranges::find_if(items_, [&](const auto& one) { return one.id == id; });
  if (found != items_.end()) return *found;
  throw ApiError({.status = 404, .param = param, .code = "item_not_found"},
                 fmt::format("there is no item {}", id));
}

void ConversationItems::remove(const std::string& id) {
  const ConversationItem& item = find(id);
  items_.remove_if([&](const ConversationItem& one) { return &one == &item; });
}

void ConversationItems::truncate(const std::string& id, int64_t milliseconds) {
  ConversationItem& item = find(id);
  if (item.num_samples == 0) {
    throw ApiError({.param = "item_id", .code = "invalid_value"},
                   fmt::format("the item {} has no sound", id));
  }
  const double heard = static_cast<double>(milliseconds) * kRealtimeRate / 1000;
  if (heard >= static_cast<double>(item.num_samples)) return;
  const double share = heard / static_cast<double>(item.num_samples);
  item.text.resize(share_of_text(item.text, share).size());
  item.num_samples = std::max<int64_t>(1, static_cast<int64_t>(heard));
  item.ids.clear();
}

void ConversationItems::forget_pending() {
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    if (item->role == "assistant" && !item->is_forgotten) return;
    if (item->role == "user") item->is_forgotten = true;
  }
}

std::string ConversationItems::previous(const std::string& id) const {
  std::string before;
  for (const ConversationItem& item : items_) {
    if (item.id == id) return before;
    before = item.id;
  }
  return {};
}

std::string ConversationItems::system_text() const {
  std::string text;
  for (const ConversationItem& item : items_) {
    if (item.role == "system") text += (text.empty() ? "" : "\n\n") + item.text;
  }
  return text;
}

std::string ConversationItems::add_rounds(const ConversationItem& item,
                                          std::vector<Message>& rounds) const {
  const auto is_lost = [&](const ToolCall& call) {
    const auto is_its_item = [&](const ConversationItem& one) {
      return one.call && one.call->id == call.id;
    };
    return std::ranges::find(item.rounds, call.id, &Message::tool_call_id) == item.rounds.end() &&
           std::ranges::none_of(items_, is_its_item);
  };
  std::string left = item.text;
  for (Message round : item.rounds) {
    if (round.role == "assistant") {
      const std::string said = left.substr(0, round.content.size());
      left.erase(0, said.size());
      if (!said.empty() && left.starts_with(' ')) left.erase(0, 1);  // between two rounds
      if (said.size() < round.content.size()) round.ids.clear();
      round.content = said;
    }
    std::erase_if(round.tool_calls, is_lost);
    rounds.push_back(std::move(round));
  }
  return left;
}

std::vector<Message> ConversationItems::history() const {
  std::vector<Message> rounds;
  for (const ConversationItem& item : items_) {
    if (item.role == "system" || item.is_forgotten) continue;
    const std::string text = add_rounds(item, rounds);
    const bool is_same = !rounds.empty() && rounds.back().role == item.role;
    if (item.call) {
      if (has_call(rounds, item.call->id)) continue;  // beside one of a tool of the server
      if (!is_same) rounds.push_back({.role = item.role, .content = ""});
      rounds.back().tool_calls.push_back(*item.call);
    } else if (item.role == "tool") {
      add_output(item, rounds);
    } else if (is_same && rounds.back().tool_calls.empty()) {
      rounds.back().content += "\n" + text;
      rounds.back().ids.clear();
    } else if (item.rounds.empty() || !text.empty()) {
      rounds.push_back({.role = item.role, .content = text, .ids = item.ids});
    }
  }
  if (!rounds.empty() && rounds.back().role == "user") rounds.pop_back();
  return rounds;
}

bool ConversationItems::goes_on() const {
  const std::vector<Message> rounds = history();
  return !rounds.empty() && rounds.back().role == "tool";
}

std::string ConversationItems::pending() const {
  std::string text;
  for (const ConversationItem& item : items_) {
    if (item.role == "assistant" && !item.is_forgotten) text.clear();
    if (item.role == "user" && !item.is_forgotten) text += (text.empty() ? "" : "\n") + item.text;
  }
  return text;
}

}  // namespace predgen::serve
