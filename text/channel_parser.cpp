#include "text/channel_parser.h"

#include <algorithm>
#include <array>

#include "core/text.h"
#include "text/streaming_text.h"

namespace predgen {
namespace {

constexpr std::string_view kChannel = "<|channel|>", kStart = "<|start|>", kEnd = "<|end|>",
                           kReturn = "<|return|>", kCalled = "<|call|>",
                           kConstrain = "<|constrain|>";
constexpr std::array kEnds{kEnd, kCalled, kReturn, kStart};
constexpr std::string_view kTo = "to=", kFunctions = "functions.";

/// The word behind `mark` in a header; empty: it has none.
std::string_view word_after(std::string_view header, std::string_view mark) {
  const size_t at = header.find(mark);
  if (at == std::string_view::npos) return "";
  header = trimmed(header.substr(at + mark.size()));
  return header.substr(0, header.find_first_of(" \t\r\n<"));
}

/// Whether a message's header begins so: "<|channel|>", " to=", or its role.
bool may_be_header(std::string_view text) {
  text = trimmed(text);
  const std::array<std::string_view, 4> begins{kChannel, kStart, kTo, "assistant"};
  return std::ranges::any_of(begins,
                             [&](std::string_view begin) { return may_begin(text, begin); });
}

/// The length of the text's end that may be the beginning of a mark.
size_t begun_mark(std::string_view text) {
  size_t most = 0;
  for (const std::string_view mark : kEnds) most = std::max(most, begun(text, mark));
  return most;
}

}  // namespace

bool ChannelParser::is_marker(std::string_view token) {
  return token == kChannel || token == kMessage || token == kConstrain ||
         std::ranges::find(kEnds, token) != kEnds.end();
}

ChannelParser::Pieces ChannelParser::push(std::string_view text) {
  held_ += text;
  Pieces pieces;
  while (kind_ == Kind::kHeader ? read_header(pieces, false) : read_body(pieces, false)) {
  }
  return pieces;
}

ChannelParser::Pieces ChannelParser::finish() {
  Pieces pieces;
  while (kind_ == Kind::kHeader ? read_header(pieces, true) : read_body(pieces, true)) {
  }
  return pieces;
}

void ChannelParser::begin(Kind kind, std::string_view name, Pieces& pieces) {
  kind_ = kind;
  is_empty_ = true;
  if (kind == Kind::kThought && has_thought_) pieces.thought += "\n\n";
  if (kind == Kind::kText && has_said_) pieces.said += "\n\n";
  if (kind != Kind::kFunction) return;
  pieces.said += kCall;
  pieces.said += name;
  pieces.said += kMessage;
}

void ChannelParser::add(std::string_view text, Pieces& pieces) {
  if (text.empty()) return;
  is_empty_ = false;
  (kind_ == Kind::kThought ? pieces.thought : pieces.said) += text;
  (kind_ == Kind::kThought ? has_thought_ : has_said_) = true;
}

bool ChannelParser::read_header(Pieces& pieces, bool is_over) {
  const size_t end = held_.find(kMessage);
  if (end == std::string::npos) {
    if (trimmed(held_).empty() || may_be_header(held_)) {
      if (is_over) held_.clear();  // cut off in it
      return false;
    }
    begin(Kind::kText, "", pieces);
    return true;
  }
  const std::string header = held_.substr(0, end);
  held_.erase(0, end + kMessage.size());
  const std::string_view to = word_after(header, kTo);
  const bool is_function = to.starts_with(kFunctions);
  const bool is_thought =
      !is_function && (!to.empty() || word_after(header, kChannel) == "analysis");
  begin(is_function  ? Kind::kFunction
        : is_thought ? Kind::kThought
                     : Kind::kText,
        is_function ? to.substr(kFunctions.size()) : "", pieces);
  return true;
}

bool ChannelParser::read_body(Pieces& pieces, bool is_over) {
  size_t found = std::string::npos, length = 0;
  for (const std::string_view mark : kEnds) {
    if (const size_t at = held_.find(mark); at < found) {
      found = at;
      length = mark.size();
    }
  }
  const bool is_whole = found != std::string::npos;
  const size_t certain = is_whole ? found : held_.size() - (is_over ? 0 : begun_mark(held_));
  add(held_.substr(0, certain), pieces);
  held_.erase(0, is_whole ? found + length : certain);
  if (!is_whole && !is_over) return false;
  if (kind_ == Kind::kFunction && is_empty_) pieces.said += "{}";  // without arguments
  kind_ = Kind::kHeader;
  return is_whole;
}

}  // namespace predgen
