#include "runtime/engine/pass_plan.h"

#include <algorithm>
#include <set>
#include <utility>

namespace predgen {
namespace {

// Costs are in tokens that read no text. A pass over one of them costs PassLimits::shares_at.

constexpr double kAny = std::numeric_limits<double>::infinity();

/// The lowest cost for each key, and the lowest one of the other keys.
template <class Key>
class Cheapest {
 public:
  void add(const Key& key, double cost) {
    const auto [known, is_new] = cheapest_.emplace(key, cost);
    if (!is_new) known->second = std::min(known->second, cost);
  }

  /// kAny if there are none.
  double of_others(const Key& key) {
    if (!is_known_) find();
    return least_key_ == key ? second_least_ : least_;
  }

 private:
  void find() {
    is_known_ = true;
    for (const auto& [key, cost] : cheapest_) {
      if (cost < least_) {
        second_least_ = std::exchange(least_, cost);
        least_key_ = key;
      } else {
        second_least_ = std::min(second_least_, cost);
      }
    }
  }

  std::map<Key, double> cheapest_;
  bool is_known_ = false;
  std::optional<Key> least_key_;
  double least_ = kAny, second_least_ = kAny;
};

/// Makes a plan, the most urgent requests first.
class Planner {
 public:
  Planner(std::span<const AskedOfPass> asked, const PassLimits& limits)
      : asked_(asked), limits_(limits), counts_(asked.size()) {
    for (const AskedOfPass& one : asked) {
      Account& account = accounts_[one.client];
      account.owed = one.owed;
      account.has_answer |= one.priority != Priority::kSpeculative;
      if (one.last_pass > 0) recent_.insert(one.client);
    }
    const auto share = static_cast<double>(limits.tokens) / static_cast<double>(accounts_.size());
    for (const AskedOfPass& one : asked) {
      costs_.push_back(cost(one, one.num_tokens()));
      const double part = cost(one, std::max(most_for(one, share), one.last_tokens()));
      all_.add(one, part);
      if (one.priority != Priority::kSpeculative) answers_.add(one, part);
    }
  }

  PassPlan make() {
    plan();
    if (is_empty_) {  // all that ask owe something
      for (auto& [client, account] : accounts_) account.owed = 0;
      plan();
    }
    return {.counts = std::move(counts_), .owed = owed()};
  }

 private:
  struct Others {
    void add(const AskedOfPass& one, double part) {
      clients.add(one.client, part);
      calls.add(one.call, part);
    }
    Cheapest<std::string_view> clients{};
    Cheapest<const void*> calls{};
  };
  /// A client's share of the costs.
  struct Account {
    double owed = 0, used = 0;  // from before; in this pass
    bool has_answer = false;
  };
  struct Client {
    std::vector<size_t> requests{};  // the next one first
    double cost = 0;
    int64_t last_pass = 0;
  };

  void plan() {
    room_ = limits_.tokens;
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
        return std::pair(skipped < kPatience ? 0 : -skipped, costs_[i]);
      });
      share_out(in_order);
    }
  }

  /// `in_order`: the next one first.
  void share_out(const std::vector<size_t>& in_order) {
    std::map<std::string_view, size_t> places;
    std::vector<Client> clients;
    for (const size_t i : in_order) {
      const auto [place, is_new] = places.emplace(asked_[i].client, clients.size());
      if (is_new) clients.push_back({.last_pass = asked_[i].last_pass});
      clients[place->second].requests.push_back(i);
      clients[place->second].cost += costs_[i];
    }
    std::ranges::stable_sort(clients, std::less<>(), [](const Client& client) {
      return std::pair(client.last_pass, client.cost);
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
    Account& account = accounts_[one.client];
    double& used_by_call = used_by_call_[one.call];
    Others& others = one.priority == Priority::kSpeculative ? all_ : answers_;
    const double allowance = bound(one.client, others) - account.owed - account.used;
    if (allowance <= 0) return 0;
    const bool is_last = one.num_pending == 1;
    const int64_t least = is_last ? one.last_tokens() : 1;
    const double before = cost(one, counts_[i]);
    int64_t allowed = std::min(counts_[i] + share, most_for(one, before + allowance));
    if (account.used == 0) allowed = std::max(allowed, least);
    const double beside_calls = beside(others.calls.of_others(one.call)) - used_by_call;
    int64_t allowed_call = most_for(one, before + beside_calls);
    if (used_by_call == 0) allowed_call = std::max(allowed_call, least);
    allowed = std::min({allowed, allowed_call, counts_[i] + room_});
    const bool is_whole = one.num_tokens() <= allowed || (is_last && is_empty_);
    const int64_t count =
        is_whole ? one.num_tokens() : std::min(allowed, one.num_tokens() - one.last_tokens());
    const int64_t added = count - counts_[i];
    if (added <= 0) return 0;
    const double added_cost = cost(one, count) - before;
    is_empty_ = false;
    counts_[i] = count;
    // Nobody owes anything for a draft's being whole.
    account.used += std::min(added_cost, std::max(allowance, cost(one, 1)));
    used_by_call += added_cost;
    room_ -= added;
    return added;
  }

  double cost(const AskedOfPass& one, int64_t num_tokens) const {
    if (!limits_.shares_at || num_tokens == 0) return static_cast<double>(num_tokens);
    const auto count = static_cast<double>(num_tokens),
               cached = static_cast<double>(one.num_cached);
    const double reading = limits_.reading.first * cached +
                           limits_.reading.further * (count - 1) * (cached + count / 2);
    return count + static_cast<double>(*limits_.shares_at) * reading;
  }

  /// Of a request, as many tokens as cost no more.
  int64_t most_for(const AskedOfPass& one, double most) const {
    int64_t fits = 0, end = one.num_tokens() + 1;
    while (end - fits > 1) {
      const int64_t middle = fits + (end - fits) / 2;
      (cost(one, middle) <= most ? fits : end) = middle;
    }
    return fits;
  }

  /// What a client's parts may cost beside others.
  double bound(std::string_view client, Others& others) const {
    const int64_t num_own = recent_.contains(client) ? 1 : 0;
    const double cheapest = others.clients.of_others(client);
    return beside(limits_.num_recent_clients > num_own ? std::min(cheapest, 1.0) : cheapest);
  }

  /// As much as makes a pass with a part of this cost longer by half.
  double beside(double part) const {
    if (!limits_.shares_at) return kAny;
    return std::max(1.0, (static_cast<double>(*limits_.shares_at) + part - 1) / 2);
  }

  std::map<std::string, double, std::less<>> owed() {
    std::map<std::string, double, std::less<>> left;
    for (const auto& [client, account] : accounts_) {
      Others& others = account.has_answer ? answers_ : all_;
      // Who costs as much as the others does not wait for them.
      const double paid = std::max(bound(client, others), others.clients.of_others(client));
      if (const double own = account.owed + account.used; own > paid) {
        left.emplace(client, own - paid);
      }
    }
    return left;
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
  int64_t room_ = 0;  // tokens
  bool is_empty_ = true;
  std::vector<int64_t> counts_;
  std::vector<double> costs_;  // of whole requests
  std::map<std::string_view, Account> accounts_;
  std::map<const void*, double> used_by_call_;
  std::set<std::string_view> recent_;
  Others answers_, all_;  // drafts make way for answers
};

}  // namespace

PassPlan plan_pass(std::span<const AskedOfPass> asked, const PassLimits& limits) {
  return Planner(asked, limits).make();
}

}  // namespace predgen
