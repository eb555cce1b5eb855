#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/generate/answer_constraint.h"
#include "runtime/generate/sampler.h"
#include "tests/fakes/borrowing_engine.h"
#include "text/token_ids.h"
#include "text/tokenizer.h"

namespace predgen {

/// A regular language over bytes, as its deterministic automaton; state 0 is the beginning.
struct Automaton {
  std::vector<std::map<char, size_t>> next{1};
  std::set<size_t> ends{};  // where a text may end

  size_t add_state() {
    next.emplace_back();
    return next.size() - 1;
  }
  /// `text` leads from one state to the other.
  void add(size_t from, std::string_view text, size_t to) {
    for (const char byte : text.substr(0, text.size() - 1)) {
      if (!next[from].contains(byte)) {
        const size_t between = add_state();
        next[from][byte] = between;
      }
      from = next[from][byte];
    }
    next[from][text.back()] = to;
  }
};

/// An automaton as a constraint on tokens. It counts what it is asked for.
class TokenLanguage {
 public:
  /// `texts`: of the tokens, by id; an empty one is no text, and never allowed.
  TokenLanguage(Automaton automaton, std::vector<std::string> texts)
      : automaton_(std::move(automaton)), texts_(std::move(texts)) {}

  std::optional<size_t> step(size_t state, TokenId token) const {
    if (token < 0 || token >= std::ssize(texts_)) return std::nullopt;
    const std::string& text = texts_[static_cast<size_t>(token)];
    if (text.empty()) return std::nullopt;
    for (const char byte : text) {
      const auto next = automaton_.next[state].find(byte);
      if (next == automaton_.next[state].end()) return std::nullopt;
      state = next->second;
    }
    return state;
  }
  bool may_end(size_t state) const { return automaton_.ends.contains(state); }
  /// Tokens that may come in a state; found once.
  const TokenIds& allowed(size_t state) const {
    const auto [known, is_new] = allowed_.try_emplace(state);
    for (TokenId token = 0; is_new && token < std::ssize(texts_); ++token) {
      if (step(state, token)) known->second.push_back(token);
    }
    return known->second;
  }
  /// The bytes that must come, in as long tokens as possible: as a model would say it, perhaps.
  TokenIds forced(size_t state, int64_t most) const {
    std::string bytes;
    while (automaton_.next[state].size() == 1 && !may_end(state) && bytes.size() < 200) {
      bytes += automaton_.next[state].begin()->first;
      state = automaton_.next[state].begin()->second;
    }
    TokenIds tokens;
    for (std::string_view rest = bytes; !rest.empty() && std::ssize(tokens) < most;) {
      TokenId best = kNoToken;
      size_t length = 0;
      for (TokenId token = 0; token < std::ssize(texts_); ++token) {
        const std::string& text = texts_[static_cast<size_t>(token)];
        if (text.size() > length && rest.starts_with(text)) {
          best = token;
          length = text.size();
        }
      }
      if (best == kNoToken) break;
      tokens.push_back(best);
      rest.remove_prefix(length);
    }
    return tokens;
  }
  int64_t num_tokens() const { return std::ssize(texts_); }

  mutable int64_t num_forks = 0, num_sets = 0;  // asked for

 private:
  const Automaton automaton_;
  const std::vector<std::string> texts_;
  mutable std::map<size_t, TokenIds> allowed_;
};

/// A text that has come so far within a language.
class LanguageConstraint : public TokenConstraint {
 public:
  explicit LanguageConstraint(std::shared_ptr<const TokenLanguage> language, size_t state = 0)
      : language_(std::move(language)), state_(state) {}

  std::string name() const override { return "the language of a test"; }
  std::unique_ptr<TokenConstraint> fork() const override {
    ++language_->num_forks;
    return std::make_unique<LanguageConstraint>(language_, state_);
  }
  bool accept(TokenId token) override {
    const std::optional<size_t> next = language_->step(state_, token);
    if (next) state_ = *next;
    return next.has_value();
  }
  bool may_end() const override { return language_->may_end(state_); }
  void insert_allowed(TokenSet& tokens) const override {
    ++language_->num_sets;
    for (const TokenId token : language_->allowed(state_)) tokens.insert(token);
  }
  TokenIds forced(int64_t most) const override { return language_->forced(state_, most); }

