#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/generate/token_tree.h"
#include "runtime/speculate/verifier.h"
#include "text/sentence/sentence_splitter.h"
#include "text/thoughts.h"
#include "text/tokenizer.h"

namespace predgen {

/// Asks the model itself whether the answer's first sentence agrees with the user's words so far
/// (arXiv 2506.15556, section 3.1.2 and Table 2), in a separate chat, through the model's template:
/// "yes" keeps the whole sentence, "no" what greedy verification keeps. The question runs in the
/// pass that verifies the draft, where the paper takes one pass for each; the prefix it shares with
/// the previous question stays cached. After the judged sentences acceptance is greedy.
class ReflectionVerifier : public Verifier {
 public:
  /// `num_sentences`: the first, the first two, .. up to this many are judged, in the same pass;
  /// those before the first "no" are kept. UserError if the vocabulary has no token that reads
  /// "yes" or none that reads "no". Borrows the tokenizer.
  ReflectionVerifier(const Tokenizer& tokenizer, SplitMode split_mode, int64_t num_sentences);

  std::optional<EngineRequest> ask(const Draft& draft, const Sequence& sequence) override;
  int64_t num_sentences() const override { return num_sentences_; }
  bool is_exact() const override { return false; }
  int64_t verify(const Draft& draft, const DraftLogits& logits) override;

 private:
  /// Tokens of the draft until the end of each sentence to judge; thoughts are none.
  std::vector<int64_t> sentence_ends(const Draft& draft, AnswerStart start) const;

  const Tokenizer& tokenizer_;
  SplitMode split_mode_;
  int64_t num_sentences_;
  at::Tensor yes_, no_;  // ids of the tokens that read "yes" or "no"

  std::optional<Sequence> question_;  // the prefix that all questions share
  TokenTree tree_;                    // the rest of each
  struct Judged {
    int64_t end = 0;  // tokens of the draft
    int64_t row = 0;  // of the reply
  };
  std::vector<Judged> judged_;
};

}  // namespace predgen
