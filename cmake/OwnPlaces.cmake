# Where headers and libraries are looked for: the system's packages, the Python environment, and what
# is named (PREDGEN_LIBTORCH, PREDGEN_CUDA). What lies under /usr/local or on a search path of the shell
# would hide what another machine lacks. scripts/check_places.py holds the finished build to this.
# -DPREDGEN_USR_LOCAL=ON is for systems that keep the libraries there.
# So it is for a project that takes this one in: what is set here holds for all of the configuration.
if(PREDGEN_USR_LOCAL OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
list(APPEND CMAKE_IGNORE_PREFIX_PATH /usr/local)
set(CMAKE_FIND_USE_CMAKE_ENVIRONMENT_PATH OFF)
set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)
set(CMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY ON)
set(pkg_config_folders /usr/lib64/pkgconfig /usr/lib/pkgconfig /usr/share/pkgconfig)
if(CMAKE_LIBRARY_ARCHITECTURE)
  list(PREPEND pkg_config_folders /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig)
endif()
list(JOIN pkg_config_folders ":" ENV{PKG_CONFIG_LIBDIR})
unset(ENV{PKG_CONFIG_PATH})

# The compiler's own list of folders, without /usr/local/include. clang finds its headers by itself.
set(predgen_system_headers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND "/usr/local/include" IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
  set(predgen_system_headers -nostdinc)
  foreach(folder IN LISTS CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    if(NOT folder STREQUAL "/usr/local/include")
      list(APPEND predgen_system_headers -isystem ${folder})
    endif()
  endforeach()
  list(JOIN predgen_system_headers " " predgen_system_headers_flags)
  string(APPEND CMAKE_CXX_FLAGS " ${predgen_system_headers_flags}")
endif()
