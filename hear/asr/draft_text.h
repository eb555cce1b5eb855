#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace predgen::ears {

/// Where `draft` goes on behind `said`, which differs from its beginning: in spelling
/// ("light-roast" for "light roast"), by a word in another's place, or by one more or less. In
/// bytes; compares letters and digits only; marks that `said` has there are not repeated.
size_t draft_place(std::string_view draft, std::string_view said);

/// The tokens of a recogniser as bytes, and texts as tokens.
class TokenTexts {
 public:
  /// No two tokens have the same bytes: then the first is the one that texts get.
  void add(int64_t token, std::string bytes);

  /// Tokens that are not text have none.
  std::string bytes_of(std::span<const int64_t> tokens) const;
  /// By the longest token at each place, which need not be the recogniser's choice: for drafts.
  /// Ends where no token fits.
  std::vector<int64_t> tokens_of(std::string_view text) const;

 private:
  std::map<int64_t, std::string> bytes_;
  std::map<std::string, int64_t, std::less<>> numbers_;
};

}  // namespace predgen::ears
