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

/// Whether the model in training still answers: greedy and Jacobi answers to a few prompts, which
/// the ranks share. Consistency training can drive a model into repeating a token, and into empty
/// answers, while its losses fall.
class CollapseWatch {
 public:
  /// Looks at the first config.watch.records records, of which it takes the prompts. Borrows
  /// everything. Rank 0 keeps what was answered in <config.output>/watch.jsonl and forgets what an
  /// earlier run wrote there about later steps than `resumed_step`.
  CollapseWatch(const TrainConfig& config, const LanguageModel& model, const at::Device& device,
                const data::DatasetReader& records, const Tokenizer& tokenizer,
                Communicator& communicator, int64_t resumed_step);

  /// Whether nothing was answered yet, with which later answers could be compared; a collective.
  bool is_first() const;

  /// A collective. Rank 0 gets, and logs a warning if the model has collapsed:
  ///   watch/tokens_per_pass    new tokens of the Jacobi answers a forward pass
  ///   watch/jacobi_agreement   text_agreement() of Jacobi and greedy answers, mean
  ///   watch/start_agreement    of the greedy answers and the first ones to these prompts
  ///   watch/repetition         share of the greedy answers that find_repetition() drops
  ///   watch/answer_tokens      mean of the greedy answers
  ///   watch/collapsed          1 if so: the share of repetition is kRepetitionRise above the
  ///   lowest
  ///                            so far, or answers have less than kShortest of the tokens that the
  ///                            first ones had, or the records' have, whichever is less
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
  double mean_target_tokens_ = 0.0;  // of the records' answers, cut where generation ends
  std::optional<WatchLog> log_;      // of rank 0
};

}  // namespace predgen::train
