#include "serve/wyoming/wyoming_conversations.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "serve/api_error.h"
#include "serve/serve_config.h"
#include "text/words.h"

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

namespace {

/// How long a turn that was heard waits for its client, and how long ago a conversation may have
/// been used that a new turn still continues: as Home Assistant has it.
constexpr Seconds kPatience(10), kContinued(300);
/// How often it is looked whether a turn waits in vain.
constexpr std::chrono::milliseconds kLookEvery{500};

bool is_busy(const WyomingConversation& conversation, bool is_heard) {
  return !is_heard && !conversation.is_free();
}

}  // namespace

std::shared_ptr<WyomingConversation> WyomingConversations::enter(
    const std::string& id, const WyomingConversation::Client& client, const std::string& text) {
  while (true) {
    std::shared_ptr<WyomingConversation> leaving;
    if (auto entered = try_enter(id, client, text, leaving)) return entered;
    leaving->wait_left();
  }
}

std::shared_ptr<WyomingConversation> WyomingConversations::try_enter(
    const std::string& id, const WyomingConversation::Client& client, const std::string& text,
    std::shared_ptr<WyomingConversation>& leaving) {
  std::list<Kept> old;
  const Lock lock(mutex_);
  drop_late(old);
  Place place = find(client.peer, id);
  if (place != kept_.end() && is_busy(*place->conversation, place->heard.has_value())) {
    leaving = place->conversation;
    if (leaving->is_leaving()) return nullptr;
    throw ApiError({.status = 409, .code = "conversation_is_busy"},
                   "another turn of this conversation is under way: wait for its answer");
  }
  if (num_turns(client.peer, /*with_heard=*/false) >= share_of_address(max_conversations_)) {
    refuse();
  }
  if (const Place heard = find_heard(client.peer, id, text); heard != kept_.end()) {
    place = heard;
    place->conversation->hand_to(client);
  } else {
    if (place == kept_.end()) {
      make_room(client.peer, /*is_guess=*/false, old);
      if (is_full()) refuse();
      place = add(id, client.peer);
    }
    if (place->heard) place->conversation->give_up();
    place->conversation->enter(client);
  }
  place->id = id;
  place->is_named = client.has_id;
  place->heard.reset();
  place->entered = host_.clock.now();
  ++place->num_entered;
  kept_.splice(kept_.end(), kept_, place);
  return place->conversation;
}

int64_t WyomingConversations::listen(const std::string& peer) {
  std::list<Kept> old;
  const Lock lock(mutex_);
  drop_late(old);
  if (num_turns(peer, /*with_heard=*/true) >= share_of_address(max_conversations_)) return 0;
  Place place = begins_anew(peer) ? kept_.end() : find_last(peer);
  if (place == kept_.end()) {
    make_room(peer, /*is_guess=*/true, old);
    if (is_full()) return 0;
    place = add(std::nullopt, peer);
  }
  place->conversation->enter({});
  place->heard = {.turn = ++last_turn_};
  return last_turn_;
}

void WyomingConversations::hear(int64_t turn, const std::string& words) {
  const Lock lock(mutex_);
  const Place heard = find_turn(turn);
  if (heard == kept_.end()) return;
  try {
    heard->conversation->hear({.text = words});
  } catch (const ApiError&) {  // too long to draft for
  }
}

void WyomingConversations::expect(int64_t turn, const std::string& text) {
  const Lock lock(mutex_);
  const Place heard = find_turn(turn);
  if (heard == kept_.end()) return;
  heard->heard->words = bare_words(text);
  heard->heard->until = host_.clock.now() + kPatience;
  changed_.notify_all();
}

void WyomingConversations::forget(int64_t turn) {
  std::list<Kept> old;
  const Lock lock(mutex_);
  if (const Place heard = find_turn(turn); heard != kept_.end()) give_up(heard, old);
}

void WyomingConversations::watch(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    std::list<Kept> old;
    Lock lock(mutex_);
    const auto waits = [&]() REQUIRES(mutex_) {
      return std::ranges::any_of(kept_,
                                 [](const Kept& one) { return one.heard && one.heard->until; });
    };
    if (waits()) {
      changed_.wait_for(lock, stop, kLookEvery, [] { return false; });
    } else {
      changed_.wait(lock, stop, waits);
    }
    drop_late(old);
  }
}

