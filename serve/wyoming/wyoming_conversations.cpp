#include "serve/wyoming/wyoming_conversations.h"

#include <algorithm>
#include <utility>

#include "serve/serve_config.h"

namespace predgen::serve {

std::shared_ptr<WyomingConversation> WyomingConversations::enter(
    const std::string& id, WyomingConversation::Client client) {
  std::list<Kept> old;  // which end without the mutex
  const std::string peer = client.peer;
  const Lock lock(mutex_);
  const auto found = std::ranges::find_if(
      kept_, [&](const Kept& one) { return one.id == id && one.peer == peer && !is_over(one); });
  const bool is_busy = found != kept_.end() && !found->conversation->is_free();
  if (!is_busy && num_busy(peer) >= share_of_address(max_conversations_)) refuse();
  if (found != kept_.end()) {
    if (!found->conversation->enter(std::move(client))) {
      throw ApiError({.status = 409, .code = "conversation_is_busy"},
                     "another turn of this conversation is under way: wait for its answer");
    }
    found->entered = host_.clock.now();
    kept_.splice(kept_.end(), kept_, found);
    return kept_.back().conversation;
  }
  old = remove_old();
  if (std::ssize(kept_) >= max_conversations_) refuse();
  auto conversation = std::make_shared<WyomingConversation>(host_, peer);
  conversation->enter(std::move(client));
  kept_.push_back(
      {.id = id, .peer = peer, .entered = host_.clock.now(), .conversation = conversation});
  return conversation;
}

int64_t WyomingConversations::num_busy(const std::string& peer) const {
  return std::ranges::count_if(
      kept_, [&](const Kept& one) { return one.peer == peer && !one.conversation->is_free(); });
}

void WyomingConversations::refuse() const {
  throw ApiError(
      {.status = 429, .code = "session_limit_reached"},
      fmt::format("{} conversations are under way, or {} of yours, which is the limit: try again",
                  max_conversations_, share_of_address(max_conversations_)));
}

bool WyomingConversations::is_over(const Kept& one) const {
  const bool is_idle = host_.clock.now() - one.entered > idle_ && one.conversation->is_free();
  return is_idle || one.conversation->is_broken();
}

std::list<WyomingConversations::Kept> WyomingConversations::remove_old() {
  std::list<Kept> old;
  for (auto one = kept_.begin(); one != kept_.end();) {
    const auto next = std::next(one);
    const bool must_go = is_over(*one) || std::ssize(kept_) >= max_conversations_;
    if (must_go && one->conversation->is_free()) old.splice(old.end(), kept_, one);
    one = next;
  }
  return old;
}

}  // namespace predgen::serve
