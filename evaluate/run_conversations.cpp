#include "evaluate/run_conversations.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "core/error.h"
#include "core/mutex.h"
#include "evaluate/turn_rows.h"

namespace predgen::evaluate {
namespace {

/// Calls `work` on `num_threads` threads and waits for them; throws what the first one threw.
void run_threads(int64_t num_threads, const std::function<void()>& work) {
  std::vector<std::exception_ptr> errors(static_cast<size_t>(num_threads));
  {
    std::vector<std::jthread> threads;
    for (std::exception_ptr& error : errors) {
      threads.emplace_back([&work, &error] {
        try {
          work();
        } catch (...) {
          error = std::current_exception();
        }
      });
    }
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

std::string key_of(const std::string& name, size_t begin) {
  return fmt::format("{} {}", name, begin);
}

}  // namespace

size_t count_done_turns(const TurnSet& set, const std::string& name, const Journal& journal) {
  const std::vector<size_t> bounds = conversation_bounds(set.turns);
  size_t num_done = 0;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    if (journal.find(key_of(name, bounds[i]))) num_done += bounds[i + 1] - bounds[i];
  }
  return num_done;
}

Json run_conversations(const TurnSet& set, const std::string& name, int64_t num_workers,
                       const std::function<RunConversation()>& make_worker, Journal& journal,
                       const std::function<void(size_t num_turns)>& on_done) {
  const std::vector<size_t> bounds = conversation_bounds(set.turns);
  const auto key = [&](size_t i) { return key_of(name, bounds[i]); };
  std::vector<size_t> missing;
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    if (!journal.find(key(i))) missing.push_back(i);
  }
  Mutex telling;  // guards on_done()
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    const RunConversation run = make_worker();
    try {
      for (size_t place = next++; place < missing.size(); place = next++) {
        const size_t i = missing[place];
        journal.append(key(i), to_json(run(bounds[i], bounds[i + 1]), set));
        const Lock lock(telling);
        on_done(bounds[i + 1] - bounds[i]);
      }
    } catch (...) {
      next = missing.size();  // no thread begins another one
      throw;
    }
  };
  const auto num_missing = static_cast<int64_t>(missing.size());
  if (num_missing > 0) run_threads(std::min(num_workers, num_missing), work);

  Json all{{"rows", Json::array()}, {"failed", Json::array()}};
  for (size_t i = 0; i + 1 < bounds.size(); ++i) {
    const Json part = journal.find(key(i)).value();
    for (const char* list : {"rows", "failed"}) {
      all[list].insert(all[list].end(), part.at(list).begin(), part.at(list).end());
    }
  }
  if (all["rows"].empty()) {
    journal.remove();  // it is of no use to a run with another configuration
    const Json& first = all["failed"].at(0);
    throw UserError("every turn failed; turn {} with {}: {}", first["id"].get<std::string>(),
                    first["method"].get<std::string>(), first["error"].get<std::string>());
  }
  return all;
}

}  // namespace predgen::evaluate
