#include "runtime/listen/make_recogniser.h"

#include "runtime/listen/ears_recogniser.h"
#include "runtime/listen/sherpa_recogniser.h"

namespace predgen {

MakeRecogniser recognisers_at(const std::string& url) {
  if (url.empty()) return {};
  return [place = parse_web_socket_url(url)](RecogniserHandler& handler) {
    return std::make_unique<SherpaRecogniser>(place, RecogniserLimits{}, handler);
  };
}

MakeRecogniser recognisers_here(const EarsOptions& options) {
  return [process = std::make_shared<EarsProcess>(options)](RecogniserHandler& handler) {
    return std::make_unique<EarsRecogniser>(process, handler);
  };
}

}  // namespace predgen
