// Names the older version of the symbols that libstdc++ has given a new one, so that programs built
// with GCC 12 also run with the libstdc++ of GCC 11. The functions are the same: GCC 12 only
// declared this one noexcept.
__asm__(
    ".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,"
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
