#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "act/mcp/mcp_client.h"
#include "act/servers_file.h"
#include "act/tool_runner.h"
#include "core/mutex.h"

namespace predgen::act {

struct ToolLimits {
  double connect_s = 20;          // until a server is there and has listed its tools
  double read_s = 30;             // of a call that only reads, unless the file says otherwise
  double effect_s = 10;           // of another; who asked would not expect it any more
  double prompt_s = 60;           // until a server is asked for its prompt again
  double retry_s = 1;             // after a server was lost; doubled up to a minute
  size_t result_bytes = 8 << 10;  // of a result
  size_t description_bytes = 1024, parameters_bytes = 8 << 10;  // of a tool
  size_t prompt_bytes = 32 << 10;                               // of a server
  size_t num_tools = 128;                                       // of all servers
};

/// A server and its tools. A thread of its own connects, lists the tools again when they change,
/// and connects again when the server is lost; what is called meanwhile is unavailable.
/// Thread-safe.
class ToolServer {
 public:
  /// `make_transport` empty: by the entry.
  ToolServer(ServerEntry entry, const ToolLimits& limits,
             McpClient::MakeTransport make_transport = {});
  ~ToolServer();

  const std::string& name() const { return entry_.name; }
  /// Waits until the tools are known. UserError if the server cannot be reached.
  void wait_ready(const std::stop_token& stop);
  /// With their own names; those of before, while the server is lost.
  std::vector<Tool> tools() const;
  /// That of the file, as the server gave it last.
  std::string prompt() const;
  /// As ToolRunner::run().
  ToolResult run(const Tool& tool, const std::string& arguments, const std::stop_token& stop,
                 const std::function<void(ToolProgress)>& on_progress);

 private:
  void keep(const std::stop_token& stop);
  /// Returns when the server is lost, by ServerError.
  void connect(const std::stop_token& stop);
  void list(McpClient& client, const std::stop_token& stop);
  void read_prompt(McpClient& client, const std::stop_token& stop);
  std::optional<Tool> read_tool(const Json& listed) const;
  /// The file's rule, and what its server says of a tool.
  void apply_rule(Tool& tool, bool has_hints) const;
  void wake();
  /// Until there is something to do, or `seconds` are over.
  void rest(double seconds, const std::stop_token& stop);

  const ServerEntry entry_;
  const ToolLimits limits_;
  const McpClient::MakeTransport make_transport_;
  mutable Mutex mutex_;
  std::condition_variable_any changed_;
  std::shared_ptr<McpClient> client_ GUARDED_BY(mutex_);  // null: it is lost, or not there yet
  std::vector<Tool> tools_ GUARDED_BY(mutex_);
  std::string prompt_ GUARDED_BY(mutex_);
  std::optional<std::string> failure_ GUARDED_BY(mutex_);  // of the first attempt
  bool is_ready_ GUARDED_BY(mutex_) = false;               // the tools are known
  bool is_woken_ GUARDED_BY(mutex_) = false;
  std::jthread keeper_;  // last: it uses the others
};

/// The tools of several servers under one roof. A tool has its own name, or SERVER__NAME if another
/// server has one of that name; past ToolLimits::num_tools they are left out. Thread-safe.
class ToolServers : public ToolRunner {
 public:
  /// Starts all, and waits until they have listed their tools. UserError if one cannot be reached.
  ToolServers(const std::vector<ServerEntry>& entries, const ToolLimits& limits,
              const std::stop_token& stop);

  std::vector<Tool> tools() const override;
  std::string prompt() const override;
  ToolResult run(const Tool& tool, const std::string& arguments, const std::stop_token& stop,
                 const std::function<void(ToolProgress)>& on_progress) override;

 private:
  const ToolLimits limits_;
  std::vector<std::unique_ptr<ToolServer>> servers_;
};

/// `tools` of several servers, in order, with names that differ; what has none left is left out.
std::vector<Tool> with_unique_names(std::vector<Tool> tools);

}  // namespace predgen::act
