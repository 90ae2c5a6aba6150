#pragma once

#include "model/family.h"

namespace bert {

/// The family of an encoder that finds entities (GLiNER) where its file names no model_type, as the
/// package gliner has it. family.cpp has it, with the others.
const Family& entity_encoder();

}  // namespace bert
