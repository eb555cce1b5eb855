#include "runtime/engine/engine.h"

#include <c10/core/Event.h>
#include <c10/core/InferenceMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "core/error.h"
#include "model/device_memory.h"
#include "model/stream_priority.h"

namespace predgen {

namespace {

/// What `then` gets from now on comes after what `first` has got.
void put_after(const c10::Stream& then, const c10::Stream& first) {
  c10::Event event(first.device_type());
  event.record(first);
  event.block(then);
}

}  // namespace

PassThread::PassThread(c10::Device device)
    : stream_(make_stream(device, StreamPriority::kHigh)),
      thread_([this](const std::stop_token& stop) { serve(stop); }) {}

void PassThread::run(const std::function<void()>& work) {
  const c10::Device device = stream_.device();
  if (!device.is_cuda()) return give(work);
  const c10::Stream asking = c10::impl::VirtualGuardImpl(device.type()).getStream(device);
  put_after(stream_, asking);
  try {
    give(work);
  } catch (...) {
    put_after(asking, stream_);  // what was queued until then
    throw;
  }
  put_after(asking, stream_);
}

void PassThread::give(const std::function<void()>& work) {
  Lock lock(mutex_);
  work_ = &work;
  given_.notify_one();
  done_.wait(lock.native(), [this]() REQUIRES(mutex_) { return work_ == nullptr; });
  if (const auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

void PassThread::serve(const std::stop_token& stop) {
  const c10::InferenceMode inference;
  const c10::StreamGuard stream(stream_);
  Lock lock(mutex_);
  while (given_.wait(lock, stop, [this]() REQUIRES(mutex_) { return work_ != nullptr; })) {
    try {
      (*work_)();
    } catch (...) {
      error_ = std::current_exception();
    }
    work_ = nullptr;
    done_.notify_one();
  }
}

/// A call of run().
struct Engine::Call {
  std::string client{};
  size_t num_open = 0;  // requests
  std::exception_ptr error{};

  bool is_over() const { return num_open == 0 || error; }
};

/// A request while passes run it.
struct Engine::Work {
  Work(const EngineRequest& asked, EngineResult& answer, Call& one_of)
      : sequence(*asked.sequence), request(asked), result(answer), call(one_of) {}

  int64_t num_pending() const { return static_cast<int64_t>(sequence.pending().size()); }
  int64_t num_drafted() const { return static_cast<int64_t>(request.draft.size()); }
  int64_t num_tokens() const { return num_pending() + num_drafted(); }

  /// The next `count` tokens.
  SequenceStep step(int64_t count, SequenceState& state) {
    const TokenSpan pending = sequence.pending();
    const bool ends = count == num_tokens();
    SequenceStep step{.state = &state, .read = request.read};
    if (ends) step.num_masks = request.num_masks;
    if (ends) step.num_drafted = num_drafted();
    step.num_settled = std::clamp<int64_t>(sequence.num_settled() - sequence.num_cached(), 0,
                                           count - step.num_drafted);
    step.num_logits =
        ends ? num_drafted() + std::min(request.num_logits, count - num_drafted()) : 0;
    if (request.given_PE.defined()) {
      step.given_TE = request.given_PE.narrow(0, request.given_PE.size(0) - num_pending(), count);
    }
    if (ends && num_drafted() > 0) {
      tokens.assign(pending.begin(), pending.end());
      tokens.insert(tokens.end(), request.draft.begin(), request.draft.end());
      step.tokens = tokens;
    } else {
      step.tokens = pending.first(static_cast<size_t>(count));
    }
    if (ends && request.tree_GG.defined()) {
      const int64_t before = count - num_drafted();
      step.tree_TT = at::ones({count, count}, at::kBool).tril();
      step.tree_TT.narrow(0, before, num_drafted())
          .narrow(1, before, num_drafted())
          .copy_(request.tree_GG);
    }
    return step;
  }

  Sequence& sequence;
  const EngineRequest& request;
  EngineResult& result;
  Call& call;
  TokenIds tokens;    // of a pass with a draft
  at::Tensor hidden;  // of the last pass's tokens
  int64_t num_skipped = 0;
};

/// The part of a Work that a pass runs.
struct Engine::Part {
  Work* work = nullptr;
  int64_t num_tokens = 0;
};

Engine::Engine(std::shared_ptr<const LanguageModel> model, const EngineConfig& config)
    : model_(std::move(model)),
      config_(config),
      pool_(model_->kv_layout(), config.pool_positions),
      thread_(config.has_thread ? std::make_unique<PassThread>(pool_.layout().options.device())
                                : nullptr) {
  PREDGEN_CHECK(config.pass_sequences >= 1, "passes of {} sequences", config.pass_sequences);
  if (config.pass_tokens < 1) {
    throw UserError("a pass of {} tokens: give at least 1", config.pass_tokens);
  }
}

Sequence Engine::make_sequence(int64_t capacity) {
  return Sequence(pool_.make_state(std::min(capacity, model_->max_positions())));
}

EngineResult Engine::run(const EngineRequest& request) {
  return std::move(run(std::span(&request, 1)).front());
}

void Engine::check_thread() {
  if (config_.engine_lock) {
    PREDGEN_CHECK(config_.engine_lock->is_held_here(), "a shared engine is used with its lock");
    return;
  }
  if (!owner_) owner_ = std::this_thread::get_id();
  PREDGEN_CHECK(*owner_ == std::this_thread::get_id(), "an engine is used by one thread");
}

std::vector<EngineResult> Engine::run(std::span<const EngineRequest> requests) {
  check_thread();
  std::vector<EngineResult> results(requests.size());
  Call call{.client = config_.engine_lock ? config_.engine_lock->client() : "",
            .num_open = requests.size()};
  std::vector<Work> work;
  std::set<const Sequence*> sequences;
  for (size_t i = 0; i < requests.size(); ++i) {
    PREDGEN_CHECK(!requests[i].sequence->pending().empty(), "nothing to run");
    PREDGEN_CHECK(
        requests[i].num_masks >= 0 && requests[i].num_masks <= std::ssize(requests[i].draft),
        "{} masks in a draft of {}", requests[i].num_masks, requests[i].draft.size());
    PREDGEN_CHECK(sequences.insert(requests[i].sequence).second, "a sequence is asked for twice");
    work.emplace_back(requests[i], results[i], call);
  }
  struct Leave {
    std::vector<Work*>& open;
    const Call& call;
    ~Leave() {
      std::erase_if(open, [this](const Work* one) { return &one->call == &call; });
    }
  };
  const Leave leave{open_, call};  // also where memory runs out
  for (Work& one : work) open_.push_back(&one);
  const auto is_over = [&] { return call.is_over(); };
  if (config_.engine_lock) {
    const std::function<void()> pass = [this] { run_pass(); };
    config_.engine_lock->wait(is_over, [&] { thread_ ? thread_->run(pass) : pass(); });
  } else {
    while (!is_over()) run_pass();
  }
  if (call.error) std::rethrow_exception(call.error);
  return results;
}

std::vector<Engine::Part> Engine::next_parts() {
  std::vector<AskedOfPass> asked;
  for (const Work* work : open_) {
    const auto last = last_pass_.find(work->call.client);
    const auto owed = owed_.find(work->call.client);
    asked.push_back({.client = work->call.client,
                     .call = &work->call,
                     .priority = work->request.priority,
                     .num_pending = work->num_pending(),
                     .num_drafted = work->num_drafted(),
                     .num_cached = work->sequence.num_cached(),
                     .owed = owed == owed_.end() ? 0 : owed->second,
                     .last_pass = last == last_pass_.end() ? 0 : last->second,
                     .num_skipped = work->num_skipped});
  }
  PassPlan plan = plan_pass(asked, {.tokens = config_.pass_tokens,
                                    .yields_at = yields_at_,
                                    .speculation = config_.speculation,
                                    .shares_at = shares_at_,
                                    .reading = reading_,
                                    .num_recent_clients = std::ssize(last_pass_)});
  owed_ = std::move(plan.owed);
  std::vector<Part> parts;
  for (size_t i = 0; i < plan.counts.size(); ++i) {
    if (plan.counts[i] > 0) parts.push_back({open_[i], plan.counts[i]});
  }
  return parts;
}

void Engine::note_parts(std::span<const Part> parts) {
  constexpr int64_t kRecent = 16;
  for (Work* work : open_) ++work->num_skipped;
  for (const Part& part : parts) {
    part.work->num_skipped = 0;
    if (part.work->request.priority == Priority::kSpeculative) continue;
    last_pass_[part.work->call.client] = num_forward_passes_;
  }
  std::erase_if(last_pass_,
                [this](const auto& one) { return one.second <= num_forward_passes_ - kRecent; });
}

void Engine::with_memory(const std::function<void()>& work) const {
  try {
    return work();
  } catch (const std::exception& error) {
    if (!give_back_ || !is_out_of_memory(error) || !give_back_()) throw;
  }
  work();
}

void Engine::forward(std::span<const Part> parts) {
  std::vector<SequenceStep> steps;
  std::vector<int64_t> begins;
  PassSize size{.num_sequences = std::ssize(parts)};
  at::Tensor logits_NV;
  try {
    for (const Part& part : parts) {
      steps.push_back(part.work->step(part.num_tokens, *part.work->sequence.state_));
      if (model_->gives_hidden()) steps.back().hidden_TE = &part.work->hidden;
      begins.push_back(part.work->sequence.num_cached());
      size.num_tokens += part.num_tokens;
      size.num_logits += steps.back().num_logits;
    }
    logits_NV = model_->forward(steps);
  } catch (...) {
    for (const Part& part : parts) part.work->sequence.state_->cancel();
    throw;
  }
  ++num_forward_passes_;
  note_parts(parts);
  if (observer_) observer_(size);

  int64_t begin = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    EngineResult& result = parts[i].work->result;
    ++result.num_forward_passes;
    if (steps[i].hidden_TE != nullptr) {
      const at::ScalarType type = pool_.layout().options.dtype().toScalarType();
      parts[i].work->sequence.hidden_.write(begins[i], parts[i].work->hidden.to(type));
    }
    if (const int64_t count = steps[i].num_logits; count > 0) {
      result.logits = logits_NV.narrow(0, begin, count);
      begin += count;
    }
  }
}

std::vector<Engine::Part> Engine::with_room(const std::vector<Part>& parts) {
  // Of equally urgent ones, the longest-waiting first: short ones would keep them out.
  std::vector<Part> in_order = parts;
  const auto urgency = [](const Part& part) {
    return -static_cast<int>(part.work->request.priority);
  };
  std::ranges::stable_sort(in_order, std::less<>(), urgency);
  std::vector<Part> fit;
  for (auto next = in_order.begin(); next != in_order.end(); ++next) {
    const Part& part = *next;
    if (std::ssize(fit) == config_.pass_sequences) break;
    if (part.work->call.error) continue;
    try {
      with_memory([&] { part.work->sequence.state_->reserve(part.num_tokens); });
      fit.push_back(part);
      // Of the others, those swapped out now come last: otherwise each would swap out the next one.
      if (fit.size() == 1) {
        std::stable_sort(next + 1, in_order.end(), [&](const Part& a, const Part& b) {
          return std::pair(urgency(a), a.work->sequence.state_->is_swapped_out()) <
                 std::pair(urgency(b), b.work->sequence.state_->is_swapped_out());
        });
      }
    } catch (const UserError&) {
      if (fit.empty()) part.work->call.error = std::current_exception();
    } catch (...) {
      part.work->call.error = std::current_exception();
    }
  }
  return fit;
}

void Engine::run_pass() {
  const std::vector<Part> parts = with_room(next_parts());
  const auto try_to_run = [&](std::span<const Part> some) {
    try {
      with_memory([&] { forward(some); });
      return true;
    } catch (...) {
      some.front().work->call.error = std::current_exception();
      return false;
    }
  };
  const auto is_others = [&](const Part& part) {
    return &part.work->call != &parts.front().work->call;
  };
  const bool is_shared = std::ranges::any_of(parts, is_others);
  if (!parts.empty() && !try_to_run(parts) && is_shared) {
    parts.front().work->call.error = nullptr;  // whichever it came from
    for (const Part& part : parts) {
      if (!part.work->call.error) try_to_run(std::span(&part, 1));
    }
  }
  std::erase_if(open_, [](Work* work) {
    Call& call = work->call;
    bool ended = work->result.logits.has_value();
    try {
      if (!ended && !call.error && work->request.should_stop) ended = work->request.should_stop();
    } catch (...) {
      call.error = std::current_exception();
    }
    if (ended) --call.num_open;
    return ended;
  });
  std::erase_if(open_, [](const Work* work) { return work->call.error != nullptr; });
}

}  // namespace predgen
