#pragma once

#include <optional>
#include <string>
#include <vector>

#include "text/thoughts.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// What the text of an answer must be.
struct AnswerForm {
  enum class Kind { kJsonSchema, kRegex, kEbnf };
  Kind kind = Kind::kJsonSchema;
  /// The schema; the expression, which matches the whole text; or the grammar, as GBNF has it: its
  /// first rule is called "root".
  std::string text;
  std::string name;  // for errors, as the user knows it: "--json-schema person.json"
  /// Of a schema: what no grammar can hold to refuses it. Otherwise it is left to the model.
  bool is_strict = true;

  bool operator==(const AnswerForm&) const = default;
};

/// What an answer may consist of.
struct AnswerRules {
  enum class Calls { kAllowed, kRequired, kForbidden };
  /// What JSON with a name is in free text: text, always a call's beginning, or, as any brace and
  /// any code, not to be written: then there is a text, or a call. Models that begin their thoughts
  /// themselves have none then; those with channels write what they like. But for kText, only calls
  /// follow a call: small models go on with pieces of JSON, which would be said.
  enum class NamedJson { kText, kCall, kForbidden };
  std::optional<AnswerForm> form{};  // of its text, if it is no call; nullopt: any text
  ToolSet tools{};                   // that it may call
  Calls calls = Calls::kAllowed;
  std::string only_tool{};     // the one that it must call; empty: any of them
  bool has_many_calls = true;  // it may have several
  NamedJson json = NamedJson::kText;
  /// Which tokens may come is computed where an answer comes to, not when the grammar is compiled:
  /// for one that is soon another, and that nobody else's passes must wait for.
  bool is_passing = false;
  AnswerStart start = AnswerStart::kText;  // in a thought, or as messages with channels, say

  bool allow_anything() const { return !form && tools.empty(); }
  bool operator==(const AnswerRules&) const = default;
};

/// `rules` where an answer is spoken: JSON is a call in the answer to the user's words, and
/// forbidden behind results, which models repeat.
inline AnswerRules spoken(AnswerRules rules, bool is_behind_results) {
  using NamedJson = AnswerRules::NamedJson;
  rules.json = is_behind_results ? NamedJson::kForbidden : NamedJson::kCall;
  return rules;
}

}  // namespace predgen
