#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "act/mcp/transport.h"
#include "act/servers_file.h"
#include "core/helper_process.h"
#include "core/mutex.h"

namespace predgen::act {

/// A program whose stdin and stdout carry one message a line. Its stderr is read, and only its last
/// line is kept, to say why it ended. It is killed with its process group, after a second to leave.
class StdioTransport : public Transport {
 public:
  /// UserError if the program cannot be started.
  StdioTransport(const ServerEntry& server, MessageHandler& handler);
  ~StdioTransport() override;

  void send(const Json& message, Deadline deadline, const std::stop_token& stop) override;
  void listen(const std::string& revision, const Json& subscription) override;

 private:
  void read();
  /// False: its output has ended.
  bool read_output();
  bool read_errors();
  void take(std::string_view bytes);

  MessageHandler& handler_;
  HelperProcess process_;
  Mutex mutex_;                // guards the process' input
  std::string line_, errors_;  // so far, by the thread below
  bool is_too_large_ = false;
  std::once_flag is_reading_;
  std::jthread reader_;  // last: it uses the others
};

}  // namespace predgen::act
