#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "act/tool_runner.h"
#include "serve/serve_config.h"

namespace predgen::serve {

/// Tools of the server itself, how they are called, and for whom. Borrows the runner.
struct OwnTools {
  act::ToolRunner& runner;
  ToolsConfig config{};

  /// `client`: as Access::check() has it.
  bool may_use(const std::string& client) const {
    const std::vector<std::string>& keys = config.api_keys_sha256;
    return keys.empty() || std::ranges::find(keys, client) != keys.end();
  }
};

}  // namespace predgen::serve
