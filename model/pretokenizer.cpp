#include "model/pretokenizer.h"

#include "core/error.h"

namespace predgen {
namespace {

constexpr const char* kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kWholeText = R"((?s).+)";

}  // namespace

Pretokenizer::Pretokenizer(const Json& pre_tokenizer, const std::string& where) {
  if (pre_tokenizer.is_null()) {
    throw UserError("{}: \"pre_tokenizer\" is missing; only byte-level tokenizers are supported",
                    where);
  }
  add(pre_tokenizer, where);
  if (!byte_level_) {
    throw UserError("{}: the pre_tokenizer has no ByteLevel step; only byte-level is supported",
                    where);
  }
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
  } else if (type == "ByteLevel") {
    add_byte_level(pre_tokenizer, where);
  } else {
    throw UserError("{}: pre_tokenizer type \"{}\" is not supported (Split, ByteLevel, Sequence)",
                    where, type);
  }
}

void Pretokenizer::add_split(const Json& split, const std::string& where) {
  const Json pattern = json_get<Json>(split, "pattern", where);
  const bool is_regex = pattern.is_object() && pattern.contains("Regex");
  const std::string source = json_get<std::string>(pattern, is_regex ? "Regex" : "String", where);
  const std::string behavior = json_get<std::string>(split, "behavior", where);
  const bool invert = split.contains("invert") && json_get<bool>(split, "invert", where);
  Step step{Regex(source, is_regex ? Regex::Syntax::kPattern : Regex::Syntax::kLiteral, where)};
  if (behavior == "Removed" && invert) {
    step.gaps = Gaps::kDrop;
  } else if (behavior == "Removed") {
    step.matches = Matches::kDrop;
  } else if (behavior != "Isolated") {
    throw UserError("{}: Split behavior \"{}\" is not supported (Isolated, Removed)", where,
                    behavior);
  }
  steps_.push_back(std::move(step));
}

void Pretokenizer::add_byte_level(const Json& byte_level, const std::string& where) {
  const bool prefix_space = json_get<bool>(byte_level, "add_prefix_space", where);
  const bool use_regex =
      !byte_level.contains("use_regex") || json_get<bool>(byte_level, "use_regex", where);
  if (use_regex || prefix_space) {
    Step step{Regex(use_regex ? kGpt2Words : kWholeText, Regex::Syntax::kPattern, where)};
    step.prefix_space = prefix_space;
    steps_.push_back(std::move(step));
  }
  byte_level_ = true;
}

Pretokenizer::Words Pretokenizer::split(std::string_view text) const {
  Words words;
  if (!text.empty()) words.pieces.push_back(text);
  for (const Step& step : steps_) {
    std::vector<std::string_view> pieces;
    for (std::string_view piece : words.pieces) {
      if (step.prefix_space && !piece.starts_with(' ')) {
        piece = words.owned.emplace_back(1, ' ').append(piece);
      }
      size_t end = 0;
      for (const Regex::Match& match : step.regex.find_all(piece)) {
        if (match.begin > end && step.gaps == Gaps::kKeep) {
          pieces.push_back(piece.substr(end, match.begin - end));
        }
        if (step.matches == Matches::kKeep) {
          pieces.push_back(piece.substr(match.begin, match.end - match.begin));
        }
        end = match.end;
      }
      if (end < piece.size() && step.gaps == Gaps::kKeep) pieces.push_back(piece.substr(end));
    }
    words.pieces = std::move(pieces);
  }
  return words;
}

}  // namespace predgen
