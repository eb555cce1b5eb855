#include "data/trajectory_config.h"

#include "model/model_settings.h"

namespace predgen::data {
namespace {

Settings settings_of(RepetitionConfig& cleaning) {
  constexpr int64_t kMost = int64_t{1} << 40;
  return {{"max_token_run", cleaning.max_token_run, between(0, kMost),
           "this many equal tokens in a row"},
          {"ngram_size", cleaning.ngram_size, between(0, kMost), "this many tokens ..."},
          {"max_ngram_repeats", cleaning.max_ngram_repeats, between(0, kMost),
           "... this many times in an answer"},
          {"max_sentence_repeats", cleaning.max_sentence_repeats, between(0, kMost),
           "this many times a sentence of three words or more"}};
}

}  // namespace

Settings settings_of(TrajectoryConfig& config) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const std::vector<std::pair<std::string, ArLabels>> labels{
      {"dataset", ArLabels::kDataset}, {"fixed_point", ArLabels::kFixedPoint}};
  return {Setting("dataset", config.dataset, "folder that `predgen data build` made").needed(),
          Setting("model", config.model, "whose answers become trajectories").needed(),
          chat_template_setting(config.chat_template),
          Setting("output", config.output, "folder of the dataset").needed(),
          device_setting(config.device),
          dtype_setting(config.dtype),
          {"seed", config.seed, between(0, kMost), "of the noise that blocks begin with"},
          {"batch_tokens", config.batch_tokens, between(1, 1 << 20),
           "of a forward pass; affects only speed and memory"},
          threads_setting(config.threads),
          adapter_setting(config.adapter),
          {"block_size", config.block_size, between(2, 1024),
           "tokens that Jacobi decoding finds together"},
          {"max_new_tokens", config.max_new_tokens, between(1, 65536), "of one answer"},
          {"cache_positions", config.cache_positions, between(1, kMost),
           "of all answers under way; affects only speed and memory"},
          {"records_per_piece", config.records_per_piece, between(1, kMost),
           "most records that a kill loses; the size of an output file"},
          {"max_records", config.max_records, between(0, kMost), "of the dataset; 0: all"},
          {"ar_labels", config.ar_labels, labels,
           "target of the cross-entropy: the dataset's answer or the model's own"},
          {"cleaning", settings_of(config.cleaning)}};
}

}  // namespace predgen::data
