#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "act/servers/tool_servers.h"
#include "cli/command.h"
#include "text/tokenizer.h"

namespace predgen::cli {

/// --mcp FILE.
void add_mcp(CLI::App& command, std::string& file);

/// The servers of `file`, all of which are there and have listed their tools; null: it is empty.
/// What they offer is logged. UserError for a mistake in it, a server that is not there, and a
/// model whose chat template has no tools; `model`: its name.
std::unique_ptr<act::ToolServers> start_tool_servers(const std::string& file,
                                                     const Tokenizer& tokenizer,
                                                     const std::string& model,
                                                     const std::stop_token& stop);

}  // namespace predgen::cli
