#pragma once

#include <map>
#include <string>

#include "act/tool.h"
#include "runtime/converse/early_calls.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// What the calls of a turn gave. Small models make the same call again and again; the second one
/// has the answer of the first, unless a call with effects came between: what was read before an
/// effect is old.
class AnsweredCalls {
 public:
  /// What the same call gave (the tool, and the arguments in whatever order); null: it is to be
  /// made. Valid until the next add().
  const std::string* find(const ToolCall& call) const {
    const auto known = answers_.find(canonical_call(call));
    return known == answers_.end() ? nullptr : &known->second;
  }
  /// `effects`: of its tool.
  void add(const ToolCall& call, act::Effects effects, const std::string& answer) {
    if (effects != act::Effects::kRead) answers_.clear();
    answers_[canonical_call(call)] = answer;
  }
  void clear() { answers_.clear(); }

 private:
  std::map<std::string, std::string> answers_;
};

}  // namespace predgen
