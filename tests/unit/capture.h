#pragma once

#include <doctest/doctest.h>

/// CAPTURE for a structured binding: no lambda, such as CAPTURE has, captures one in clang before
/// 16.
#define CAPTURE_BINDING(binding) CAPTURE_AS(DOCTEST_ANONYMOUS(captured_), binding)
#define CAPTURE_AS(name, binding) \
  const auto& name = binding;     \
  INFO(#binding " := ", name)
