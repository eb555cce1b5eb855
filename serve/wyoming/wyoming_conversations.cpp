#include "serve/wyoming/wyoming_conversations.h"

#include <algorithm>
#include <utility>

#include "serve/serve_config.h"
#include "text/bare_words.h"

namespace predgen::serve {

namespace {

/// How long a turn that was heard waits for its client, and how long ago a conversation may have
/// been used that a new turn still continues: as Home Assistant has it.
constexpr Seconds kPatience(10), kContinued(300);

}  // namespace

std::shared_ptr<WyomingConversation> WyomingConversations::enter(const std::string& id,
                                                                 WyomingConversation::Client client,
                                                                 const std::string& text) {
  const std::string peer = client.peer;
  std::list<Kept> old;  // which end without the mutex
  {
    const Lock lock(mutex_);
    if (const auto heard = find_heard(peer, id, text); heard != kept_.end()) {
      heard->id = id;
      heard->heard.reset();
      heard->entered = host_.clock.now();
      heard->conversation->hand_to(std::move(client));
      kept_.splice(kept_.end(), kept_, heard);
      return kept_.back().conversation;
    }
  }
  drop_heard(peer, id);
  const Lock lock(mutex_);
  const auto found = find(peer, id);
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
  const auto added = add(id, peer);
  added->conversation->enter(std::move(client));
  return added->conversation;
}

std::shared_ptr<WyomingConversation> WyomingConversations::listen(const std::string& peer) {
  drop_heard(peer, "");
  std::list<Kept> old;
  const Lock lock(mutex_);
  if (num_busy(peer) >= share_of_address(max_conversations_)) return nullptr;
  auto last = find_last(peer);
  if (last == kept_.end()) {
    old = remove_old();
    if (std::ssize(kept_) >= max_conversations_) return nullptr;
    last = add(std::nullopt, peer);
  }
  if (!last->conversation->enter({})) return nullptr;
  last->heard.emplace();
  return last->conversation;
}

void WyomingConversations::hear(const std::shared_ptr<WyomingConversation>& conversation,
                                const std::string& words) {
  const Lock lock(mutex_);
  const auto found = std::ranges::find(kept_, conversation, &Kept::conversation);
  if (found == kept_.end() || !found->heard || found->heard->until) return;
  try {
    conversation->hear({.text = words});
  } catch (const ApiError&) {  // too long to draft for
  }
}

void WyomingConversations::expect(const std::shared_ptr<WyomingConversation>& conversation,
                                  const std::string& text) {
  const Lock lock(mutex_);
  const auto found = std::ranges::find(kept_, conversation, &Kept::conversation);
  if (found == kept_.end() || !found->heard) return;
  found->heard = {.words = bare_words(text), .until = host_.clock.now() + kPatience};
}

void WyomingConversations::forget(const std::shared_ptr<WyomingConversation>& conversation) {
  {
    const Lock lock(mutex_);
    const auto found = std::ranges::find(kept_, conversation, &Kept::conversation);
    if (found == kept_.end() || !found->heard) return;
    found->heard.reset();
  }
  conversation->leave(nullptr);
}

void WyomingConversations::drop_heard(const std::string& peer, const std::string& id) {
  std::vector<std::shared_ptr<WyomingConversation>> dropped;
  {
    const Lock lock(mutex_);
    for (const Kept& one : kept_) {
      if (!one.heard) continue;
      const bool is_late = one.heard->until.value_or(host_.clock.now()) < host_.clock.now();
      if (is_late || (one.peer == peer && one.id == id)) dropped.push_back(one.conversation);
    }
  }
  for (const auto& conversation : dropped) forget(conversation);
}

std::list<WyomingConversations::Kept>::iterator WyomingConversations::find(const std::string& peer,
                                                                           const std::string& id) {
  return std::ranges::find_if(
      kept_, [&](const Kept& one) { return one.id == id && one.peer == peer && !is_over(one); });
}

std::list<WyomingConversations::Kept>::iterator WyomingConversations::find_heard(
    const std::string& peer, const std::string& id, const std::string& text) {
  const std::string words = bare_words(text);
  const bool is_new = find(peer, id) == kept_.end();
  return std::ranges::find_if(kept_, [&](const Kept& one) {
    const bool is_mine = one.id == id || (!one.id && is_new);
    return is_mine && one.peer == peer && one.heard && !words.empty() &&
           one.heard->words == words && *one.heard->until >= host_.clock.now() &&
           !one.conversation->is_broken();
  });
}

std::list<WyomingConversations::Kept>::iterator WyomingConversations::find_last(
    const std::string& peer) {
  const auto last = std::ranges::find_if(kept_.rbegin(), kept_.rend(), [&](const Kept& one) {
    return one.peer == peer && one.id && one.conversation->is_free() && !is_over(one) &&
           host_.clock.now() - one.entered <= kContinued;
  });
  return last == kept_.rend() ? kept_.end() : std::prev(last.base());
}

std::list<WyomingConversations::Kept>::iterator WyomingConversations::add(
    std::optional<std::string> id, const std::string& peer) {
  kept_.push_back({.id = std::move(id),
                   .peer = peer,
                   .entered = host_.clock.now(),
                   .conversation = std::make_shared<WyomingConversation>(host_, peer)});
  return std::prev(kept_.end());
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
