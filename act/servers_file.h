#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "act/tool.h"

namespace predgen::act {

/// What the file says of a tool, which its server says otherwise; nullopt: nothing.
struct ToolRule {
  std::optional<Effects> effects{};
  std::optional<bool> asks{};
  std::optional<double> timeout_s{};
};

/// A server: a program that speaks at its stdin and stdout, or an address.
struct ServerEntry {
  std::string name{};
  std::string command{};                                // empty: `url` is given
  std::vector<std::string> arguments{}, environment{};  // NAME=value
  std::string folder{};                                 // where it runs; empty: here
  std::string url{};
  std::map<std::string, std::string> headers{};
  std::string prompt{};                     // of the server, for the system prompt; empty: none
  std::map<std::string, ToolRule> rules{};  // by the tool's name on its server; "*": all others
};

/// The servers of an `mcpServers` file, without those that it disables, in its order. ${NAME} and
/// ${NAME:-otherwise} in a text stand for variables of the environment. UserError names the file
/// and the key. Keys that other programs know are named in the log, once.
std::vector<ServerEntry> read_servers_file(const std::filesystem::path& file);

}  // namespace predgen::act
