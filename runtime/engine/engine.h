#pragma once

#include <ATen/ATen.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/mutex.h"
#include "model/language_model.h"
#include "runtime/engine/engine_lock.h"
#include "runtime/engine/pass_plan.h"
#include "runtime/engine/sequence.h"

namespace predgen {

/// A thread that runs work for other threads, one item at a time, in inference mode. What LibTorch
/// keeps per thread (a CUDA library's workspace, a team of threads on a CPU) exists only once.
class PassThread {
 public:
  /// On a GPU the work has a stream of high priority. Waits for all work queued there before.
  explicit PassThread(c10::Device device);

  /// Returns when the work is done, on a GPU when it is queued: before what the calling thread's
  /// stream gets from then on, and after what it has got before. Rethrows the work's exception.
  /// Called by one thread at a time; all that read what the work makes have the same stream.
  void run(const std::function<void()>& work);

 private:
  void give(const std::function<void()>& work);
  void serve(const std::stop_token& stop);

  const c10::Stream stream_;

  Mutex mutex_;
  std::condition_variable_any given_;
  std::condition_variable done_;
  const std::function<void()>* work_ GUARDED_BY(mutex_) = nullptr;  // to be done
  std::exception_ptr error_ GUARDED_BY(mutex_);
  std::jthread thread_;  // last: it uses the others
};

// Shapes: P pending tokens, G tokens of a draft, N rows of logits before it, V vocabulary, E hidden
// size.

struct EngineConfig {
  /// Tokens per pass. A longer prompt runs in several passes, each of which counts. Of several
  /// sequences' requests the most urgent go first; equally urgent ones share what is left, in equal
  /// parts by client (EngineLock), and within a client cheapest first (plan_pass()).
  int64_t pass_tokens = 512;
  /// Sequences per pass; of equally urgent ones those that have waited longest go first.
  int64_t pass_sequences = std::numeric_limits<int64_t>::max();
  SpeculationRoom speculation{};  // after yield_speculation()
  /// Positions of all sequences together; shared ones count once. When they run out, the least
  /// recently used sequences outside the pass are swapped out to host memory until they run again;
  /// what still does not fit into a pass waits for the next one.
  int64_t pool_positions = std::numeric_limits<int64_t>::max();
  /// Shared by the threads that use the engine and its sequences, each of which must hold it to do
  /// so. Their requests run in common passes. Borrowed. Null: the engine has one thread.
  EngineLock* engine_lock = nullptr;
  /// With an engine lock: all passes run in one thread of the engine's own, in inference mode.
  bool has_thread = false;
};

/// Asks for the logits after a sequence's last tokens. Borrows what it names until run() returns.
struct EngineRequest {
  Sequence* sequence = nullptr;
  TokenSpan draft{};  // run after the pending tokens, cached until the sequence changes
  /// bool [G,G]: which tokens of the draft each one sees (SequenceStep). Undefined: those before.
  at::Tensor tree_GG{};
  /// SequenceStep::given_TE of the pending tokens. Undefined: zeros.
  at::Tensor given_PE{};
  const RowsOfAnother* read = nullptr;  // SequenceStep's, of one pending token
  int64_t num_masks = 0;                // masks at the draft's end (SequenceStep)
  int64_t num_logits = 1;  // of the last tokens before the draft; those that an earlier pass ran
                           // have none, but for the last one
  Priority priority = Priority::kCommitted;
  /// Asked after every pass that leaves the request unfinished; true ends it with what is cached by
  /// then. With an engine lock another thread may ask.
  std::function<bool()> should_stop{};
};

struct EngineResult {
  /// float32 [N+G,V]: after the last N pending tokens, at most EngineRequest::num_logits, and after
  /// each draft token. nullopt if stopped.
  std::optional<at::Tensor> logits;
  int64_t num_forward_passes = 0;  // that included this request
};

/// One forward pass, as its observer sees it.
struct PassSize {
  int64_t num_sequences = 0;
  int64_t num_tokens = 0;
  int64_t num_logits = 0;
};

/// A model's weights and the pool of its KV caches: every forward pass runs here. Used by the
/// thread that first calls run(), or by whichever thread holds the engine lock. Sequences must not
/// outlive the engine.
class Engine {
 public:
  explicit Engine(std::shared_ptr<const LanguageModel> model, const EngineConfig& config = {});

