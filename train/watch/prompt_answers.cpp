#include "train/watch/prompt_answers.h"

#include <limits>
#include <utility>

#include "runtime/generate/jacobi_draft.h"
#include "runtime/generate/sequence_pass.h"

namespace predgen::train {
namespace {

/// One answer under way.
struct Row {
  size_t number;  // of its prompt
  Sequence sequence;
  JacobiDraft draft;
  GenerationResult result{};
  bool finished = false;
};

class PassesOfARank {
 public:
  PassesOfARank(const LanguageModel& model, std::span<const PromptToAnswer> prompts,
                const GenerationConfig& limits)
      : prompts_(prompts),
        limits_(limits),
        // Runs everything in one pass, whatever its size: the ranks count passes.
        engine_(std::shared_ptr<const LanguageModel>(std::shared_ptr<void>(), &model),
                {.pass_tokens = std::numeric_limits<int64_t>::max()}),
        answers_(prompts.size()) {}

  /// Admits prompts for which there is room. False if all are answered.
  bool has_work() {
    int64_t free = kWatchedPositions;
    for (const Row& row : rows_) free -= row.sequence.capacity();
    while (next_ < prompts_.size()) {
      const auto& [prompt, window] = prompts_[next_];
      Sequence sequence =
          engine_.make_sequence(std::ssize(prompt) + limits_.max_new_tokens + window);
      free -= sequence.capacity();
      if (free < 0 && !rows_.empty()) break;
      sequence.append(prompt);
      rows_.push_back({next_++, std::move(sequence),
                       JacobiDraft(window, {}, Random(0, "jacobi", prompt.size()))});
    }
    return !rows_.empty();
  }

  void run_pass() {
    std::vector<EngineRequest> requests;
    for (Row& row : rows_) {
      const int64_t left = limits_.max_new_tokens - row.result.num_new_tokens;
      requests.push_back(
          {.sequence = &row.sequence, .draft = row.draft.next(row.sequence, limits_, left)});
    }
    const std::vector<EngineResult> results = engine_.run(requests);
    for (size_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[i];
      row.result.num_forward_passes += results[i].num_forward_passes;
      const bool goes_on = commit_tokens(
          row.sequence, row.draft.take(limits_, *results[i].logits, row.sequence.tokens()), limits_,
          nullptr, row.result);
      row.finished = !goes_on || !has_room(row.sequence, limits_, row.result);
      if (row.finished) keep(row);
    }
    std::erase_if(rows_, [](const Row& row) { return row.finished; });
  }

  /// Runs an unneeded token, only to take part in the others' pass.
  void join_pass() {
    constexpr TokenId kAny = 0;
    Sequence sequence = engine_.make_sequence(1);
    sequence.append({&kAny, 1});
    engine_.run({.sequence = &sequence});
  }

  int64_t num_answered() const { return static_cast<int64_t>(next_ - rows_.size()); }
  std::vector<PromptAnswer> take_answers() { return std::move(answers_); }

 private:
  void keep(const Row& row) {
    const TokenSpan tokens = row.sequence.tokens().subspan(prompts_[row.number].prompt.size());
    answers_[row.number] = {{tokens.begin(), tokens.end()}, row.result.num_forward_passes};
  }

  const std::span<const PromptToAnswer> prompts_;
  const GenerationConfig& limits_;
  Engine engine_;
  std::vector<Row> rows_;
  size_t next_ = 0;  // prompt to begin
  std::vector<PromptAnswer> answers_;
};

}  // namespace

std::vector<PromptAnswer> answer_prompts(const LanguageModel& model,
                                         std::span<const PromptToAnswer> prompts,
                                         const GenerationConfig& limits, Communicator& communicator,
                                         const std::function<void(int64_t)>& on_answered) {
  PassesOfARank own(model, prompts, limits);
  while (true) {
    const bool has_work = own.has_work();
    if (sum_over_ranks(has_work ? 1.0 : 0.0, communicator) == 0) return own.take_answers();
    has_work ? own.run_pass() : own.join_pass();
    on_answered(own.num_answered());
  }
}

}  // namespace predgen::train
