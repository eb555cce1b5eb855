#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/json.h"
#include "evaluate/judge/http_post.h"
#include "evaluate/judge/judge_prompts.h"
#include "evaluate/judge_config.h"

namespace predgen::evaluate {

struct JudgeReply {
  std::optional<std::string> text;
  std::string error;  // one line, where there is no text
};

/// Asks the judge, or a folder that caches its replies by the hash of the request. A call that
/// fails temporarily (429, 5xx, no reply, an invalid reply) is repeated after 1, 2, 4, .. seconds,
/// or when the endpoint says. After three failed requests in a row, other than by their own fault
/// (400, 413, 422), no more are sent.
class JudgeClient {
 public:
  /// `config.cache` is an existing folder; `key` is kept out of errors. Borrows the clock.
  JudgeClient(const JudgeConfig& config, const std::string& key, HttpPost post, Clock& clock);

  /// A reply that `is_usable` rejects is an error, and not cached.
  JudgeReply ask(const JudgeRequest& request,
                 const std::function<bool(const std::string& reply)>& is_usable);

  /// {"calls", "from_cache", "prompt_tokens", "reply_tokens"}; tokens as the endpoint counts them.
  Json usage() const;

 private:
  JudgeReply call(const std::string& json);
  JudgeReply read_reply(const PostReply& reply);
  Seconds pause_after(const PostReply& reply, int64_t attempt) const;

  const JudgeConfig config_;
  const std::string key_;
  const HttpPost post_;
  Clock& clock_;
  Seconds next_call_{0};
  int64_t num_failed_in_a_row_ = 0;
  int64_t num_calls_ = 0, num_cached_ = 0, num_prompt_tokens_ = 0, num_reply_tokens_ = 0;
};

}  // namespace predgen::evaluate
