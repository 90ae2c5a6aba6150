#include "checkpoint/pickle.h"

#include <fmt/format.h>

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "io/safetensors.h"

namespace bert {
namespace {

constexpr size_t kMaxOpcodes = 1'000'000;
constexpr size_t kMaxStack = 10'000;
constexpr size_t kMaxMemo = 100'000;
constexpr size_t kMaxString = 4096;

/// What the allow-list's names stand for.
enum class Name { ordered_dict, rebuild_tensor, rebuild_parameter, size, storage, dtype };

struct AllowedName {
  std::string_view full;
  Name name;
  std::string_view dtype = "";
};
constexpr AllowedName kAllowed[] = {{"collections.OrderedDict", Name::ordered_dict},
                                    {"torch._utils._rebuild_tensor_v2", Name::rebuild_tensor},
                                    {"torch._utils._rebuild_parameter", Name::rebuild_parameter},
                                    {"torch.Size", Name::size},
                                    {"torch.FloatStorage", Name::storage, "F32"},
                                    {"torch.HalfStorage", Name::storage, "F16"},
                                    {"torch.BFloat16Storage", Name::storage, "BF16"},
                                    {"torch.DoubleStorage", Name::storage, "F64"},
                                    {"torch.LongStorage", Name::storage, "I64"},
                                    {"torch.IntStorage", Name::storage, "I32"},
                                    {"torch.ShortStorage", Name::storage, "I16"},
                                    {"torch.CharStorage", Name::storage, "I8"},
                                    {"torch.ByteStorage", Name::storage, "U8"},
                                    {"torch.BoolStorage", Name::storage, "BOOL"}};

enum class Kind {
  none,
  boolean,
  integer,
  big,
  real,
  string,
  sequence,
  dict,
  name,
  storage,
  tensor
};

/// A value. Values refer to others by their number, so that no graph of them, however deep or
/// circular, needs recursion.
struct Node {
  Kind kind = Kind::none;
  int64_t integer = 0;                // boolean, integer
  std::string_view text{};            // string, big: where the pickle has it
  const AllowedName* name = nullptr;  // name; storage: its class
  std::vector<uint32_t>
      items{};  // sequence; dict: key, value, key, value ..; storage: see persist()
};

class Interpreter {
 public:
  /// `begin`: where in `file` the pickle begins.
  Interpreter(std::span<const std::byte> file, size_t begin, const std::string& where)
      : text_(reinterpret_cast<const char*>(file.data()), file.size()), where_(where), at_(begin) {
    for (size_t count = 0; !result_; ++count) {
      if (count == kMaxOpcodes) refuse(fmt::format("more than {} opcodes", kMaxOpcodes));
      opcode_at_ = at_;
      step(take(1)[0]);
    }
  }

  size_t end() const { return at_; }
  bool is_big(std::string_view bytes) const {
    return node(*result_).kind == Kind::big && node(*result_).text == bytes;
  }
  bool is_integer(int64_t value) const {
    return node(*result_).kind == Kind::integer && node(*result_).integer == value;
  }
  std::vector<PickledTensor> tensors() { return state_dict(*result_); }
  std::vector<std::string> names() const;
  /// Whether the dict says True of `key`.
  bool says(std::string_view key) const;

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw Error(Error::Kind::data, where_,
                fmt::format("broken or unsafe pickle at byte {}: {}", opcode_at_, what));
  }

  // Input.
  std::string_view take(uint64_t bytes) {
    if (bytes > text_.size() - at_) refuse("it is cut");
    const std::string_view taken = text_.substr(at_, bytes);
    at_ += bytes;
    return taken;
  }
  uint64_t take_natural(size_t bytes) {
    const std::string_view taken = take(bytes);
    uint64_t value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(taken[i]);
    return value;
  }
  std::string_view take_string(uint64_t bytes) {
    if (bytes > kMaxString)
      refuse(fmt::format("a string of {} bytes, wants at most {}", bytes, kMaxString));
    return take(bytes);
  }
  std::string_view take_line() {
    const size_t end = text_.substr(at_, kMaxString).find('\n');
    if (end == std::string_view::npos) refuse("a name without an end");
    const std::string_view line = take(end + 1);
    return line.substr(0, end);
  }

