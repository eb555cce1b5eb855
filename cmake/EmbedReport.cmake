# cmake -DTEMPLATE=a.html -DFILES=a.css;b.js -DNAMESPACE=a::b -DOUTPUT=c.cpp -P EmbedReport.cmake:
# page_source() of the namespace returns the template with the styles and scripts in their places.
set(style)
set(script)
foreach(file IN LISTS FILES)
  file(READ ${file} content)
  if(file MATCHES "\\.css$")
    string(APPEND style "${content}")
  else()
    string(APPEND script "${content}\n")
  endif()
endforeach()
file(READ ${TEMPLATE} page)
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
file(WRITE ${OUTPUT} "// Made by cmake/EmbedReport.cmake.\n#include <string_view>\n
namespace ${NAMESPACE} {\n
std::string_view page_source();
std::string_view page_source() {\n  return R\"predgen(${page})predgen\";\n}\n
}  // namespace ${NAMESPACE}\n")
