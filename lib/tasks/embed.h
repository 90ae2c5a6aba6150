#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "directory/sentence_modules.h"
#include "heads/attentive_pooling.h"
#include "heads/pooling.h"
#include "model/layers.h"
#include "tasks/static_text.h"
#include "tasks/task.h"
#include "tasks/vector_format.h"
#include "tasks/whitening.h"
#include "tokenizer/windows.h"

namespace bert {

/// The steps from hidden states to a vector, decided once before the first record.
///   layers -> pooling (modes side by side) -> dense modules -> first `dims` numbers -> L2 norm
/// The model's own limit (truncate_dim) cuts behind its own norm, as in sentence-transformers:
///   .. -> dense modules -> L2 norm -> first `truncate_dim` numbers -> L2 norm if asked for
/// Whitening reads what is then the vector, before `dims` and `normalize_cut`.
struct BERT_API EmbedPlan {
  LayerExpression layers;
  size_t features = 0;            ///< length of a token's vector
  std::vector<Pooling> poolings;  ///< empty with `pooler`, `attentive` or `per_token`
  bool pooler = false;            ///< tanh(W h_cls + b)
  /// Of the model's classifier: its hops side by side.
  std::shared_ptr<const AttentivePooling> attentive;
  bool per_token = false;  ///< one row per token
  bool words = false;      ///< one row per word: the mean of its pieces
  bool compare = false;    ///< cosine of a pair instead of a vector
  bool spans = false;      ///< one row per span of the record's first extra field
  std::vector<SentenceModules::Dense> dense;
  bool normalize = false;      ///< the model's own module
  bool normalize_cut = false;  ///< --normalize: what is given has length 1
  size_t dims = 0;             ///< 0: all, or as truncate_dim says
  size_t truncate_dim = 0;     ///< 0: all
  std::string prompt;          ///< put before every text
  bool prompt_is_pooled = true;
  bool no_special = false;  ///< [CLS] and [SEP] are not pooled
  VectorFormat format = VectorFormat::tsv;
  std::optional<double> scale;  ///< of VectorFormat::i8
  std::shared_ptr<const Whitening> whitening;

  /// The plan of the model's own modules. `pool` and `layer_text` override it when not empty.
  /// Throws Error(usage) for an unknown pooling or layer, Error(data) if `pooler` is missing.
  static EmbedPlan make(const Model& model, const SentenceModules& modules, const std::string& pool,
                        const std::string& layer_text);
  /// The same of static vectors: `pool` is mean or none, and there are no layers.
  static EmbedPlan make(const StaticText& text, const SentenceModules& modules,
                        const std::string& pool, const std::string& layer_text);
  /// Puts the modules of a model of late interaction behind each token's state, where the plan has
  /// a row per token. Throws Error(data) if they do not fit.
  void take_token_modules(const SentenceModules& modules) { take_modules(modules, features); }
  /// Tokens of the prompt at the begin of a sequence: [CLS] counts, [SEP] does not.
  size_t prompt_tokens(const Tokenizer& tokenizer, const EncodeOptions& encode,
                       Tokenizer::Scratch& scratch) const;
  /// The vector of a sequence from its tokens' features [n, W], by `poolings`. `prompt_tokens` of
  /// them are the prompt's. out [poolings * W]
  void pool_sequence(ConstMatrix tokens, size_t prompt_tokens, const Frame& frame,
                     std::span<float> out) const;
  /// What follows the dense modules: cuts and scales vectors [S, full_width()] in place, or in
  /// `whitened`. Rows may be further apart than they are long.
  Matrix finish(Matrix vectors, Buffer& whitened) const;
  /// Length of a vector before it is cut.
  size_t full_width() const;
  /// Length of the model's own vector, which whitening reads.
  size_t own_width() const;
  /// Length of a row's vector.
  size_t width() const;

 private:
  void take_modules(const SentenceModules& modules, size_t hidden_size);
};

/// The sentence module's dense layers, with their weights.
class BERT_API DenseModules {
 public:
  /// Throws Error naming file and tensor.
  explicit DenseModules(const std::vector<SentenceModules::Dense>& modules);
  /// x [S, in] -> [S, out], in scratch until the next call.
  Matrix apply(Matrix x, Buffer& first, Buffer& second, LinearScratch& scratch) const;