  // The stack. A mark is kept beside it.
  void push(Node node) {
    nodes_.push_back(std::move(node));
    push(static_cast<uint32_t>(nodes_.size() - 1));
  }
  void push(uint32_t value) {
    if (stack_.size() == kMaxStack) refuse(fmt::format("a stack of more than {}", kMaxStack));
    stack_.push_back(value);
  }
  size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  uint32_t top() const {
    if (stack_.size() <= floor()) refuse("the stack is empty");
    return stack_.back();
  }
  uint32_t pop() {
    const uint32_t value = top();
    stack_.pop_back();
    return value;
  }
  void push_mark() {
    if (marks_.size() == kMaxStack) refuse(fmt::format("more than {} marks", kMaxStack));
    marks_.push_back(stack_.size());
  }
  /// Takes everything above the last mark.
  std::vector<uint32_t> pop_to_mark() {
    if (marks_.empty()) refuse("no mark");
    std::vector<uint32_t> items(stack_.begin() + static_cast<ptrdiff_t>(marks_.back()),
                                stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    return items;
  }
  std::vector<uint32_t> pop_many(size_t count) {
    std::vector<uint32_t> items(count);
    for (size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }

  void remember(uint64_t index) {
    if (memo_.size() >= kMaxMemo) refuse(fmt::format("more than {} remembered values", kMaxMemo));
    memo_[index] = top();
  }
  void recall(uint64_t index) {
    const auto found = memo_.find(index);
    if (found == memo_.end()) refuse(fmt::format("value {} was never remembered", index));
    push(found->second);
  }

  void step(char opcode);
  // Each does one opcode of its group, or returns false.
  bool push_scalar(unsigned char code);
  bool push_text(unsigned char code);
  bool change_stack(unsigned char code);
  bool build_container(unsigned char code);
  bool use_memo(unsigned char code);
  bool make_object(unsigned char code);
  void push_integer(int64_t value) { push(Node{.kind = Kind::integer, .integer = value}); }
  void push_string(std::string_view text) { push(Node{.kind = Kind::string, .text = text}); }
  void push_sequence(std::vector<uint32_t> items) {
    push(Node{.kind = Kind::sequence, .items = std::move(items)});
  }
  void push_long(size_t bytes);
  void push_name(std::string_view module, std::string_view attribute);
  void append(std::vector<uint32_t> items);
  void set_items(std::vector<uint32_t> items);
  void persist();
  void reduce();
  void build();

  // Reading values back.
  const Node& node(uint32_t value) const { return nodes_[value]; }
  const Node& wants(uint32_t value, Kind kind, std::string_view what) const {
    if (node(value).kind != kind) refuse(fmt::format("wants {}", what));
    return node(value);
  }
  uint64_t natural(uint32_t value, std::string_view what) const {
    const Node& number = wants(value, Kind::integer, what);
    if (number.integer < 0) refuse(fmt::format("found {}, wants {}", number.integer, what));
    return static_cast<uint64_t>(number.integer);
  }
  std::vector<PickledTensor> state_dict(uint32_t value);
  PickledTensor tensor(const Node& name, const Node& value);

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  std::vector<Node> nodes_;
  std::vector<uint32_t> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, uint32_t> memo_;
  std::optional<uint32_t> result_;
};

/// Does what `opcode` says; Python's pickletools describes them. Each group knows some of them.
void Interpreter::step(char opcode) {
  const auto code = static_cast<unsigned char>(opcode);
  if (push_scalar(code) || push_text(code) || change_stack(code) || build_container(code) ||
      use_memo(code) || make_object(code)) {
    return;
  }
  if (code == 0x80) {  // PROTO
    const uint64_t version = take_natural(1);
    if (version > 5) refuse(fmt::format("protocol {}", version));
  } else if (code == 0x95) {  // FRAME: a hint that nothing here needs
    take_natural(8);
  } else if (code == '.') {
    result_ = pop();
  } else {
    refuse(fmt::format("opcode 0x{:02x} is not allowed", code));
  }
}

bool Interpreter::push_scalar(unsigned char code) {
  switch (code) {
    case 'N':
      push(Node{});
      return true;
    case 0x88:
      push(Node{.kind = Kind::boolean, .integer = 1});
      return true;
    case 0x89:
      push(Node{.kind = Kind::boolean});
      return true;
    case 'K':
      push_integer(static_cast<int64_t>(take_natural(1)));
      return true;
    case 'M':
      push_integer(static_cast<int64_t>(take_natural(2)));
      return true;
    case 'J':
      push_integer(static_cast<int32_t>(take_natural(4)));
      return true;
    case 0x8A:
      push_long(take_natural(1));
      return true;
    case 'G':
      take(8);
      push(Node{.kind = Kind::real});
      return true;
    default:
      return false;
  }
}

bool Interpreter::push_text(unsigned char code) {
  const size_t length_bytes = code == 0x8C ? 1 : code == 'X' ? 4 : code == 0x8D ? 8 : 0;
  if (length_bytes == 0) return false;
  push_string(take_string(take_natural(length_bytes)));
  return true;
}

bool Interpreter::change_stack(unsigned char code) {
  switch (code) {
    case '(':
      push_mark();
      return true;
    case '0':
      pop();
      return true;
    case '1':
      pop_to_mark();
      return true;
    case '2':
      push(top());
      return true;
    default:
      return false;
  }
}

bool Interpreter::build_container(unsigned char code) {
  switch (code) {
    case '}':
      push(Node{.kind = Kind::dict});
      return true;
    case ']':
    case ')':
      push_sequence({});
      return true;
    case 't':
      push_sequence(pop_to_mark());
      return true;
    case 0x85:
    case 0x86:
    case 0x87:  // TUPLE1 .. TUPLE3
      push_sequence(pop_many(code - 0x84u));
      return true;
    case 'a':
      append(pop_many(1));
      return true;
    case 'e':
      append(pop_to_mark());
      return true;
    case 's':
      set_items(pop_many(2));
      return true;
    case 'u':
      set_items(pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool Interpreter::use_memo(unsigned char code) {
  switch (code) {
    case 'q':
      remember(take_natural(1));
      return true;
    case 'r':
      remember(take_natural(4));
      return true;
    case 0x94:
      remember(memo_.size());
      return true;
    case 'h':
      recall(take_natural(1));
      return true;
    case 'j':
      recall(take_natural(4));
      return true;
    default:
      return false;
  }
}

bool Interpreter::make_object(unsigned char code) {
  switch (code) {
    case 'c': {
      const std::string_view module = take_line();
      push_name(module, take_line());
      return true;
    }
    case 0x93: {
      const std::vector<uint32_t> names = pop_many(2);
      push_name(wants(names[0], Kind::string, "a module's name").text,
                wants(names[1], Kind::string, "an attribute's name").text);
      return true;
    }
    case 'Q':
      persist();
      return true;
    case 'R':
      reduce();
      return true;
    case 'b':
      build();
      return true;
    default:
      return false;
  }
}

void Interpreter::push_long(size_t bytes) {
  if (bytes > 8) {
    push(Node{.kind = Kind::big, .text = take(bytes)});
    return;
  }
  uint64_t value = take_natural(bytes);
  if (bytes > 0 && bytes < 8 && (value >> (8 * bytes - 1)) != 0) value |= ~uint64_t{0} << 8 * bytes;
  push_integer(static_cast<int64_t>(value));
}

void Interpreter::push_name(std::string_view module, std::string_view attribute) {
  const std::string full = fmt::format("{}.{}", module, attribute);
  for (const AllowedName& allowed : kAllowed) {
    if (allowed.full != full) continue;
    push(Node{.kind = Kind::name, .name = &allowed});
    return;
  }
  refuse(fmt::format("it asks for {}, which is not allowed", printable(full)));
}

void Interpreter::append(std::vector<uint32_t> items) {
  Node& list = nodes_[top()];
  if (list.kind != Kind::sequence) refuse("wants a list to append to");
  list.items.insert(list.items.end(), items.begin(), items.end());
}

void Interpreter::set_items(std::vector<uint32_t> items) {
  Node& dict = nodes_[top()];
  if (dict.kind != Kind::dict) refuse("wants a dict to set items of");
  if (items.size() % 2 != 0) refuse("a key without a value");
  dict.items.insert(dict.items.end(), items.begin(), items.end());
}

/// ("storage", class, key, location, elements) -> storage, whose items are key and elements.
/// Before torch 1.6 None is the sixth.
void Interpreter::persist() {
  const Node& id = wants(pop(), Kind::sequence, "a storage's description");
  const bool old = id.items.size() == 6 && node(id.items[5]).kind == Kind::none;
  if ((id.items.size() != 5 && !old) ||
      wants(id.items[0], Kind::string, "the word storage").text != "storage") {
    refuse("wants a storage's description");
  }
  const Node& type = wants(id.items[1], Kind::name, "a storage class");
  if (type.name->name != Name::storage)
    refuse(fmt::format("{} is no storage class", type.name->full));
  wants(id.items[2], Kind::string, "a storage's key");
  natural(id.items[4], "a storage's number of elements");
  std::vector<uint32_t> key_and_elements{id.items[2], id.items[4]};
  push(Node{.kind = Kind::storage, .name = type.name, .items = std::move(key_and_elements)});
}

/// name(*arguments), for the four names that make something.
void Interpreter::reduce() {
  const std::vector<uint32_t> call = pop_many(2);
  const Node& callee = wants(call[0], Kind::name, "one of the allowed names to call");
  const Node& tuple = wants(call[1], Kind::sequence, "a tuple of arguments");
  if (tuple.items.size() > 8) refuse("more than 8 arguments");
  const std::vector<uint32_t> arguments = tuple.items;
  switch (callee.name->name) {
    case Name::ordered_dict:
      if (!arguments.empty()) refuse("OrderedDict with arguments");
      push(Node{.kind = Kind::dict});
      return;
    case Name::size:
      if (arguments.size() != 1) refuse("Size wants one argument");
      push(arguments[0]);
      return;
    case Name::rebuild_tensor:  // storage, offset, shape, stride, requires_grad, hooks, (metadata)
      if (arguments.size() < 6) refuse("_rebuild_tensor_v2 wants six arguments");
      push(Node{.kind = Kind::tensor, .items = arguments});
      return;
    case Name::rebuild_parameter:  // tensor, requires_grad, hooks
      if (arguments.size() != 3) refuse("_rebuild_parameter wants three arguments");
      wants(arguments[0], Kind::tensor, "a tensor");
      push(arguments[0]);
      return;
    default:
      refuse(fmt::format("{} is not to be called", callee.name->full));
  }
}

/// Attributes of a dict (_metadata of a state dict): not needed.
void Interpreter::build() {
  wants(pop(), Kind::dict, "a dict of attributes");
  wants(top(), Kind::dict, "a dict to give attributes to");
}

std::vector<std::string> Interpreter::names() const {
  std::vector<std::string> names;
  for (const uint32_t item :
       wants(*result_, Kind::sequence, "a list of the storages' keys").items) {
    names.emplace_back(wants(item, Kind::string, "a storage's key").text);
  }
  return names;
}

bool Interpreter::says(std::string_view key) const {
  const Node& dict = wants(*result_, Kind::dict, "a dict of what the machine was");
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const Node &name = node(dict.items[i]), &value = node(dict.items[i + 1]);
    if (name.kind == Kind::string && name.text == key) {
      return value.kind == Kind::boolean && value.integer == 1;
    }
  }
  return false;
}

std::vector<PickledTensor> Interpreter::state_dict(uint32_t value) {
  const Node& dict = wants(value, Kind::dict, "a state dict: a dict of tensors by name");
  std::vector<PickledTensor> tensors;
  std::unordered_set<std::string_view> names;
  for (size_t i = 0; i < dict.items.size(); i += 2) {
    const Node& name = wants(dict.items[i], Kind::string, "a state dict: its keys are no names");
    if (!names.insert(name.text).second) {
      refuse(fmt::format("tensor {} stands twice", printable(name.text)));
    }
    tensors.push_back(tensor(name, node(dict.items[i + 1])));
  }
  return tensors;
}

PickledTensor Interpreter::tensor(const Node& name, const Node& value) {
  const auto broken = [&](std::string_view what) {
    throw Error(Error::Kind::data, where_,
                fmt::format("tensor {}: {}", printable(name.text), what));
  };
  if (value.kind != Kind::tensor)
    broken("is no tensor; wants a state dict, a dict of tensors by name");
  const Node& storage = node(value.items[0]);
  const Node &shape = node(value.items[2]), &stride = node(value.items[3]);
  if (storage.kind != Kind::storage || shape.kind != Kind::sequence ||
      stride.kind != Kind::sequence) {
    broken("wants storage, offset, shape and stride");
  }
  if (shape.items.size() != stride.items.size() || shape.items.size() > kMaxTensorRank) {
    broken(fmt::format("{} dimensions and {} strides, wants as many and at most {}",
                       shape.items.size(), stride.items.size(), kMaxTensorRank));
  }
  const auto size = [&](uint32_t item) -> uint64_t {
    const Node& number = node(item);
    if (number.kind != Kind::integer || number.integer < 0) {
      broken("wants whole numbers from 0 as offset, shape and stride");
    }
    return static_cast<uint64_t>(number.integer);
  };
  PickledTensor result;
  result.name = name.text;
  result.dtype = storage.name->dtype;
  result.storage = node(storage.items[0]).text;
  result.storage_elements = static_cast<uint64_t>(node(storage.items[1]).integer);
  result.offset = size(value.items[1]);
  for (const uint32_t item : shape.items) result.shape.push_back(size(item));
  for (const uint32_t item : stride.items) result.stride.push_back(size(item));
  return result;
}

}  // namespace

std::vector<PickledTensor> read_state_dict(std::span<const std::byte> pickle,
                                           const std::string& where) {
  return Interpreter(pickle, 0, where).tensors();
}

OldStateDict read_old_state_dict(std::span<const std::byte> file, const std::string& where) {
  constexpr std::string_view kMagic("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10);
  constexpr int64_t kProtocol = 1001;
  const auto refuse = [&](std::string_view what) { throw Error(Error::Kind::data, where, what); };
  const Interpreter magic(file, 0, where);
  if (!magic.is_big(kMagic)) refuse("this is a pickle, but not one that torch.save wrote");
  const Interpreter protocol(file, magic.end(), where);
  if (!protocol.is_integer(kProtocol)) refuse("wants torch.save's protocol 1001");
  const Interpreter machine(file, protocol.end(), where);
  if (!machine.says("little_endian")) refuse("a machine that is not little-endian wrote it");
  Interpreter state(file, machine.end(), where);
  OldStateDict result;
  result.tensors = state.tensors();
  const Interpreter keys(file, state.end(), where);
  result.keys = keys.names();
  result.storages = keys.end();
  return result;
}

}  // namespace bert