void WyomingConversations::give_up(Place heard, std::list<Kept>& old) {
  // What has no id is found by nobody.
  if (!heard->id) return old.splice(old.end(), kept_, heard);
  heard->conversation->give_up();
  heard->heard.reset();
}

void WyomingConversations::drop_late(std::list<Kept>& old) {
  const Seconds now = host_.clock.now();
  for (auto one = kept_.begin(); one != kept_.end();) {
    const Place next = std::next(one);
    if (one->heard && one->heard->until.value_or(now) < now) give_up(one, old);
    one = next;
  }
}

void WyomingConversations::make_room(const std::string& peer, bool is_guess, std::list<Kept>& old) {
  const auto remove = [&](const std::function<bool(const Kept&)>& must_go) REQUIRES(mutex_) {
    for (auto one = kept_.begin(); one != kept_.end();) {
      const Place next = std::next(one);
      if (!is_busy(*one->conversation, one->heard.has_value()) && must_go(*one)) {
        old.splice(old.end(), kept_, one);
      }
      one = next;
    }
  };
  remove([&](const Kept& one) { return is_over(one); });
  // A guess takes the place of no other, nor of what its client may still go on with. A client
  // first takes that of what no other has named.
  const bool goes_on_with_none = is_guess && begins_anew(peer);
  remove([&](const Kept& one) REQUIRES(mutex_) {
    if (!is_full()) return false;
    if (!is_guess) return !one.is_named;
    return !one.heard && (!is_recent(one) || (goes_on_with_none && one.peer == peer));
  });
  if (!is_guess) remove([&](const Kept&) REQUIRES(mutex_) { return is_full(); });
}

WyomingConversations::Place WyomingConversations::find(const std::string& peer,
                                                       const std::string& id) {
  return std::ranges::find_if(
      kept_, [&](const Kept& one) { return one.id == id && one.peer == peer && !is_over(one); });
}

WyomingConversations::Place WyomingConversations::find_turn(int64_t turn) {
  return std::ranges::find_if(
      kept_, [&](const Kept& one) { return one.heard && one.heard->turn == turn; });
}

WyomingConversations::Place WyomingConversations::find_heard(const std::string& peer,
                                                             const std::string& id,
                                                             const std::string& text) {
  const std::string words = bare_words(text);
  const bool is_new = find(peer, id) == kept_.end();
  return std::ranges::find_if(kept_, [&](const Kept& one) {
    const bool is_mine = one.id == id || (!one.id && is_new);
    return is_mine && one.peer == peer && one.heard && !words.empty() &&
           one.heard->words == words && !one.conversation->is_broken();
  });
}

WyomingConversations::Place WyomingConversations::find_last(const std::string& peer) {
  const auto last = std::ranges::find_if(kept_.rbegin(), kept_.rend(), [&](const Kept& one) {
    return one.peer == peer && one.id && one.conversation->is_free() && !is_over(one) &&
           is_recent(one);
  });
  return last == kept_.rend() ? kept_.end() : std::prev(last.base());
}

bool WyomingConversations::begins_anew(const std::string& peer) const {
  int64_t num_recent = 0, most_turns = 0;
  for (const Kept& one : kept_) {
    if (one.peer != peer || one.num_entered == 0 || !is_recent(one)) continue;
    ++num_recent;
    most_turns = std::max(most_turns, one.num_entered);
  }
  return num_recent > 1 && most_turns == 1;
}

WyomingConversations::Place WyomingConversations::add(std::optional<std::string> id,
                                                      const std::string& peer) {
  kept_.push_back({.id = std::move(id),
                   .peer = peer,
                   .entered = host_.clock.now(),
                   .conversation = std::make_shared<WyomingConversation>(host_, peer)});
  return std::prev(kept_.end());
}

int64_t WyomingConversations::num_turns(const std::string& peer, bool with_heard) const {
  return std::ranges::count_if(kept_, [&](const Kept& one) {
    return one.peer == peer && is_busy(*one.conversation, one.heard && !with_heard);
  });
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

bool WyomingConversations::is_recent(const Kept& one) const {
  return host_.clock.now() - one.entered <= kContinued;
}

}  // namespace predgen::serve
