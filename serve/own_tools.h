#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "act/tool_runner.h"
#include "runtime/converse/tool_round_options.h"

namespace predgen::serve {

/// Tools of the server itself, how they are called, and for whom. Borrows the runner.
struct OwnTools {
  act::ToolRunner& runner;
  std::vector<std::string> allowed{};  // hashes of the keys that may use them; empty: all clients
  ToolRoundOptions rounds{};           // without the filler, which nobody says
  bool constrains_names = false;       // as ToolsConfig, in conversations

  /// `client`: as Access::check() has it.
  bool may_use(const std::string& client) const {
    return allowed.empty() || std::ranges::find(allowed, client) != allowed.end();
  }
};

}  // namespace predgen::serve
