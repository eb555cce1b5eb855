#include "data/trajectory_config.h"

namespace predgen::data {

TrajectoryConfig TrajectoryConfig::read(ConfigReader& reader) {
  constexpr int64_t kMany = int64_t{1} << 40;
  TrajectoryConfig config;
  reader.required("dataset", config.dataset);
  reader.required("model", config.model);
  reader.optional("chat_template", config.chat_template);
  reader.required("output", config.output);
  reader.optional("device", config.device);
  reader.optional("dtype", config.dtype);
  reader.optional("seed", config.seed, int64_t{0}, kMany);
  reader.optional("batch_tokens", config.batch_tokens, int64_t{1}, int64_t{1} << 20);
  reader.optional("threads", config.threads, int64_t{0}, int64_t{1024});
  reader.optional("adapter", config.adapter);
  reader.optional("block_size", config.block_size, int64_t{2}, int64_t{1024});
  reader.optional("max_new_tokens", config.max_new_tokens, int64_t{1}, int64_t{65536});
  reader.optional("cache_positions", config.cache_positions, int64_t{1}, kMany);
  reader.optional("records_per_piece", config.records_per_piece, int64_t{1}, kMany);
  reader.optional("max_records", config.max_records, int64_t{0}, kMany);
  reader.choice("ar_labels", config.ar_labels,
                {{"dataset", ArLabels::kDataset}, {"fixed_point", ArLabels::kFixedPoint}});
  ConfigReader cleaning = reader.section("cleaning");
  cleaning.optional("max_token_run", config.cleaning.max_token_run, int64_t{0}, kMany);
  cleaning.optional("ngram_size", config.cleaning.ngram_size, int64_t{0}, kMany);
  cleaning.optional("max_ngram_repeats", config.cleaning.max_ngram_repeats, int64_t{0}, kMany);
  cleaning.optional("max_sentence_repeats", config.cleaning.max_sentence_repeats, int64_t{0},
                    kMany);
  return config;
}

}  // namespace predgen::data
