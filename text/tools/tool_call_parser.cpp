#include "text/tools/tool_call_parser.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/error.h"
#include "text/channel_parser.h"

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

/// `text` without the two mistakes of models that have one meaning only: control characters in
/// strings, such as line breaks, and commas behind the last item.
std::string mended(std::string_view text) {
  std::string result;
  bool in_string = false, is_escaped = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    const size_t next = space_at(text, at + 1);
    const bool is_last_comma =
        !in_string && c == ',' && next < text.size() && (text[next] == '}' || text[next] == ']');
    if (in_string && is_control) {
      if (is_escaped) result.pop_back();
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (!is_last_comma) {
      result += c;
    }
    if (c == '"' && !is_escaped) in_string = !in_string;
    is_escaped = in_string && c == '\\' && !is_escaped;
  }
  return result;
}

std::optional<Json> parsed(std::string_view text) {
  for (const std::string& json : {std::string(text), mended(text)}) {
    try {
      return parse_json(json, "a call");
    } catch (const UserError&) {
    }
  }
  return std::nullopt;
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
  if (const size_t found = held_.find(marker); found != std::string::npos) {
    const size_t last = std::string_view(held_).substr(0, found).find_last_not_of(kSpace);
    add_text(last == std::string::npos ? 0 : last + 1, parts);
    enter(held_.find(marker) + marker.size());
    return true;
  }
  has_begun_ = has_begun_ || begin < held_.size();
  size_t certain = held_.size();
  if (!is_over) {
    certain -= begun(held_, marker);
    certain = certain == 0 ? 0 : held_.find_last_not_of(kSpace, certain - 1) + 1;  // or npos + 1
  }
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
  const bool is_json = begin < text.size() && (text[begin] == '{' || text[begin] == '[');
  const std::optional<size_t> length = is_json ? json_.find(text.substr(begin)) : std::nullopt;
  if (!length) {
    if (is_over) return give_back(text.size(), parts);
    const size_t close =
        is_json || format_ != ToolFormat::kHermes ? std::string::npos : text.find(kClose);
    return close != std::string::npos && give_back(close, parts);
  }
  const size_t end = begin + *length;
  if (add_calls(text.substr(begin, *length), name, parts)) {
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
  // A Llama answer that is JSON may be an ordinary answer.
  const bool is_call = format_ != ToolFormat::kLlama || raw.find(kPython) != std::string::npos ||
                       raw.find("\"name\"") != std::string::npos;
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
  std::optional<Json> value = parsed(json);
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
    const std::optional<Json> inner = parsed(arguments.get<std::string>());
    if (!inner) return std::nullopt;
    arguments = *inner;
  }
  if (!arguments.is_object()) return std::nullopt;
  const Json id = value.value("id", Json());
  return ToolCall{.id = id.is_string() ? id.get<std::string>() : "",
                  .name = *name,
                  .arguments = arguments.dump()};
}

}  // namespace predgen
