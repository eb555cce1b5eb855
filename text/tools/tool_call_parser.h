#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "text/tools/json_end.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// Tells calls of functions from the rest of an answer, which comes in any pieces. Holds back what
/// may be the beginning of a call, and white space that may stand in front of one. Nothing is lost:
/// what begins as a call and is none (no JSON, an unknown function, cut off) is given back.
class ToolCallParser {
 public:
  /// `format` is one that has calls, `names` are the functions that are known.
  ToolCallParser(ToolFormat format, std::vector<std::string> names)
      : format_(format), names_(std::move(names)) {}

  struct Part {
    enum class Kind { kText, kBroken, kCall };
    Kind kind = Kind::kText;
    std::string text{};  // kBroken: of what looks like a call
    ToolCall call{};     // without an id, if the model gave none
  };
  /// What is certain by now, in order.
  std::vector<Part> push(std::string_view text);
  /// The answer is over.
  std::vector<Part> finish();
  /// Whether something is held back that may become a call.
  bool is_in_call() const { return state_ != State::kText; }

  /// Tokens of the vocabulary that only mark calls: a parser has to be told their text, even where
  /// it is left out of other texts.
  static bool is_marker(ToolFormat format, std::string_view token);

 private:
  enum class State { kText, kCall, kAfterCall };
  /// Takes something from the front of what is held; false: waits for more.
  bool step(std::vector<Part>& parts, bool is_over);
  bool find_call(std::vector<Part>& parts, bool is_over);
  bool read_call(std::vector<Part>& parts, bool is_over);
  bool pass_end(bool is_over);
  bool add_calls(std::string_view json, std::string_view name, std::vector<Part>& parts) const;
  std::optional<ToolCall> to_call(const Json& value) const;
  bool give_back(size_t size, std::vector<Part>& parts);
  void add_text(size_t size, std::vector<Part>& parts);
  void enter(size_t size);

  const ToolFormat format_;
  const std::vector<std::string> names_;
  State state_ = State::kText;
  std::string held_;        // not decided yet
  std::string marker_;      // what began the call, of held_'s text until then
  JsonEnd json_;            // of the call's JSON in held_
  bool has_begun_ = false;  // any text but white space came
};

}  // namespace predgen
