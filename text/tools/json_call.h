#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// The JSON of a call as a model writes it. Control characters in strings and commas behind the
/// last item, which have one meaning only, are mended, and U+FFFD stands for what is no character;
/// nullopt: it is no JSON all the same.
std::optional<Json> parse_call_json(std::string_view text);

/// Finds the end of a JSON object or list in a growing text.
class JsonEnd {
 public:
  /// `text`: all so far, beginning with { or [. Returns the byte after the closing bracket.
  std::optional<size_t> find(std::string_view text);

 private:
  size_t at_ = 0;  // examined so far
  int depth_ = 0;
  std::optional<size_t> end_;
  bool in_string_ = false, is_escaped_ = false;
};

/// The calls in a JSON value as models write them: {"name", "arguments"} or "parameters", a list of
/// such, or wrapped as OpenAI's API has them ({"function": ..}, {"tool_calls": [..]}). nullopt: it
/// has something else, or a function that is not one of `names`. `needs_arguments`: a name alone is
/// no call.
std::optional<std::vector<ToolCall>> to_calls(const Json& value,
                                              const std::vector<std::string>& names,
                                              bool needs_arguments);

/// A call that a model writes out in its text, without the mark of its form: a JSON object that
/// begins with the name of a function, perhaps in a list, in doubled braces, in a fence of code, or
/// wrapped as OpenAI's API has it ({"function": {..}}, {"tool_calls": [..]}). It has arguments or
/// parameters, which come later.
struct WrittenCall {
  size_t begin = 0;              // in the text, of all this
  std::optional<size_t> json{};  // of the object or list; nullopt: more text must tell
  int num_braces = 0;            // that are open in front of it
};
/// The first one in a growing text of which more may come. nullopt: none has begun.
std::optional<WrittenCall> find_written_call(std::string_view text,
                                             const std::vector<std::string>& names);

}  // namespace predgen
