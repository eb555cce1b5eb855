#include "text/tools/tool_call_parser.h"

#include <algorithm>
#include <utility>

#include "text/streaming_text.h"
#include "text/thoughts.h"
#include "text/tools/json_call.h"
#include "text/tools/tagged_call.h"

namespace predgen {
namespace {

constexpr std::string_view kJsonSpace = " \t\r\n";
constexpr std::string_view kOpen = "<tool_call>", kClose = "</tool_call>";
constexpr std::string_view kPython = "<|python_tag|>";
constexpr std::string_view kCalls = "[TOOL_CALLS]", kArguments = "[ARGS]", kId = "[CALL_ID]";

constexpr std::string_view kGemmaOpen = "<|tool_call>", kGemmaClose = "<tool_call|>";
constexpr std::string_view kListOpen = "<|tool_call_start|>", kListClose = "<|tool_call_end|>";

std::string_view marker_of(ToolFormat format) {
  switch (format) {
    case ToolFormat::kHermes:
    case ToolFormat::kXml:
      return kOpen;
    case ToolFormat::kLlama:
      return kPython;
    case ToolFormat::kGemma:
      return kGemmaOpen;
    case ToolFormat::kPython:
      return kListOpen;
    case ToolFormat::kHarmony:
      return ChannelParser::kCall;
    case ToolFormat::kMistral:
    case ToolFormat::kNone:
      return kCalls;
  }
  return kCalls;
}

/// Whether calls are in <tool_call>..</tool_call>.
bool is_tagged(ToolFormat format) {
  return format == ToolFormat::kHermes || format == ToolFormat::kXml;
}

size_t space_at(std::string_view text, size_t at = 0) {
  return std::min(text.find_first_not_of(kJsonSpace, at), text.size());
}

/// Where the white space in front of `end` begins.
size_t space_before(std::string_view text, size_t end) {
  return text.substr(0, end).find_last_not_of(kJsonSpace) + 1;  // npos + 1 is 0
}

/// The byte after the brace at `begin`, and after white space, if a second brace is there or may
/// come: the JSON begins there. Else `begin`.
size_t second_brace(std::string_view text, size_t begin) {
  if (begin == text.size() || text[begin] != '{') return begin;
  const size_t next = space_at(text, begin + 1);
  return next == text.size() || text[next] == '{' ? next : begin;
}

}  // namespace

ToolCallParser::ToolCallParser(ToolFormat format, const ToolSet& tools)
    : format_(format), names_(tools.names) {
  const bool needs_schemas = format == ToolFormat::kXml || format == ToolFormat::kPython;
  if (needs_schemas && !tools.json.empty()) schemas_ = parse_json(tools.json, "tools");
}

bool ToolCallParser::is_marker(ToolFormat format, std::string_view token) {
  switch (format) {
    case ToolFormat::kNone:
    case ToolFormat::kHarmony:  // ChannelParser's
      return false;
    case ToolFormat::kHermes:
    case ToolFormat::kXml:
      return token == kOpen || token == kClose;
    case ToolFormat::kLlama:
      return token == kPython;
    case ToolFormat::kGemma:
      return token == kGemmaOpen || token == kGemmaClose || token == "<|\"|>";
    case ToolFormat::kPython:
      return token == kListOpen || token == kListClose;
    case ToolFormat::kMistral:
      return token == kCalls || token == kArguments || token == kId;
  }
  return false;
}

std::vector<ToolCallParser::Part> ToolCallParser::push(std::string_view text) {
  held_ += text;
  return read(/*is_over=*/false);
}

std::vector<ToolCallParser::Part> ToolCallParser::finish() { return read(/*is_over=*/true); }

std::vector<ToolCallParser::Part> ToolCallParser::read(bool is_over) {
  std::vector<Part> parts;
  while (step(parts, is_over)) {
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
  fence_.clear();
}

/// Begins a call; the first `size` bytes of held_ are not part of it.
void ToolCallParser::enter(size_t size) {
  marker_ = held_.substr(0, size);
  held_.erase(0, size);
  const auto num_ticks = std::ranges::count(marker_, '`');
  if (num_ticks > 0) fence_.assign(static_cast<size_t>(num_ticks), '`');
  num_braces_ = 0;
  json_ = {};
  tagged_ = {};
  state_ = State::kCall;
  has_begun_ = true;
}

bool ToolCallParser::find_call(std::vector<Part>& parts, bool is_over) {
  const std::string_view marker = marker_of(format_);
  const bool is_xml = format_ == ToolFormat::kXml;
  const size_t begin = space_at(held_);
  if (format_ == ToolFormat::kLlama && !has_begun_ && begin < held_.size() && held_[begin] == '{') {
    enter(begin);
    return true;
  }
  size_t found = held_.find(marker), length = marker.size();
  if (const size_t function = held_.find(kXmlFunction); is_xml && function < found) {
    found = function;
    length = 0;
  }
  const auto written = format_ == ToolFormat::kHermes
                           ? find_written_call(std::string_view(held_).substr(0, found), names_)
                           : std::nullopt;
  const bool is_told = is_over || found != std::string::npos;
  if (written && (written->json || !is_told)) {
    const size_t end = space_before(held_, written->begin);
    add_text(end, parts);
    if (written->json) enter(*written->json - end);
    num_braces_ = written->num_braces;
    return written->json.has_value();
  }
  if (found != std::string::npos) {
    const size_t end = space_before(held_, found);
    add_text(end, parts);
    enter(found + length - end);
    return true;
  }
  has_begun_ = has_begun_ || begin < held_.size();
  size_t certain = held_.size();
  if (!is_over) {
    const size_t num_begun =
        std::max(begun(held_, marker), is_xml ? begun(held_, kXmlFunction) : 0);
    certain = space_before(held_, certain - num_begun);
  }
  add_text(certain, parts);
  return false;
}

bool ToolCallParser::read_call(std::vector<Part>& parts, bool is_over) {
  const std::string_view text = held_;
  size_t begin = space_at(text);
  const bool is_json_begun = begin < text.size() && (text[begin] == '{' || text[begin] == '[');
  const bool is_gemma = format_ == ToolFormat::kGemma, is_python = format_ == ToolFormat::kPython;
  if (is_gemma || is_python || (format_ == ToolFormat::kXml && !is_json_begun)) {
    const auto found = is_gemma    ? tagged_.find_gemma(text, is_over)
                       : is_python ? tagged_.find_python(text, schemas_, is_over)
                                   : tagged_.find_xml(text, schemas_, is_over);
    if (!found) return false;
    if (!add_calls(found->call, parts)) return give_back(found->end, parts, is_over);
    held_.erase(0, found->end);
    state_ = State::kAfterCall;
    return true;
  }
  std::string_view name;  // in front of the arguments
  const bool may_have_name = format_ == ToolFormat::kMistral || format_ == ToolFormat::kHarmony;
  if (may_have_name && begin < text.size() && text[begin] != '[' && text[begin] != '{') {
    const std::string_view mark =
        format_ == ToolFormat::kMistral ? kArguments : ChannelParser::kMessage;
    const size_t end = text.find(mark);
    if (end == std::string::npos) return is_over && give_back(text.size(), parts, is_over);
    name = text.substr(begin, end - begin);
    begin = space_at(text, end + mark.size());
  }
  const size_t inner = is_tagged(format_) ? second_brace(text, begin) : begin;
  const bool is_json = begin < text.size() && (text[begin] == '{' || text[begin] == '[');
  const std::optional<size_t> length =
      is_json && inner < text.size() ? json_.find(text.substr(inner)) : std::nullopt;
  if (!length) {
    if (is_over) return give_back(text.size(), parts, is_over);
    const size_t close = is_json || !is_tagged(format_) ? std::string::npos : text.find(kClose);
    return close != std::string::npos && give_back(close, parts, is_over);
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
  return give_back(end, parts, is_over);
}

/// Gives back text that began like a call but is none, and an end mark behind it, once it is told
/// whether there is one.
bool ToolCallParser::give_back(size_t size, std::vector<Part>& parts, bool is_over) {
  const std::string_view rest = std::string_view(held_).substr(space_at(held_, size));
  const bool may_close = is_tagged(format_) && may_begin(rest, kClose);
  if (may_close && !rest.starts_with(kClose) && !is_over) return false;
  std::string raw = std::exchange(marker_, {}) + held_.substr(0, size);
  held_.erase(0, size);
  if (is_tagged(format_)) {
    const size_t close = space_at(held_);
    if (held_.substr(close).starts_with(kClose)) {
      raw += held_.substr(0, close + kClose.size());
      held_.erase(0, close + kClose.size());
    }
  }
  // JSON without a mark may be an ordinary answer.
  const auto has = [&](std::string_view word) { return raw.find(word) != std::string::npos; };
  const bool is_call = is_tagged(format_)
                           ? has(kOpen) || has(kXmlFunction)
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
  if (num_braces_ > 0 && rest.front() == '}') {
    --num_braces_;
    held_.erase(0, begin + 1);
    return true;
  }
  if (!fence_.empty() && may_begin(rest, fence_)) {
    if (!rest.starts_with(fence_) && !is_over) return false;
    held_.erase(0, begin + std::min(rest.size(), fence_.size()));
    fence_.clear();
    return true;
  }
  if (is_tagged(format_) && may_begin(rest, kClose)) {
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
  return pass(0);
}

/// False if it is not JSON, or contains a broken call. `name`: the function whose arguments it is,
/// if given before the JSON.
bool ToolCallParser::add_calls(std::string_view json, std::string_view name,
                               std::vector<Part>& parts) const {
  std::optional<Json> value = parse_call_json(json);
  if (value && !name.empty()) {
    const size_t id = name.find(kId);
    Json named{{"name", name.substr(0, id)}, {"arguments", std::move(*value)}};
    if (id != std::string_view::npos) named["id"] = name.substr(id + kId.size());
    value = std::move(named);
  }
  return add_calls(value, parts);
}

bool ToolCallParser::add_calls(const std::optional<Json>& value, std::vector<Part>& parts) const {
  if (!value) return false;
  const bool is_written =
      format_ == ToolFormat::kHermes && marker_.find(kOpen) == std::string::npos;
  auto calls = to_calls(*value, names_, /*needs_arguments=*/is_written);
  if (!calls) return false;
  for (ToolCall& call : *calls) {
    parts.push_back({.kind = Part::Kind::kCall, .call = std::move(call)});
  }
  return true;
}

}  // namespace predgen