  const LanguageModel& model() const { return *model_; }
  const KvPool& pool() const { return pool_; }
  /// Whether the model keeps a state: then what is right of a draft runs again unless all of it is.
  bool reruns_drafts() const { return pool_.layout().num_states > 0; }

  /// Empty; caches at most `capacity` tokens (fewer if the model has fewer positions).
  Sequence make_sequence(int64_t capacity);

  /// Runs one request, in one pass if its tokens fit. If a pass throws, its sequences keep what
  /// earlier passes have cached.
  EngineResult run(const EngineRequest& request);
  /// Runs all requests, of different sequences, as many per pass as fit; results in their order.
  /// With an engine lock other threads have it meanwhile, and their requests run in the same
  /// passes; a failed pass is rerun request by request, so that an error is thrown in its own
  /// thread only.
  std::vector<EngineResult> run(std::span<const EngineRequest> requests);

  /// From now on speculative work gives way: beside other work it gets as many tokens as make the
  /// pass a little longer, alone as many as cost a few single-token passes
  /// (EngineConfig::speculation); a draft is verified whole or not at all. So speculation stops
  /// where the answers of others fill the device. `tokens_a_pass`: how many tokens cost as much as
  /// a pass over one (PassCosts::tokens_for(1)).
  void yield_speculation(int64_t tokens_a_pass) { yields_at_ = tokens_a_pass; }
  /// From now on work that makes others wait runs in pieces: beside other requests it gets as many
  /// tokens as make a pass with the cheapest part of theirs longer by half; one client's tokens
  /// count together beside other clients'. Beside a client that was served in the last 16 passes,
  /// one token is the cheapest. A token costs more the more cached ones it reads; a client's first
  /// one in a pass runs even if it costs more than that, but then the client leaves out the passes
  /// that pay for it. So no answer waits for a client for more than twice as long as its own pass
  /// takes, unless one token of the client takes longer than half of that. Drafts do not count
  /// beside answers, and a draft is run whole. `tokens_a_pass` as above.
  void share_fairly(int64_t tokens_a_pass, const ReadingCosts& reading = {}) {
    shares_at_ = std::min(tokens_a_pass, config_.pass_tokens);  // if tokens cost nothing
    reading_ = reading;
  }

  /// Called when memory runs out in a pass: true if some was freed, so that the pass is tried
  /// again.
  void on_exhaustion(std::function<bool()> give_back) { give_back_ = std::move(give_back); }

  /// Passes run so far.
  int64_t num_forward_passes() const { return num_forward_passes_; }
  /// Called after every pass from now on; empty: no observer.
  void observe_passes(std::function<void(const PassSize&)> observer) {
    observer_ = std::move(observer);
  }

 private:
  struct Call;
  struct Work;
  struct Part;
  void check_thread();
  /// Runs a pass over open_ and removes what is finished. Does not throw: a call that fails keeps
  /// its exception.
  void run_pass();
  /// The parts of a pass: of as many of open_ as fit, in its order.
  std::vector<Part> next_parts();
  /// Those of them that the pool can hold at once. What does not fit by itself fails.
  std::vector<Part> with_room(const std::vector<Part>& parts);
  void forward(std::span<const Part> parts);
  /// Runs `work`, once more if memory runs out and some is freed.
  void with_memory(const std::function<void()>& work) const;
  void note_parts(std::span<const Part> parts);

  const std::shared_ptr<const LanguageModel> model_;
  const EngineConfig config_;
  KvPool pool_;
  const std::unique_ptr<PassThread> thread_;  // null: passes run in the calling thread
  std::function<void(const PassSize&)> observer_;
  std::optional<std::thread::id> owner_;          // without an engine lock
  std::vector<Work*> open_;                       // pending work, oldest first
  std::optional<int64_t> yields_at_, shares_at_;  // of yield_speculation(), share_fairly()
  ReadingCosts reading_{};                        // of share_fairly()
  std::function<bool()> give_back_;
  std::map<std::string, int64_t> last_pass_;         // with an answer of the client
  std::map<std::string, double, std::less<>> owed_;  // by clients (PassPlan)
  int64_t num_forward_passes_ = 0;
};

}  // namespace predgen
