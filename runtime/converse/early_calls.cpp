#include "runtime/converse/early_calls.h"

#include <algorithm>
#include <utility>

namespace predgen {

std::string canonical_call(const ToolCall& call) {
  return call.name + " " + act::canonical_arguments(call.arguments);
}

std::string call_id(int64_t number) { return fmt::format("call{:05}", number % 100000); }

void EarlyCalls::begin_turn(const std::stop_token& stop, int64_t num_calls) {
  stop_ = stop;
  entries_.clear();
  guesses_.clear();
  spent_ = Seconds(0);
  num_begun_ = num_kept_ = 0;
  num_calls_before_ = num_calls;
}

void EarlyCalls::note(size_t round, const std::vector<DraftedCall>& calls) {
  poll();
  guesses_.clear();
  const auto is_gone = [&](const Entry& entry) {
    return entry.round == round && entry.running &&
           std::ranges::find(calls, entry.key, &DraftedCall::key) == calls.end();
  };
  const bool has_changed = std::ranges::any_of(entries_, is_gone);
  discard([&](const Entry& entry) {
    const bool hangs_on_it = has_changed && entry.round > round && entry.running;
    return is_gone(entry) || hangs_on_it || (!entry.running && !is_young(entry));
  });
  const bool has_new = std::ranges::any_of(
      calls, [&](const DraftedCall& drafted) { return find(drafted.key) == entries_.end(); });
  if (!has_new) return;
  const std::vector<act::Tool> tools = calls_.tools();
  for (const DraftedCall& drafted : calls) {
    if (drafted.num_kept < options_.early_stable) continue;
    if (auto guess = guess_at(tools, drafted.call)) guesses_[drafted.key] = *std::move(guess);
  }
  for (const DraftedCall& drafted : calls) {
    const auto tool = std::ranges::find(tools, drafted.call.name, &act::Tool::name);
    // What reads behind a call with effects has to wait for these.
    if (tool == tools.end() || tool->effects != act::Effects::kRead || tool->asks) return;
    begin(round, *tool, drafted);
  }
}

void EarlyCalls::begin(size_t round, const act::Tool& tool, const DraftedCall& drafted) {
  const bool may_begin = drafted.num_kept >= options_.early_stable &&
                         num_begun_ < options_.early_calls &&
                         spent() < Seconds(options_.early_seconds);
  if (!may_begin || find(drafted.key) != entries_.end()) return;
  const Seconds begun = clock_.now();
  auto running = calls_.begin(tool, drafted.call.arguments, stop_);
  ++num_begun_;
  entries_.push_back({.round = round,
                      .key = drafted.key,
                      .tool = tool,
                      .call = drafted.call,
                      .begun = begun,
                      .running = std::move(running)});
  tell_(event(entries_.back(), ToolEvent::Kind::kRunning));
}

std::optional<act::ToolResult> EarlyCalls::result_of(const Entry& entry) {
  if (!entry.running) return std::nullopt;
  try {
    return entry.running->result();
  } catch (const std::exception&) {  // nobody has asked for it; who does makes the call again
    return act::ToolResult{.status = act::ToolResult::Status::kUnavailable, .text = {}};
  }
}

void EarlyCalls::collect() {
  for (Entry& entry : entries_) {
    std::optional<act::ToolResult> result = result_of(entry);
    if (!result) continue;
    entry.result = *std::move(result);
    entry.running.reset();
    entry.took = clock_.now() - entry.begun;
    spent_ += entry.took;
    tell_(event(entry, ToolEvent::Kind::kEnded));
  }
}

void EarlyCalls::poll() {
  collect();
  if (spent() < Seconds(options_.early_seconds)) return;
  discard([](const Entry& entry) { return entry.running != nullptr; });
}

Seconds EarlyCalls::spent() const {
  Seconds all = spent_;
  for (const Entry& entry : entries_) {
    if (entry.running) all += clock_.now() - entry.begun;
  }
  return all;
}

EarlyCalls::Entries::iterator EarlyCalls::find(const std::string& key) {
  return std::ranges::find(entries_, key, &Entry::key);
}

bool EarlyCalls::is_young(const Entry& entry) const {
  return clock_.now() - entry.begun <= Seconds(options_.early_age);
}

bool EarlyCalls::stands(const Entry& entry) const {
  using Status = act::ToolResult::Status;
  const bool is_said =
      entry.result.status == Status::kDone || entry.result.status == Status::kFailed;
  return !entry.running && is_said && is_young(entry);
}

bool EarlyCalls::is_coming(const std::vector<ToolCall>& calls) {
  poll();
  bool is_missing = false;
  for (const ToolCall& call : calls) {
    const std::string key = canonical_call(call);
    if (guesses_.contains(key)) continue;
    const auto entry = find(key);
    if (entry == entries_.end() || !(entry->running || stands(*entry))) return false;
    is_missing = is_missing || entry->running;
  }
  return is_missing;
}

void EarlyCalls::wait(Seconds most) {
  const auto running =
      std::ranges::find_if(entries_, [](const Entry& entry) { return entry.running != nullptr; });
  if (running == entries_.end()) return;
  running->running->wait(most);
  running->running->take_progress();
}

std::optional<std::string> EarlyCalls::guess_at(const std::vector<act::Tool>& tools,
                                                const ToolCall& call) const {
  const auto tool = std::ranges::find(tools, call.name, &act::Tool::name);
  const bool may_be = tool != tools.end() && tool->effects != act::Effects::kRead && !tool->asks;
  return may_be ? calls_.expected(*tool, call.arguments) : std::nullopt;
}

std::optional<EarlyCalls::Results> EarlyCalls::results(size_t round, size_t num_before,
                                                       std::vector<ToolCall>& calls) {
  if (static_cast<int64_t>(round) >= options_.max_rounds) return std::nullopt;
  Results results;
  int64_t number = num_calls_before_ + static_cast<int64_t>(num_before);
  for (ToolCall& call : calls) {
    const std::string key = canonical_call(call);
    const auto entry = find(key);
    const auto guess = guesses_.find(key);
    const bool is_there = entry != entries_.end() && stands(*entry);
    if (!is_there && guess == guesses_.end()) return std::nullopt;
    call.id = call_id(number++);
    results.messages.push_back({.role = "tool",
                                .content = is_there ? entry->result.text : guess->second,
                                .tool_call_id = call.id});
    results.are_guesses = results.are_guesses || !is_there;
  }
  return results;
}

std::optional<EarlyCalls::Taken> EarlyCalls::take(const act::Tool& tool, const ToolCall& call) {
  collect();
  const auto entry = find(canonical_call(call));
  if (entry == entries_.end()) return std::nullopt;
  const bool is_kept = entry->tool == tool && (entry->running ? is_young(*entry) : stands(*entry));
  if (!is_kept) {
    discard([key = entry->key](const Entry& one) { return one.key == key; });
    return std::nullopt;
  }
  ++num_kept_;
  if (!entry->running) tell_(event(*entry, ToolEvent::Kind::kKept));
  Taken taken{.running = std::move(entry->running),
              .result = std::move(entry->result),
              .begun = entry->begun};
  entries_.erase(entry);
  return taken;
}

void EarlyCalls::end_rounds(size_t last) {
  collect();
  discard([&](const Entry& entry) { return entry.round <= last; });
}

void EarlyCalls::discard(const std::function<bool(const Entry&)>& which) {
  for (size_t i = 0; i < entries_.size();) {
    if (!which(entries_[i])) {
      ++i;
      continue;
    }
    if (entries_[i].running) {
      entries_[i].took = clock_.now() - entries_[i].begun;
      spent_ += entries_[i].took;
    }
    tell_(event(entries_[i], ToolEvent::Kind::kDiscarded));
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

ToolEvent EarlyCalls::event(const Entry& entry, ToolEvent::Kind kind) const {
  return {.kind = kind,
          .call = entry.call,
          .status = entry.result.status,
          .elapsed = entry.took,
          .ahead = clock_.now() - entry.begun,
          .is_early = true};
}

}  // namespace predgen
