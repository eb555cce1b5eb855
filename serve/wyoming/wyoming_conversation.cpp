#include "serve/wyoming/wyoming_conversation.h"

#include <utility>

namespace predgen::serve {
namespace {

constexpr const char* kFailed = "the server failed; its log says more";

}  // namespace

bool WyomingConversation::enter(Client client) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_taken_, true)) return false;
  client_ = std::move(client);
  return true;
}

void WyomingConversation::hear(const TranscriptLine& line) {
  conversation_.hear(line);
  const std::lock_guard lock(mutex_);
  if (is_broken_) finish(kFailed);  // nobody else would
}

bool WyomingConversation::leave(const WyomingSender& sender) {
  {
    const std::lock_guard lock(mutex_);
    if (client_.sender != &sender) return false;
    client_ = {};
  }
  try {
    conversation_.cancel("");
  } catch (const ApiError&) {  // there is no answer under way
  }
  conversation_.hear({.text = ""});  // words without an end
  std::unique_lock lock(mutex_);
  answer_ended_.wait(lock, [&] { return !is_answering_ || is_broken_; });
  is_taken_ = false;
  return true;
}

bool WyomingConversation::is_free() const {
  const std::lock_guard lock(mutex_);
  return !is_taken_;
}

bool WyomingConversation::is_broken() const {
  const std::lock_guard lock(mutex_);
  return is_broken_;
}

void WyomingConversation::take(std::string_view type, const Json& fields) {
  const std::lock_guard lock(mutex_);
  if (type == "response.created") {
    is_answering_ = true;
  } else if (type == "response.output_text.delta") {
    add_text(fields["delta"].get<std::string>());
  } else if (type == "response.done") {
    const Json& response = fields["response"];
    const bool has_answer = response["status"] == "completed" || response["status"] == "incomplete";
    const Json& details = response["status_details"];
    const bool says_why = details.is_object() && details.contains("error");
    finish(has_answer ? "" : says_why ? details["error"]["message"] : "the answer was cancelled");
  }
}

void WyomingConversation::fail() {
  const std::lock_guard lock(mutex_);
  is_broken_ = true;
  finish(kFailed);
}

void WyomingConversation::add_text(const std::string& text) {
  if (!client_.sender) return;
  if (!std::exchange(has_begun_, true)) {
    client_.sender->send({.type = "handled-start", .data = {{"context", client_.context}}});
  }
  client_.sender->send({.type = "handled-chunk", .data = {{"text", text}}});
  text_ += text;
}

void WyomingConversation::finish(const std::string& error) {
  is_answering_ = false;
  answer_ended_.notify_all();
  const Client client = std::exchange(client_, {});
  const std::string text = std::exchange(text_, {});
  const bool has_begun = std::exchange(has_begun_, false);
  if (!client.sender) return;
  is_taken_ = false;
  client.on_end();
  client.sender->send(
      {.type = error.empty() ? "handled" : "not-handled",
       .data = {{"text", error.empty() ? text : error}, {"context", client.context}}});
  if (has_begun) client.sender->send({.type = "handled-stop"});
  client.on_done();
}

}  // namespace predgen::serve
