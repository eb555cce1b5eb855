#pragma once

#include <ctime>
#include <memory>
#include <string>

#include "core/error.h"
#include "core/json.h"

namespace predgen {

/// Thrown for a template's own raise_exception(): it rejects these messages.
class TemplateRaised : public UserError {
 public:
  using UserError::UserError;
};

/// A Jinja template as transformers runs chat templates: trim_blocks, lstrip_blocks, loop controls,
/// raise_exception, strftime_now. The engine is llama.cpp's. Immutable, so several threads may
/// render at once.
class JinjaTemplate {
 public:
  /// UserError that begins with `where` for a template that the engine cannot read.
  JinjaTemplate(const std::string& source, const std::string& where);

  /// `variables` is an object; `now` is what strftime_now prints. UserError, TemplateRaised.
  std::string render(const Json& variables, const std::tm& now) const;

 private:
  struct Program;
  std::shared_ptr<const Program> program_;
};

}  // namespace predgen
