#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "act/tool.h"
#include "core/json.h"
#include "core/mutex.h"

namespace predgen::act {

/// What calls with effects have said, so that an answer can be drafted before the next one is made:
/// it will say what the same call said; or else what the last one of its tool, or of another tool
/// of its server, with the same names of arguments said, with the new texts in the place of the
/// old. A client's calls are guessed by its own alone. Thread-safe.
class ExpectedResults {
 public:
  /// Of a call that was done; what is long is not kept. `arguments`: a JSON object.
  void learn(const std::string& client, const Tool& tool, const std::string& arguments,
             const std::string& result);
  /// nullopt: no such call is known.
  std::optional<std::string> find(const std::string& client, const Tool& tool,
                                  const std::string& arguments) const;

 private:
  struct Known {
    std::string client, server, name;
    Json arguments;  // canonical_arguments(), so that the same ones are equal
    std::string result;
  };

  mutable Mutex mutex_;
  std::deque<Known> known_ GUARDED_BY(mutex_);  // the newest in front, each call once
};

/// What became of a call.
struct ToolResult {
  enum class Status { kDone, kFailed, kTimedOut, kCancelled, kUnavailable };

  Status status = Status::kDone;
  /// For the model: what the tool said, or in plain words why there is nothing. Bounded.
  std::string text;
  /// Of a call that is not done: its server was asked and did not answer, so that it may be.
  bool may_have_happened = false;
};
std::string to_string(ToolResult::Status status);  // "done", "failed", "timed out", ..

/// How far a call is, as its server tells; `total` 0: unknown.
struct ToolProgress {
  double done = 0, total = 0;
};

/// Runs tools. Thread-safe.
class ToolRunner {
 public:
  virtual ~ToolRunner() = default;

  /// Those that can be called now. Never waits.
  virtual std::vector<Tool> tools() const = 0;
  /// What their servers say of what there is, for the system prompt; empty: nothing. Never waits.
  virtual std::string prompt() const = 0;
  /// Runs a call of tools() and waits for its result, at most Tool::timeout_s. Throws nothing but
  /// our own mistakes: whatever a server does is a result. After a stop the call is cancelled where
  /// its server can do that, and the result is kCancelled at once. `arguments`: a JSON object.
  /// `on_progress`: any thread, a few times a second at most.
  virtual ToolResult run(const Tool& tool, const std::string& arguments,
                         const std::stop_token& stop,
                         const std::function<void(ToolProgress)>& on_progress) = 0;
  /// Of the tools, for drafts.
  ExpectedResults& expected() { return expected_; }

 private:
  ExpectedResults expected_;
};

/// What a model gets to read of the answer to tools/call: its texts, or else what it is structured
/// as; other content is only named. More than `most` bytes are cut, and it says so.
ToolResult read_call_result(const Json& answer, size_t most);

/// `text` without control characters, cut at `most` bytes, which it then says.
std::string bounded(std::string_view text, size_t most);

}  // namespace predgen::act
