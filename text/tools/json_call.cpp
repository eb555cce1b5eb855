#include "text/tools/json_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "core/error.h"
#include "text/utf8.h"

namespace predgen {
namespace {

/// `text` without the mistakes of models that have one meaning only: control characters in strings,
/// such as line breaks, commas behind the last item, and what is no character.
std::string mended(std::string_view model_text) {
  const std::string text = with_whole_surrogates(replace_ill_formed_utf8(model_text));
  std::string result;
  bool in_string = false, is_escaped = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    const size_t next = std::min(text.find_first_not_of(" \t\r\n", at + 1), text.size());
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

}  // namespace

std::optional<Json> parse_call_json(std::string_view text) {
  for (const std::string& json : {std::string(text), mended(text)}) {
    try {
      return parse_json(json, "a call");
    } catch (const UserError&) {
    }
  }
  return std::nullopt;
}

std::optional<size_t> JsonEnd::find(std::string_view text) {
  for (; !end_ && at_ < text.size(); ++at_) {
    const char c = text[at_];
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (in_string_) {
      is_escaped_ = c == '\\';
      in_string_ = c != '"';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if ((c == '}' || c == ']') && --depth_ == 0) {
      end_ = at_ + 1;
    }
  }
  return end_;
}

namespace {

std::string text_at(const Json& value, const char* key) {
  const Json text = value.value(key, Json());
  return text.is_string() ? text.get<std::string>() : "";
}

/// The arguments of a call: an object, or one that is written as a text.
std::optional<Json> arguments_of(const Json& call, bool are_needed) {
  std::optional<Json> arguments;
  for (const char* key : {"parameters", "arguments"}) {
    if (call.contains(key)) arguments = call[key];
  }
  if (!arguments && are_needed) return std::nullopt;
  if (!arguments || arguments->is_null()) return Json::object();
  if (arguments->is_string()) arguments = parse_call_json(arguments->get<std::string>());
  return arguments && arguments->is_object() ? arguments : std::nullopt;
}

/// False if it is no call.
bool add(const Json& value, const std::vector<std::string>& names, bool needs_arguments,
         std::vector<ToolCall>& calls) {
  const auto add_one = [&](const Json& one) { return add(one, names, needs_arguments, calls); };
  if (value.is_array()) return std::ranges::all_of(value, add_one);
  if (!value.is_object()) return false;
  if (const Json list = value.value("tool_calls", Json()); list.is_array()) return add_one(list);
  if (Json function = value.value("function", Json()); function.is_object()) {
    if (!function.contains("id")) function["id"] = text_at(value, "id");
    return add_one(function);
  }
  const std::string name = text_at(value, value.contains("name") ? "name" : "function");
  if (std::ranges::find(names, name) == names.end()) return false;
  const std::optional<Json> arguments = arguments_of(value, needs_arguments);
  if (!arguments) return false;
  calls.push_back({.id = text_at(value, "id"), .name = name, .arguments = arguments->dump()});
  return true;
}

}  // namespace

std::optional<std::vector<ToolCall>> to_calls(const Json& value,
                                              const std::vector<std::string>& names,
                                              bool needs_arguments) {
  std::vector<ToolCall> calls;
  if (!add(value, names, needs_arguments, calls) || calls.empty()) return std::nullopt;
  return calls;
}

namespace {

/// Reads a text from left to right. Once it has ended too early, nothing else matches.
class CallReader {
 public:
  CallReader(std::string_view text, size_t at) : text_(text), at_(at) {}

  size_t at() const { return at_; }
  bool is_at_end() const { return at_ == text_.size(); }
  /// Passes as many of these characters as there are.
  size_t pass_all(std::string_view characters) {
    const size_t begin = at_;
    at_ = std::min(text_.find_first_not_of(characters, at_), text_.size());
    return at_ - begin;
  }
  void pass_space() { pass_all(" \t\r\n"); }
  /// Passes `word`, or what there is of it at the end of the text.
  bool pass(std::string_view word) {
    const std::string_view rest = text_.substr(at_, word.size());
    if (!word.starts_with(rest)) return false;
    at_ += rest.size();
    return true;
  }
  /// Passes all of these, with white space in front of each, or nothing.
  bool pass_words(std::initializer_list<std::string_view> words) {
    CallReader next = *this;
    for (const std::string_view word : words) {
      next.pass_space();
      if (!next.pass(word)) return false;
    }
    at_ = next.at_;
    return true;
  }
  /// Passes what comes before `end`.
  void pass_until(char end) { at_ = std::min(text_.find(end, at_), text_.size()); }

 private:
  const std::string_view text_;
  size_t at_;
};

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

/// The call that begins at `begin`, if one does.
std::optional<WrittenCall> call_at(std::string_view text, size_t begin,
                                   const std::vector<std::string>& names) {
  CallReader reader(text, begin);
  WrittenCall call{.begin = begin};
  const size_t fence = reader.pass_all("`");
  if (fence > 2) reader.pass_all(kLetters);
  if (fence > 0) reader.pass_space();
  size_t json = reader.at();
  bool is_list = reader.pass("[");
  if (!reader.pass_words({"{"})) return std::nullopt;
  int num_open = 1;
  if (!is_list && reader.pass_words({"{"})) ++num_open;  // doubled
  while (!reader.is_at_end()) {                          // what wraps it
    if (reader.pass_words({"\"type\"", ":", "\"function\"", ","})) continue;
    if (reader.pass_words({"\"id\"", ":", "\""})) {
      reader.pass_until('"');
      if (!reader.pass_words({"\"", ","})) return std::nullopt;
    } else if (!is_list && reader.pass_words({"\"tool_calls\"", ":"})) {
      reader.pass_space();
      json = reader.at();
      call.num_braces = num_open;
      is_list = true;
      if (!reader.pass_words({"[", "{"})) return std::nullopt;
    } else if (reader.pass_words({"\"function\"", ":", "{"})) {
      if (is_list) continue;
      json = reader.at() - 1;
      call.num_braces = num_open++;
    } else {
      break;
    }
  }
  if (!reader.pass_words({"\"name\"", ":", "\""}) &&
      !reader.pass_words({"\"function\"", ":", "\""})) {
    return std::nullopt;
  }
  for (const std::string& name : names) {
    CallReader rest = reader;
    if (!rest.pass(name + '"')) continue;
    const bool is_told = !rest.is_at_end() || text.substr(reader.at()) == name + '"';
    if (is_told) call.json = json;
    return call;
  }
  return std::nullopt;
}

}  // namespace

std::optional<WrittenCall> find_written_call(std::string_view text,
                                             const std::vector<std::string>& names) {
  for (size_t at = text.find_first_of("`[{"); at != std::string_view::npos;
       at = text.find_first_of("`[{", at + 1)) {
    if (auto call = call_at(text, at, names)) return call;
  }
  return std::nullopt;
}

}  // namespace predgen