 private:
  struct Layer {
    Linear linear;
    Activation activation;
  };
  std::vector<Layer> layers_;
};

/// One vector per record (sentence-transformers; Reimers and Gurevych 2019), or one row per token
/// or word.
class BERT_API EmbedWorker : public TaskWorker {
 public:
  EmbedWorker(const Tokenizer& tokenizer, const Model& model, const DenseModules& dense,
              const EmbedPlan& plan, const TaskOptions& options)
      : TaskWorker(tokenizer, &model, options), dense_(dense), plan_(plan) {}
  EmbedWorker(const Tokenizer& tokenizer, const StaticText& text, const DenseModules& dense,
              const EmbedPlan& plan, const TaskOptions& options)
      : TaskWorker(tokenizer, nullptr, options), text_(&text), dense_(dense), plan_(plan) {}
  void run(std::span<const Record> records, Rows& rows) override;

 private:
  void encode_all(std::span<const Record> records);
  std::string_view cut(const Record& record, std::string_view text);
  void compute_vectors(size_t count);
  void pool_windows(Matrix pooled);
  size_t pooled_tokens(size_t tokens) const;
  void pool_static(Matrix pooled);
  void compute_tokens(std::span<const Record> records, Rows& rows);
  void fill_static(const PackedBatch& batch);
  /// use(first, batch, hidden, features): first: index of the batch's first encoding; hidden [T,
  /// H]; features [T, W]
  using UseFeatures = std::function<void(size_t, const PackedBatch&, Matrix, Matrix)>;
  void for_each_features(const UseFeatures& use);
  void for_each_static(const UseFeatures& use);
  bool is_left_out(int32_t id) const { return text_ != nullptr && id == text_->left_out; }
  Matrix finish(Matrix vectors) { return plan_.finish(vectors, whitened_); }
  void compute_spans(std::span<const Record> records, Rows& rows);
  void begin_spans(const Record& record, size_t sequence);
  size_t add_span_tokens(const Record& record, size_t sequence, ConstMatrix tokens);
  void write_spans(const Record& record, size_t ready, Rows& rows);
  void pool_span(Offset span, std::span<float> out) const;
  void write_span(const Record& record, Offset span, std::span<const float> vector, Rows& rows);
  void note_vector(const Record& record, std::span<const float> vector);
  void write_similarity(const Record& record, double similarity, Rows& rows) const;
  void write_vector(const Record& record, std::span<const float> vector, Rows& rows);
  void begin_tokens(size_t sequence);
  void write_tokens(const Record& record, size_t sequence, ConstMatrix tokens, Rows& rows);
  void add_pieces(const Record& record, const Encoding& encoding, ConstMatrix tokens, Rows& rows);
  void end_words(const Record& record, Rows& rows);
  void write_word(const Record& record, Rows& rows);
  void write_token(const Record& record, size_t index, std::string_view token,
                   std::span<const float> vector, Rows& rows);
  void write_numbers(const Record& record, std::span<const float> vector, Rows& rows) const;

  const StaticText* text_ = nullptr;  ///< what the vectors are of, if not of a model's layers
  const DenseModules& dense_;
  const EmbedPlan plan_;
  /// The word whose pieces come in.
  struct {
    int32_t id = -1;
    int32_t first = -1;  ///< id of the record's first word; -1: none had a row yet
    size_t next = 0;     ///< index of the first token that is not in yet
    Offset bytes;
    std::vector<float> pieces;  ///< [pieces, W]
    std::vector<float> mean;    ///< [W]
  } word_;
  /// The record whose tokens come in, with --pool none.
  struct {
    size_t begin = 0, end = 0;         ///< its encodings
    std::vector<TokenWindow> windows;  ///< of the prompt and the text
    size_t prompt = 0;                 ///< tokens of the prompt in it
  } tokens_of_;
  /// The record whose spans come in.
  struct {
    std::vector<Offset> spans;    ///< bytes of the prompt and the text
    size_t next = 0;              ///< the first that has no row yet
    std::vector<uint32_t> needs;  ///< the first byte that it and those behind it need
    std::vector<Offset> bytes;    ///< of the tokens that are kept
    std::vector<float> tokens;    ///< [tokens, W]
  } spans_of_;
  size_t prompt_tokens_ = 0;
  std::vector<std::string> prompted_;  ///< texts with the prompt before them
  Buffer features_;                    ///< [T, W] the combined layers of a batch
  Buffer pooled_, dense_first_, dense_second_, whitened_;
  std::vector<float> row_;  ///< [W]
  Matrix vectors_;          ///< [texts, width] of the chunk
};

}  // namespace bert
