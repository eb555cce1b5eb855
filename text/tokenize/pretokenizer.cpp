#include "text/tokenize/pretokenizer.h"

#include <algorithm>

#include "core/error.h"
#include "text/tokenize/tokenizer_files.h"
#include "text/utf8.h"

namespace predgen {
namespace {

constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

}  // namespace

Pretokenizer::Pretokenizer(const Json& pre_tokenizer, const std::string& where) {
  if (!pre_tokenizer.is_null()) add(pre_tokenizer, where);
}

void Pretokenizer::add(const Json& pre_tokenizer, const std::string& where) {
  const std::string type = json_get<std::string>(pre_tokenizer, "type", where);
  if (byte_level_) {
    throw UserError("{}: pre_tokenizer \"{}\" after ByteLevel is not supported", where, type);
  }
  if (type == "Sequence") {
    for (const Json& step : json_get<Json>(pre_tokenizer, "pretokenizers", where)) add(step, where);
  } else if (type == "Split") {
    add_split(pre_tokenizer, where);
  } else if (type == "Digits") {
    add_digits(pre_tokenizer, where);
  } else if (type == "Metaspace") {
    add_metaspace(pre_tokenizer, where);
  } else if (type == "ByteLevel") {
    add_byte_level(pre_tokenizer, where);
  } else {
    throw UserError(
        "{}: pre_tokenizer type \"{}\" is not supported (Split, Digits, Metaspace, ByteLevel, "
        "Sequence)",
        where, type);
  }
}

void Pretokenizer::add_split(const Json& split, const std::string& where) {
  constexpr std::pair<const char*, Behavior> kBehaviors[] = {
      {"Removed", Behavior::kRemoved},
      {"Isolated", Behavior::kIsolated},
      {"MergedWithPrevious", Behavior::kMergedWithPrevious},
      {"MergedWithNext", Behavior::kMergedWithNext},
      {"Contiguous", Behavior::kContiguous}};
  const std::string name = json_get<std::string>(split, "behavior", where);
  for (const auto& [known, behavior] : kBehaviors) {
    if (name != known) continue;
    steps_.emplace_back(
        Split{read_pattern(split, where), behavior, json_flag(split, "invert", false, where)});
    return;
  }
  throw UserError("{}: Split behavior \"{}\" is not supported", where, name);
}

void Pretokenizer::add_digits(const Json& digits, const std::string& where) {
  const bool individual = json_flag(digits, "individual_digits", false, where);
  steps_.emplace_back(Split{Regex(R"(\p{N})", Regex::Syntax::kPattern, where),
                            individual ? Behavior::kIsolated : Behavior::kContiguous});
}

void Pretokenizer::add_metaspace(const Json& metaspace, const std::string& where) {
  const std::string symbol = json_get<std::string>(metaspace, "replacement", where);
  size_t length = 0;
  if (!symbol.empty()) next_character(symbol, length);
  if (symbol.empty() || length != symbol.size()) {
    fail_json_key("replacement", where, fmt::format("is \"{}\", not one character", symbol));
  }
  // The older form has add_prefix_space only.
  std::string scheme = json_flag(metaspace, "add_prefix_space", true, where) ? "always" : "never";
  if (metaspace.contains("prepend_scheme")) {
    scheme = json_get<std::string>(metaspace, "prepend_scheme", where);
  }
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    fail_json_key("prepend_scheme", where, fmt::format("is \"{}\" (always, first, never)", scheme));
  }
  steps_.emplace_back(Spaces{symbol, scheme == "always"  ? Prefix::kAlways
                                     : scheme == "first" ? Prefix::kFirst
                                                         : Prefix::kNever});
  if (json_flag(metaspace, "split", true, where)) {
    steps_.emplace_back(
        Split{Regex(symbol, Regex::Syntax::kLiteral, where), Behavior::kMergedWithNext});
  }
}

void Pretokenizer::add_byte_level(const Json& byte_level, const std::string& where) {
  if (json_flag(byte_level, "add_prefix_space", true, where)) {
    steps_.emplace_back(Spaces{" ", Prefix::kAlways});
  }
  if (json_flag(byte_level, "use_regex", true, where)) {
    steps_.emplace_back(
        Split{Regex(kGpt2Words, Regex::Syntax::kPattern, where), Behavior::kIsolated});
  }
  byte_level_ = true;
}

void Pretokenizer::split(std::string_view text, TextPlace place, const OnWord& on_word) const {
  if (!text.empty()) run(0, text, place, on_word);
}

void Pretokenizer::run(size_t step, std::string_view piece, TextPlace place,
                       const OnWord& on_word) const {
  if (step == steps_.size()) return on_word(piece);
  const auto go_on = [&](size_t begin, size_t end) {
    run(step + 1, piece.substr(begin, end - begin), begin == 0 ? place : TextPlace::kAfterToken,
        on_word);
  };
  if (const auto* spaces = std::get_if<Spaces>(&steps_[step])) {
    std::string text;
    for (const char c : piece) {
      if (c == ' ') {
        text += spaces->symbol;
      } else {
        text += c;
      }
    }
    const bool wanted = spaces->prefix == Prefix::kAlways ||
                        (spaces->prefix == Prefix::kFirst && place == TextPlace::kStart);
    if (wanted && !text.starts_with(spaces->symbol)) text.insert(0, spaces->symbol);
    return run(step + 1, text, place, on_word);
  }
  const Split& split = std::get<Split>(steps_[step]);
  if (split.behavior == Behavior::kIsolated) {  // by far the most common: avoids a list
    size_t end = 0;
    Regex::Match match;
    while (split.regex.find(piece, end, match)) {
      if (match.begin > end) go_on(end, match.begin);
      go_on(match.begin, match.end);
      end = match.end;
    }
    if (end < piece.size()) go_on(end, piece.size());
    return;
  }
  for (const Piece& part : pieces(split, piece)) {
    if (part.is_match && split.behavior == Behavior::kRemoved) continue;
    go_on(part.begin, part.end);
  }
}

/// Matches and the text between them, joined as the behaviour requires.
std::vector<Pretokenizer::Piece> Pretokenizer::pieces(const Split& split, std::string_view text) {
  std::vector<Piece> all;
  size_t end = 0;
  Regex::Match match;
  while (split.regex.find(text, end, match)) {
    if (match.begin > end) all.push_back({end, match.begin, split.invert});
    all.push_back({match.begin, match.end, !split.invert});
    end = match.end;
  }
  if (end < text.size()) all.push_back({end, text.size(), split.invert});
  if (split.behavior == Behavior::kRemoved) return all;

  const bool backwards = split.behavior == Behavior::kMergedWithNext;
  if (backwards) std::reverse(all.begin(), all.end());
  std::vector<Piece> joined;
  bool previous_matched = false;
  for (const Piece& piece : all) {
    const bool joins = split.behavior == Behavior::kContiguous
                           ? piece.is_match == previous_matched
                           : piece.is_match && !previous_matched;
    previous_matched = piece.is_match;
    if (!joins || joined.empty()) {
      joined.push_back(piece);
    } else if (backwards) {
      joined.back().begin = piece.begin;
    } else {
      joined.back().end = piece.end;
    }
  }
  if (backwards) std::reverse(joined.begin(), joined.end());
  return joined;
}

}  // namespace predgen
