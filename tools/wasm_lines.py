"""Drops source lines from a WebAssembly program of Go.

Go's linker always writes the tables that lead from instructions to lines of source files. Only the texts of panics use
them: without tables they name functions, and "?:0" in place of file and line. Go's linker also cuts the memory at every
few zeros, which packs worse. Both together are an eighth of a packed program.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator

MAGIC = 0xFFFFFFF1  # of the function table since Go 1.20
HEADER = struct.Struct("<IBBBBQQQQQQQQ")
FUNCTION = struct.Struct("<IiiIIIIIIiBBBB")  # runtime._func
FILE, UNIT = 20, 32  # offsets of its fields pcfile and cuOffset
DATA = 11  # the section of the memory's contents
LEAST_GAP = 64  # zero bytes that are left out; browsers take 100,000 pieces of memory at most


def without_lines(program: bytes) -> bytes:
    """Returns the program without its line tables; ValueError: its layout is unknown."""
    out = bytearray(program[:8])
    found = False
    for kind, begin, start, end in _sections(program):
        if kind != DATA:
            out += program[begin:end]
            continue
        body = _segments(_clear(_memory(program, start)))
        out.append(DATA)
        out += _unsigned(len(body)) + body
        found = True
    if not found:
        raise ValueError("the program has no data section")
    return bytes(out)


def _clear(memory: bytearray) -> bytearray:
    """Zeroes the line tables, and what refers to them. 0 stands for no table."""
    at = memory.find(struct.pack("<IBB", MAGIC, 0, 0))
    if at < 0:
        raise ValueError(f"no function table with the magic {MAGIC:#x}: see runtime/symtab.go of this Go")
    _, _, _, _, pointer, count, _, _, _, units, files, tables, functions = HEADER.unpack_from(memory, at)
    if pointer != 8 or not 0 < units <= files <= tables < functions < len(memory) - at:
        raise ValueError("the header of the function table has another layout: see runtime/symtab.go of this Go")
    base = at + functions
    lines, others = set(), {0}
    for k in range(count):
        one = base + struct.unpack_from("<I", memory, base + 8 * k + 4)[0]
        fields = FUNCTION.unpack_from(memory, one)
        stack, file, line, more = fields[4:8]
        lines |= {file, line}
        others |= {stack, *struct.unpack_from(f"<{more}I", memory, one + FUNCTION.size)}
        struct.pack_into("<II", memory, one + FILE, 0, 0)  # pcfile and pcln
        struct.pack_into("<Ii", memory, one + UNIT, 0, 0)  # cuOffset and startLine
    bounds = sorted(lines | others | {functions - tables})
    if bounds[-1] != functions - tables:
        raise ValueError("the function table refers to bytes outside of it: see runtime/symtab.go of this Go")
    for first, last in itertools.pairwise(bounds):
        if first in lines and first not in others:
            memory[at + tables + first : at + tables + last] = bytes(last - first)
    memory[at + units : at + tables] = bytes(tables - units)
    return memory


def _sections(program: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Yields each section: its kind, where it and its body begin, and where it ends."""
    at = 8
    while at < len(program):
        size, body = _read(program, at + 1)
        yield program[at], at, body, body + size
        at = body + size


def _memory(program: bytes, at: int) -> bytearray:
    """Returns the memory that the data section at `at` describes."""
    memory = bytearray()
    count, at = _read(program, at)
    for _ in range(count):
        if program[at : at + 2] != b"\x00\x41":  # active, in memory 0, at a constant of 32 bits
            raise ValueError("the data section has segments of another kind")
        place, at = _read_signed(program, at + 2)
        size, at = _read(program, at + 1)
        memory += bytes(max(0, place - len(memory)))
        memory[place : place + size] = program[at : at + size]
        at += size
    return memory


def _segments(memory: bytearray) -> bytes:
    """Returns the body of a data section that leaves out longer runs of zeros."""
    out, count, at = bytearray(), 0, 0
    gap = bytes(LEAST_GAP)
    while at < len(memory):
        end = memory.find(gap, at)
        end = len(memory) if end < 0 else end
        if end > at:
            out += b"\x00\x41" + _signed(at) + b"\x0b" + _unsigned(end - at) + memory[at:end]
            count += 1
        at = end
        while memory[at : at + 4096] == bytes(4096):
            at += 4096
        while at < len(memory) and memory[at] == 0:
            at += 1
    return _unsigned(count) + bytes(out)


def _read(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _read_signed(data: bytes, at: int) -> tuple[int, int]:
    value, end = _read(data, at)
    bits = 7 * (end - at)
    return value - (1 << bits) if data[end - 1] & 64 else value, end


def _unsigned(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _signed(value: int) -> bytes:
    """Encodes a number that is not negative as a signed one."""
    out = bytearray()
    while value > 63:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)
