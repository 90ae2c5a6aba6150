#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include "base/cpu.h"
#include "base/error.h"

int main(int argc, char** argv) {
  try {
    bert::cpu_isa();
  } catch (const bert::Error& error) {  // BERT_ISA names a set that this CPU lacks
    std::fprintf(stderr, "skipped: %s\n", error.what());
    return 77;
  }
  return doctest::Context(argc, argv).run();
}
