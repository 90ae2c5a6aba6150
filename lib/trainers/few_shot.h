#pragma once

#include "trainers/finetune.h"

namespace bert {

/// Trains a classifier of texts from a few examples a class, as SetFit does (Tunstall et al. 2022).
/// Vectors of texts, each the mean of its tokens, learn from pairs: those of one label are alike,
/// others are not. Then logistic regression on the vectors gives the classifier. Writes a
/// classifier whose pooling is the mean. The rest is finetune()'s.
bool few_shot(const FinetuneOptions& options);

}  // namespace bert
