#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/evaluator.h"

namespace predgen::jinja {

/// Runs one template once.
class Interpreter {
 public:
  explicit Interpreter(Runtime& runtime) : runtime_(runtime) {}

  /// `variables` has the names that the template may see. TooMuch, Failure; both name the line.
  std::string render(const Program& program, const ScopePtr& variables);

 private:
  enum class Flow { kNext, kBreak, kContinue };

  Flow execute(const Body& body, const ScopePtr& scope);
  Flow execute(const Statement& statement, const ScopePtr& scope);
  Flow execute_if(const Statement& statement, const ScopePtr& scope);
  Flow execute_set_block(const Statement& statement, const ScopePtr& scope);
  void execute_macro(const Statement& statement, const ScopePtr& scope);
  void execute_call(const Statement& statement, const ScopePtr& scope);
  Flow execute_with(const Statement& statement, const ScopePtr& scope);
  Flow execute_for(const Statement& statement, const ScopePtr& scope);
  Flow loop_over(const Statement& statement, const ScopePtr& scope, const Value& items, int depth);
  std::vector<Value> filtered(const Statement& statement, const ScopePtr& scope,
                              const Value& items);
  Value macro(const Statement& statement, const ScopePtr& scope);
  Value run_macro(const Statement& statement, const ScopePtr& scope, const Arguments& arguments);

  void write(std::string_view text);
  /// What `work` writes.
  template <typename Work>
  std::string captured(const Work& work);

  Runtime& runtime_;
  Evaluator evaluator_{runtime_};
  ScopePtr root_{};
  std::string output_{};
  int line_ = 0;
};

}  // namespace predgen::jinja
