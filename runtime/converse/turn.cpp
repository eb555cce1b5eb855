#include "runtime/converse/turn.h"

#include "core/error.h"

namespace predgen {

std::string to_string(TurnEvent::Kind kind) {
  switch (kind) {
    case TurnEvent::Kind::kTranscript:
      return "transcript";
    case TurnEvent::Kind::kDraft:
      return "draft";
    case TurnEvent::Kind::kNotExplored:
      return "not_explored";
    case TurnEvent::Kind::kFinal:
      return "final";
    case TurnEvent::Kind::kRoundsDropped:
      return "rounds_dropped";
    case TurnEvent::Kind::kFirstSentence:
      return "first_sentence";
    case TurnEvent::Kind::kSentence:
      return "sentence";
    case TurnEvent::Kind::kDone:
      return "done";
    case TurnEvent::Kind::kFailed:
      return "failed";
  }
  throw Error("unknown kind of event");
}

}  // namespace predgen
