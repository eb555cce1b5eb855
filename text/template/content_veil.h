#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenize/added_tokens.h"

namespace predgen {

/// The tokens that only a template may produce. Immutable.
class ControlTokens {
 public:
  /// Those of `added` that are control tokens.
  explicit ControlTokens(const std::vector<AddedToken>& added);
  const std::map<TokenId, std::string>& texts() const { return texts_; }
  const AddedTokenFinder& finder() const { return finder_; }

 private:
  std::map<TokenId, std::string> texts_;
  AddedTokenFinder finder_;
};

/// Takes the contents of messages through a template. Before rendering, codes replace what the
/// template must neither see nor bring out as its own: control tokens that somebody typed,
/// generated ids, and white space that the engine does not know as such (Python does). A code
/// begins and ends with a character that occurs in no content; white space becomes other white
/// space, so that |trim takes it away.
class ContentVeil {
 public:
  /// `texts`: everything that will be rendered, the template included. Borrows `tokens`.
  ContentVeil(const ControlTokens& tokens, const std::vector<std::string_view>& texts);

  /// `visible` tokens stay as they are.
  std::string cover(std::string_view content, const std::set<TokenId>& visible = {}) const;
  /// Stands for the ids of message `index`.
  std::string placeholder(size_t index) const;

  struct Piece {
    std::string text;           // codes replaced by what they stand for
    std::optional<size_t> ids;  // what follows: the ids of this message
  };
  /// Rendered text in order, without control tokens; the last piece has no ids. UserError if the
  /// template has spoiled a code.
  std::vector<Piece> uncover(std::string_view rendered) const;

 private:
  struct Cover {
    bool is_typed = false;  // else it stands for the ids of a message
    size_t number = 0;      // of the token, or of the message
    size_t length = 0;      // bytes, with both marks
  };
  Cover read_cover(std::string_view rendered) const;

  const ControlTokens& tokens_;
  std::string mark_;
};

}  // namespace predgen
