#include "hear/asr/paired_decoder.h"

#include <algorithm>
#include <span>

#include "core/edit_distance.h"
#include "core/text.h"
#include "hear/asr/heard_text.h"
#include "text/words.h"

namespace predgen::ears {
namespace {

// Chosen on requests that two voices read: with these, as many words are wrong as of the careful
// one alone (docs/speech.md, "Two recognisers").
constexpr double kSure = 0.35;  // the probability from which on a word behind a check is believed
constexpr double kSureAlone = 0.6;  // and where there was no check
constexpr size_t kLateWords = 2;    // at the end of a text, which more sound changes

/// The words of a text, and their bare parts: "light-roast" has two.
struct Words {
  explicit Words(const std::string& text) : words(list_words(text)) {
    for (const std::string& word : words) {
      for (std::string& part : list_bare_words(word)) parts.push_back(std::move(part));
      ends.push_back(parts.size());
    }
  }
  /// How many words have the first `count` parts.
  size_t num_with(size_t count) const {
    const auto last = std::ranges::lower_bound(ends, count);
    return count == 0 ? 0 : static_cast<size_t>(last - ends.begin()) + 1;
  }
  std::string between(size_t first, size_t last) const {
    std::string text;
    for (size_t i = first; i < last; ++i) text = joined(text, " ", words[i]);
    return text;
  }
  std::string from(size_t first) const { return between(first, words.size()); }

  std::vector<std::string> words, parts;
  std::vector<size_t> ends;  // of each word, in parts
};

/// How many words of `heard` stand for the parts `checked`, of which some may be other ones, one
/// more or less. As many as these, where that is as likely.
size_t num_checked_words(const Words& heard, const std::vector<std::string>& checked) {
  const std::vector<int64_t> edits = edits_to_beginnings(checked, heard.parts);
  size_t best = std::min(checked.size(), heard.parts.size());
  for (size_t i = 0; i < edits.size(); ++i) best = edits[i] < edits[best] ? i : best;
  return heard.num_with(best);
}

/// `heard`, with its beginning as `before` writes it, so that words that were told change only
/// where others were heard. The last one that is the same is as in `heard`: its mark depends on
/// what follows.
std::string spelled_as(const Words& before, const Words& heard) {
  const auto differs = std::ranges::mismatch(before.parts, heard.parts).in1;
  const auto common = static_cast<size_t>(differs - before.parts.begin());
  size_t kept = 0, place = 0;
  for (size_t i = 0; i < before.words.size() && before.ends[i] < common; ++i) {
    const auto [same, end] = std::equal_range(heard.ends.begin(), heard.ends.end(), before.ends[i]);
    if (same == end) continue;
    kept = i + 1;
    place = static_cast<size_t>(end - heard.ends.begin());
  }
  return joined(before.between(0, kept), " ", heard.from(place));
}

/// `text` without its last words.
std::string early_part(const std::string& text) {
  const Words all(text);
  return all.between(0, all.words.size() - std::min(kLateWords, all.words.size()));
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

std::optional<Decoded> PairedDecoder::decode_fast(const DecodeJob& job, Heard& known,
                                                  const std::stop_token& stop) {
  std::optional<Decoded> heard = fast_->decode(job, stop);
  if (!heard) return heard;
  careful_->draft(job, heard->text);
  const Words said(heard->text);
  const size_t num_checked = num_checked_words(said, known.words);
  const bool agrees = std::ranges::mismatch(known.words, said.parts).in1 == known.words.end();
  const double least = known.words.empty() ? kSureAlone : kSure;
  auto& certainties = heard->certainties;
  const bool is_known = agrees && certainties.size() == said.words.size();
  certainties.erase(certainties.begin(),
                    certainties.begin() + std::min(std::ssize(certainties),
                                                   static_cast<std::ptrdiff_t>(num_checked)));
  const auto is_sure = [&](size_t num_late) {
    const size_t count = certainties.size() - std::min(num_late, certainties.size());
    return is_known && std::ranges::all_of(std::span(certainties).first(count),
                                           [least](double one) { return one >= least; });
  };
  known.is_doubtful = !is_sure(kLateWords);
  heard->is_sure = is_sure(0);
  if (!agrees) heard->text = joined(known.checked, " ", said.from(num_checked));
  return heard;
}

std::optional<Decoded> PairedDecoder::decode(const DecodeJob& job, const std::stop_token& stop) {
  Heard& known = heard_[job.stream];
  if (known.segment != job.segment) known = {.segment = job.segment};
  const int64_t next_check = known.num_checked == 0 ? kFirstCheck : known.num_checked + kNextCheck;
  const bool is_careful = job.need == Need::kPartial ? std::ssize(job.sound) >= next_check
                                                     : job.is_careful || known.is_doubtful;
  auto heard = is_careful ? decode_carefully(job, known, stop) : decode_fast(job, known, stop);
  if (heard) heard->text = known.text = spelled_as(Words(known.text), Words(heard->text));
  return heard;
}

void PairedDecoder::forget(uint32_t stream) {
  fast_->forget(stream);
  careful_->forget(stream);
  heard_.erase(stream);
}

}  // namespace predgen::ears
