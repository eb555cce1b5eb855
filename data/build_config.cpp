#include "data/build_config.h"

#include <glob.h>

#include "core/error.h"
#include "core/files.h"
#include "data/conversation.h"
#include "model/load_options.h"

namespace predgen::data {
namespace {

constexpr int kBuilderVersion = 6;  // raise it when the same configuration yields different tokens
constexpr int64_t kMany = int64_t{1} << 40;

const std::vector<std::pair<std::string, ExampleLaw>> kLaws{{"truncated", ExampleLaw::kTruncated},
                                                            {"whole", ExampleLaw::kWhole},
                                                            {"alone", ExampleLaw::kAlone}};

Settings settings_of(HeldOutConfig& held_out) {
  return {{"files", held_out.files, "prompts or conversations that must not be trained on"},
          {"fraction", held_out.fraction, between(0, 0.9),
           "of conversations, in a dataset of their own"},
          {"min_words", held_out.min_words, between(1, kMany),
           "shorter prompts (\"Yes, please.\") are not compared"}};
}

std::string law_name(ExampleLaw law) {
  for (const auto& [name, value] : kLaws) {
    if (value == law) return name;
  }
  throw Error("law {} has no name", static_cast<int>(law));
}

}  // namespace

Settings settings_of(FilterConfig& filters) {
  return {{"languages", filters.languages, "as rows name theirs; empty: all"},
          {"drop_redacted", filters.drop_redacted, "without conversations that were redacted"},
          {"drop_flagged", filters.drop_flagged, "without those that a moderation flagged"},
          {"min_turns", filters.min_turns, between(1, kMany),
           "a user's message and its answer are one"},
          {"max_tokens", filters.max_tokens, between(0, kMany),
           "of an example; longer ones are dropped; 0: no limit"}};
}

Settings settings_of(BuildConfig& config) {
  return together(
      {{Setting("tokenizer", config.tokenizer, "a model, whose tokenizer it is").needed(),
        chat_template_setting(config.chat_template),
        Setting("output", config.output, "folder of the dataset").needed()},
       settings_of_examples(config)});
}

Settings settings_of_examples(BuildConfig& config) {
  return {
      Setting("sources", config.sources,
              ".jsonl and .parquet files; * and ? in the last part name several")
          .needed()
          .must([&config] { return !config.sources.empty(); }, "names no file"),
      {"seed", config.seed, between(0, kMany), "of draws"},
      {"law", config.law, kLaws,
       "how a conversation becomes examples: a random round becomes the last, its prompt cut "
       "(the paper's), or the whole with every answer a target; alone: that, but no question sees "
       "another one, and what they share is read once"},
      Setting("examples_per_conversation", config.examples_per_conversation, between(1, 1000),
              "of the law truncated")
          .must(
              [&config] {
                return config.law == ExampleLaw::kTruncated ||
                       config.examples_per_conversation == 1;
              },
              "the other laws make one example of each"),
      {"system_prompt", config.system_prompt,
       "row (the row's own), or in its place: none, spoken, table3, a text or @FILE"},
      {"skip_bad_rows", config.skip_bad_rows,
       "skip and count rows that cannot be read instead of stopping at the first"},
      {"max_conversations", config.max_conversations, between(0, kMany),
       "stop after using this many rows; 0: all"},
      threads_setting(config.threads),
      {"records_per_shard", config.records_per_shard, between(1, kMany), "records of one file"},
      {"filters", settings_of(config.filters)},
      {"held_out", settings_of(config.held_out)}};
}

Json BuildConfig::recipe() const {
  return {{"kind", "examples"},
          {"builder_version", kBuilderVersion},
          {"law", law_name(law)},
          {"seed", seed},
          {"examples_per_conversation", examples_per_conversation},
          {"system_prompt", system_prompt},
          {"skip_bad_rows", skip_bad_rows},
          {"max_conversations", max_conversations},
          {"filters",
           {{"languages", filters.languages},
            {"drop_redacted", filters.drop_redacted},
            {"drop_flagged", filters.drop_flagged},
            {"min_turns", filters.min_turns},
            {"max_tokens", filters.max_tokens}}},
          {"held_out", {{"fraction", held_out.fraction}, {"min_words", held_out.min_words}}}};
}

std::vector<std::filesystem::path> expand_globs(const std::vector<std::string>& patterns) {
  std::vector<std::filesystem::path> files;
  for (const std::string& pattern : patterns) {
    const std::string expanded = expand_variables(pattern);
    glob_t matches{};
    const int result = glob(expanded.c_str(), GLOB_TILDE, nullptr, &matches);
    files.insert(files.end(), matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
    const bool found = result == 0 && matches.gl_pathc > 0;
    globfree(&matches);
    if (!found) throw missing_data(expanded);
  }
  return files;
}

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
