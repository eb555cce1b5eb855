#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/dataset_store.h"
#include "text/tokenizer.h"
#include "train/distributed/communicator.h"
#include "train/train_config.h"
#include "train/watch/watch_log.h"

namespace predgen::train {

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
