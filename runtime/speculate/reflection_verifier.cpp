#include "runtime/speculate/reflection_verifier.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/text.h"
#include "text/streaming_text.h"
#include "text/token_ids.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

namespace predgen {
namespace {

/// The question put to a model about a draft, for a "yes" or "no" (arXiv 2506.15556, Table 2):
/// whether `answer` fits the user's words so far. A separate chat, without a system message.
std::vector<Message> judge_question(std::string_view words, std::string_view answer) {
  constexpr const char* kQuestion =
      "You are given an incomplete prompt and the model's speculative partial answer. Please judge "
      "whether the partial prompt is consistent with the model's answer.\n"
      "Partial Prompt: {}\nPartial Answer: {}";
  return {{.role = "user", .content = fmt::format(kQuestion, words, trimmed(answer))}};
}

/// Ids of all tokens that read `word`, in any case and with any space around it.
at::Tensor find_spellings(const Tokenizer& tokenizer, std::string_view word) {
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const std::string text = tokenizer.decode_next({&id, 1});
    const auto equal = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
    if (std::ranges::equal(trimmed(text), word, equal)) ids.push_back(id);
  }
  if (ids.empty()) {
    throw UserError(
        "this model's vocabulary has no token \"{}\", which reflection reads its judgement from: "
        "choose another verifier",
        word);
  }
  return at::tensor(ids, at::kLong);
}

/// ln of their summed probability, up to a constant common to all tokens.
double score(const at::Tensor& logits_V, const at::Tensor& ids) {
  return logits_V.index_select(0, ids.to(logits_V.device()))
      .to(at::kDouble)
      .logsumexp(0)
      .item<double>();
}

}  // namespace

ReflectionVerifier::ReflectionVerifier(const Tokenizer& tokenizer, SplitMode split_mode,
                                       int64_t num_sentences)
    : tokenizer_(tokenizer), split_mode_(split_mode), num_sentences_(num_sentences) {
  if (num_sentences < 1) {
    throw UserError("reflection judges at least 1 sentence, not {}", num_sentences);
  }
  yes_ = find_spellings(tokenizer, "yes");
  no_ = find_spellings(tokenizer, "no");
}

std::vector<int64_t> ReflectionVerifier::sentence_ends(const Draft& draft,
                                                       AnswerStart start) const {
  SentenceSplitter splitter(tokenizer_, split_mode_);
  StreamingText text(tokenizer_);
  ThoughtParser thoughts(start);
  std::vector<int64_t> ends;
  const auto take = [&](const std::vector<SentenceSplitter::Sentence>& sentences) {
    for (const SentenceSplitter::Sentence& sentence : sentences) {
      if (std::ssize(ends) < num_sentences_) ends.push_back(sentence.num_tokens);
    }
  };
  const TokenSpan tokens = without_stop_token(draft.tokens, draft.stop_tokens);
  for (const TokenId token : tokens) {
    take(splitter.push_text(thoughts.push(text.push({&token, 1})).said));
  }
  const bool answer_ends = tokens.size() < draft.tokens.size();
  if (answer_ends || ends.empty()) {
    take(splitter.finish(thoughts.push(text.finish()).said + thoughts.finish().said));
  }
  return ends;
}

std::optional<EngineRequest> ReflectionVerifier::ask(const Draft& draft, const Sequence& sequence) {
  judged_.clear();
  tree_ = {};
  std::vector<TokenIds> questions;
  const AnswerStart start = answer_start(tokenizer_, sequence.tokens());
  const std::string variables = tokenizer_.thinking_switch(/*thinks=*/false);
  for (const int64_t end : sentence_ends(draft, start)) {
    // A draft may end within a character.
    const std::string answer = without_thoughts(
        replace_ill_formed_utf8(tokenizer_.decode(draft.tokens.first(static_cast<size_t>(end)))));
    questions.push_back(tokenizer_.render_chat(judge_question(draft.prompt_text, answer),
                                               /*add_generation_prompt=*/true, {}, variables));
    judged_.push_back({.end = end});
  }
  if (questions.empty()) return std::nullopt;
  size_t common = questions.front().size();
  for (const TokenIds& question : questions) {
    const auto differs = std::ranges::mismatch(questions.front(), question).in2;
    common = std::min(common, static_cast<size_t>(differs - question.begin()));
  }
  for (size_t i = 0; i < questions.size(); ++i) {
    const std::vector<int64_t> path = tree_.add(TokenSpan(questions[i]).subspan(common));
    if (!path.empty()) judged_[i].row = 1 + path.back();
  }
  const size_t num_tokens = common + tree_.tokens().size();
  if (common == 0 || static_cast<int64_t>(num_tokens) > sequence.capacity()) {
    judged_.clear();  // no room to ask
    return std::nullopt;
  }
  if (!question_) question_ = sequence.fork();
  question_->replace(TokenSpan(questions.front()).first(common));
  return EngineRequest{
      .sequence = &*question_, .draft = tree_.tokens(), .tree_GG = tree_.mask_GG()};
}

int64_t ReflectionVerifier::verify(const Draft& draft, const DraftLogits& logits) {
  int64_t agreed = 0;
  if (logits.reply_QV) {
    for (const Judged& judged : judged_) {
      const at::Tensor reply_V = (*logits.reply_QV)[judged.row];
      if (score(reply_V, yes_) <= score(reply_V, no_)) break;
      agreed = judged.end;
    }
  }
  return count_accepted(draft, logits.most_likely, [&](int64_t i) { return i < agreed; });
}

}  // namespace predgen
