# odr (scripts/check_odr.py) reads the sources; the linker knows what they mean. With link-time optimisation
# it sees every definition of a type, and two different ones end the link.
set(odr_compile -O0 -DNDEBUG -flto=auto)
set(odr_link -flto=auto -Wodr -Werror=odr)
list(JOIN odr_compile " " odr_compile_flags)
list(JOIN odr_link " " odr_link_flags)

add_test(NAME odr_link COMMAND ${CMAKE_CTEST_COMMAND}
  --build-and-test ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR}/odr
  --build-generator Ninja --build-target predgen --build-noclean
  --build-options -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=${odr_compile_flags}
    -DCMAKE_EXE_LINKER_FLAGS=${odr_link_flags} -DPREDGEN_TESTS=OFF -DPREDGEN_BENCH=OFF
    -DPREDGEN_PYTHON=${PREDGEN_PYTHON} -DPREDGEN_LIBTORCH=${PREDGEN_LIBTORCH} -DPREDGEN_CUDA=${PREDGEN_CUDA}
    -DPREDGEN_XGRAMMAR=${PREDGEN_XGRAMMAR})
set_tests_properties(odr_link PROPERTIES LABELS slow TIMEOUT 5400 PROCESSORS 2)

# A fault that it must see.
file(CONFIGURE OUTPUT odr_fault_one.cpp CONTENT "struct Twice { int a; };\nint one(const Twice& t) { return t.a; }\n")
file(CONFIGURE OUTPUT odr_fault_two.cpp CONTENT
  "struct Twice { double a, b; };\nint one(const Twice&);\nint main() { return one(Twice{}); }\n")
add_executable(odr_fault EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/odr_fault_one.cpp ${CMAKE_CURRENT_BINARY_DIR}/odr_fault_two.cpp)
set_target_properties(odr_fault PROPERTIES UNITY_BUILD OFF)  # the linker is to meet both
target_compile_options(odr_fault PRIVATE ${odr_compile})
target_link_options(odr_fault PRIVATE ${odr_compile} ${odr_link})
add_test(NAME odr_link_fault COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target odr_fault)
set_tests_properties(odr_link_fault PROPERTIES PASS_REGULAR_EXPRESSION "One Definition Rule" RUN_SERIAL ON)
