#pragma once

#include <condition_variable>
#include <optional>
#include <string>
#include <thread>

#include "act/mcp/http_exchange.h"
#include "act/mcp/transport.h"
#include "act/servers_file.h"
#include "core/mutex.h"

namespace predgen::act {

/// HTTP as revision 2024-11-05 has it: one stream of server-sent events brings all that the server
/// says; it first names the address that messages are posted to. No redirects, no TLS.
class SseTransport : public Transport {
 public:
  /// UserError for an address that is none.
  SseTransport(const ServerEntry& server, MessageHandler& handler);

  void send(const Json& message, Deadline deadline, const std::stop_token& stop) override;
  void listen(const std::string& /*revision*/, const Json& /*subscription*/) override {}

 private:
  /// Of the messages. ServerError if the stream has ended before it named one.
  HttpUrl address(Deadline deadline, const std::stop_token& stop);
  void read(const std::stop_token& stop);
  void take_address(const std::string& said);

  const ServerEntry server_;
  const HttpUrl url_;
  MessageHandler& handler_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::optional<HttpUrl> address_ GUARDED_BY(mutex_);
  std::string failure_ GUARDED_BY(mutex_);  // empty: none
  std::jthread reader_;                     // last: it uses the others
};

}  // namespace predgen::act
