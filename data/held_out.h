#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "data/conversation.h"

namespace predgen::data {

/// Case folded, punctuation and symbols gone, white space single.
std::string normalise_prompt(std::string_view text);

/// Fingerprints of a normalised text and of all its variants with one word left out: two texts
/// share one if they are equal or differ in a single word that is changed, missing, added or moved.
std::vector<uint64_t> near_fingerprints(std::string_view normalised);

/// Of all roles and normalised texts of a conversation; a text of symbols alone is used as is.
uint64_t conversation_fingerprint(const CorpusConversation& conversation);

/// A set of prompts, such as those not to be trained on, to detect texts that repeat one.
class PromptSet {
 public:
  /// kNear: differs from a prompt in a single word (near_fingerprints), and both have kNearWords
  /// words or more; only in a set with `keeps_near`.
  enum class Overlap { kNone, kExact, kNormalised, kNear };

  /// Prompts of fewer words are not kept.
  explicit PromptSet(int64_t min_words, bool keeps_near = false)
      : min_words_(min_words), keeps_near_(keeps_near) {}

  void add(const std::string& prompt_text);
  /// Adds every user message.
  void add(const CorpusConversation& conversation);
  /// .jsonl rows of a corpus or with "question"; .parquet conversations; .json, an object whose
  /// keys are prompts (recorded transcripts). UserError for anything else.
  void add_file(const std::filesystem::path& file);

  Overlap overlap(const std::string& prompt_text) const;
  size_t size() const { return exact_.size(); }

  static constexpr int64_t kNearWords = 10;

 private:
  int64_t min_words_;
  bool keeps_near_;
  std::unordered_set<std::string> exact_, normalised_;
  std::unordered_set<uint64_t> near_;
};

/// Whether a conversation belongs to the held-out fraction; depends on its id and the seed only.
bool is_held_out(const std::string& conversation_id, uint64_t seed, double fraction);

}  // namespace predgen::data
