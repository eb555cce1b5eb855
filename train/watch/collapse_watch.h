#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json.h"
#include "data/dataset_store.h"
#include "model/language_model.h"
#include "runtime/generate/generator.h"
#include "text/token_ids.h"
#include "text/tokenizer.h"
#include "train/distributed/communicator.h"
#include "train/run_log.h"
#include "train/train_config.h"

namespace predgen::train {

/// watch.jsonl in a run's folder: {"step", "watched", "repetition", "answers": [{"token_ids",
/// "text"}]} per watch; the first line of a new `watched` also has "prompts" (texts).
class WatchLog {
 public:
  /// Removes lines of steps after `resumed_step`. `watched` identifies the prompts and how they are
  /// answered: lines with another one stay in the file but are not compared.
  WatchLog(const std::filesystem::path& folder, int64_t resumed_step, const std::string& watched);
  /// `line`: without "watched".
  void write(Json line);

  /// Of the first such watch in the run; empty before it.
  const std::vector<TokenIds>& first_answers() const { return first_answers_; }
  /// The lowest over all such watches; 1 before the first.
  double lowest_repetition() const { return lowest_repetition_; }

 private:
  void take(const Json& line);
  MetricsLog file_;
  std::string watched_;
  std::vector<TokenIds> first_answers_;
  double lowest_repetition_ = 1.0;
};

/// How much two texts have in common, in [0, 1]: 1 minus the fewest tokens to insert, delete or
/// replace (Levenshtein 1966) to turn one into the other, as a share of the longer one. Two empty
/// texts agree.
double text_agreement(TokenSpan a, TokenSpan b);

/// A prompt to be answered by Jacobi decoding. Borrows it.
struct PromptToAnswer {
  TokenSpan prompt{};
  int64_t window = 1;  // most tokens found per pass; 1: greedy decoding
};

struct PromptAnswer {
  TokenIds tokens;
  int64_t num_passes = 0;  // passes that it took part in
};

/// Answers this rank's prompts, as many of them per pass as kWatchedPositions allows, prefilling
/// each prompt in one pass. A collective: all ranks run the same number of passes, so that a pass
/// may fetch layers sharded over the ranks. They agree on each pass before it runs; nothing else
/// depends on other ranks' answers. `on_answered` gets the number of answers so far.
std::vector<PromptAnswer> answer_prompts(const LanguageModel& model,
                                         std::span<const PromptToAnswer> prompts,
                                         const GenerationConfig& limits, Communicator& communicator,
                                         const std::function<void(int64_t)>& on_answered);

/// Positions in the KV caches of all answers under way; one may need more. 0.5 GiB for Qwen2.5-7B.
constexpr int64_t kWatchedPositions = 8192;

/// Checks whether the model being trained still answers: greedy and Jacobi answers to a few
/// prompts, split among the ranks. Consistency training can make a model repeat a token or give
/// empty answers while its losses fall.
class CollapseWatch {
 public:
  /// Uses the prompts of the first config.watch.records records. Borrows everything. Rank 0 logs
  /// the answers to <config.output>/watch.jsonl and discards what an earlier run wrote there about
  /// steps after `resumed_step`.
  CollapseWatch(const TrainConfig& config, const LanguageModel& model, const at::Device& device,
                const data::DatasetReader& records, const Tokenizer& tokenizer,
                Communicator& communicator, int64_t resumed_step);

  /// Whether there are no answers yet to compare later ones with; a collective.
  bool is_first() const;

  /// A collective. Returns on rank 0 (which logs a warning if the model has collapsed):
  ///   watch/tokens_per_pass    new tokens per forward pass of the Jacobi answers
  ///   watch/jacobi_agreement   mean text_agreement() of Jacobi and greedy answers
  ///   watch/start_agreement    the same of the greedy answers and the first ones to these prompts
  ///   watch/repetition         share of the greedy answers that find_repetition() drops
  ///   watch/answer_tokens      mean length of the greedy answers
  ///   watch/collapsed          1 if so: the share of repetition is kRepetitionRise above the
  ///                            lowest so far, or answers have less than kShortest of the tokens
  ///                            that the first ones had, or the records' have, whichever is less
  std::map<std::string, double> run(int64_t step);

  static constexpr double kRepetitionRise = 0.25;
  static constexpr double kShortest = 0.25;

 private:
  /// Tokens of every record's answer, [R, max_new_tokens], raised by one: 0 is no token.
  struct Answers {
    at::Tensor greedy_RT, jacobi_RT, passes_R;
  };
  Answers generate() const;
  std::map<std::string, double> judge(int64_t step, const Answers& answers);
  std::string collapse(const std::map<std::string, double>& scalars) const;

  const TrainConfig& config_;
  const LanguageModel& model_;
  const at::Device device_;
  const Tokenizer& tokenizer_;
  Communicator& communicator_;
  std::vector<TokenIds> prompts_;
  double mean_target_tokens_ = 0.0;  // of the records' answers, cut at max_new_tokens
  std::optional<WatchLog> log_;      // on rank 0
};

}  // namespace predgen::train
