#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "tokenizer/encoding.h"

namespace bert {

/// Takes pieces and hands them on in portions, so that memory does not grow with the text.
class PieceBuffer {
 public:
  /// Receives the next pieces of the text; false: no more are wanted.
  using Sink = std::function<bool(std::span<const Piece>)>;
  /// Changes pieces before the sink gets them.
  using Edit = std::function<void(std::span<Piece>)>;

  void start(const Sink* sink, size_t portion, Edit edit = {}) {
    sink_ = sink;
    edit_ = std::move(edit);
    portion_ = portion;
    size_ = 0;
    stopped_ = false;
    if (pieces_.size() < portion + kSlack) pieces_.resize(portion + kSlack);
  }
  /// Room for `n` more pieces; the caller fills some of them and calls added().
  Piece* room(size_t n) {
    if (size_ + n > pieces_.size()) pieces_.resize((size_ + n) * 2);
    return pieces_.data() + size_;
  }
  void added(size_t n) { size_ += n; }
  void push(const Piece& piece) {
    *room(1) = piece;
    added(1);
  }
  /// Pieces since `mark`, an earlier size() with no flush between.
  std::span<const Piece> since(size_t mark) const { return {pieces_.data() + mark, size_ - mark}; }
  size_t size() const { return size_; }
  void drop_since(size_t mark) { size_ = mark; }

  void flush_if_full() {
    if (size_ >= portion_) flush();
  }
  void flush() {
    if (size_ > 0 && !stopped_) {
      if (edit_) edit_({pieces_.data(), size_});
      stopped_ = !(*sink_)({pieces_.data(), size_});
    }
    size_ = 0;
  }
  bool stopped() const { return stopped_; }

 private:
  static constexpr size_t kSlack = 64;

  const Sink* sink_ = nullptr;
  Edit edit_;
  std::vector<Piece> pieces_;
  size_t portion_ = 0;
  size_t size_ = 0;
  bool stopped_ = false;
};

}  // namespace bert
