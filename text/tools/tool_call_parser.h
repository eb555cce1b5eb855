#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "text/tools/json_call.h"
#include "text/tools/tagged_call.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// Separates function calls from the rest of an answer, which arrives in arbitrary pieces. Holds
/// back text that may begin a call, and white space that may precede one. Nothing is lost: text
/// that begins like a call but is none (no JSON, an unknown function, cut off) is given back.
class ToolCallParser {
 public:
  /// `format` is one that has calls, `tools` are the known functions.
  ToolCallParser(ToolFormat format, const ToolSet& tools);

  struct Part {
    enum class Kind { kText, kBroken, kCall };
    Kind kind = Kind::kText;
    std::string text{};  // kBroken: text that looks like a call
    ToolCall call{};     // without an id, if the model gave none
  };
  /// Returns the parts that are certain by now, in order.
  std::vector<Part> push(std::string_view text);
  /// The answer is over.
  std::vector<Part> finish();
  /// Whether text is held back that may become a call.
  bool is_in_call() const { return state_ != State::kText; }

  /// Whether a token only marks calls: a parser must be given its text, even where other texts omit
  /// it.
  static bool is_marker(ToolFormat format, std::string_view token);

 private:
  enum class State { kText, kCall, kAfterCall };
  std::vector<Part> read(bool is_over);
  /// Consumes something from the front of held_; false: waits for more.
  bool step(std::vector<Part>& parts, bool is_over);
  bool find_call(std::vector<Part>& parts, bool is_over);
  bool read_call(std::vector<Part>& parts, bool is_over);
  bool pass_end(bool is_over);
  bool add_calls(std::string_view json, std::string_view name, std::vector<Part>& parts) const;
  bool add_calls(const std::optional<Json>& value, std::vector<Part>& parts) const;
  bool give_back(size_t size, std::vector<Part>& parts, bool is_over);
  void add_text(size_t size, std::vector<Part>& parts);
  void enter(size_t size);

  const ToolFormat format_;
  const std::vector<std::string> names_;
  Json schemas_;  // ToolSet::json; null: no value needs it
  State state_ = State::kText;
  std::string held_;        // not decided yet
  std::string marker_;      // the start of the call, already taken from held_
  std::string fence_;       // of code, that is open around calls
  int num_braces_ = 0;      // that are open around the call
  JsonEnd json_;            // of the call's JSON in held_
  TaggedCall tagged_;       // or the call there that is no JSON
  bool has_begun_ = false;  // any text but white space came
};

}  // namespace predgen
