#pragma once

#include <string>
#include <vector>

#include "text/tokenizer.h"

namespace predgen::serve {

/// What a home's own list names.
struct HomeNames {
  std::vector<std::string> devices, areas, domains;
};

/// The names in the list of entities that Home Assistant puts into its system prompt: a YAML list
/// of `names`, `domain` and `areas`, where names and areas are separated by commas. Anything else
/// in the text is passed over. Each name comes once.
HomeNames read_home_names(const std::string& prompt);

/// `tools` in which Home Assistant's own functions take only the names, areas and domains that the
/// system messages list, where these list any, and no other arguments than their own. Floors and
/// names of timers are free, and functions of others stay as they are.
ToolSet with_home_names(ToolSet tools, const std::vector<Message>& messages);

}  // namespace predgen::serve
