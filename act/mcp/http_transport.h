#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "act/mcp/http_exchange.h"
#include "act/mcp/transport.h"
#include "act/servers_file.h"
#include "core/mutex.h"

namespace predgen::act {

struct SseEvent {
  std::string type{}, data{};  // type: empty if the stream names none

  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

/// Server-sent events out of the bytes of a stream
/// (https://html.spec.whatwg.org/#server-sent-events).
class SseReader {
 public:
  /// Those with data that are complete by now. ServerError for one of more than kMaxMessageBytes.
  std::vector<SseEvent> push(std::string_view bytes);

  /// A new stream goes on from here: what was left of the old one is dropped.
  void restart() {
    line_.clear();
    type_.clear();
    data_.clear();
    has_data_ = was_return_ = false;
  }

  /// Of the last event; empty: none.
  const std::string& last_id() const { return last_id_; }
  /// How long to wait before the stream is asked for again, if it says so.
  std::optional<double> retry_s() const { return retry_s_; }

 private:
  void take_line(std::vector<SseEvent>& events);

  std::string line_, type_, data_;
  bool has_data_ = false, was_return_ = false;
  std::string last_id_;
  std::optional<double> retry_s_;
};

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
