#include "text/thoughts.h"

#include <algorithm>
#include <array>
#include <utility>

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

namespace {

struct Marks {
  std::string_view open, close;
};
/// DeepSeek, Qwen, SmolLM; others; Mistral; Seed; Cohere; Gemma 4.
constexpr std::array<Marks, 8> kMarks{{{"<think>", "</think>"},
                                       {"<thinking>", "</thinking>"},
                                       {"<thought>", "</thought>"},
                                       {"<reasoning>", "</reasoning>"},
                                       {"[THINK]", "[/THINK]"},
                                       {"<seed:think>", "</seed:think>"},
                                       {"<|START_THINKING|>", "<|END_THINKING|>"},
                                       {"<|channel>thought", "<channel|>"}}};

/// The control token that `mark` begins with.
std::string_view token_of(std::string_view mark) {
  return mark.substr(0, mark.find_first_of(">]") + 1);
}

bool ends_sentence(std::string_view text) {
  constexpr std::array<std::string_view, 8> kEndMarks{".", "?", "!", "\n", "…", "。", "！", "？"};
  return std::ranges::any_of(kEndMarks, [&](std::string_view end) { return text.ends_with(end); });
}

}  // namespace

AnswerStart answer_start(const Tokenizer& tokenizer, TokenSpan prompt) {
  constexpr size_t kLongest = 16;  // tokens of a mark and what follows it
  const TokenSpan end = prompt.last(std::min(prompt.size(), kLongest));
  const std::string text = tokenizer.decode(end, /*keep_special=*/true);
  if (trimmed(text).ends_with("<|start|>assistant")) return AnswerStart::kChannels;
  const bool is_thought = std::ranges::any_of(
      kMarks, [&](const Marks& marks) { return trimmed(text).ends_with(marks.open); });
  return is_thought ? AnswerStart::kThought : AnswerStart::kAnswer;
}

std::vector<std::string> closing_thought_marks() {
  std::vector<std::string> marks;
  for (const Marks& one : kMarks) marks.emplace_back(one.close);
  return marks;
}

ThoughtParser::ThoughtParser(AnswerStart start) : has_thoughts_(start != AnswerStart::kText) {
  if (start == AnswerStart::kChannels) channels_.emplace();
  if (start != AnswerStart::kThought) return;
  for (const Marks& marks : kMarks) closing_.push_back(marks.close);
}

bool ThoughtParser::is_marker(std::string_view token) const {
  if (channels_) return ChannelParser::is_marker(token);
  return std::ranges::any_of(kMarks, [&](const Marks& marks) {
    return token == token_of(marks.open) || token == marks.close;
  });
}

ThoughtParser::Pieces ThoughtParser::push(std::string_view text) {
  if (channels_) return channels_->push(text);
  if (!has_thoughts_) return {.said = std::string(text)};
  held_ += text;
  Pieces pieces;
  read(pieces, /*is_over=*/false);
  return pieces;
}

ThoughtParser::Pieces ThoughtParser::finish() {
  if (channels_) return channels_->finish();
  Pieces pieces;
  read(pieces, /*is_over=*/true);
  return pieces;
}

void ThoughtParser::read(Pieces& pieces, bool is_over) {
  while (is_in_thought() ? read_thought(pieces, is_over) : read_text(pieces, is_over)) {
  }
}

bool ThoughtParser::may_begin(std::string_view before) const {
  std::string_view last = trimmed(before, " \t");
  if (last.empty()) last = trimmed(end_, " \t");
  return last.empty() || ends_sentence(last);
}

void ThoughtParser::say(size_t size, Pieces& pieces) {
  if (size == 0) return;
  constexpr size_t kEnd = 64;  // bytes: more blanks than models write
  pieces.said += held_.substr(0, size);
  end_ += held_.substr(0, size);
  held_.erase(0, size);
  end_.erase(0, end_.size() - std::min(end_.size(), kEnd));
  is_after_thought_ = false;
}

bool ThoughtParser::read_text(Pieces& pieces, bool is_over) {
  size_t space = std::min(held_.find_first_not_of(kAsciiSpace), held_.size());
  if (is_after_thought_) held_.erase(0, std::exchange(space, 0));
  const bool is_first = end_.empty();  // white space before a first thought is not said
  if (is_first && space == held_.size() && !is_over) return false;
  for (size_t at = held_.find_first_of("<["); at != std::string::npos;
       at = held_.find_first_of("<[", at + 1)) {
    const std::string_view rest = std::string_view(held_).substr(at);
    if (!may_begin(std::string_view(held_).substr(0, at))) continue;
    const bool is_all_space = is_first && at == space;
    for (const Marks& marks : kMarks) {
      if (rest.starts_with(marks.open)) {
        if (is_all_space) held_.erase(0, at);
        if (!is_all_space) say(at, pieces);
        held_.erase(0, marks.open.size());
        closing_ = {marks.close};
        begins_thought_ = true;
        return true;
      }
      if (!is_over && marks.open.starts_with(rest)) {
        if (!is_all_space) say(at, pieces);
        return false;
      }
    }
  }
  say(held_.size(), pieces);
  return false;
}

bool ThoughtParser::read_thought(Pieces& pieces, bool is_over) {
  if (begins_thought_) held_.erase(0, std::min(held_.find_first_not_of(kAsciiSpace), held_.size()));
  size_t found = std::string::npos, length = 0, certain = held_.size();
  for (const std::string_view close : closing_) {
    if (const size_t at = held_.find(close); at < found) {
      found = at;
      length = close.size();
    }
    if (!is_over) certain = std::min(certain, held_.size() - begun(held_, close));
  }
  const bool is_closed = found != std::string::npos;
  if (is_closed) certain = found;
  const size_t last = std::string_view(held_).substr(0, certain).find_last_not_of(kAsciiSpace);
  const size_t size = last == std::string::npos ? 0 : last + 1;  // white space at the end is held
  if (size > 0) {
    if (std::exchange(begins_thought_, false) && has_thought_) pieces.thought += "\n\n";
    pieces.thought += held_.substr(0, size);
    has_thought_ = true;
  }
  if (!is_closed) {
    held_.erase(0, is_over ? held_.size() : size);
    return false;
  }
  held_.erase(0, found + length);
  closing_.clear();
  is_after_thought_ = true;
  return true;
}

std::string without_thoughts(std::string_view text) {
  const auto first = [&](auto mark) {
    size_t found = std::string_view::npos;
    for (const Marks& marks : kMarks) found = std::min(found, text.find(marks.*mark));
    return found;
  };
  for (const Marks& marks : kMarks) {  // begun by the prompt
    const size_t close = text.find(marks.close);
    if (close < first(&Marks::open)) text.remove_prefix(close + marks.close.size());
  }
  std::string rest(text);
  for (const Marks& marks : kMarks) {
    for (size_t open = rest.find(marks.open); open != std::string::npos;
         open = rest.find(marks.open, open)) {
      const size_t close = rest.find(marks.close, open);
      if (close == std::string::npos) break;
      rest.erase(open, close + marks.close.size() - open);
    }
  }
  ThoughtParser parser;
  std::string said = parser.push(rest).said;
  return said += parser.finish().said;
}

}  // namespace predgen
