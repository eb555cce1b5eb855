#include "hear/transcripts/typed_line_source.h"

#include "core/stop.h"
#include "core/text.h"
#include "text/utf8.h"
#include "text/words.h"

namespace predgen {
namespace {

// Where the unfinished word that ends at byte `end` begins; `end` if there is none.
size_t unfinished_word(std::string_view line, size_t end) {
  if (end > 0 && std::string_view(".?!").find(line[end - 1]) != std::string_view::npos) return end;
  size_t begin = end;
  while (begin > 0) {
    const size_t before = last_character(line.substr(0, begin));
    size_t at = before;
    const char32_t c = next_character(line, at);
    if (is_white_space(c) || is_word_alone(c)) break;
    begin = before;
  }
  return begin;
}

}  // namespace

void TypedLineSource::edit(std::string_view line, size_t cursor) {
  const size_t complete = unfinished_word(line, line.size());
  const bool inside = cursor < complete && unfinished_word(line, cursor) < cursor;
  const std::string_view text = trimmed(line.substr(0, complete)), whole = trimmed(line);
  std::string heard = queue_.settle();
  // A word that counted because of a pause may continue: that retracts nothing.
  const bool goes_on = heard.starts_with(text) && whole.starts_with(heard);
  if (!inside && !goes_on) {
    heard = text;
    queue_.push(heard, /*is_final=*/false);
  }
  if (!whole.empty()) queue_.push_at(clock_.now() + kStablePause, std::string(whole));
}

void TypedLineSource::commit(std::string_view line) {
  queue_.push(std::string(trimmed(line)), /*is_final=*/true);
}

void TypedLineSource::close() {
  queue_.forget_unfinished();
  queue_.end();
}

std::optional<Transcript> TypedLineSource::latest(Seconds now) {
  throw_if_stopped(stop_);
  return queue_.latest(now);
}

std::optional<Transcript> TypedLineSource::wait_newer(int64_t revision, Clock&) {
  return queue_.take(revision, stop_);
}

}  // namespace predgen
