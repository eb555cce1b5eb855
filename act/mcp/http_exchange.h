#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "act/mcp/transport.h"
#include "core/host_url.h"

namespace predgen::act {

/// http://HOST[:PORT][/PATH][?QUERY]
using HttpUrl = HostUrl;

/// UserError says what an address looks like, and what to do about https.
HttpUrl parse_http_url(const std::string& url);

/// ServerError for such a status; NotDone if by it the server has not tried.
[[noreturn]] void throw_refusal(int status);

/// After which a stream that a server may go on with forever is asked for again.
inline constexpr std::chrono::hours kLongestStream{24};

/// One request of HTTP/1.1 and its answer, over a connection of its own. Used by one thread.
class HttpExchange {
 public:
  /// All below throws ServerError after `deadline`, or if the server does not speak HTTP, NotDone
  /// if it is not there, and Interrupted after a stop. (A name that takes long to resolve delays
  /// either.)
  HttpExchange(const HttpUrl& url, Deadline deadline, const std::stop_token& stop);
  ~HttpExchange();

  struct Head {
    int status = 0;
    std::string content_type{}, session{};  // empty: no such header

    bool is_stream() const { return content_type.starts_with("text/event-stream"); }
  };
  /// `headers`: of the request, beside those that describe the body. Returns once the head of the
  /// answer is there.
  Head send(const std::string& method, const std::map<std::string, std::string>& headers,
            const std::string& body);
  /// More of the answer's body, valid until the next call; empty: that was all.
  std::string_view read_some();
  /// All of it, at most `most` bytes: ServerError for more.
  std::string read_all(size_t most);

 private:
  struct State;
  template <typename Begin>
  void run(const Begin& begin);
  void connect();

  const HttpUrl& url_;
  const std::stop_token stop_;
  std::unique_ptr<State> state_;
};

}  // namespace predgen::act
