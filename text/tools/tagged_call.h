#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "core/json.h"

namespace predgen {

inline constexpr std::string_view kXmlFunction = "<function=";  // begins a call

/// A call as Qwen3-Coder and Qwen3.5 write it, as {"name", "arguments"}:
///
///     <function=NAME>
///     <parameter=KEY>
///     value
///     </parameter>
///     </function>
///
/// Texts stand there as they are, other values as JSON, or as Python prints them (True, None).
/// `tools`: as ToolSet::json; its schemas tell which of the two a value is. Without one it is JSON
/// if it can be. `text` is without the last line. nullopt: it is no such call.
std::optional<Json> parse_xml_call(std::string_view text, const Json& tools);

/// Finds a call that is no JSON as a whole, of Gemma, in Python or in XML, in a growing text.
class TaggedCall {
 public:
  struct Found {
    size_t end = 0;              // of the call in the text
    std::optional<Json> call{};  // {"name", "arguments"}, or a list; nullopt: it is no call
  };
  /// `text`: all so far behind the opening mark. `tools`: as ToolSet::json. `is_over`: no more
  /// comes. nullopt: more must come.
  std::optional<Found> find_gemma(std::string_view text, bool is_over);
  std::optional<Found> find_python(std::string_view text, const Json& tools, bool is_over);
  std::optional<Found> find_xml(std::string_view text, const Json& tools, bool is_over);

 private:
  /// What comes before `mark`, or all if there is none and no more comes, not yet read as a call.
  std::optional<std::string_view> find_body(std::string_view text, std::string_view mark,
                                            bool is_over);

  size_t searched_ = 0;  // so far, for the end mark
};

}  // namespace predgen
