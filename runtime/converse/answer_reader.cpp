#include "runtime/converse/answer_reader.h"

#include <algorithm>
#include <iterator>

#include "text/token_ids.h"

namespace predgen {

AnswerReader::AnswerReader(const Tokenizer& tokenizer, SplitMode mode, const ToolSet& tools,
                           AnswerStart start)
    : tokenizer_(tokenizer), splitter_(tokenizer, mode), tokens_(tokenizer), thoughts_(start) {
  if (!tools.empty()) parser_.emplace(tokenizer.tool_format(), tools);
}

AnswerReader::Progress AnswerReader::push(TokenSpan tokens) {
  Progress progress;
  for (const TokenId token : tokens) {
    ++num_tokens_;
    if (is_stop_token(tokenizer_.stop_tokens(), token)) {
      end_ = TextEnd::kWhole;
    } else {
      push(token, progress);
    }
  }
  text_ += progress.text;
  thought_ += progress.thought;
  return progress;
}

std::string AnswerReader::text_of(TokenId token) {
  const std::string text = tokens_.push({&token, 1});
  if (!text.empty()) return text;
  std::string mark = tokenizer_.decode({&token, 1}, /*keep_special=*/true);
  const bool is_mark = thoughts_.is_marker(mark) ||
                       (parser_ && ToolCallParser::is_marker(tokenizer_.tool_format(), mark));
  return is_mark ? mark : "";
}

void AnswerReader::push(TokenId token, Progress& progress) {
  const bool was_thought = thoughts_.is_in_thought();
  ThoughtParser::Pieces pieces = thoughts_.push(text_of(token));
  num_thought_tokens_ += was_thought || thoughts_.is_in_thought();
  std::ranges::move(splitter_.push_text(take(std::move(pieces), progress)),
                    std::back_inserter(progress.sentences));
  const bool has_call = (parser_ && parser_->is_in_call()) || !progress.calls.empty();
  if (has_call && !call_begin_) call_begin_ = num_tokens_ - 1;
}

std::string AnswerReader::take(ThoughtParser::Pieces pieces, Progress& progress) {
  progress.thought += pieces.thought;
  if (parser_) return take(parser_->push(pieces.said), progress);
  progress.text += pieces.said;
  return std::move(pieces.said);
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
  std::string rest = take(thoughts_.push(tokens_.finish(end_)), progress);
  rest += take(thoughts_.finish(), progress);
  if (parser_) rest += take(parser_->finish(), progress);
  progress.sentences = splitter_.finish(rest);
  text_ += progress.text;
  thought_ += progress.thought;
  return progress;
}

}  // namespace predgen
