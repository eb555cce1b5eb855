#include "serve/wyoming/wyoming_conversation.h"

#include <functional>
#include <utility>

#include "serve/api_error.h"

namespace predgen::serve {
namespace {

/// Does it, unless there is nothing to end, or no room for it.
void try_quietly(const std::function<void()>& work) {
  try {
    work();
  } catch (const ApiError&) {
  }
}

}  // namespace

bool WyomingConversation::enter(Client client) {
  const Lock lock(mutex_);
  if (std::exchange(is_taken_, true)) return false;
  client_ = std::move(client);
  return true;
}

void WyomingConversation::hand_to(Client client) {
  const Lock lock(mutex_);
  client_ = std::move(client);
}

void WyomingConversation::hear(const TranscriptLine& line) {
  conversation_.input().hear(line);
  const Lock lock(mutex_);
  if (is_broken_) finish(kServerFault);  // nothing else would
}

void WyomingConversation::give_up() {
  try_quietly([this] { conversation_.input().hear({.text = ""}); });
  const Lock lock(mutex_);
  is_taken_ = false;
}

bool WyomingConversation::leave(const WyomingSender& sender) {
  {
    const Lock lock(mutex_);
    if (!is_taken_ || client_.sender != &sender) return false;
    client_ = {};
    is_leaving_ = true;
  }
  try_quietly([this] { conversation_.dialogue().cancel(""); });
  try_quietly([this] { conversation_.input().hear({.text = ""}); });  // words without an end
  {
    Lock lock(mutex_);
    answer_ended_.wait(lock.native(),
                       [&]() REQUIRES(mutex_) { return !is_answering_ || is_broken_; });
  }
  {  // what nobody waits for is not done with the next turn
    const Lock lock(conversation_.dialogue().mutex());
    conversation_.dialogue().items().forget_pending();
  }
  const Lock lock(mutex_);
  is_taken_ = is_leaving_ = false;
  answer_ended_.notify_all();
  return true;
}

void WyomingConversation::wait_left() {
  Lock lock(mutex_);
  answer_ended_.wait(lock.native(), [&]() REQUIRES(mutex_) { return !is_leaving_; });
}

bool WyomingConversation::is_free() const {
  const Lock lock(mutex_);
  return !is_taken_;
}

bool WyomingConversation::is_leaving() const {
  const Lock lock(mutex_);
  return is_leaving_;
}

bool WyomingConversation::is_broken() const {
  const Lock lock(mutex_);
  return is_broken_;
}

void WyomingConversation::on_event(const ConversationEvent& event) {
  const Lock lock(mutex_);
  if (std::holds_alternative<ResponseBegun>(event)) {
    is_answering_ = true;
  } else if (const auto* more = std::get_if<TextAdded>(&event)) {
    add_text(more->text);
  } else if (const auto* done = std::get_if<ResponseDone>(&event)) {
    const ResponseStatus status = done->end.status;
    const bool has_answer =
        status == ResponseStatus::kCompleted || status == ResponseStatus::kIncomplete;
    const auto& error = done->end.error;
    finish(has_answer ? "" : error ? error->what() : "the answer was cancelled");
  } else if (std::holds_alternative<ConversationEnded>(event)) {  // only if the server failed
    is_broken_ = true;
    finish(kServerFault);
  }
}

void WyomingConversation::add_text(const std::string& text) {
  if (!client_.sender) return;
  if (!std::exchange(has_begun_, true)) {
    client_.sender->send({.type = "handled-start", .data = {{"context", client_.context}}});
  }
  client_.sender->send({.type = "handled-chunk", .data = {{"text", text}}});
  text_ += text;
  tell_opening(/*is_over=*/false);
}

void WyomingConversation::tell_opening(bool is_over) {
  if (!client_.on_opening) return;
  const std::optional<size_t> end = ends_.next(text_, is_over);
  if (end) std::exchange(client_.on_opening, {})(text_.substr(0, *end));
}

void WyomingConversation::finish(const std::string& error) {
  if (error.empty()) tell_opening(/*is_over=*/true);
  is_answering_ = false;
  answer_ended_.notify_all();
  const Client client = std::exchange(client_, {});
  const std::string text = std::exchange(text_, {});
  ends_ = {};
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
