#include "data/repetition.h"

#include <algorithm>
#include <map>
#include <vector>

#include "data/held_out.h"

namespace predgen::data {
namespace {

bool has_token_run(TokenSpan answer, int64_t length) {
  int64_t run = 0;
  for (size_t i = 0; i < answer.size(); ++i) {
    run = i > 0 && answer[i] == answer[i - 1] ? run + 1 : 1;
    if (run >= length) return true;
  }
  return false;
}

bool has_repeated_ngram(TokenSpan answer, size_t size, int64_t repeats) {
  std::map<std::vector<TokenId>, int64_t> counts;
  for (size_t i = 0; i + size <= answer.size(); ++i) {
    const TokenSpan ngram = answer.subspan(i, size);
    if (++counts[{ngram.begin(), ngram.end()}] >= repeats) return true;
  }
  return false;
}

bool has_repeated_sentence(const std::string& text, int64_t repeats) {
  std::map<std::string, int64_t> counts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find_first_of(".?!\n", begin), text.size());
    const std::string sentence = normalise_prompt(text.substr(begin, end - begin));
    const bool counted = std::count(sentence.begin(), sentence.end(), ' ') >= 2;
    if (counted && ++counts[sentence] >= repeats) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

std::string find_repetition(TokenSpan answer, const std::string& text,
                            const RepetitionConfig& config) {
  if (config.max_token_run > 0 && has_token_run(answer, config.max_token_run)) {
    return "repeated_token";
  }
  if (config.max_ngram_repeats > 0 && config.ngram_size > 0 &&
      has_repeated_ngram(answer, static_cast<size_t>(config.ngram_size),
                         config.max_ngram_repeats)) {
    return "repeated_ngram";
  }
  if (config.max_sentence_repeats > 0 && has_repeated_sentence(text, config.max_sentence_repeats)) {
    return "repeated_sentence";
  }
  return "";
}

bool repeats_itself(TokenSpan answer, const std::string& text) {
  return !find_repetition(answer, text, RepetitionConfig()).empty();
}

}  // namespace predgen::data
