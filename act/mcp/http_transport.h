#pragma once

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "act/mcp/http_exchange.h"
#include "act/mcp/sse_reader.h"
#include "act/mcp/sse_transport.h"
#include "act/mcp/transport.h"
#include "act/servers_file.h"
#include "core/mutex.h"

namespace predgen::act {

/// Streamable HTTP: every message is a POST, whose answer is a message or a stream of them; another
/// stream, which is asked for again when it ends, has what the server sends unasked. The session is
/// deleted at the end. A server that does not know it is spoken to as SseTransport does. No
/// redirects, no TLS.
class HttpTransport : public Transport {
 public:
  /// UserError for an address that is none.
  HttpTransport(const ServerEntry& server, MessageHandler& handler);
  ~HttpTransport() override;

  void send(const Json& message, Deadline deadline, const std::stop_token& stop) override;
  void listen(const std::string& revision, const Json& subscription) override;

 private:
  using Headers = std::map<std::string, std::string>;
  Headers headers_for(const Json& message) const;
  Headers headers() const;
  /// Whether the body of a refusal answers the request.
  bool is_refused_by_answer(const HttpExchange::Head& head, HttpExchange& exchange);
  /// The server may know only the way of before. False: it does not know that, either. ServerError
  /// if it does.
  bool try_older(int status, const Json& message, Deadline deadline, const std::stop_token& stop);
  [[noreturn]] void refuse(int status);
  /// Hands messages to the handler until one answers `id`; false: the stream has ended before.
  bool take_stream(HttpExchange& exchange, SseReader& reader, int64_t id);
  void keep_listening(const Json& subscription, const std::stop_token& stop);
  /// False: there is no such stream.
  bool listen_once(const Json& subscription, SseReader& reader, const std::stop_token& stop);

  const ServerEntry server_;
  const HttpUrl url_;
  MessageHandler& handler_;
  mutable Mutex mutex_;
  std::string session_ GUARDED_BY(mutex_), revision_ GUARDED_BY(mutex_);  // empty: none yet
  std::unique_ptr<SseTransport> older_;  // from the first message on; null: it is not needed
  std::jthread listener_;                // last: it uses the others
};

}  // namespace predgen::act
