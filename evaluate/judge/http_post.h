#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

namespace predgen::evaluate {

struct PostReply {
  long status = 0;   // 0: there was no reply, and `error` says why
  std::string body;  // bytes, at most some megabytes
  std::string error;
  std::optional<double> retry_after;  // seconds that the server asks to wait
};

/// Sends a JSON body and waits for the reply.
using HttpPost = std::function<PostReply(const std::string& json)>;

/// Posts to `url`, with `key`, unless empty, as bearer token; Interrupted if stopped. UserError if
/// nothing listens there now. For one thread.
HttpPost connect_http(const std::string& url, const std::string& key, double timeout_seconds,
                      const std::stop_token& stop);

}  // namespace predgen::evaluate
