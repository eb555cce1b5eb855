#include "runtime/converse/tool_event.h"

#include <fmt/format.h>

namespace predgen {

std::string event_line(const ToolEvent& event) {
  const std::string name = event.call.name;
  const double seconds = event.elapsed.count();
  switch (event.kind) {
    case ToolEvent::Kind::kRunning:
      return fmt::format("{}: running", name);
    case ToolEvent::Kind::kProgress:
      return event.progress.total > 0
                 ? fmt::format("{}: {:g} of {:g}", name, event.progress.done, event.progress.total)
                 : fmt::format("{}: {:g}", name, event.progress.done);
    case ToolEvent::Kind::kEnded:
      return fmt::format("{}: {} after {:.2f} s", name, act::to_string(event.status), seconds);
    case ToolEvent::Kind::kFiller:
      return fmt::format("said meanwhile: {}", event.text);
    case ToolEvent::Kind::kAsked:
      return fmt::format("{}: waits for your yes", name);
  }
  return name;
}

}  // namespace predgen
