#include "hear/asr/paired_decoder.h"

#include <algorithm>
#include <span>

#include "core/edit_distance.h"
#include "core/text.h"
#include "hear/asr/heard_text.h"
#include "text/bare_words.h"

namespace predgen::ears {
namespace {

// Chosen on requests that two voices read: with these, as many words are wrong as of the careful
// one alone (docs/speech.md, "Two recognisers").
constexpr double kSure = 0.35;  // the probability from which on a word behind a check is believed
constexpr double kSureAlone = 0.5;  // and where there was no check
constexpr size_t kLateWords = 2;    // at the end of a text, which more sound changes

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
  const std::vector<int64_t> edits = edits_to_beginnings(checked, parts);
  size_t best = std::min(checked.size(), parts.size());
  for (size_t i = 0; i < edits.size(); ++i) best = edits[i] < edits[best] ? i : best;
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
  pace.mark = fast_->pace().mark;
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

bool PairedDecoder::is_sure(const Decoded& heard, const Heard& known,
                            const std::optional<size_t>& confirmed, size_t num_late) {
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
  const std::optional<size_t> confirmed = num_confirmed(heard->text, known);
  known.is_doubtful = !is_sure(*heard, known, confirmed, kLateWords);
  heard->is_sure = is_sure(*heard, known, confirmed, 0);
  if (!confirmed) {
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
