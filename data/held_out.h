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

/// Which conversations are held out: a fraction, chosen by their ids and the seed. Of fewer than
/// kFew usable ones it is exactly that share, and at least one; of more each is drawn by itself, so
/// that it stays where it is when others come.
class HeldOutShare {
 public:
  HeldOutShare(uint64_t seed, double fraction) : seed_(seed), fraction_(fraction) {}

  /// Called for the rows of the corpus until it returns false: it has seen enough.
  bool count(const CorpusConversation& conversation);
  /// Called once, after the last count().
  void decide();
  /// Thread-safe.
  bool holds(const CorpusConversation& conversation) const;

  static constexpr size_t kFew = 1000;

 private:
  double draw(const std::string& id) const;

  uint64_t seed_;
  double fraction_, below_ = 0;
  std::vector<double> draws_;
};

}  // namespace predgen::data
