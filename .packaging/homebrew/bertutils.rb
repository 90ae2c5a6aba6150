# A formula for Homebrew. .packaging/release writes it into its folder, with the version, the address
# and the hash of the source archive; it is not in homebrew-core.
class Bertutils < Formula
  desc "Coreutils for BERT: small programs over lines of text"
  homepage "@HOMEPAGE@"
  url "@URL@"
  sha256 "@SHA256@"
  license "Apache-2.0"

  depends_on "cli11" => :build
  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "fmt"
  depends_on "minizip"
  depends_on "simdjson"
  depends_on "utf8proc"
  depends_on "xz"
  depends_on "zstd"

  uses_from_macos "bzip2"
  uses_from_macos "curl"
  uses_from_macos "sqlite"
  uses_from_macos "zlib"

  on_linux do
    depends_on "openblas"
    depends_on "openssl@3"
  end

  # Headers alone; homebrew-core has no formula of them.
  resource "hnswlib" do
    url "https://github.com/nmslib/hnswlib/archive/refs/tags/v0.6.2.tar.gz"
    sha256 "19899f233f0361e1203a2b7e5143ed284f57c4e1501c8adc19f3bc341edb4100"
  end

  def install
    resource("hnswlib").stage { (buildpath/"hnswlib").install "hnswlib" }
    system "cmake", "-G", "Ninja", "-S", ".", "-B", "build", "-DHNSWLIB=#{buildpath}/hnswlib",
           *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_equal "una ##ffa ##ble\n", pipe_output(bin/"tokenize", "unaffable\n", 0)
    assert_match "famous composer", pipe_output(bin/"mlm-fill", "Mozart was a famous [MASK].\n", 0)
  end
end
