#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_set>

#include "data/conversation.h"

namespace predgen {

/// Case folded, punctuation and symbols gone, white space single.
std::string normalise_prompt(std::string_view text);

/// Prompts, such as those that must not be trained on, to tell whether a text repeats one.
class PromptSet {
 public:
  enum class Overlap { kNone, kExact, kNormalised };

  /// Prompts of fewer words are not kept.
  explicit PromptSet(int64_t min_words) : min_words_(min_words) {}

  void add(const std::string& prompt_text);
  /// Every user message.
  void add(const CorpusConversation& conversation);
  /// .jsonl rows with "prompt", "question" or "conversation"; .parquet conversations; .json, an
  /// object whose keys are prompts (recorded transcripts). UserError for anything else.
  void add_file(const std::filesystem::path& file);

  Overlap overlap(const std::string& prompt_text) const;
  size_t size() const { return exact_.size(); }

 private:
  int64_t min_words_;
  std::unordered_set<std::string> exact_, normalised_;
};

/// Whether a conversation belongs to the held-out fraction; depends on its id and the seed only.
bool is_held_out(const std::string& conversation_id, uint64_t seed, double fraction);

}  // namespace predgen
