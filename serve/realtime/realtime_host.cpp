#include "serve/realtime/realtime_host.h"

#include <algorithm>

#include "core/log.h"

namespace predgen::serve {
namespace {

/// Tokens that are read before others may go on from them.
constexpr int64_t kPiece = 256;
/// And that are worth being kept for others.
constexpr int64_t kLeast = 64;

}  // namespace

void SharedOpenings::prepare(Session& session, const std::string& key, const TokenIds& opening,
                             const std::function<bool()>& may_read) {
  if (opening.empty() || std::ssize(opening) > session.sequence().capacity()) return;
  share(key, opening, session.sequence());
  const int64_t own = session.sequence().num_kept_by(opening);
  if (own + 1 == std::ssize(opening)) return;  // the last token is never cached
  const bool reads = may_read();
  const auto reading = being_read_.insert({key, opening});
  const bool is_first = reading.second;
  const bool has_more =
      cache_.num_cached(key, opening) > own || cache_.is_worth_loading(key, opening, own);
  if (reads ? is_first : has_more) {
    try {
      Sequence sequence = read(key, opening, [&] { return is_first && may_read(); });
      if (sequence.num_cached() > own) session.go_on_from(std::move(sequence));
    } catch (const std::exception& error) {  // which the turn meets again
      spdlog::debug("a prompt is not read ahead: {}", error.what());
    }
  }
  if (is_first) being_read_.erase(reading.first);
}

Sequence SharedOpenings::read(const std::string& key, const TokenIds& opening,
                              const std::function<bool()>& may_read) {
  const int64_t length = std::ssize(opening) - 1;
  Sequence sequence = cache_.take(key, opening);
  share(key, opening, sequence);
  // Another conversation's turn does not wait for this.
  const auto has_more = [&] { return cache_.num_cached(key, opening) > sequence.num_cached(); };
  while (sequence.num_cached() < length && may_read()) {
    sequence.truncate(std::min(sequence.num_cached() + kPiece, length));
    engine_.run({.sequence = &sequence, .priority = Priority::kSpeculative, .should_stop = [&] {
                   return !may_read() || has_more();
                 }});
    sequence.append(TokenSpan(opening).subspan(sequence.tokens().size()));
    if (has_more()) sequence = cache_.take(key, opening);
    share(key, opening, sequence);
  }
  return sequence;
}

void SharedOpenings::share(const std::string& key, const TokenIds& opening,
                           const Sequence& sequence) {
  const int64_t cached = sequence.num_kept_by(opening);
  if (cached < kLeast || cached <= cache_.num_cached(key, opening)) return;
  Sequence shared = sequence.fork();
  shared.replace(opening);
  const bool is_whole = cached + 1 == std::ssize(opening);
  cache_.keep(key, std::move(shared), is_whole ? cached : 0);
}

}  // namespace predgen::serve
