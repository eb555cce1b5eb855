# XGrammar, which text/grammar is built on, from the sources that scripts/setup.sh fetches: as they are, so nothing
# warns about them or checks them. Its messages go to text/grammar/compiled_grammar.cpp.
set(predgen_xgrammar_dir ${PREDGEN_XGRAMMAR})
if(NOT predgen_xgrammar_dir AND PREDGEN_PYTHON)
  cmake_path(GET PREDGEN_PYTHON PARENT_PATH predgen_xgrammar_dir)
  cmake_path(GET predgen_xgrammar_dir PARENT_PATH predgen_xgrammar_dir)
  set(predgen_xgrammar_dir ${predgen_xgrammar_dir}/share/xgrammar-0.2.9)
endif()
if(NOT EXISTS ${predgen_xgrammar_dir}/include/xgrammar/xgrammar.h)
  message(FATAL_ERROR "No sources of XGrammar in '${predgen_xgrammar_dir}': run scripts/setup.sh, or give the folder "
                      "that scripts/fetch_xgrammar.py made with -DPREDGEN_XGRAMMAR")
endif()
set(predgen_xgrammar_headers ${predgen_xgrammar_dir}/include ${predgen_xgrammar_dir}/3rdparty/dlpack/include)
file(GLOB xgrammar_sources ${predgen_xgrammar_dir}/cpp/*.cc ${predgen_xgrammar_dir}/cpp/support/*.cc
  ${predgen_xgrammar_dir}/cpp/converter_ext/*.cc)
# What turns grammars into one another runs once a grammar; -O2 took 1.4 times as long to compile. Several sources
# at a time take half as long as each by itself.
set(xgrammar_matching ${xgrammar_sources})
list(FILTER xgrammar_matching INCLUDE REGEX "earley_parser|fsm|compiled_grammar|grammar_compiler|grammar_matcher|tokenizer_info")
list(REMOVE_ITEM xgrammar_sources ${xgrammar_matching})
add_library(predgen_xgrammar OBJECT ${xgrammar_matching})
add_library(predgen_xgrammar_parsing OBJECT ${xgrammar_sources})
target_compile_options(predgen_xgrammar_parsing PRIVATE $<$<CONFIG:Release>:-O1>)
foreach(target predgen_xgrammar predgen_xgrammar_parsing)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  target_include_directories(${target} SYSTEM PRIVATE ${predgen_xgrammar_headers} ${predgen_xgrammar_dir}/3rdparty/picojson)
  target_compile_definitions(${target} PRIVATE XGRAMMAR_LOG_CUSTOMIZE=1 XGRAMMAR_ENABLE_CPPTRACE=0)
  target_compile_options(${target} PRIVATE -w -fno-lto)
  if(PREDGEN_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PREDGEN_SANITIZE})
  endif()
endforeach()
