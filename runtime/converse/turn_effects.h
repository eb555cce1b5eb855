#pragma once

#include <string>
#include <vector>

#include "act/tool_runner.h"
#include "text/tools/tool_call.h"

namespace predgen {

/// What came of a turn's calls that change something. A model may say that it worked although it
/// did not, so behind a call that failed the assistant says failure() instead. Used by one thread.
class TurnEffects {
 public:
  void clear() { *this = {}; }
  void add(const ToolCall& call, const act::Tool& tool, const act::ToolResult& result);
  /// Of a tool that is not there any more.
  void add_missing(const ToolCall& call) { not_done_.push_back(spoken_call(call)); }
  /// In plain words without any of a server's; empty: nothing has failed.
  std::string failure() const;

  /// A call as it is said: "clear list, with name shopping". `call`: its arguments are an object.
  static std::string spoken_call(const ToolCall& call);

 private:
  std::vector<std::string> done_, not_done_, unknown_;
  std::string lost_;  // the server of a call that could not be made
};

}  // namespace predgen
