#include "runtime/converse/tool_event.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text.h"

namespace predgen {

std::string drafted_calls(const std::vector<DraftedCall>& calls) {
  std::string text;
  for (const DraftedCall& drafted : calls) {
    text = joined(text, " ",
                  fmt::format("[{} {}]", drafted.call.name, shortened(drafted.call.arguments, 80)));
  }
  return text;
}

std::string state_of(const ToolEvent& event) {
  switch (event.kind) {
    case ToolEvent::Kind::kDrafted:
      return "drafted";
    case ToolEvent::Kind::kRunning:
    case ToolEvent::Kind::kProgress:
      return "running";
    case ToolEvent::Kind::kEnded:
      return act::to_string(event.status);
    case ToolEvent::Kind::kFiller:
      return "filler";
    case ToolEvent::Kind::kAsked:
      return "asked";
    case ToolEvent::Kind::kKept:
      return "kept";
    case ToolEvent::Kind::kDiscarded:
      return "discarded";
    case ToolEvent::Kind::kRepeated:
      return "repeated";
  }
  throw Error("an event of a tool without a name");
}

std::string event_line(const ToolEvent& event) {
  const std::string name = event.call.name;
  const double seconds = event.elapsed.count();
  switch (event.kind) {
    case ToolEvent::Kind::kDrafted:
      return fmt::format("{}: drafted", name);
    case ToolEvent::Kind::kRunning:
      return fmt::format("{}: running{}", name, event.is_early ? " while you speak" : "");
    case ToolEvent::Kind::kProgress:
      return event.progress.total > 0
                 ? fmt::format("{}: {:g} of {:g}", name, event.progress.done, event.progress.total)
                 : fmt::format("{}: {:g}", name, event.progress.done);
    case ToolEvent::Kind::kEnded:
      return fmt::format("{}: {} after {:.2f} s{}", name, act::to_string(event.status), seconds,
                         event.is_early ? " while you speak"
                         : event.ahead.count() > 0
                             ? fmt::format(", {:.2f} s of it while you spoke", event.ahead.count())
                             : "");
    case ToolEvent::Kind::kKept:
      return fmt::format("{}: kept, {} after {:.2f} s while you spoke", name,
                         act::to_string(event.status), seconds);
    case ToolEvent::Kind::kDiscarded:
      return fmt::format("{}: discarded after {:.2f} s", name, seconds);
    case ToolEvent::Kind::kFiller:
      return fmt::format("said meanwhile: {}", event.text);
    case ToolEvent::Kind::kAsked:
      return fmt::format("{}: waits for your yes", name);
    case ToolEvent::Kind::kRepeated:
      return fmt::format("{}: the same call again, so not made", name);
  }
  return name;
}

}  // namespace predgen
