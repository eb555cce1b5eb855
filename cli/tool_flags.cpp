#include "cli/tool_flags.h"

#include "act/servers_file.h"
#include "core/error.h"
#include "core/log.h"
#include "core/text.h"

namespace predgen::cli {

void add_mcp(CLI::App& command, std::string& file) {
  command.add_option(
      "--mcp", file,
      "A file of tool servers that the model may call, in the \"mcpServers\" form of "
      "other programs, such as examples/home.json");
}

std::unique_ptr<act::ToolServers> start_tool_servers(const std::string& file,
                                                     const Tokenizer& tokenizer,
                                                     const std::string& model,
                                                     const std::stop_token& stop) {
  if (file.empty()) return nullptr;
  const std::vector<act::ServerEntry> entries = act::read_servers_file(file);
  if (entries.empty()) throw UserError("{}: has no server, or all are disabled", file);
  if (tokenizer.tool_format() == ToolFormat::kNone) {
    throw UserError(
        "--mcp: the chat template of {} has calls in an unknown form: give another "
        "--chat-template, "
        "or a model such as Qwen2.5, Llama 3.1 or SmolLM3",
        model);
  }
  auto servers = std::make_unique<act::ToolServers>(entries, act::ToolLimits(), stop);
  std::string names;
  for (const act::Tool& tool : servers->tools()) {
    names = joined(names, ", ",
                   fmt::format("{} ({}{})", tool.name, act::to_string(tool.effects),
                               tool.asks ? ", asks" : ""));
  }
  spdlog::info("tools: {}", names.empty() ? "none" : names);
  return servers;
}

}  // namespace predgen::cli
