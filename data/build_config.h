#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/json.h"

namespace predgen::data {

/// How a conversation becomes examples.
enum class ExampleLaw {
  kTruncated,  // a random round becomes the last, its prompt cut (paper A.4)
  kWhole       // the whole conversation; every answer is a target
};

struct FilterConfig {
  std::vector<std::string> languages;  // empty: all
  bool drop_redacted = false;
  bool drop_flagged = false;
  int64_t min_turns = 1;   // in rounds: a user's message and its answer
  int64_t max_tokens = 0;  // per example; longer ones are dropped; 0: no limit
};

struct HeldOutConfig {
  std::vector<std::string> files;  // prompts or conversations that must not be trained on
  double fraction = 0;             // of conversations: HeldOutShare
  int64_t min_words = 1;           // shorter prompts ("Yes, please.") are not compared
};

/// configs/data/*.yaml of `predgen data build`.
struct BuildConfig {
  std::vector<std::string> sources;                // .jsonl and .parquet; * and ? in the last part
  std::filesystem::path tokenizer, chat_template;  // a Jinja file that replaces the tokenizer's
  std::filesystem::path output;
  int64_t seed = 0;
  ExampleLaw law = ExampleLaw::kTruncated;
  int64_t examples_per_conversation = 1;
  std::string system_prompt =
      "row";  // the row's own, or in its place: none, spoken, table3, a text
  bool skip_bad_rows = false;
  int64_t max_conversations = 0;  // stop after using this many rows; 0: all
  int64_t threads = 0;            // 0: all cores; the result does not depend on it
  int64_t records_per_shard = 4096;
  FilterConfig filters;
  HeldOutConfig held_out;

  static BuildConfig read(ConfigReader& reader);
  /// All but tokenizer, chat_template and output.
  void read_examples(ConfigReader& reader);
  /// The part of the recipe that comes from here; sources and tokenizer are added as hashes.
  Json recipe() const;
};

/// The files that the patterns match, sorted per pattern; UserError if a pattern matches none.
std::vector<std::filesystem::path> expand_globs(const std::vector<std::string>& patterns);

}  // namespace predgen::data
