#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/setting.h"
#include "data/repetition.h"

namespace predgen::data {

/// How a conversation becomes examples.
enum class ExampleLaw {
  kTruncated,  // a random round becomes the last, its prompt cut (paper A.4)
  kWhole,      // the whole conversation; every answer is a target
  kAlone       // as kWhole, but each question stands alone behind the system message
};

struct FilterConfig {
  std::vector<std::string> languages;
  bool drop_redacted = false, drop_flagged = false;
  int64_t min_turns = 1, max_tokens = 0;
};

struct HeldOutConfig {
  std::vector<std::string> files;
  double fraction = 0;  // of conversations: HeldOutShare
  int64_t min_words = 1;
};

/// configs/data/*.yaml of `predgen data build`; settings_of() says what it means.
struct BuildConfig {
  std::vector<std::string> sources;
  std::filesystem::path tokenizer, chat_template, output;
  int64_t seed = 0;
  ExampleLaw law = ExampleLaw::kTruncated;
  int64_t examples_per_conversation = 1;
  std::string system_prompt = "row";
  bool skip_bad_rows = false;
  int64_t max_conversations = 0, threads = 0, records_per_shard = 4096;
  FilterConfig filters;
  HeldOutConfig held_out;

  /// The part of the recipe that comes from here; sources and tokenizer are added as hashes.
  Json recipe() const;
};

Settings settings_of(FilterConfig& filters);
Settings settings_of(BuildConfig& config);
/// All but tokenizer, chat_template and output.
Settings settings_of_examples(BuildConfig& config);

/// The files that the patterns match, sorted per pattern; UserError if a pattern matches none.
std::vector<std::filesystem::path> expand_globs(const std::vector<std::string>& patterns);

/// The target of the cross-entropy: the dataset's answer or the model's own.
enum class ArLabels { kDataset, kFixedPoint };

/// configs/data/*_trajectories.yaml; settings_of() says what it means.
struct TrajectoryConfig {
  std::filesystem::path dataset, model, adapter, output, chat_template;
  std::string device = "auto", dtype = "auto";
  int64_t seed = 0, threads = 0;
  int64_t batch_tokens = 1024;  // affects only speed and memory
  int64_t block_size = 16, max_new_tokens = 256;
  int64_t cache_positions = 32768;  // as with batch_tokens
  int64_t records_per_piece = 512, max_records = 0;
  ArLabels ar_labels = ArLabels::kDataset;
  RepetitionConfig cleaning;
};

Settings settings_of(TrajectoryConfig& config);

}  // namespace predgen::data
