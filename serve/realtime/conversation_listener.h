#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "hear/turn_recogniser.h"
#include "runtime/converse/tool_event.h"
#include "runtime/converse/turn.h"
#include "serve/api_error.h"
#include "serve/realtime/conversation_items.h"
#include "serve/realtime/realtime_settings.h"

// Events that a conversation sends to its listener. What an event refers to is valid until the call
// returns. A `previous` item is the one before; empty: there is none.
namespace predgen::serve {

struct SessionCreated {
  std::string id;
  const RealtimeSettings& settings;
};
/// Some of what the client asked for is not done; the rest is.
struct Limited {
  const Refusals& refusals;
  std::string event_id;  // of the client's event; empty: none
};
struct SessionUpdated {
  std::string id;
  const RealtimeSettings& settings;
};

/// The item is complete. A response's items have events of their own.
struct ItemAdded {
  const ConversationItem& item;
  std::string previous;
};
struct ItemRetrieved {
  const ConversationItem& item;
};
struct ItemDeleted {
  std::string id;
};
struct ItemTruncated {
  std::string id;
  int64_t milliseconds;  // of its sound, that are left
};

/// First words of a turn. `milliseconds`: of all sound so far.
struct SpeechStarted {
  std::string item;
  int64_t milliseconds;
};
/// A turn that was spoken, as an item of the conversation.
struct SpokenTurn : RecognisedTurn {
  std::string item{};
  bool responds = false;  // the response begins by itself
};
/// The turn is over, understood, and an item.
struct TurnSpoken {
  const SpokenTurn& turn;
  const ConversationItem& item;
  std::string previous;
};
struct SoundCleared {};

/// The constant part of a response.
struct ResponseInfo {
  std::string id, conversation;
  RealtimeSettings settings;
  Json metadata;         // the client's own, which goes back as it came
  std::string previous;  // the conversation's last item when it began
};
/// How a response ends: complete, at its token limit, cancelled by the client, because the user
/// speaks, or by an error.
enum class ResponseStatus { kCompleted, kIncomplete, kCancelled, kInterrupted, kFailed };
struct ResponseEnd {
  ResponseStatus status = ResponseStatus::kCompleted;
  std::optional<ApiError> error{};  // why it failed
  int64_t input_tokens = 0, output_tokens = 0;
  std::vector<ToolCall> calls{};  // of the client's functions, with ids
  std::vector<Message> rounds{};  // ConversationItem::rounds
};

struct ResponseBegun {
  const ResponseInfo& response;
};
/// The answer's message, still empty. A response that only calls functions has none.
struct MessageBegun {
  const ResponseInfo& response;
  const ConversationItem& item;
};
struct TextAdded {
  const ResponseInfo& response;
  std::string item, text;
};
struct SoundAdded {
  const ResponseInfo& response;
  std::string item;
  std::span<const int16_t> samples;  // at kRealtimeRate
};
struct MessageDone {
  const ResponseInfo& response;
  const ConversationItem& item;
};
struct CallMade {
  const ResponseInfo& response;
  const ConversationItem& item;
  size_t index;  // among the response's items
  std::string previous;
};
struct ResponseDone {
  const ResponseInfo& response;
  const ResponseEnd& end;
  const std::vector<ConversationItem>& items;
};

/// A draft, which is not the answer yet. Sent only if asked for, as are the five below.
struct DraftMade {
  std::string transcript;
  std::string kept, drafted;  // the draft is both together
  std::string rejected;       // of the draft before
};
/// The answer begins; how much of the last draft it keeps.
struct DraftKept {
  std::string kept, rejected;
};
struct SentenceReady {
  std::string text;
};
/// The draft calls a function, and later words or a pause have kept that; it is not made yet, and
/// may not be.
struct CallPredicted {
  const ToolCall& call;
};
/// Something has happened to a call of a tool of the server.
struct ToolCalled {
  const ToolEvent& event;
};
struct TurnMeasured {
  std::string response;
  const TurnResult& result;
};

/// An error that ends neither the conversation nor a response.
struct Failure {
  const ApiError& error;
};
/// The last event.
struct ConversationEnded {
  enum class Reason { kServerStops, kServerFailed } reason;
};

using ConversationEvent =
    std::variant<SessionCreated, Limited, SessionUpdated, ItemAdded, ItemRetrieved, ItemDeleted,
                 ItemTruncated, SpeechStarted, TurnSpoken, SoundCleared, ResponseBegun,
                 MessageBegun, TextAdded, SoundAdded, MessageDone, CallMade, ResponseDone,
                 DraftMade, DraftKept, SentenceReady, CallPredicted, ToolCalled, TurnMeasured,
                 Failure, ConversationEnded>;

/// Receives the events. Called by any thread, which may hold the conversation's locks: it must
/// neither block nor call the conversation.
class ConversationListener {
 public:
  virtual ~ConversationListener() = default;

  virtual void on_event(const ConversationEvent& event) = 0;
};

}  // namespace predgen::serve
