#include "evaluate/judge/judge_client.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "core/hash.h"
#include "core/text.h"

namespace predgen::evaluate {
namespace {

constexpr int64_t kMaxFailuresInARow = 3;
constexpr double kLongestPause = 60;  // seconds, unless the endpoint asks for more
constexpr size_t kShownBytes = 200;   // of a reply in an error

bool may_pass(long status) {
  return status == 0 || status == 200 || status == 408 || status == 429 || status >= 500;
}

bool is_bad_request(long status) { return status == 400 || status == 413 || status == 422; }

/// One line, short and valid.
std::string shown(const std::string& text) {
  std::string line = first_line(std::string(trimmed(text))).substr(0, kShownBytes);
  return Json(line).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string request_body(const JudgeConfig& config, const JudgeRequest& request) {
  Json messages = Json::array();
  if (!request.system.empty()) {
    messages.push_back({{"role", "system"}, {"content", request.system}});
  }
  messages.push_back({{"role", "user"}, {"content", request.user}});
  return to_text({{"model", config.model},
                  {"messages", messages},
                  {"temperature", 0},
                  {"max_tokens", config.max_reply_tokens}});
}

}  // namespace

JudgeClient::JudgeClient(const JudgeConfig& config, const std::string& key, HttpPost post,
                         Clock& clock)
    : config_(config), key_(key), post_(std::move(post)), clock_(clock) {}

JudgeReply JudgeClient::ask(const JudgeRequest& request,
                            const std::function<bool(const std::string&)>& is_usable) {
  const std::string json = request_body(config_, request);
  const std::string hash = Hasher().add(config_.endpoint).add(json).hex();
  const std::filesystem::path file = config_.cache / (hash + ".json");
  if (std::filesystem::exists(file)) {
    ++num_cached_;
    return {json_get<std::string>(read_json(file), "reply", file.string()), ""};
  }
  if (num_failed_in_a_row_ == kMaxFailuresInARow) {
    return {std::nullopt, "not asked: the judge failed three times in a row"};
  }
  JudgeReply reply = call(json);
  if (!reply.text) return reply;
  if (!is_usable(*reply.text)) {
    return {std::nullopt, "the judge's reply has no verdict: " + shown(*reply.text)};
  }
  write_file(file, to_text({{"reply", *reply.text}}, 1));
  return reply;
}

Json JudgeClient::usage() const {
  return {{"calls", num_calls_},
          {"from_cache", num_cached_},
          {"prompt_tokens", num_prompt_tokens_},
          {"reply_tokens", num_reply_tokens_}};
}

JudgeReply JudgeClient::call(const std::string& json) {
  for (int64_t attempt = 0;; ++attempt) {
    clock_.sleep_until(next_call_);
    if (config_.calls_per_minute > 0) {
      next_call_ = clock_.now() + Seconds(60 / config_.calls_per_minute);
    }
    ++num_calls_;
    const PostReply reply = post_(json);
    JudgeReply read = read_reply(reply);
    if (read.text || !may_pass(reply.status) || attempt == config_.retries) {
      const bool works = read.text || is_bad_request(reply.status);
      num_failed_in_a_row_ = works ? 0 : num_failed_in_a_row_ + 1;
      return read;
    }
    next_call_ = std::max(next_call_, clock_.now() + pause_after(reply, attempt));
  }
}

JudgeReply JudgeClient::read_reply(const PostReply& reply) {
  if (reply.status == 0) return {std::nullopt, "no reply: " + reply.error};
  if (reply.status != 200) {
    std::string body = reply.body;
    for (size_t at = 0; !key_.empty() && (at = body.find(key_)) != std::string::npos;) {
      body.replace(at, key_.size(), "***");
    }
    return {std::nullopt, fmt::format("HTTP {}: {}", reply.status, shown(body))};
  }
  try {
    check_json_depth(reply.body, "judge");
    const Json json = Json::parse(reply.body);
    if (const auto usage = json.find("usage"); usage != json.end() && usage->is_object()) {
      num_prompt_tokens_ += usage->value("prompt_tokens", int64_t{0});
      num_reply_tokens_ += usage->value("completion_tokens", int64_t{0});
    }
    return {json.at("choices").at(0).at("message").at("content").get<std::string>(), ""};
  } catch (const std::exception&) {
    return {std::nullopt, "the reply is no chat completion: " + shown(reply.body)};
  }
}

Seconds JudgeClient::pause_after(const PostReply& reply, int64_t attempt) const {
  const double doubled = std::min(kLongestPause, std::exp2(static_cast<double>(attempt)));
  return Seconds(reply.retry_after.value_or(doubled));
}

}  // namespace predgen::evaluate
