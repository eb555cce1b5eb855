#include "hear/asr/paired_decoder.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <sstream>

#include "core/text.h"
#include "hear/asr/heard_text.h"
#include "text/bare_words.h"

namespace predgen::ears {
namespace {

// Chosen on requests that two voices read: with these, as many words are wrong as of the careful
// one alone (docs/speech.md, "Two recognisers").
constexpr double kSure = 0.5;  // the probability from which on a word behind a check is believed
constexpr double kSureAlone = 0.7;  // and where there was no check
constexpr size_t kLateWords = 2;    // at the end of a text, which more sound changes

std::vector<std::string> list_words(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

/// The words of `text` behind those that stand for `checked`: other ones, or one more or less. As
/// many as these, where that is as likely.
std::string rest_behind(const std::string& text, const std::vector<std::string>& checked) {
  const std::vector<std::string> words = list_words(text);
  std::vector<size_t> owners;  // of the bare parts
  std::vector<std::string> parts;
  for (size_t i = 0; i < words.size(); ++i) {
    for (std::string& part : list_bare_words(words[i])) {
      parts.push_back(std::move(part));
      owners.push_back(i);
    }
  }
  std::vector<size_t> costs(parts.size() + 1);  // of each beginning: words to change, add or remove
  std::iota(costs.begin(), costs.end(), size_t{0});
  for (const std::string& word : checked) {
    size_t diagonal = std::exchange(costs[0], costs[0] + 1);
    for (size_t i = 1; i < costs.size(); ++i) {
      const size_t replaced = diagonal + (parts[i - 1] == word ? 0 : 1);
      diagonal = costs[i];
      costs[i] = std::min({replaced, costs[i] + 1, costs[i - 1] + 1});
    }
  }
  size_t best = std::min(checked.size(), parts.size());
  for (size_t i = 0; i < costs.size(); ++i) best = costs[i] < costs[best] ? i : best;
  std::string rest;
  for (size_t i = best == 0 ? 0 : owners[best - 1] + 1; i < words.size(); ++i) {
    rest = joined(rest, " ", words[i]);
  }
  return rest;
}

/// `text` without its last words.
std::string early_part(const std::string& text) {
  const std::vector<std::string> words = list_words(text);
  std::string early;
  for (size_t i = 0; i + kLateWords < words.size(); ++i) early = joined(early, " ", words[i]);
  return early;
}

}  // namespace

DecoderPace PairedDecoder::pace() const {
  DecoderPace pace = careful_->pace();
  pace.period = fast_->pace().period;
  return pace;
}

std::optional<Decoded> PairedDecoder::decode_carefully(const DecodeJob& job, Heard& known,
                                                       const std::stop_token& stop) {
  std::optional<Decoded> heard = careful_->decode(job, stop);
  if (!heard) return heard;
  known.num_checked = std::ssize(job.sound);
  known.checked = early_part(believable_text(heard->text, known.num_checked));
  known.words = list_bare_words(known.checked);
  known.is_doubtful = false;
  return heard;
}

std::optional<size_t> PairedDecoder::num_confirmed(const std::string& text, const Heard& known) {
  size_t confirmed = 0, bare = 0;
  for (const std::string& word : list_words(text)) {
    if (bare >= known.words.size()) break;
    for (const std::string& part : list_bare_words(word)) {
      if (bare < known.words.size() && part != known.words[bare]) return std::nullopt;
      ++bare;
    }
    ++confirmed;
  }
  return bare < known.words.size() ? std::nullopt : std::optional(confirmed);
}

bool PairedDecoder::is_sure(const Decoded& heard, const Heard& known, size_t num_late) {
  const std::optional<size_t> confirmed = num_confirmed(heard.text, known);
  if (!confirmed || heard.certainties.size() != list_words(heard.text).size()) return false;
  const double least = known.words.empty() ? kSureAlone : kSure;
  const size_t count = heard.certainties.size() - std::min(num_late, heard.certainties.size());
  const auto behind =
      std::span(heard.certainties).first(count).subspan(std::min(*confirmed, count));
  return std::ranges::all_of(behind, [least](double certainty) { return certainty >= least; });
}

std::optional<Decoded> PairedDecoder::decode(const DecodeJob& job, const std::stop_token& stop) {
  Heard& known = heard_[job.stream];
  if (known.segment != job.segment) known = {.segment = job.segment};
  const bool is_partial = job.need == Need::kPartial;
  const int64_t next_check = known.num_checked == 0 ? kFirstCheck : known.num_checked + kNextCheck;
  const bool is_careful =
      is_partial ? std::ssize(job.sound) >= next_check : job.is_careful || known.is_doubtful;
  if (is_careful) return decode_carefully(job, known, stop);
  std::optional<Decoded> heard = fast_->decode(job, stop);
  if (!heard) return heard;
  careful_->draft(job, heard->text);
  known.is_doubtful = !is_sure(*heard, known, kLateWords);
  heard->is_sure = is_sure(*heard, known, 0);
  if (!num_confirmed(heard->text, known)) {
    heard->text = joined(known.checked, " ", rest_behind(heard->text, known.words));
  }
  return heard;
}

void PairedDecoder::forget(uint32_t stream) {
  fast_->forget(stream);
  careful_->forget(stream);
  heard_.erase(stream);
}

}  // namespace predgen::ears
