#pragma once

#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "core/mutex.h"
#include "text/grammar/answer_form.h"
#include "text/grammar/grammar.h"
#include "text/tokenizer.h"

namespace predgen {

/// Compiles what answers may be, with XGrammar, and keeps what was compiled last. JSON is written
/// on one line, with a blank behind each comma and colon, as Python's json.dumps writes it, and
/// with properties in the order of the schema. Thread-safe: callers wait for one another.
///
/// Forms may come from anybody, so they are bounded: by what promised_schema.h says, and by
/// kMostSeconds of a processor to compile one. What takes longer goes on by itself, and while it
/// does nothing else is compiled.
class GrammarCompiler {
 public:
  static constexpr double kMostSeconds = 10;
  static constexpr size_t kMostKept = 64;
  static constexpr int64_t kMostKeptBytes = int64_t{128} << 20;

  /// Borrows the tokenizer.
  explicit GrammarCompiler(const Tokenizer& tokenizer);
  ~GrammarCompiler();

  /// UserError, which names the form, if it is malformed, says what no grammar can hold an answer
  /// to, or is beyond the limits. `rules` allow not just anything.
  std::shared_ptr<const Grammar> compile(const AnswerRules& rules);

 private:
  class Builder;
  using Made = std::pair<AnswerRules, std::shared_ptr<const Grammar>>;
  std::shared_ptr<const Grammar> find(const AnswerRules& rules);
  void keep(const AnswerRules& rules, std::shared_ptr<const Grammar> grammar);

  Mutex kept_mutex_;
  std::list<Made> kept_ GUARDED_BY(kept_mutex_);  // the last used one first
  Mutex work_mutex_;
  std::unique_ptr<Builder> builder_ GUARDED_BY(work_mutex_);  // borrowed by thread_ as well
  std::future<std::shared_ptr<const Grammar>> work_ GUARDED_BY(work_mutex_);
  std::jthread thread_ GUARDED_BY(work_mutex_);
};

}  // namespace predgen
