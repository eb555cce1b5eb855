#pragma once

#include <ATen/ATen.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "model/language_model.h"
#include "runtime/engine/baton.h"
#include "runtime/engine/pass_plan.h"
#include "runtime/engine/pass_thread.h"
#include "runtime/engine/sequence.h"

namespace predgen {

// Shapes: G tokens of a draft, N rows of logits before it, V vocabulary.

struct EngineConfig {
  /// Tokens of one pass. A longer prompt runs in several, each of which counts. With requests of
  /// several sequences the most urgent ones go first; equally urgent ones share what is left, by
  /// clients (Baton) in equal parts, and a client's by the shortest first (plan_pass()).
  int64_t pass_tokens = 512;
  /// Sequences of one pass; of equally urgent ones those that wait longest go first.
  int64_t pass_sequences = std::numeric_limits<int64_t>::max();
  SpeculationRoom speculation{};  // after yield_speculation()
  /// Positions of all sequences together; shared ones count once. When they run out, the sequences
  /// that were used least recently, and are not in the pass, lie in host memory until they are run
  /// again; what does not fit into a pass even so waits for the next one.
  int64_t pool_positions = std::numeric_limits<int64_t>::max();
  /// Shared by the threads that use the engine and its sequences, and held by the one that does.
  /// What they ask for runs in common passes. Borrowed. Nothing: the engine has one thread.
  Baton* baton = nullptr;
  /// With a baton: passes run in one thread of the engine's own, in inference mode, whoever asks.
  bool has_thread = false;
};

/// Asks for the logits after a sequence's last tokens. Borrows what it names until run() returns.
struct EngineRequest {
  Sequence* sequence = nullptr;
  TokenSpan draft{};  // run after the pending tokens, cached until the sequence changes
  /// bool [G,G]: which tokens of the draft each one sees (SequenceStep). Undefined: those before.
  at::Tensor tree_GG{};
  int64_t num_masks = 0;   // the draft's last tokens that are masks (SequenceStep)
  int64_t num_logits = 1;  // of the last tokens before the draft; those that an earlier pass ran
                           // have none, but for the last one
  Priority priority = Priority::kCommitted;
  /// Asked after every pass that leaves the request unfinished; true ends it with what is cached by
  /// then. With a baton it may be another thread that asks.
  std::function<bool()> should_stop{};
};

struct EngineResult {
  /// float32 [N+G,V]: after the last N pending tokens, EngineRequest::num_logits at most, and after
  /// each of the draft. Nothing if stopped.
  std::optional<at::Tensor> logits;
  int64_t num_forward_passes = 0;  // that this request had a part in
};

/// One forward pass, as its observer sees it.
struct PassSize {
  int64_t num_sequences = 0;
  int64_t num_tokens = 0;
  int64_t num_logits = 0;
};

/// A model's weights and the pool of its caches: whatever runs the network runs it here. Used by
/// the thread that first calls run(), or by those that hold the baton in turn. Sequences must not
/// outlive the engine.
class Engine {
 public:
  explicit Engine(std::shared_ptr<const LanguageModel> model, const EngineConfig& config = {});

  const LanguageModel& model() const { return *model_; }
  const KvPool& pool() const { return pool_; }

  /// Empty, for at most `capacity` tokens in its cache (less if the model has fewer positions).
  Sequence make_sequence(int64_t capacity);

  /// The request's own passes, one if its tokens fit into it. If a pass throws, its sequences keep
  /// what earlier ones have cached.
  EngineResult run(const EngineRequest& request);
  /// All requests, of different sequences, as many to a pass as fit; results in their order. With a
  /// baton other threads have it meanwhile, and their requests run in the same passes; what fails
  /// there is run without the others, so that it throws in its own thread only.
  std::vector<EngineResult> run(std::span<const EngineRequest> requests);

  /// From now on speculative work makes way: with other work in the pass it has as many tokens as
  /// make that a little longer, by itself as many as a few passes over one token cost
  /// (EngineConfig::speculation); a draft is verified whole or not at all. So speculation stops
  /// where the answers of others fill the device. `tokens_a_pass`: how many cost as much as a pass
  /// over one (PassPrices::tokens_for(1)).
  void yield_speculation(int64_t tokens_a_pass) { yields_at_ = tokens_a_pass; }
  /// From now on what makes others wait runs in pieces: beside other requests as many tokens as
  /// make a pass over the shortest of them by half longer, those of one client counted together
  /// beside other clients'; if only earlier passes, up to 16, had these, as beside one token. So
  /// no answer waits for a client for more than twice as long as its own pass takes. Beside answers
  /// drafts do not count, and a draft is run whole. `tokens_a_pass` as above.
  void share_fairly(int64_t tokens_a_pass) {
    shares_at_ = std::min(tokens_a_pass, config_.pass_tokens);  // where tokens cost nothing
  }

  /// Called when memory runs out in a pass: true if something was given back, so that it is tried
  /// once more.
  void on_exhaustion(std::function<bool()> give_back) { give_back_ = std::move(give_back); }

  /// Passes run so far.
  int64_t num_forward_passes() const { return num_forward_passes_; }
  /// Called after every pass from now on; nothing: nobody.
  void observe_passes(std::function<void(const PassSize&)> observer) {
    observer_ = std::move(observer);
  }

 private:
  struct Call;
  struct Work;
  struct Part;
  void check_thread();
  /// A pass over open_, of which it removes what it has ended. Throws nothing: a call that fails
  /// keeps its exception.
  void run_pass();
  /// What goes into a pass, of as many of open_ as fit, in its order.
  std::vector<Part> next_parts() const;
  /// Those of them for which the pool has room at a time. What does not fit by itself fails.
  std::vector<Part> with_room(const std::vector<Part>& parts);
  void forward(std::span<const Part> parts);
  /// Once more if memory runs out and some is given back.
  void with_memory(const std::function<void()>& work) const;
  void note_parts(std::span<const Part> parts);

  const std::shared_ptr<const LanguageModel> model_;
  const EngineConfig config_;
  KvPool pool_;
  const std::unique_ptr<PassThread> thread_;  // null: passes run in the thread that asks
  std::function<void(const PassSize&)> observer_;
  std::optional<std::thread::id> owner_;          // without a baton
  std::vector<Work*> open_;                       // what is asked for, the oldest first
  std::optional<int64_t> yields_at_, shares_at_;  // of yield_speculation(), share_fairly()
  std::function<bool()> give_back_;
  std::map<std::string, int64_t> last_pass_;  // that a client's answer had a part in
  int64_t num_forward_passes_ = 0;
};

}  // namespace predgen
