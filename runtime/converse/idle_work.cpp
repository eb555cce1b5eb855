#include "runtime/converse/idle_work.h"

#include <utility>

#include "runtime/converse/answer_reader.h"
#include "text/stop_tokens.h"
#include "text/streaming_text.h"

namespace predgen {

IdleWork::IdleWork(InputTimeSpeculator& speculator, const Tokenizer& tokenizer,
                   SplitMode split_mode, RenderPrompt render)
    : speculator_(speculator),
      tokenizer_(tokenizer),
      split_mode_(split_mode),
      render_(std::move(render)) {}

IsWhole IdleWork::follow_answer() const {
  return [reader = AnswerReader(tokenizer_, split_mode_)](TokenSpan new_tokens) mutable {
    return !reader.push(new_tokens).sentences.empty();
  };
}

int64_t IdleWork::branch(const GenerationConfig& draft) {
  if (speculator_.config().num_branches == 0) return 0;
  return speculator_.branch(draft, [this] { return follow_answer(); });
}

int64_t IdleWork::answer_next_words(const std::string& heard, const History::Prompt& prompt,
                                    const GenerationConfig& draft) {
  const auto is_stopped = [&] { return draft.should_stop && draft.should_stop(); };
  if (speculator_.config().next_words == 0 || prompt.ids == foreseen_ || is_stopped()) return 0;
  int64_t num_tokens = 0;
  const std::string text = heard + next_words(heard, prompt, draft);
  const TokenIds longer = render_(text).ids;
  if (text != heard && std::ssize(longer) <= speculator_.context_length() && !is_stopped()) {
    TokenIds answer = speculator_.answer_aside(longer, draft, follow_answer());
    num_tokens = std::ssize(answer);
    speculator_.add_candidate(std::move(answer));
  }
  if (!is_stopped()) foreseen_ = prompt.ids;
  return num_tokens;
}

std::string IdleWork::next_words(const std::string& heard, const History::Prompt& prompt,
                                 GenerationConfig config) {
  const std::optional<int64_t> end = words_end(prompt, heard, render_);
  if (!end) return "";
  const TokenSpan spoken = TokenSpan(prompt.ids).first(static_cast<size_t>(*end));
  const TokenId next = prompt.ids[spoken.size()];
  config.stop_tokens.push_back(next);  // the template's next token, a stop token or not
  config.max_new_tokens = speculator_.config().next_words;
  config.sampler = nullptr;
  const TokenIds words = speculator_.answer_aside(spoken, config, [](TokenSpan) { return false; });
  StreamingText text(tokenizer_);
  text.push(spoken.last(1));
  const size_t known = text.text().size();
  text.push(without_stop_token(words, config.stop_tokens));
  return text.text().substr(known);
}

}  // namespace predgen
