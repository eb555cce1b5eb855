#pragma once

#include <ctime>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/json.h"
#include "text/jinja/budget.h"

namespace predgen {

/// Thrown for a template's own raise_exception(): it rejects these messages.
class TemplateRaised : public UserError {
 public:
  using UserError::UserError;
};

/// Thrown for a template that takes more than its budget.
class TemplateTooCostly : public UserError {
 public:
  using UserError::UserError;
};

/// A Jinja template as transformers runs chat templates: Jinja2's immutable sandbox with
/// trim_blocks, lstrip_blocks, loop controls, generation, tojson, raise_exception and strftime_now.
/// What text/jinja/ does not support is refused by name. Immutable, so several threads may render
/// at once.
class JinjaTemplate {
 public:
  /// UserError that begins with `where` for what is no template.
  JinjaTemplate(const std::string& source, const std::string& where);

  /// `variables` is an object; `now` is what strftime_now prints. `budget` may be shared by several
  /// renderings. UserError, TemplateRaised, TemplateTooCostly.
  std::string render(const Json& variables, const std::tm& now, jinja::Budget& budget) const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace predgen
