#include "runtime/converse/answer_reader.h"

#include <algorithm>
#include <iterator>

#include "text/stop_tokens.h"

namespace predgen {

AnswerReader::AnswerReader(const Tokenizer& tokenizer, SplitMode mode,
                           const std::vector<std::string>& tool_names)
    : tokenizer_(tokenizer), splitter_(tokenizer, mode), tokens_(tokenizer) {
  if (!tool_names.empty()) parser_.emplace(tokenizer.tool_format(), tool_names);
}

AnswerReader::Progress AnswerReader::push(TokenSpan tokens) {
  Progress progress;
  for (const TokenId token : tokens) {
    ++num_tokens_;
    if (is_stop_token(tokenizer_.stop_tokens(), token)) continue;
    if (parser_) {
      push_with_calls(token, progress);
    } else {
      std::ranges::move(splitter_.push(token), std::back_inserter(progress.sentences));
      progress.text += splitter_.added_text();
    }
  }
  text_ += progress.text;
  return progress;
}

void AnswerReader::push_with_calls(TokenId token, Progress& progress) {
  std::string text = tokens_.push({&token, 1});
  if (text.empty()) {
    const std::string whole = tokenizer_.decode({&token, 1}, /*keep_special=*/true);
    if (ToolCallParser::is_marker(tokenizer_.tool_format(), whole)) text = whole;
  }
  const std::string said = take(parser_->push(text), progress);
  std::ranges::move(splitter_.push_text(said), std::back_inserter(progress.sentences));
  const bool has_call = parser_->is_in_call() || !progress.calls.empty();
  if (has_call && !call_begin_) call_begin_ = num_tokens_ - 1;
}

std::string AnswerReader::take(std::vector<ToolCallParser::Part> parts, Progress& progress) {
  std::string said;
  for (ToolCallParser::Part& part : parts) {
    progress.text += part.text;
    if (part.kind == ToolCallParser::Part::Kind::kText) said += part.text;
    if (part.kind == ToolCallParser::Part::Kind::kCall) {
      progress.calls.push_back(std::move(part.call));
    }
  }
  return said;
}

AnswerReader::Progress AnswerReader::finish() {
  Progress progress;
  std::string rest;
  if (parser_) {
    rest = take(parser_->push(tokens_.finish()), progress);
    rest += take(parser_->finish(), progress);
  }
  progress.sentences = splitter_.finish(rest);
  if (!parser_) progress.text = splitter_.added_text();
  text_ += progress.text;
  return progress;
}

}  // namespace predgen
