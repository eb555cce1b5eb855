#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace predgen {

/// What a sentencepiece model file says besides its pieces; the library does not expose it.
struct SentencepieceSpec {
  bool adds_space_in_front = true;  // normalizer_spec.add_dummy_prefix
  bool is_bpe = false;              // trainer_spec.model_type
  bool has_rules = false;           // normalizer_spec.precompiled_charsmap

  /// UserError naming `where` for a damaged file, and for options that change how text comes back
  /// and that no model of the known families has.
  static SentencepieceSpec read(std::string_view model, const std::string& where);
};

struct SentencepiecePiece {
  std::string_view text;
  float score = 0;
  int type = 1;  // 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
};
/// By id; they borrow `model`. UserError naming `where` for a damaged file.
std::vector<SentencepiecePiece> read_sentencepiece_pieces(std::string_view model,
                                                          const std::string& where);

/// `model` with normalizer_spec.add_dummy_prefix off.
std::string without_space_in_front(std::string_view model);

}  // namespace predgen
