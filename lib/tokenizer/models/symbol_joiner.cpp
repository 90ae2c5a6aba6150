#include "tokenizer/models/symbol_joiner.h"

namespace bert {

void SymbolJoiner::add(std::string_view text, bool frozen) {
  const auto i = static_cast<int32_t>(symbols_.size());
  if (i > 0) symbols_.back().next = i;
  symbols_.push_back({i - 1, -1, frozen, text});
}

void SymbolJoiner::join() {
  for (size_t i = 1; i < symbols_.size(); ++i) {
    add_pair(static_cast<int32_t>(i) - 1, static_cast<int32_t>(i));
  }
  while (!queue_.empty()) {
    const Pair top = queue_.top();
    queue_.pop();
    Symbol& left = at(top.left);
    Symbol& right = at(top.right);
    if (left.text.empty() || right.text.empty()) continue;
    if (left.text.size() + right.text.size() != top.size) continue;
    left.text = {left.text.data(), top.size};
    left.next = right.next;
    if (right.next >= 0) at(right.next).previous = top.left;
    right.text = {};
    add_pair(left.previous, top.left);
    add_pair(top.left, left.next);
  }
}

bool SymbolJoiner::parts(std::string_view piece, std::string_view& left,
                         std::string_view& right) const {
  const auto found = unused_.find(piece);
  if (found == unused_.end()) return false;
  left = found->second.first;
  right = found->second.second;
  return true;
}

void SymbolJoiner::add_pair(int32_t l, int32_t r) {
  if (l < 0 || r < 0 || at(l).frozen || at(r).frozen) return;
  const std::string_view left = at(l).text, right = at(r).text;
  const std::string_view both(left.data(), left.size() + right.size());
  const int32_t id = find_(both);
  if (id < 0) return;
  const SentencePieceFile::Piece& piece = file_.pieces[static_cast<size_t>(id)];
  queue_.push({piece.score, l, r, both.size()});
  if (piece.type == SentencePieceFile::Type::unused) unused_[both] = {left, right};
}

}  // namespace bert
