#include "text/tools/tool_call_parser.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "text/channel_parser.h"
#include "text/tools/call_json.h"
#include "text/tools/written_call.h"

namespace predgen {
namespace {

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr std::string_view kPython = "<|python_tag|>";
constexpr std::string_view kCalls = "[TOOL_CALLS]", kArguments = "[ARGS]", kId = "[CALL_ID]";

std::string_view marker_of(ToolFormat format) {
  if (format == ToolFormat::kHermes) return kOpen;
  if (format == ToolFormat::kHarmony) return ChannelParser::kCall;
  return format == ToolFormat::kLlama ? kPython : kCalls;
}

size_t space_at(std::string_view text, size_t at = 0) {
  return std::min(text.find_first_not_of(kSpace, at), text.size());
}

/// Where the white space in front of `end` begins.
size_t space_before(std::string_view text, size_t end) {
  return text.substr(0, end).find_last_not_of(kSpace) + 1;  // npos + 1 is 0
}

/// The length of the text's end that may be the beginning of `marker`.
size_t begun(std::string_view text, std::string_view marker) {
  size_t size = std::min(marker.size() - 1, text.size());
  while (!text.ends_with(marker.substr(0, size))) --size;
  return size;
}

/// Whether `text` begins with `marker`, or may once more text arrives.
bool may_begin(std::string_view text, std::string_view marker) {
  return text.starts_with(marker) || marker.starts_with(text);
}

/// The byte after the brace at `begin`, and after white space, if a second brace is there or may
/// come: the JSON begins there. Else `begin`.
size_t second_brace(std::string_view text, size_t begin) {
  if (begin == text.size() || text[begin] != '{') return begin;
  const size_t next = space_at(text, begin + 1);
  return next == text.size() || text[next] == '{' ? next : begin;
}

}  // namespace

bool ToolCallParser::is_marker(ToolFormat format, std::string_view token) {
  switch (format) {
    case ToolFormat::kNone:
    case ToolFormat::kHarmony:  // ChannelParser's
      return false;
    case ToolFormat::kHermes:
      return token == kOpen || token == kClose;
    case ToolFormat::kLlama:
      return token == kPython;
    case ToolFormat::kMistral:
      return token == kCalls || token == kArguments || token == kId;
  }
  return false;
}

std::vector<ToolCallParser::Part> ToolCallParser::push(std::string_view text) {
  held_ += text;
  std::vector<Part> parts;
  while (step(parts, /*is_over=*/false)) {
  }
  return parts;
}

std::vector<ToolCallParser::Part> ToolCallParser::finish() {
  std::vector<Part> parts;
  while (step(parts, /*is_over=*/true)) {
  }
  return parts;
}

bool ToolCallParser::step(std::vector<Part>& parts, bool is_over) {
  switch (state_) {
    case State::kText:
      return find_call(parts, is_over);
    case State::kCall:
      return read_call(parts, is_over);
    case State::kAfterCall:
      return pass_end(is_over);
  }
  return false;
}

void ToolCallParser::add_text(size_t size, std::vector<Part>& parts) {
  if (size == 0) return;
  parts.push_back({.text = held_.substr(0, size)});
  held_.erase(0, size);
}

/// Begins a call; the first `size` bytes of held_ are not part of its JSON.
void ToolCallParser::enter(size_t size) {
  marker_ = held_.substr(0, size);
  held_.erase(0, size);
  json_ = {};
  state_ = State::kCall;
  has_begun_ = true;
}

bool ToolCallParser::find_call(std::vector<Part>& parts, bool is_over) {
  const std::string_view marker = marker_of(format_);
  const size_t begin = space_at(held_);
  if (format_ == ToolFormat::kLlama && !has_begun_ && begin < held_.size() && held_[begin] == '{') {
    enter(begin);
    return true;
  }
  const size_t found = held_.find(marker);
  const auto written = format_ == ToolFormat::kHermes
                           ? find_written_call(std::string_view(held_).substr(0, found), names_)
                           : std::nullopt;
  const bool is_told = is_over || found != std::string::npos;
  if (written && (written->json || !is_told)) {
    const size_t end = space_before(held_, written->begin);
    add_text(end, parts);
    if (written->json) enter(*written->json - end);
    return written->json.has_value();
  }
  if (found != std::string::npos) {
    const size_t end = space_before(held_, found);
    add_text(end, parts);
    enter(found + marker.size() - end);
    return true;
  }
  has_begun_ = has_begun_ || begin < held_.size();
  size_t certain = held_.size();
  if (!is_over) certain = space_before(held_, certain - begun(held_, marker));
  add_text(certain, parts);
  return false;
}

bool ToolCallParser::read_call(std::vector<Part>& parts, bool is_over) {
  const std::string_view text = held_;
  size_t begin = space_at(text);
  std::string_view name;  // in front of the arguments
  const bool may_have_name = format_ == ToolFormat::kMistral || format_ == ToolFormat::kHarmony;
  if (may_have_name && begin < text.size() && text[begin] != '[' && text[begin] != '{') {
    const std::string_view mark =
        format_ == ToolFormat::kMistral ? kArguments : ChannelParser::kMessage;
    const size_t end = text.find(mark);
    if (end == std::string::npos) return is_over && give_back(text.size(), parts);
    name = text.substr(begin, end - begin);
    begin = space_at(text, end + mark.size());
  }
  const size_t inner = format_ == ToolFormat::kHermes ? second_brace(text, begin) : begin;
  const bool is_json = begin < text.size() && (text[begin] == '{' || text[begin] == '[');
  const std::optional<size_t> length =
      is_json && inner < text.size() ? json_.find(text.substr(inner)) : std::nullopt;
  if (!length) {
    if (is_over) return give_back(text.size(), parts);
    const size_t close =
        is_json || format_ != ToolFormat::kHermes ? std::string::npos : text.find(kClose);
    return close != std::string::npos && give_back(close, parts);
  }
  size_t end = inner + *length;
  if (inner > begin) {  // the second brace
    const size_t brace = space_at(text, end);
    if (brace == text.size() && !is_over) return false;
    if (brace < text.size() && text[brace] == '}') end = brace + 1;
  }
  if (add_calls(text.substr(inner, *length), name, parts)) {
    held_.erase(0, end);
    state_ = State::kAfterCall;
    return true;
  }
  const std::string_view rest = text.substr(space_at(text, end));
  const bool may_close = format_ == ToolFormat::kHermes && may_begin(rest, kClose);
  if (may_close && !rest.starts_with(kClose) && !is_over) return false;
  return give_back(end, parts);
}

/// Gives back text that began like a call but is none.
bool ToolCallParser::give_back(size_t size, std::vector<Part>& parts) {
  std::string raw = std::exchange(marker_, {}) + held_.substr(0, size);
  held_.erase(0, size);
  if (format_ == ToolFormat::kHermes) {
    const size_t close = space_at(held_);
    if (held_.substr(close).starts_with(kClose)) {
      raw += held_.substr(0, close + kClose.size());
      held_.erase(0, close + kClose.size());
    }
  }
  // JSON without a mark may be an ordinary answer.
  const auto has = [&](std::string_view word) { return raw.find(word) != std::string::npos; };
  const bool is_call = format_ == ToolFormat::kHermes
                           ? has(kOpen)
                           : format_ != ToolFormat::kLlama || has(kPython) || has("\"name\"");
  if (!raw.empty()) {
    parts.push_back({.kind = is_call ? Part::Kind::kBroken : Part::Kind::kText, .text = raw});
  }
  state_ = State::kText;
  return !held_.empty();
}

/// After a call: skips its end mark and white space.
bool ToolCallParser::pass_end(bool is_over) {
  const size_t begin = space_at(held_);
  const std::string_view rest = std::string_view(held_).substr(begin);
  const auto pass = [&](size_t size) {
    held_.erase(0, size);
    state_ = State::kText;
    return true;
  };
  if (rest.empty()) {
    if (is_over) return pass(held_.size());
    return false;
  }
  const std::string fence(std::ranges::count(marker_, '`'), '`');  // that was opened
  if (!fence.empty() && may_begin(rest, fence)) {
    if (!rest.starts_with(fence) && !is_over) return false;
    held_.erase(0, begin + std::min(rest.size(), fence.size()));
    marker_.clear();
    return true;
  }
  if (format_ == ToolFormat::kHermes && may_begin(rest, kClose)) {
    if (rest.starts_with(kClose)) {
      held_.erase(0, begin + kClose.size());
      return true;  // white space may follow
    }
    if (is_over) return pass(held_.size());  // cut off in it
    return false;
  }
  if (format_ == ToolFormat::kLlama) {  // {..}; {..}
    const bool has_semicolon = rest.front() == ';';
    const size_t next = has_semicolon ? space_at(rest, 1) : 0;
    if (next == rest.size() && !is_over) return false;
    if (next < rest.size() && rest[next] == '{') {
      held_.erase(0, begin);
      enter(next);
      return true;
    }
  }
  if (may_begin(rest, marker_of(format_))) {
    if (rest.starts_with(marker_of(format_))) {
      held_.erase(0, begin);
      enter(marker_of(format_).size());
      return true;
    }
    if (!is_over) return false;
  }
  return pass(0);
}

/// False if it is not JSON, or contains a broken call. `name`: the function whose arguments it is,
/// if given before the JSON.
bool ToolCallParser::add_calls(std::string_view json, std::string_view name,
                               std::vector<Part>& parts) const {
  std::optional<Json> value = parse_call_json(json);
  if (!value) return false;
  if (!name.empty()) {
    const size_t id = name.find(kId);
    Json named{{"name", name.substr(0, id)}, {"arguments", std::move(*value)}};
    if (id != std::string_view::npos) named["id"] = name.substr(id + kId.size());
    value = std::move(named);
  }
  std::vector<Part> calls;
  for (const Json& one : value->is_array() ? *value : Json::array({*value})) {
    std::optional<ToolCall> call = to_call(one);
    if (!call) return false;
    calls.push_back({.kind = Part::Kind::kCall, .call = std::move(*call)});
  }
  std::ranges::move(calls, std::back_inserter(parts));
  return !calls.empty();
}

std::optional<ToolCall> ToolCallParser::to_call(const Json& value) const {
  const Json given = value.is_object() ? value.value("name", Json()) : Json();
  const auto name = std::ranges::find_if(
      names_, [&](const std::string& known) { return given.is_string() && given == known; });
  if (name == names_.end()) return std::nullopt;
  Json arguments = Json::object();
  for (const char* key : {"parameters", "arguments"}) {
    if (value.contains(key) && !value[key].is_null()) arguments = value[key];
  }
  if (arguments.is_string()) {
    const std::optional<Json> inner = parse_call_json(arguments.get<std::string>());
    if (!inner) return std::nullopt;
    arguments = *inner;
  }
  if (!arguments.is_object()) return std::nullopt;
  const bool is_written =
      format_ == ToolFormat::kHermes && marker_.find(kOpen) == std::string::npos;
  if (is_written && !value.contains("arguments") && !value.contains("parameters")) {
    return std::nullopt;
  }
  const Json id = value.value("id", Json());
  return ToolCall{.id = id.is_string() ? id.get<std::string>() : "",
                  .name = *name,
                  .arguments = arguments.dump()};
}

}  // namespace predgen
