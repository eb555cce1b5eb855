#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/syntax_tree.h"

namespace predgen::jinja {

/// The names that statements see. A macro keeps the scope that it was defined in.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string, Value>> values{};
  Budget::Held held{};
  bool is_kept = false;  // until the end

  explicit Scope(std::shared_ptr<Scope> outer = nullptr) : parent(std::move(outer)) {}
  const Value* find(std::string_view name) const;
  void set(Budget& budget, std::string_view name, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

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
  std::string captured_loop(const Statement& statement, const ScopePtr& scope, const Value& items,
                            int depth);
  Value macro(const Statement& statement, const ScopePtr& scope);
  Value run_macro(const Statement& statement, const ScopePtr& scope, const Arguments& arguments);

  void assign(const Expression& target, const ScopePtr& scope, const Value& value);
  void assign_attribute(const Expression& target, const ScopePtr& scope, const Value& value);
  void write(std::string_view text);
  /// What `work` writes.
  template <typename Work>
  std::string captured(const Work& work);

  Value evaluate(const Expression& expression, const ScopePtr& scope);
  Value evaluate_type(const Expression& expression, const ScopePtr& scope);
  Value named(const Expression& expression, const Scope& scope);
  std::vector<Value> evaluate_all(const Expression& expression, const ScopePtr& scope);
  Value make_dict(const Expression& expression, const ScopePtr& scope);
  Value concatenate(const Expression& expression, const ScopePtr& scope);
  Value compare_all(const Expression& expression, const ScopePtr& scope);
  Value get_slice(const Expression& expression, const ScopePtr& scope);
  Value conditional(const Expression& expression, const ScopePtr& scope);
  Value call_function(const Expression& expression, const ScopePtr& scope,
                      const Value* caller = nullptr);
  Arguments evaluate(const CallArguments& arguments, const ScopePtr& scope);
  Value apply_filters(const Expression& expression, const ScopePtr& scope, const Value& text);

  Runtime& runtime_;
  ScopePtr root_{};
  std::string output_{};
  int line_ = 0;
};

}  // namespace predgen::jinja
