# BERT_PORTABLE: a library and programs that run in any folder of other Linux systems (glibc 2.34 or newer), for
# packages such as the wheel. From the system they take only glibc, libstdc++ and libgcc, which manylinux names.
# libstdc++ is not linked statically: exceptions and std::string pass from libbert to the tools, so both must have the
# same one, and a Python process must not have two. `bert` has a shared one too: a static libgcc asks for glibc 2.35
# (_dl_find_object), a static libstdc++ for 2.36 (arc4random).
include_guard(GLOBAL)

set(CMAKE_INSTALL_RPATH "$ORIGIN") # libbert's; the tools have their own
# The sources that wait for a condition variable; all other objects are those of any build.
set_source_files_properties(lib/memo/memo.cpp lib/pipeline/stream.cpp PROPERTIES
                            COMPILE_OPTIONS "-include;${CMAKE_CURRENT_LIST_DIR}/old-libstdc++.h")

# C libraries: static inside libbert.so, which hides their symbols.
foreach(library utf8proc minizip sqlite3 z zstd lzma)
  find_library(STATIC_${library} NAMES lib${library}.a REQUIRED)
endforeach()
foreach(library utf8proc minizip sqlite3 zstd)
  set_target_properties(PkgConfig::${library} PROPERTIES INTERFACE_LINK_LIBRARIES ${STATIC_${library}})
endforeach()
foreach(library IN ITEMS ZLIB::ZLIB,z LibLZMA::LibLZMA,lzma)
  string(REPLACE "," ";" pair ${library})
  list(GET pair 0 target)
  list(GET pair 1 name)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${STATIC_${name}} IMPORTED_LOCATION_RELEASE ${STATIC_${name}})
endforeach()
set_property(TARGET PkgConfig::minizip APPEND PROPERTY INTERFACE_LINK_LIBRARIES ${STATIC_z})

# C++ libraries, which Debian has only as shared ones, and bzip2, whose static one cannot be part of a shared one: they come
# along, under names that no other package loads.
find_program(PATCHELF patchelf REQUIRED)
foreach(library fmt::fmt simdjson::simdjson BZip2::BZip2)
  string(REGEX REPLACE ".*:" "" name ${library})
  get_target_property(type ${library} IMPORTED_CONFIGURATIONS)
  get_target_property(file ${library} IMPORTED_LOCATION_${type})
  set(own ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/libbert-${name}.so)
  configure_file(${file} ${own} COPYONLY)
  execute_process(COMMAND ${PATCHELF} --set-soname libbert-${name}.so ${own} COMMAND_ERROR_IS_FATAL ANY)
  set_target_properties(${library} PROPERTIES IMPORTED_LOCATION_${type} ${own} IMPORTED_SONAME_${type} libbert-${name}.so)
  install(FILES ${own} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()

# OpenBLAS, of which lib/ops/blas.cpp loads these functions: without LAPACK it is a third smaller and needs no Fortran.
set(functions cblas_sgemm openblas_get_config openblas_get_corename)
list(TRANSFORM functions PREPEND "-Wl,-u," OUTPUT_VARIABLE wanted)
list(JOIN functions "; " functions)
file(WRITE ${CMAKE_BINARY_DIR}/openblas.map "{ global: ${functions}; local: *; };\n")
file(WRITE ${CMAKE_BINARY_DIR}/openblas.cpp "")
find_library(STATIC_openblas NAMES libopenblas.a HINTS ${openblas_LIBRARY_DIRS} REQUIRED)
add_library(openblas SHARED ${CMAKE_BINARY_DIR}/openblas.cpp)
set_target_properties(openblas PROPERTIES SOVERSION 0)
target_link_options(openblas PRIVATE ${wanted} LINKER:--no-undefined,--as-needed
                                     LINKER:--version-script=${CMAKE_BINARY_DIR}/openblas.map)
target_link_libraries(openblas PRIVATE ${STATIC_openblas} m Threads::Threads)
install(TARGETS openblas LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)
