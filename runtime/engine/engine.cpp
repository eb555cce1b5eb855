#include "runtime/engine/engine.h"

#include <algorithm>
#include <set>

#include "core/error.h"

namespace predgen {

/// A request on its way through the passes.
struct Engine::Work {
  Work(const EngineRequest& asked, EngineResult& answer)
      : sequence(*asked.sequence), request(asked), result(answer) {}

  int64_t num_pending() const { return static_cast<int64_t>(sequence.pending().size()); }
  int64_t num_drafted() const { return static_cast<int64_t>(request.draft.size()); }

  /// Tokens for a pass with room for `room` more. The last pending token and the draft are run
  /// together, however little room there is for the only ones of a pass.
  int64_t next_tokens(int64_t room, bool alone) const {
    const int64_t last = 1 + num_drafted(), all = num_pending() + num_drafted();
    if (all <= room || (alone && num_pending() == 1)) return all;
    return std::min(room, all - last);
  }

  /// The part of the work that has `count` tokens.
  SequenceStep step(int64_t count, KvCache& cache) {
    const TokenSpan pending = sequence.pending();
    const bool ends = count == num_pending() + num_drafted();
    SequenceStep step{.cache = &cache, .num_logits = ends ? num_drafted() + 1 : 0};
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
  TokenIds tokens;  // of a pass with a draft
};

Engine::Engine(std::shared_ptr<const LanguageModel> model, const EngineConfig& config)
    : model_(std::move(model)), config_(config), pool_(model_->kv_layout(), config.pool_positions) {
  if (config.pass_tokens < 1) {
    throw UserError("a pass of {} tokens: give at least 1", config.pass_tokens);
  }
}

Sequence Engine::make_sequence(int64_t capacity) {
  return Sequence(pool_.make_cache(std::min(capacity, model_->max_positions())));
}

EngineResult Engine::run(const EngineRequest& request) {
  return std::move(run(std::span(&request, 1)).front());
}

std::vector<EngineResult> Engine::run(std::span<const EngineRequest> requests) {
  if (!owner_) owner_ = std::this_thread::get_id();
  PREDGEN_CHECK(*owner_ == std::this_thread::get_id(), "an engine is used by one thread");
  std::vector<EngineResult> results(requests.size());
  std::vector<Work> work;
  std::set<const Sequence*> sequences;
  for (size_t i = 0; i < requests.size(); ++i) {
    PREDGEN_CHECK(!requests[i].sequence->pending().empty(), "nothing to run");
    PREDGEN_CHECK(sequences.insert(requests[i].sequence).second, "a sequence is asked for twice");
    work.emplace_back(requests[i], results[i]);
  }
  std::vector<Work*> urgent_first;
  for (Work& one : work) urgent_first.push_back(&one);
  std::ranges::stable_sort(urgent_first, std::greater<>(),
                           [](const Work* one) { return one->request.priority; });
  while (!urgent_first.empty()) run_pass(urgent_first);
  return results;
}

void Engine::run_pass(std::vector<Work*>& urgent_first) {
  std::vector<SequenceStep> steps;
  std::vector<Work*> running;
  PassSize size;
  for (Work* work : urgent_first) {
    const int64_t count =
        work->next_tokens(config_.pass_tokens - size.num_tokens, /*alone=*/steps.empty());
    if (count <= 0) continue;
    steps.push_back(work->step(count, *work->sequence.cache_));
    running.push_back(work);
    size.num_tokens += count;
    size.num_logits += steps.back().num_logits;
  }
  size.num_sequences = static_cast<int64_t>(steps.size());
  const at::Tensor logits_NV = model_->forward(steps);
  ++num_forward_passes_;
  if (observer_) observer_(size);

  int64_t begin = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    Work& work = *running[i];
    ++work.result.num_forward_passes;
    if (const int64_t count = steps[i].num_logits; count > 0) {
      work.result.logits = logits_NV.narrow(0, begin, count);
      begin += count;
    }
  }
  std::erase_if(urgent_first, [](const Work* work) {
    const EngineRequest& request = work->request;
    if (work->result.logits) return true;
    return work->result.num_forward_passes > 0 && request.should_stop && request.should_stop();
  });
}

}  // namespace predgen