 private:
  std::shared_ptr<const TokenLanguage> language_;
  size_t state_;
};

/// A constraint for one answer.
inline std::shared_ptr<AnswerConstraint> answers_in(std::shared_ptr<const TokenLanguage> language,
                                                    const TokenIds& stop_tokens) {
  const int64_t num_tokens = language->num_tokens();
  return std::make_shared<AnswerConstraint>(
      std::make_shared<LanguageConstraint>(std::move(language)), stop_tokens, num_tokens);
}

/// Forms for a vocabulary of 31 tokens: "qrst", then fields "k" and letters, with ",uv" between
/// two of them. A form may end after letters, or with ";wxyz"; then it must. `endless`: it never
/// ends. Some texts can be said in several tokens or in one.
inline std::shared_ptr<const TokenLanguage> forms(bool endless = false) {
  Automaton automaton;
  const size_t field = automaton.add_state(), empty = automaton.add_state(),
               letters = automaton.add_state(), whole = automaton.add_state();
  automaton.add(0, "qrst", field);
  automaton.add(field, "k", empty);
  for (const char* letter : {"a", "b", "c", "d", "e"}) {
    automaton.add(empty, letter, letters);
    automaton.add(letters, letter, letters);
  }
  automaton.add(letters, ",uv", field);
  if (!endless) {
    automaton.add(letters, ";wxyz", whole);
    automaton.ends = {letters, whole};
  }
  return std::make_shared<TokenLanguage>(
      automaton,
      std::vector<std::string>{"a", "b", "c", "",  "d",  "e",  "ab", "abc", "bc", "cd", "de",
                               ",", ";", "q", "r", "s",  "t",  "",   "u",   "v",  "uv", "w",
                               "x", "y", "z", "k", "ka", ",u", "",   "",    ""});
}

/// Sentences of the words that tests say, for a tokenizer that has them and single bytes; `firsts`:
/// what they begin with.
inline std::shared_ptr<const TokenLanguage> sentences(const Tokenizer& tokenizer,
                                                      const std::vector<const char*>& firsts = {
                                                          "Yes", "No"}) {
  Automaton automaton;
  const size_t words = automaton.add_state(), end = automaton.add_state();
  for (const char* first : firsts) {
    automaton.add(0, first, words);
    automaton.add(end, first, words);
  }
  for (const char* word : {" I", " can", " on", " well"}) automaton.add(words, word, words);
  for (const char* mark : {".", "!"}) automaton.add(words, mark, end);
  automaton.ends = {end};
  std::vector<std::string> texts;
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id)
    texts.push_back(tokenizer.decode({&id, 1}));
  return std::make_shared<TokenLanguage>(automaton, texts);
}

/// The answer that the definition gives: at each place the likeliest or drawn token of those that
/// keep the text the beginning of one in the language, one pass each.
inline TokenIds answer_within(const TokenLanguage& language, const LanguageModel& model,
                              const TokenIds& prompt, const GenerationConfig& config,
                              int64_t capacity = 512) {
  Engine engine = borrowing_engine(model);
  Sequence sequence = sequence_of(engine, prompt, capacity);
  TokenIds answer;
  size_t state = 0;
  while (std::ssize(answer) < config.max_new_tokens && sequence.size() <= sequence.capacity()) {
    const at::Tensor logits_V = (*engine.run({.sequence = &sequence}).logits)[0];
    const float* logits = logits_V.const_data_ptr<float>();
    at::Tensor allowed_V = at::zeros({logits_V.numel()}, at::kBool);
    TokenId likeliest = kNoToken;
    for (TokenId token = 0; token < logits_V.numel(); ++token) {
      const bool is_end = is_stop_token(config.stop_tokens, token);
      if (is_end ? !language.may_end(state) : !language.step(state, token)) continue;
      allowed_V.mutable_data_ptr<bool>()[token] = true;
      if (likeliest == kNoToken || logits[token] > logits[likeliest]) likeliest = token;
    }
    const TokenId token = config.sampler ? config.sampler->sample(logits_V, sequence.tokens(),
                                                                  std::ssize(prompt), allowed_V)
                                         : likeliest;
    answer.push_back(token);
    sequence.append({&token, 1});
    if (is_stop_token(config.stop_tokens, token)) break;
    state = language.step(state, token).value();
  }
  return answer;
}

}  // namespace predgen
