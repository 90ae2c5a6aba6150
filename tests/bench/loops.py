#!/usr/bin/env python3
"""Counts the instructions of the inner loops of products: loops.py BUILD

Reads the objects of the kernels in the folder BUILD, for x86-64 or for 64-bit ARM, with objdump, and runs nothing. A row
is a tile of full height: the instructions that multiply and all instructions of one turn of its loop, the multiply-adds
for each instruction, and the instructions that a token takes in a product of 768 by 768. What is outside of the loop (the
scales of each 64 values of int8, the end of a tile) is not counted.
"""
import re
import subprocess
import sys
from pathlib import Path

# The set, the precision, the file, the function (a pattern), the instruction and how many multiply-adds it does.
TILES = [
    ("avx2", "f32", "avx2", "tile_f32<6ul, 1ul, false>", "vfmadd", 8),
    ("avx2", "int8", "avx2", "Wide>::tile<4ul, 1ul>", "vpmaddwd", 16),
    ("avx2_vnni", "int8", "avx2", "true.*::tile<4ul, 1ul>", "vpdpbusd", 32),
    ("avx512", "f32", "avx512", "tile_f32<8ul, 3ul, false>", "vfmadd", 16),
    ("avx512_vnni", "int8", "avx512_vnni", "Int8::tile<4ul, 3ul>", "vpdpbusd", 64),
    ("avx512_bf16", "bf16", "avx512_vnni", "BFloat16::tile<8ul, 3ul>", "vdpbf16ps", 32),
    ("neon", "f32", "neon", "tile_f32<6ul, 1ul, false>", "fmla", 4),
    ("neon_dotprod", "int8", "neon_dotprod", ">::tile<6ul, 1ul>", "sdot", 16),
    ("neon_i8mm", "int8", "neon_i8mm", "Smmla>::tile<6ul, 1ul>", "smmla", 32),
    ("neon_bf16", "bf16", "neon_i8mm", "Bfmmla::tile<6ul, 1ul>", "bfmmla", 16),
]


def functions(path):
    """Each function of an object: its name, and the address, the name and the operands of its instructions."""
    elf = path.read_bytes()
    objdump = "aarch64-linux-gnu-objdump" if elf[18] == 183 else "objdump"
    command = [objdump, "-d", "--no-show-raw-insn", "-C", path]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    for part in re.split(r"\n(?=[0-9a-f]{16} <)", text):
        name, *lines = part.replace("bert::", "").split("\n")
        found = (re.match(r"\s+([0-9a-f]+):\s+(?:\{\w+\} )?(\S+)\s*(.*)", line) for line in lines)
        yield name, [(int(m[1], 16), m[2], m[3]) for m in found if m]


def loops(code):
    """The instructions from the goal of each jump backwards to the jump."""
    for address, name, operands in code:
        goal = re.search(r"\b([0-9a-f]+) <", operands)
        if goal and name[0] in "bcjt" and int(goal[1], 16) < address:
            yield [one for one in code if int(goal[1], 16) <= one[0] <= address]


def densest(path, function, instruction):
    """The loop with the largest share of `instruction`: how many it has, and how many instructions in all."""
    counts = [(sum(one[1].startswith(instruction) for one in body), len(body))
              for name, code in functions(path) if re.search(function, name) for body in loops(code)]
    return max(counts, key=lambda pair: pair[0] / pair[1], default=(0, 1))


def main():
    print("SET\tPRECISION\tMULTIPLY\tALL\tPER INSTRUCTION\tPER TOKEN")
    for isa, precision, file, function, instruction, adds in TILES:
        for path in Path(sys.argv[1]).rglob(f"kernels_{file}.cpp.o"):
            multiply, every = densest(path, function, instruction)
            if multiply:
                each = multiply * adds / every
                print(f"{isa}\t{precision}\t{multiply}\t{every}\t{each:.1f}\t{768 * 768 / each:,.0f}")


main()
