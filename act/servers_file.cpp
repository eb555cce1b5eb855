#include "act/servers_file.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <regex>
#include <string_view>

#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "core/text.h"

namespace predgen::act {
namespace {

constexpr double kLongestTimeout = 3600;

/// `text` with its variables replaced.
std::string expanded(const std::string& text, const std::string& where) {
  static const std::regex kVariable(R"(\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\})");
  std::string result;
  auto rest = text.cbegin();
  for (std::sregex_iterator found(text.begin(), text.end(), kVariable), end; found != end;
       ++found) {
    result.append(rest, (*found)[0].first);
    rest = (*found)[0].second;
    const char* value = std::getenv((*found)[1].str().c_str());
    if (value == nullptr && !(*found)[2].matched) {
      throw UserError("{}: there is no variable {} in the environment: set it, or give {}", where,
                      (*found)[1].str(), "${NAME:-otherwise}");
    }
    result += value != nullptr ? std::string(value) : (*found)[3].str();
  }
  return result.append(rest, text.cend());
}

std::string read_text(const Json& value, const std::string& where) {
  if (!value.is_string()) throw UserError("{} must be a text", where);
  std::string text = expanded(value.get<std::string>(), where);
  if (text.find('\0') != std::string::npos) throw UserError("{} has a null byte", where);
  return text;
}

const Json& checked_object(const Json& value, const std::string& where) {
  if (!value.is_object()) throw UserError("{} must be an object", where);
  return value;
}

ToolRule read_rule(const Json& value, const std::string& where) {
  ToolRule rule;
  for (const auto& [key, one] : checked_object(value, where).items()) {
    const std::string place = fmt::format("{}.{}", where, key);
    if (key == "effects") {
      rule.effects = parse_effects(read_text(one, place), place);
    } else if (key == "ask") {
      if (!one.is_boolean()) throw UserError("{} must be true or false", place);
      rule.asks = one.get<bool>();
    } else if (key == "timeout") {
      rule.timeout_s = one.is_number() ? one.get<double>() : 0;
      if (!(*rule.timeout_s > 0 && *rule.timeout_s <= kLongestTimeout)) {
        throw UserError("{} must be seconds, more than 0 and at most {}", place, kLongestTimeout);
      }
    } else {
      throw UserError("{} is no setting of a tool: effects, ask and timeout are", place);
    }
  }
  return rule;
}

void check_type(const std::string& type, const std::string& where) {
  for (const char* known : {"stdio", "http", "streamable-http", "streamableHttp", "sse"}) {
    if (type == known) return;
  }
  throw UserError("{} is '{}': stdio, http (streamable HTTP) and sse are spoken", where, type);
}

void check_header(const std::string& name, const std::string& value, const std::string& where) {
  const bool is_name = !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '-' || c == '_';
  });
  const bool is_value =
      std::ranges::none_of(value, [](unsigned char c) { return c < ' ' || c == 127; });
  if (!is_name || !is_value) throw UserError("{} cannot be sent as a header", where);
}

/// Nothing if the file disables it.
std::optional<ServerEntry> read_server(const std::string& name, const Json& value,
                                       const std::string& where) {
  ServerEntry server{.name = name};
  if (checked_object(value, where).value("disabled", Json(false)) == Json(true)) return {};
  const auto each = [](const Json& object, const std::string& place, const auto& take) {
    for (const auto& [key, one] : checked_object(object, place).items()) {
      take(key, one, fmt::format("{}.{}", place, key));
    }
  };
  each(value, where, [&](const std::string& key, const Json& one, const std::string& place) {
    if (key == "command") {
      server.command = read_text(one, place);
    } else if (key == "args") {
      if (!one.is_array()) throw UserError("{} must be a list", place);
      for (const Json& argument : one) server.arguments.push_back(read_text(argument, place));
    } else if (key == "env") {
      each(one, place, [&](const std::string& variable, const Json& text, const std::string& at) {
        const bool is_name = !variable.empty() && variable.find('=') == std::string::npos;
        if (!is_name) throw UserError("{} is no name of a variable", at);
        server.environment.push_back(variable + "=" + read_text(text, at));
      });
    } else if (key == "cwd") {
      server.folder = read_text(one, place);
    } else if (key == "url") {
      server.url = read_text(one, place);
    } else if (key == "headers") {
      each(one, place, [&](const std::string& header, const Json& text, const std::string& at) {
        server.headers[header] = read_text(text, at);
        check_header(header, server.headers[header], at);
      });
    } else if (key == "prompt") {
      server.prompt = read_text(one, place);
    } else if (key == "tools") {
      each(one, place, [&](const std::string& tool, const Json& rule, const std::string& at) {
        server.rules[tool] = read_rule(rule, at);
      });
    } else if (key == "type" || key == "transport") {
      check_type(read_text(one, place), place);
    } else if (key == "disabled") {
      if (!one.is_boolean()) throw UserError("{} must be true or false", place);
    } else {
      spdlog::warn("{} is not known here, and changes nothing", place);
    }
  });
  if (server.command.empty() == server.url.empty()) {
    throw UserError("{} must have either \"command\", a program, or \"url\"", where);
  }
  return server;
}

}  // namespace

std::vector<ServerEntry> read_servers_file(const std::filesystem::path& file) {
  const Json document = read_json(file);
  const std::string where = file.string();
  if (!document.is_object() || !document.contains("mcpServers")) {
    throw UserError(
        R"({} has no "mcpServers": {{"mcpServers": {{"home": {{"command": .., "args": [..]}}}}}})",
        where);
  }
  std::vector<ServerEntry> servers;
  for (const auto& [key, value] : document.items()) {
    if (key != "mcpServers")
      spdlog::warn("{}: {} is not known here, and changes nothing", where, key);
  }
  const std::string all = where + ": mcpServers";
  for (const auto& [name, value] : checked_object(document["mcpServers"], all).items()) {
    if (plain_name(name) != name || name.empty()) {
      throw UserError("{}: a server's name has letters, digits, _ and -, at most 64: '{}'", where,
                      shortened(name));
    }
    if (auto server = read_server(name, value, fmt::format("{}.{}", all, name))) {
      servers.push_back(*std::move(server));
    }
  }
  return servers;
}

}  // namespace predgen::act
