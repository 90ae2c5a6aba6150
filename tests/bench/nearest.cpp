// Our side of nearest.py, as a process of its own:
//
//   bench_nearest VECTORS.npy QUERIES.npy THREADS
//
// Each line on stdin is a task, `top QUERIES K` or `join ROWS THRESHOLD`; the answer on stdout is
// `SECONDS CPU_SECONDS FOUND SUM`: how many neighbours or pairs there are, and the sum of their
// indices.

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "base/error.h"
#include "io/matrix_file.h"
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

Found top(const MatrixFile& vectors, const MatrixFile& queries, size_t count, size_t k,
          int threads) {
  Buffer scratch;
  VectorSearch search(queries.read(0, std::min(count, queries.rows()), scratch),
                      {.k = k, .threads = threads});
  search.add(first_rows(vectors, vectors.rows()), 0);
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

void serve(const MatrixFile& vectors, const MatrixFile& queries, int threads) {
  size_t count = 0;
  for (std::string task, value; std::cin >> task >> count >> value;) {
    const double begin = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    const Found found = task == "top" ? top(vectors, queries, count, std::stoul(value), threads)
                                      : join(vectors, count, std::stod(value), threads);
    fmt::print("{} {} {} {}\n", now(CLOCK_MONOTONIC) - begin, now(CLOCK_PROCESS_CPUTIME_ID) - cpu,
               found.count, found.sum);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: bench_nearest VECTORS.npy QUERIES.npy THREADS\n");
    return 64;
  }
  try {
    serve(bert::MatrixFile::open_vectors(argv[1]), bert::MatrixFile::open_vectors(argv[2]),
          std::atoi(argv[3]));
  } catch (const bert::Error& error) {
    fmt::print(stderr, "bench_nearest: {}\n", error.what());
    return 65;
  }
}
