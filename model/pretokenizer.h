#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "model/regex.h"

namespace predgen {

/// The "pre_tokenizer" of tokenizer.json, which cuts text into words: Split, ByteLevel or a
/// Sequence of these that ends with ByteLevel. Anything else is a UserError that names it.
/// Thread-safe after construction.
class Pretokenizer {
 public:
  struct Words {
    std::vector<std::string_view> pieces;  // into the text or into `owned`
    std::deque<std::string> owned;
  };

  Pretokenizer(const Json& pre_tokenizer, const std::string& where);
  /// The words of `text` (well-formed UTF-8), in order; `text` must outlive them.
  Words split(std::string_view text) const;

 private:
  enum class Gaps { kKeep, kDrop };
  enum class Matches { kKeep, kDrop };
  struct Step {
    Regex regex;
    Gaps gaps = Gaps::kKeep;  // what stands between the matches
    Matches matches = Matches::kKeep;
    bool prefix_space = false;  // before the split
  };

  void add(const Json& pre_tokenizer, const std::string& where);
  void add_split(const Json& split, const std::string& where);
  void add_byte_level(const Json& byte_level, const std::string& where);

  std::vector<Step> steps_;
  bool byte_level_ = false;
};

}  // namespace predgen
