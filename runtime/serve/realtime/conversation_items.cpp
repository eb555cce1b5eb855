#include "runtime/serve/realtime/conversation_items.h"

#include <algorithm>
#include <utility>

#include "runtime/serve/api_error.h"
#include "runtime/serve/new_id.h"
#include "runtime/serve/realtime/realtime_settings.h"
#include "runtime/serve/request_fields.h"

namespace predgen {
namespace {

/// Of what a client can have a server hold.
constexpr size_t kMaxBytes = 1 << 20, kBytesPerItem = 64;

std::string content_type(const ConversationItem& item) {
  if (item.role != "assistant") return item.is_spoken ? "input_audio" : "input_text";
  return item.num_samples > 0 ? "output_audio" : "output_text";
}

std::string parse_content(const Json& content, const ConversationItem& item,
                          const std::string& where) {
  if (!content.is_array()) RequestFields::fail_type(where, "a list of parts", content);
  std::string text;
  for (const Json& one : content) {
    RequestFields part(one, where);
    const std::string type = part.text("type", /*required=*/true).value();
    const bool is_text = type == "text" || type == content_type(item);
    if (!is_text) RequestFields::fail_unsupported(where, fmt::format("has no use for {}", type));
    text += part.text("text", /*required=*/true).value();
    part.finish();
  }
  return text;
}

/// How much of the text's first `size` bytes are whole words, or whole characters where there are
/// no spaces between words.
size_t whole_words(const std::string& text, size_t size) {
  constexpr size_t kLongestWord = 40;
  if (size >= text.size()) return text.size();
  const size_t space = text.rfind(' ', size);
  if (space != std::string::npos && size - space <= kLongestWord) return space;
  if (size <= kLongestWord && text.find(' ') <= kLongestWord) return 0;
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
  return size;
}

}  // namespace

ConversationItem parse_item(const Json& json, const std::string& where) {
  RequestFields fields(json, where);
  fields.any("type", /*required=*/true);
  fields.expect_neutral("type", {"message"});
  fields.expect_neutral("object", {"realtime.item"});
  fields.ignore("status");
  ConversationItem item{.id = fields.text("id").value_or(new_id("item_")),
                        .role = fields.text("role", /*required=*/true).value(),
                        .text = ""};
  if (item.role != "system" && item.role != "user" && item.role != "assistant") {
    RequestFields::fail_value(fields.full_name("role"), "must be system, user or assistant");
  }
  const std::string content = fields.full_name("content");
  item.text = parse_content(fields.any("content", /*required=*/true), item, content);
  if (item.text.empty()) RequestFields::fail_value(content, "must have a text");
  fields.finish();
  return item;
}

Json to_json(const ConversationItem& item) {
  const std::string type = content_type(item);
  const char* name = type.ends_with("audio") ? "transcript" : "text";
  return {{"id", item.id},     {"object", "realtime.item"},
          {"type", "message"}, {"status", item.status},
          {"role", item.role}, {"content", Json::array({Json{{"type", type}, {name, item.text}}})}};
}

const ConversationItem& ConversationItems::add(ConversationItem item, const std::string& previous) {
  if (contains(item.id)) {
    RequestFields::fail_value("item.id", fmt::format("there is an item {} already", item.id));
  }
  const size_t size = item.text.size() + kBytesPerItem;
  if (item.role != "assistant" && num_bytes_ + size > kMaxBytes) {
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
  // Speech goes on at about the same speed.
  const double share = heard / static_cast<double>(item.num_samples);
  const auto size = static_cast<size_t>(share * static_cast<double>(item.text.size()));
  item.text.resize(whole_words(item.text, size));
  item.num_samples = std::max<int64_t>(1, static_cast<int64_t>(heard));
  item.ids.clear();
}

void ConversationItems::forget_pending() {
  for (auto item = items_.rbegin(); item != items_.rend(); ++item) {
    if (item->role == "assistant") return;
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

std::vector<Message> ConversationItems::history() const {
  std::vector<Message> rounds;
  for (const ConversationItem& item : items_) {
    if (item.role == "system" || item.is_forgotten) continue;
    if (rounds.empty() || rounds.back().role != item.role) {
      rounds.push_back({.role = item.role, .content = item.text, .ids = item.ids});
    } else {
      rounds.back().content += "\n" + item.text;
      rounds.back().ids.clear();
    }
  }
  if (!rounds.empty() && rounds.back().role == "user") rounds.pop_back();
  return rounds;
}

std::string ConversationItems::pending() const {
  std::string text;
  for (const ConversationItem& item : items_) {
    if (item.role == "assistant") text.clear();
    if (item.role == "user" && !item.is_forgotten) text += (text.empty() ? "" : "\n") + item.text;
  }
  return text;
}

}  // namespace predgen
