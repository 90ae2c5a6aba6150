# A cross build for macOS by zig (PyPI's ziglang), which has Apple's headers and libc++:
# cmake --preset macos && cmake --build --preset macos.
# The libraries are those that .packaging/macos-root made for one CPU; the environment variable BERT_MACOS_ROOT names their
# folder. No such program runs here, so the tests and the programs that write the completions do not.
set(CMAKE_SYSTEM_NAME Darwin)
set(root "$ENV{BERT_MACOS_ROOT}")
file(READ ${root}/cpu cpu)
string(STRIP "${cpu}" CMAKE_SYSTEM_PROCESSOR)
set(CMAKE_OSX_SYSROOT "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "")
set(CMAKE_C_COMPILER ${root}/bin/cc)
set(CMAKE_CXX_COMPILER ${root}/bin/c++)
set(CMAKE_AR ${root}/bin/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${root}/bin/ranlib CACHE FILEPATH "")
# Zig's linker needs no name changed afterwards, where CMake would call Apple's tool.
set(CMAKE_INSTALL_NAME_TOOL true CACHE STRING "")
set(CMAKE_FIND_ROOT_PATH ${root})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_FRAMEWORK NEVER)
set(ENV{PKG_CONFIG_LIBDIR} ${root}/lib/pkgconfig)
