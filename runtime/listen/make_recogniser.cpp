#include "runtime/listen/make_recogniser.h"

#include "runtime/listen/sherpa_recogniser.h"

namespace predgen {

MakeRecogniser recognisers_at(const std::string& url) {
  if (url.empty()) return {};
  return [place = parse_web_socket_url(url)](RecogniserHandler& handler) {
    return std::make_unique<SherpaRecogniser>(place, RecogniserLimits{}, handler);
  };
}

}  // namespace predgen
