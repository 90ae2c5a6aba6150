# A cross build for 64-bit ARM Linux: cmake --workflow --preset aarch64, with g++-aarch64-linux-gnu.
# The libraries are those of a file system root of Debian for arm64, which the environment variable BERT_ARM64_ROOT
# names (.packaging/arm64-root makes one), or without it those that dpkg --add-architecture arm64 puts on this system.
# With qemu-user-static, the tests and the programs that write the completions run too.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(root "$ENV{BERT_ARM64_ROOT}")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
if(root)
  set(CMAKE_SYSROOT ${root})
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
  set(ENV{PKG_CONFIG_SYSROOT_DIR} ${root})
endif()
set(ENV{PKG_CONFIG_LIBDIR} ${root}/usr/lib/aarch64-linux-gnu/pkgconfig:${root}/usr/share/pkgconfig)

find_program(QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${QEMU})
  if(root)
    list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -L ${root})
  endif()
endif()
