#include "act/servers/tool_servers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "act/mcp/http_transport.h"
#include "act/mcp/stdio_transport.h"
#include "act/tool_runner.h"
#include "core/error.h"
#include "core/log.h"
#include "core/stop.h"
#include "core/text.h"

namespace predgen::act {
namespace {

constexpr double kLongestRetrySeconds = 60;
constexpr double kBetweenLists = 1;  // a server may say all the time that its tools change
constexpr double kForever = 3600;

McpClient::MakeTransport transport_of(const ServerEntry& entry) {
  return [entry](MessageHandler& handler) -> std::unique_ptr<Transport> {
    if (entry.command.empty()) return std::make_unique<HttpTransport>(entry, handler);
    return std::make_unique<StdioTransport>(entry, handler);
  };
}

Effects effects_of(const Json& hints) {
  const auto is_set = [&](const char* key, bool otherwise) {
    return hints.is_object() && hints.contains(key) && hints[key].is_boolean()
               ? hints[key].get<bool>()
               : otherwise;
  };
  if (is_set("readOnlyHint", false)) return Effects::kRead;
  if (is_set("destructiveHint", true)) return Effects::kDestructive;
  return is_set("idempotentHint", false) ? Effects::kIdempotent : Effects::kWrites;
}

}  // namespace

ToolServer::ToolServer(ServerEntry entry, const ToolLimits& limits,
                       McpClient::MakeTransport make_transport)
    : entry_(std::move(entry)),
      limits_(limits),
      make_transport_(make_transport ? std::move(make_transport) : transport_of(entry_)) {
  if (!entry_.url.empty()) parse_http_url(entry_.url);
  keeper_ = std::jthread([this](const std::stop_token& stop) { keep(stop); });
}

ToolServer::~ToolServer() {
  keeper_.request_stop();
  keeper_.join();
  std::shared_ptr<McpClient> last;  // its threads call wake(): it goes without the lock
  const Lock lock(mutex_);
  last.swap(client_);
}

void ToolServer::wait_ready(const std::stop_token& stop) {
  Lock lock(mutex_);
  changed_.wait(lock, stop, [&]() REQUIRES(mutex_) { return is_ready_ || failure_; });
  if (is_ready_) return;
  throw_if_stopped(stop);
  throw UserError("the tool server '{}' {} (\"disabled\": true goes without it)", entry_.name,
                  *failure_);
}

std::vector<Tool> ToolServer::tools() const {
  const Lock lock(mutex_);
  return tools_;
}

std::string ToolServer::prompt() const {
  const Lock lock(mutex_);
  return prompt_;
}

void ToolServer::wake() {
  const Lock lock(mutex_);
  is_woken_ = true;
  changed_.notify_all();
}

void ToolServer::rest(double seconds, const std::stop_token& stop) {
  Lock lock(mutex_);
  changed_.wait_for(lock, stop, steady_seconds(seconds),
                    [&]() REQUIRES(mutex_) { return is_woken_; });
  is_woken_ = false;
}

void ToolServer::keep(const std::stop_token& stop) {
  double wait = limits_.retry_s;
  while (!stop.stop_requested()) {
    std::string why;
    try {
      connect(stop);
    } catch (const Interrupted&) {
      return;
    } catch (const std::exception& error) {  // a server's mistake must not end the program
      why = first_line(error.what());
      if (dynamic_cast<const Refusal*>(&error) != nullptr) why.insert(0, "says no: ");
    }
    std::shared_ptr<McpClient> lost;  // its threads call wake(): it goes without the lock
    {
      const Lock lock(mutex_);
      lost.swap(client_);
      if (lost) wait = limits_.retry_s;
      failure_ = why;
      changed_.notify_all();
      if (!is_ready_) return;
    }
    if (lost) spdlog::warn("the tool server '{}' {}; it is tried again", entry_.name, why);
    lost.reset();
    rest(wait, stop);
    wait = std::min(2 * wait, kLongestRetrySeconds);
  }
}

void ToolServer::connect(const std::stop_token& stop) {
  const auto client = std::make_shared<McpClient>(make_transport_, [this] { wake(); });
  client->initialize(limits_.connect_s, stop);
  list(*client, stop);
  {
    const Lock lock(mutex_);
    client_ = client;
    is_ready_ = true;
    changed_.notify_all();
  }
  Deadline next_list{}, next_prompt = in_seconds(limits_.prompt_s);
  while (true) {
    throw_if_stopped(stop);
    client->send_cancellations();
    if (const auto why = client->lost()) throw ServerError(*why);
    const Seconds early = next_list - std::chrono::steady_clock::now();
    if (early > Seconds(0)) {
      rest(early.count(), stop);
    } else if (client->take_changed()) {
      list(*client, stop);
      next_list = in_seconds(kBetweenLists);
    } else if (!entry_.prompt.empty() && next_prompt <= std::chrono::steady_clock::now()) {
      read_prompt(*client, stop);
      next_prompt = in_seconds(limits_.prompt_s);
    } else {
      rest(entry_.prompt.empty() ? kForever : limits_.prompt_s, stop);
    }
  }
}

void ToolServer::list(McpClient& client, const std::stop_token& stop) {
  std::vector<Tool> tools;
  std::set<std::string> names;
  for (const Json& listed : client.list_tools(limits_.connect_s, stop)) {
    std::optional<Tool> tool = read_tool(listed);
    if (!tool) continue;
    if (!names.insert(tool->own_name).second) {
      spdlog::warn("the tool server '{}' lists {} twice; the first counts", entry_.name,
                   plain_name(tool->own_name));
      continue;
    }
    tools.push_back(*std::move(tool));
  }
  for (const auto& [name, rule] : entry_.rules) {
    if (name != "*" && !names.contains(name)) {
      spdlog::warn("the tool server '{}' has no tool {}, which the file has a rule for",
                   entry_.name, name);
    }
  }
  read_prompt(client, stop);
  const Lock lock(mutex_);
  tools_ = std::move(tools);
}

void ToolServer::read_prompt(McpClient& client, const std::stop_token& stop) {
  if (entry_.prompt.empty()) return;
  std::string prompt =
      bounded(client.get_prompt(entry_.prompt, limits_.connect_s, stop), limits_.prompt_bytes);
  const Lock lock(mutex_);
  prompt_ = std::move(prompt);
}

std::optional<Tool> ToolServer::read_tool(const Json& listed) const {
  Tool tool{.server = entry_.name, .own_name = listed["name"].get<std::string>(), .timeout_s = 0};
  tool.name = plain_name(tool.own_name);
  const auto description = listed.find("description");
  if (description != listed.end() && description->is_string()) {
    tool.description = bounded(description->get<std::string>(), limits_.description_bytes);
  }
  const auto schema = listed.find("inputSchema");
  if (schema != listed.end() && schema->is_object()) tool.parameters = *schema;
  if (to_text(tool.parameters).size() > limits_.parameters_bytes) {
    spdlog::warn("{} of the tool server '{}' is left out: its parameters take more than {} bytes",
                 tool.name, entry_.name, limits_.parameters_bytes);
    return std::nullopt;
  }
  const auto hints = listed.find("annotations");
  const bool has_hints = hints != listed.end() && hints->is_object();
  tool.effects = effects_of(has_hints ? *hints : Json());
  apply_rule(tool, has_hints);
  const bool only_reads = tool.effects == Effects::kRead;
  if (tool.timeout_s == 0) tool.timeout_s = only_reads ? limits_.read_s : limits_.effect_s;
  return tool;
}

void ToolServer::apply_rule(Tool& tool, bool has_hints) const {
  const auto take = [&](const ToolRule& rule) {
    if (rule.effects && *rule.effects < tool.effects) {
      spdlog::warn("the file says that {} of '{}' is '{}', {} '{}': the file counts", tool.name,
                   entry_.name, to_string(*rule.effects),
                   has_hints ? "its server" : "without a word of its server it would be",
                   to_string(tool.effects));
    }
    if (rule.effects) tool.effects = *rule.effects;
    if (rule.timeout_s) tool.timeout_s = *rule.timeout_s;
  };
  const auto others = entry_.rules.find("*"), own = entry_.rules.find(tool.own_name);
  if (others != entry_.rules.end()) take(others->second);
  if (own != entry_.rules.end()) take(own->second);
  const bool has_own = own != entry_.rules.end() && own->second.asks;
  const bool asks_all = others != entry_.rules.end() && others->second.asks.value_or(false);
  tool.asks = has_own ? *own->second.asks : asks_all && tool.effects == Effects::kDestructive;
}

ToolResult ToolServer::run(const Tool& tool, const std::string& arguments,
                           const std::stop_token& stop,
                           const std::function<void(ToolProgress)>& on_progress) {
  using Status = ToolResult::Status;
  std::shared_ptr<McpClient> client;
  {
    const Lock lock(mutex_);
    client = client_;
  }
  if (!client) {
    return {Status::kUnavailable,
            fmt::format("Error: the service '{}' is not there at the moment.", entry_.name)};
  }
  const bool may = tool.effects != Effects::kRead;
  const std::string also = may ? " It may have happened all the same." : "";
  const std::string service = fmt::format("Error: the service '{}'", entry_.name);
  const auto told = [&](const std::exception& error) {
    return bounded(error.what(), limits_.result_bytes);
  };
  try {
    const Json parsed = parse_client_json(arguments, "the arguments");
    if (!parsed.is_object()) return {Status::kFailed, "Error: the arguments must be an object."};
    return read_call_result(
        client->call_tool(tool.own_name, parsed, tool.timeout_s, stop, on_progress),
        limits_.result_bytes);
  } catch (const Interrupted&) {
    return {Status::kCancelled, "Cancelled: the user did not wait." + also, may};
  } catch (const NoAnswer& error) {
    return {Status::kTimedOut, fmt::format("{} {}.{}", service, error.what(), also), may};
  } catch (const Refusal& refusal) {
    return {Status::kFailed, "Error: " + told(refusal)};
  } catch (const UserError& error) {
    return {Status::kFailed, fmt::format("Error: {}", error.what())};
  } catch (const NotDone& error) {
    if (!client->lost()) {  // otherwise keep() logs it
      spdlog::warn("the tool server '{}' {}", entry_.name, first_line(error.what()));
    }
    return {Status::kUnavailable, fmt::format("{} {}.", service, told(error))};
  } catch (const ServerError& error) {
    return {Status::kUnavailable, fmt::format("{} {}.{}", service, told(error), also), may};
  }
}

std::vector<Tool> with_unique_names(std::vector<Tool> tools) {
  std::map<std::string, std::set<std::string>> servers;  // that have a name
  for (const Tool& tool : tools) servers[tool.name].insert(tool.server);
  std::set<std::string> taken;
  std::erase_if(tools, [&](Tool& tool) {
    if (servers[tool.name].size() > 1) tool.name = plain_name(tool.server + "__" + tool.name);
    return !taken.insert(tool.name).second;
  });
  return tools;
}

ToolServers::ToolServers(const std::vector<ServerEntry>& entries, const ToolLimits& limits,
                         const std::stop_token& stop)
    : limits_(limits) {
  for (const ServerEntry& entry : entries) {
    servers_.push_back(std::make_unique<ToolServer>(entry, limits));
  }
  for (const auto& server : servers_) server->wait_ready(stop);
}

std::vector<Tool> ToolServers::tools() const {
  std::vector<Tool> all;
  for (const auto& server : servers_) {
    std::vector<Tool> more = server->tools();
    std::ranges::move(more, std::back_inserter(all));
  }
  all = with_unique_names(std::move(all));
  if (all.size() > limits_.num_tools) all.resize(limits_.num_tools);
  return all;
}

std::string ToolServers::prompt() const {
  std::string all;
  for (const auto& server : servers_) all = joined(all, "\n\n", server->prompt());
  return all;
}

ToolResult ToolServers::run(const Tool& tool, const std::string& arguments,
                            const std::stop_token& stop,
                            const std::function<void(ToolProgress)>& on_progress) {
  const auto server =
      std::ranges::find_if(servers_, [&](const auto& one) { return one->name() == tool.server; });
  PREDGEN_CHECK(server != servers_.end(), "no server '{}'", tool.server);
  return (*server)->run(tool, arguments, stop, on_progress);
}

}  // namespace predgen::act
