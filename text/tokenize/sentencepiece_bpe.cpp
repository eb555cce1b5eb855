#include "text/tokenize/sentencepiece_bpe.h"

#include <sentencepiece_processor.h>

#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "text/tokenize/token_decoder.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

/// Where the word that begins `text` ends: before the first symbol for a space that follows
/// something else.
size_t word_length(std::string_view text) {
  size_t at = 0;
  while (text.substr(at).starts_with(kSpaceSymbol)) at += kSpaceSymbol.size();
  return std::min(text.find(kSpaceSymbol, at), text.size());
}

struct MergedPair {
  TokenId left, right, merged;
  float score;
};

}  // namespace

std::unique_ptr<const SentencepieceBpe> SentencepieceBpe::make(
    const sentencepiece::SentencePieceProcessor& model) {
  StringMap<TokenId> pieces;
  std::vector<TokenId> bytes;
  for (int id = 0; id < model.GetPieceSize(); ++id) {
    if (model.IsByte(id)) bytes.push_back(id);
    if (model.IsControl(id) || model.IsUnknown(id) || model.IsByte(id)) continue;
    const std::string& piece = model.IdToPiece(id);
    require_utf8(piece, "a piece of tokenizer.model");
    if (piece.empty()) return nullptr;
    pieces.emplace(piece, id);
    if (!std::isfinite(model.GetScore(id))) return nullptr;
  }
  if (!pieces.contains(kSpaceSymbol)) return nullptr;

  StringMap<TokenId> characters;
  std::vector<MergedPair> pairs;
  for (const auto& [piece, id] : pieces) {
    if (word_length(piece) != piece.size()) return nullptr;
    size_t at = 0;
    next_character(piece, at);
    if (at == piece.size()) {
      characters.emplace(piece, id);
      continue;
    }
    for (size_t begin = 0; begin < piece.size();) {
      at = begin;
      next_character(piece, at);
      if (!pieces.contains(std::string_view(piece).substr(begin, at - begin))) return nullptr;
      begin = at;
      const auto left = pieces.find(std::string_view(piece).substr(0, at));
      const auto right = pieces.find(std::string_view(piece).substr(at));
      if (left == pieces.end() || right == pieces.end()) continue;
      pairs.push_back({left->second, right->second, id, model.GetScore(static_cast<int>(id))});
    }
  }

  std::map<float, size_t, std::greater<>> ranks;  // pairs of one score merge from left to right
  for (const MergedPair& pair : pairs) ranks.emplace(pair.score, 0);
  size_t rank = 0;
  for (auto& [score, place] : ranks) place = rank++;
  std::unique_ptr<SentencepieceBpe> bpe(new SentencepieceBpe(pairs.size()));
  for (const MergedPair& pair : pairs) {
    bpe->merges_.add(pair.left, pair.right, ranks.at(pair.score), pair.merged);
  }
  bpe->characters_ = std::move(characters);
  bpe->unknown_ = model.unk_id();
  bpe->fallback_ = !bytes.empty();
  for (const TokenId id : bytes) {
    const int byte = fallback_byte(model.IdToPiece(static_cast<int>(id)));
    if (byte < 0) return nullptr;
    bpe->bytes_[static_cast<size_t>(byte)] = id;
  }
  if (bpe->fallback_ && bytes.size() != bpe->bytes_.size()) return nullptr;
  return bpe;
}

void SentencepieceBpe::encode(std::string_view text, TokenIds& ids) const {
  while (!text.empty()) {
    const size_t length = word_length(text);
    cache_.append(text.substr(0, length), ids,
                  [this](std::string_view word) { return encode_word(word); });
    text.remove_prefix(length);
  }
}

TokenIds SentencepieceBpe::encode_word(std::string_view word) const {
  TokenIds ids;
  ids.reserve(word.size());
  for (size_t at = 0; at < word.size();) {
    const size_t begin = at;
    next_character(word, at);
    const std::string_view character = word.substr(begin, at - begin);
    if (const auto found = characters_.find(character); found != characters_.end()) {
      ids.push_back(found->second);
    } else if (fallback_) {
      for (const char byte : character) ids.push_back(bytes_[static_cast<uint8_t>(byte)]);
    } else if (ids.empty() || ids.back() != unknown_) {  // one for a run of them
      ids.push_back(unknown_);
    }
  }
  merges_.apply(ids);
  return ids;
}

}  // namespace predgen
