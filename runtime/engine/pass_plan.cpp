#include "runtime/engine/pass_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace predgen {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

/// The shortest request for each key, and the shortest one of the other keys.
template <class Key>
class Shortest {
 public:
  void add(const Key& key, int64_t tokens) {
    const auto [known, is_new] = shortest_.emplace(key, tokens);
    if (!is_new) known->second = std::min(known->second, tokens);
  }

  int64_t of_others(const Key& key) {
    if (!is_known_) find();
    return least_key_ == key ? second_least_ : least_;
  }

 private:
  void find() {
    is_known_ = true;
    for (const auto& [key, tokens] : shortest_) {
      if (tokens < least_) {
        second_least_ = std::exchange(least_, tokens);
        least_key_ = key;
      } else {
        second_least_ = std::min(second_least_, tokens);
      }
    }
  }

  std::map<Key, int64_t> shortest_;
  bool is_known_ = false;
  std::optional<Key> least_key_;
  int64_t least_ = kAny, second_least_ = kAny;
};

/// Makes a plan, the most urgent requests first.
class Plan {
 public:
  Plan(std::span<const AskedOfPass> asked, const PassLimits& limits)
      : asked_(asked), limits_(limits), room_(limits.tokens), counts_(asked.size()) {
    for (const AskedOfPass& one : asked) {
      all_.add(one);
      if (one.priority != Priority::kSpeculative) answers_.add(one);
      if (one.last_pass > 0) recent_.insert(one.client);
    }
  }

  std::vector<int64_t> make() {
    for (const Priority priority : {Priority::kCommitted, Priority::kSpeculative}) {
      std::vector<size_t> in_order;
      for (size_t i = 0; i < asked_.size(); ++i) {
        if (asked_[i].priority == priority) in_order.push_back(i);
      }
      if (in_order.empty()) continue;
      if (priority == Priority::kSpeculative) room_ = std::min(room_, speculative_room());
      std::ranges::stable_sort(in_order, std::less<>(), [this](size_t i) {
        constexpr int64_t kPatience = 8;
        const int64_t skipped = asked_[i].num_skipped;
        return std::pair(skipped < kPatience ? 0 : -skipped, asked_[i].num_tokens());
      });
      share_out(in_order);
    }
    return counts_;
  }

 private:
  struct Others {
    void add(const AskedOfPass& one) {
      clients.add(one.client, one.num_tokens());
      calls.add(one.call, one.num_tokens());
    }
    Shortest<std::string_view> clients{};
    Shortest<const void*> calls{};
  };
  struct Client {
    std::vector<size_t> requests{};  // the next one first
    int64_t num_tokens = 0, last_pass = 0;
  };

  /// `in_order`: the next one first.
  void share_out(const std::vector<size_t>& in_order) {
    std::map<std::string_view, size_t> places;
    std::vector<Client> clients;
    for (const size_t i : in_order) {
      const auto [place, is_new] = places.emplace(asked_[i].client, clients.size());
      if (is_new) clients.push_back({.last_pass = asked_[i].last_pass});
      clients[place->second].requests.push_back(i);
      clients[place->second].num_tokens += asked_[i].num_tokens();
    }
    std::ranges::stable_sort(clients, std::less<>(), [](const Client& client) {
      return std::pair(client.last_pass, client.num_tokens);
    });
    auto num_left = std::ssize(clients);
    for (const Client& client : clients) {
      int64_t share = room_ / num_left--;
      for (const size_t i : client.requests) share -= give(i, share);
    }
    for (const size_t i : in_order) give(i, room_);  // what is left
  }

  /// Gives a request up to `share` more tokens. Returns how many.
  int64_t give(size_t i, int64_t share) {
    const AskedOfPass& one = asked_[i];
    int64_t& used = used_[one.client];
    int64_t& used_by_call = used_by_call_[one.call];
    const bool is_last = one.num_pending == 1;
    const int64_t least = is_last ? one.last_tokens() : 1;
    Others& others = one.priority == Priority::kSpeculative ? all_ : answers_;
    int64_t allowed = std::min(share, bound(one.client, others) - used);
    if (used == 0) allowed = std::max(allowed, least);
    const int64_t beside_calls = beside(others.calls.of_others(one.call)) - used_by_call;
    allowed = std::min(allowed, used_by_call == 0 ? std::max(beside_calls, least) : beside_calls);
    allowed = counts_[i] + std::max<int64_t>(0, std::min(allowed, room_));
    const bool is_whole = one.num_tokens() <= allowed || (is_last && is_empty_);
    const int64_t count =
        is_whole ? one.num_tokens() : std::min(allowed, one.num_tokens() - one.last_tokens());
    const int64_t added = count - counts_[i];
    if (added <= 0) return 0;
    is_empty_ = false;
    counts_[i] = count;
    used += added;
    used_by_call += added;
    room_ -= added;
    return added;
  }

  /// Tokens that a client may have beside others.
  int64_t bound(std::string_view client, Others& others) const {
    const int64_t num_own = recent_.contains(client) ? 1 : 0;
    const int64_t shortest = others.clients.of_others(client);
    return beside(limits_.num_recent_clients > num_own ? std::min<int64_t>(shortest, 1) : shortest);
  }

  /// As many as make a pass over `shortest` tokens longer by half.
  int64_t beside(int64_t shortest) const {
    if (!limits_.shares_at || shortest == kAny || *limits_.shares_at >= kAny - shortest)
      return kAny;
    return std::max<int64_t>(1, (*limits_.shares_at + shortest - 1) / 2);
  }

  int64_t speculative_room() const {
    if (!limits_.yields_at) return limits_.tokens;
    const int64_t num_other = limits_.tokens - room_;
    const auto pass = static_cast<double>(*limits_.yields_at);
    const auto [longer, alone] = limits_.speculation;
    const double room = num_other > 0 ? longer * (pass + static_cast<double>(num_other - 1))
                                      : std::max(alone * pass, 1.0);
    return room >= static_cast<double>(limits_.tokens) ? limits_.tokens
                                                       : static_cast<int64_t>(room);
  }

  std::span<const AskedOfPass> asked_;
  const PassLimits& limits_;
  int64_t room_;
  bool is_empty_ = true;
  std::vector<int64_t> counts_;
  std::map<std::string_view, int64_t> used_;  // tokens of clients
  std::map<const void*, int64_t> used_by_call_;
  std::set<std::string_view> recent_;
  Others answers_, all_;  // drafts make way for answers
};

}  // namespace

std::vector<int64_t> plan_pass(std::span<const AskedOfPass> asked, const PassLimits& limits) {
  return Plan(asked, limits).make();
}

}  // namespace predgen
