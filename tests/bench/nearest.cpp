// Our side of nearest.py, as a process of its own:
//
//   bench_nearest VECTORS.npy QUERIES.npy THREADS [INDEX]
//
// Each line on stdin is a task, `top QUERIES K` or `join ROWS THRESHOLD`; with INDEX, a file that
// `nearest --index --exact` wrote, it gives `top` the rounded vectors; the answer on stdout is
// `SECONDS CPU_SECONDS FOUND SUM`: how many neighbours or pairs there are, and the sum of their
// indices.

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "base/error.h"
#include "io/matrix_file.h"
#include "search/rounded_vectors.h"
#include "search/vector_join.h"
#include "search/vector_search.h"

namespace {

using namespace bert;

double now(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

struct Found {
  uint64_t count = 0, sum = 0;
};

VectorSource first_rows(const MatrixFile& file, size_t rows) {
  return {std::min(rows, file.rows()), file.cols(),
          [&file](size_t first, size_t count, Buffer& scratch) {
            return file.read(first, count, scratch);
          }};
}

Found top(const MatrixFile& vectors, const std::optional<RoundedVectors>& rounded,
          const MatrixFile& queries, size_t count, size_t k, int threads) {
  Buffer scratch;
  VectorSearch search(queries.read(0, std::min(count, queries.rows()), scratch),
                      {.k = k, .threads = threads});
  const VectorSource all = first_rows(vectors, vectors.rows());
  rounded ? search.add(*rounded, all, 0) : search.add(all, 0);
  Found found;
  for (size_t q = 0; q < std::min(count, queries.rows()); ++q) {
    for (const Neighbour& neighbour : search.nearest(q)) {
      ++found.count;
      found.sum += neighbour.index;
    }
  }
  return found;
}

Found join(const MatrixFile& vectors, size_t rows, double threshold, int threads) {
  Found found;
  self_join(first_rows(vectors, rows), threshold, threads, [&](const VectorPair& pair) {
    ++found.count;
    found.sum += pair.first + pair.second;
    return true;
  });
  return found;
}

void serve(const MatrixFile& vectors, const MatrixFile& queries, int threads, const char* index) {
  std::optional<RoundedVectors> rounded;
  if (index) rounded.emplace(RoundedVectors::open(index, vectors, 0));
  size_t count = 0;
  for (std::string task, value; std::cin >> task >> count >> value;) {
    const double begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    const Found found = task == "top"
                            ? top(vectors, rounded, queries, count, std::stoul(value), threads)
                            : join(vectors, count, std::stod(value), threads);
    fmt::print("{} {} {} {}\n", now(CLOCK_MONOTONIC) - begin, now(CLOCK_PROCESS_CPUTIME_ID) - cpu,
               found.count, found.sum);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    fmt::print(stderr, "usage: bench_nearest VECTORS.npy QUERIES.npy THREADS [INDEX]\n");
    return 64;
  }
  try {
    serve(bert::MatrixFile::open_vectors(argv[1]), bert::MatrixFile::open_vectors(argv[2]),
          std::atoi(argv[3]), argv[4]);
  } catch (const bert::Error& error) {
    fmt::print(stderr, "bench_nearest: {}\n", error.what());
    return 65;
  }
}
