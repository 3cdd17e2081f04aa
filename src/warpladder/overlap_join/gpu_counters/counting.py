"""The kernel: a thread block takes a row, counts in its shared memory, and scans the counters.

Each of the block's counters stands for a row of the other side. The ids of the row are shared out
to groups of threads; a group goes along the list of its id, and each thread adds one to the counter
of what it found there. Where lists begin and what stands in them is a load that waits for a load,
so every group takes several ids at a time: all their loads first, then what hangs on them.

Counters are as narrow as goes: of 8 bits as long as the row has at most 255 ids. A longer row may
make one of them overflow, and that shows: what overflows leaves a word, or is carried into the next
counter as one where 256 had been counted. Either way the counters of the row no longer add up to
the number of additions. Such a row, and one that needs a higher count, is put on a list, to be done
again with wider counters.

With themselves rows share all their ids. These would be the first to overflow, so what a row adds
to its own counter is taken off again: additions modulo 2**32 cannot tell what came first.

The commonest ids need no list. A row has a *signature*, words with a bit for each of them; how many
bits two signatures have in common is added to the counter when it is scanned.

Then the counters are scanned, each warp along its own stretch of them, and what was found is
counted. All warps together then know where each of them has to write, so that what a row has found
stands in order.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from numba import cuda, int32, uint32, uint64

from warpladder.device.grids import EVERYBODY, WARP
from warpladder.device.kernel_cache import cached
from warpladder.device.kernels import either_of_warp
from warpladder.device.shared_adds import shared_address
from warpladder.device.wide_loads import load_16_bytes
from warpladder.overlap_join.gpu_counters.adding import add_words
from warpladder.overlap_join.gpu_counters.lists import SPARE_WORDS
from warpladder.overlap_join.gpu_counters.packed import layout_of, reached, threshold_words
from warpladder.overlap_join.gpu_counters.prefix import sum_up_to, sum_warp
from warpladder.overlap_join.measures import counts

__all__ = ["ALL", "BOTH_WAYS", "LATER", "MOST_WORDS_OF_A_THREAD", "Shape", "counting_kernel"]

#: Which rows of the right side meet a left row: all of another side, of the same side those that
#: stand behind it, or all but itself.
ALL, LATER, BOTH_WAYS = range(3)
#: A thread notes in 32 bits for which of its words, one or four at a time, there is more to do.
MOST_WORDS_OF_A_THREAD = 128


class Shape(NamedTuple):
    """What the kernel is compiled for.

    Attributes
    ----------
    bits
        Of a counter: 8, 16 or 32.
    threads, resident
        In a block, and how many blocks of them a multiprocessor has at a time.
    lanes
        Threads that go along a list together: a power of two up to 32.
    in_flight
        Lists that they fetch at a time.
    is_narrow
        Whether postings have 16 bits, not 32.
    at_once
        Words of counters that a thread scans together; its own are up to 32 times as many.
    words
        Of a signature.
    keeps
        Whether pairs are written out, not only counted.
    """

    bits: int = 8
    threads: int = 1024
    resident: int = 2
    lanes: int = 16
    in_flight: int = 4
    is_narrow: bool = True
    at_once: int = 4
    words: int = 0
    keeps: bool = False


@cuda.jit(device=True)
def without(word, found, low, place, cut, myself, measure, threshold, size, starts, bits):
    """Return a word without counters of those in ``found`` that do not count after all.

    These stand before ``cut``, or are the row's own, or the measure says so.
    """
    field = uint32((uint64(1) << bits) - 1)
    for which in range(32 // bits):
        by = uint32(which * bits)
        if (found >> uint32(by + bits - 1)) & 1:
            kept = place + which >= cut and place + which != myself
            if kept and measure:
                other = low + place + which
                sizes = size, starts[other + 1] - starts[other]
                kept = counts(measure, threshold, (word >> by) & field, sizes[0], sizes[1])
            if not kept:
                word = uint32(word & ~uint32(field << by))
    return word


@cache
def counting_kernel(shape: Shape) -> Any:
    """Return the kernel for such a shape.

    Its arguments are, of the left rows: how many; which, if not all; where they begin, their ids,
    how many of these have lists, the least that each has to share, and their signatures. Of the
    block of right rows: the index; how many ids each has, and their signatures. Then the first
    counter of this launch, the words of counters, how many counters of rows there are in all, and
    how many rows are folded into each; which rows meet (`ALL`, `LATER`, `BOTH_WAYS`), where the
    first left row stands in the block, and which right row is the block's first; the measure and
    the threshold. Then what is made: counts for rows of both sides, or pairs, how many there are,
    and where each run of them stands; and rows to be done again.
    """
    bits, threads, resident, lanes, in_flight, is_narrow, at_once, words, keeps = shape
    _, in_word, shift, most, ones, tops = layout_of(bits)
    warps, groups = threads // WARP, threads // lanes
    checked = bits == 8
    in_posting_word = 2 if is_narrow else 1
    in_load = 4 * in_posting_word
    registers = min(255, 65_536 // (threads * resident) // 8 * 8)
    pairs_of_fields = 0x00FF00FF

    @cached
    @cuda.jit(max_registers=registers)
    def count_in_shared(
        rows, which, starts, items, lengths, leasts, signatures,
        ends, postings, right_starts, right_signatures,
        low, own_words, row_counters, fold, meeting, offset, right_first, measure, threshold,
        of_left, of_right, pairs_right, pairs_shared, taken,
        run_begins, run_lengths, column, columns, again, again_count,
    ):  # fmt: skip
        """Count what the left rows share with the rows of a block, and keep what is enough."""
        counters = cuda.shared.array(0, uint32)
        of_warps = cuda.shared.array(WARP, int32)
        lost = cuda.shared.array(1, int32)
        place_of_row = cuda.shared.array(1, int32)
        code_of = cuda.local.array(in_flight, uint32)
        next_begin = cuda.local.array(in_flight, uint32)
        next_end = cuda.local.array(in_flight, uint32)
        begin_of = cuda.local.array(in_flight, uint32)
        length_of = cuda.local.array(in_flight, uint32)
        first_of = cuda.local.array(in_flight, uint32)
        second_of = cuda.local.array(in_flight, uint32)
        third_of = cuda.local.array(in_flight, uint32)
        fourth_of = cuda.local.array(in_flight, uint32)
        word_of = cuda.local.array(at_once, uint32)

        base = cuda.shfl_sync(EVERYBODY, shared_address(counters), 0)
        t = uint32(cuda.threadIdx.x & (threads - 1))
        lane, warp = t & (WARP - 1), t // WARP
        lane_of_group, group = t & (lanes - 1), t // lanes
        stretch = uint32(own_words // warps)
        first_word, last_word = uint32(warp * stretch), uint32((warp + 1) * stretch)
        mine_first = uint32(first_word + lane)
        # Those of this launch that stand for rows.
        count = uint32(min(own_words << shift, row_counters - low))
        from_counter = uint32(low)
        first_place = uint32(in_load * lane_of_group)
        right_rows = right_starts.shape[0] - 1

        word = mine_first
        while word < last_word:
            counters[word] = 0
            word = uint32(word + WARP)
        if t == 0:
            lost[0] = 0
        cuda.syncthreads()

        turn = cuda.blockIdx.x
        while turn < rows:
            row = turn
            if which.size:
                row = which[turn]
            turn += cuda.gridDim.x
            begin = starts[row]
            size = starts[row + 1] - begin
            least = leasts[row]
            if least > size:
                continue
            if checked and (least > most or (words and size > most)):
                if t == 0:
                    again[cuda.atomic.add(again_count, 0, 1)] = row
                continue

            # ---- count ---------------------------------------------------------------------
            length = uint32(lengths[row])
            made = int32(0)
            me = row + offset
            if t == 0 and meeting != ALL and me >= 0 and me < right_rows:
                own = uint32(uint32(me % row_counters) - from_counter)
                if own < count:
                    all_of_it = uint32(length << uint32((own & (in_word - 1)) * bits))
                    cuda.atomic.add(counters, uint32(own >> shift), uint32(-all_of_it))
                    made = int32(-int32(length))
            if length:
                # What waits for a load is asked for one round later than the load: lists for where
                # they begin, that for the ids of the round after.
                last_one = uint32(length - 1)
                for u in range(in_flight):
                    code_of[u] = items[uint64(begin + min(uint32(group + u * groups), last_one))]
                for u in range(in_flight):
                    next_begin[u] = ends[code_of[u]]
                    next_end[u] = ends[uint32(code_of[u] + 1)]
                k = group
                ahead = uint32(in_flight * groups)
                for u in range(in_flight):
                    at = min(uint32(k + ahead + u * groups), last_one)
                    code_of[u] = items[uint64(begin + at)]
                while k < length:
                    for u in range(in_flight):
                        begin_of[u] = uint32((next_begin[u] + in_load - 1) & -in_load)
                        length_of[u] = 0
                        if uint32(k + u * groups) < length:
                            length_of[u] = next_end[u] - begin_of[u]
                        if checked and lane_of_group == 0:
                            made = int32(made + int32(length_of[u]))
                        at = uint32(0)
                        if first_place < length_of[u]:
                            at = uint32(begin_of[u] + first_place) // in_posting_word
                        x = load_16_bytes(postings, at)
                        first_of[u], second_of[u], third_of[u], fourth_of[u] = x
                    for u in range(in_flight):
                        next_begin[u] = ends[code_of[u]]
                        next_end[u] = ends[uint32(code_of[u] + 1)]
                    for u in range(in_flight):
                        at = min(uint32(k + 2 * ahead + u * groups), last_one)
                        code_of[u] = items[uint64(begin + at)]
                    for u in range(in_flight):
                        x = first_of[u], second_of[u], third_of[u], fourth_of[u]
                        if first_place < length_of[u]:
                            add_words(counters, base, x, is_narrow, from_counter, count, bits)
                        place = uint32(first_place + in_load * lanes)
                        while place < length_of[u]:
                            at = uint32(begin_of[u] + place) // in_posting_word
                            x = load_16_bytes(postings, at)
                            add_words(counters, base, x, is_narrow, from_counter, count, bits)
                            place = uint32(place + in_load * lanes)
                    k = uint32(k + ahead)
            cuda.syncthreads()

            # ---- scan ----------------------------------------------------------------------
            lower, whole = threshold_words(uint32(least), bits, ones, tops)
            exact = measure if fold == 1 else 0
            if checked and warp == warps - 1 and lane >= WARP - SPARE_WORDS:
                # The thread's own, and of no row: what fills up lists.
                counters[uint32(last_word - WARP + lane)] = 0
            # Counters before this one do not count; that of the row itself never does.
            cut, myself = int32(0), int32(-1)
            if fold == 1 and meeting == LATER:
                cut = int32(min(max(me + 1 - low, 0), count))
            if words and meeting == BOTH_WAYS:
                myself = int32(max(min(me - low, count), -1))
            hits, sums, pending, kept = int32(0), uint32(0), uint32(0), uint32(0)
            # First for several words at a time whether there is anything at all. Mostly there is
            # not, and they are cleared.
            step = uint32(0)
            while step < own_words // (threads * at_once):
                word = uint32(mine_first + step * (at_once * WARP))
                some = uint32(words)
                for u in range(at_once):
                    word_of[u] = counters[uint32(word + u * WARP)]
                for u in range(at_once):
                    x = word_of[u]
                    if checked:
                        halves = uint32((x & pairs_of_fields) + ((x >> 8) & pairs_of_fields))
                        sums = uint32(sums + halves)
                    some = uint32(some | reached(x, lower, whole, tops))
                if some:
                    pending = uint32(pending | (uint32(1) << step))
                else:
                    for u in range(at_once):
                        counters[uint32(word + u * WARP)] = 0
                step = uint32(step + 1)
            while pending:
                step = uint32(cuda.ffs(pending) - 1)
                pending = uint32(pending & uint32(pending - 1))
                word = uint32(mine_first + step * (at_once * WARP))
                end_of_step = uint32(word + at_once * WARP)
                while word < end_of_step:
                    x = counters[word]
                    if words:
                        for b in range(in_word):
                            j = low + (word << shift) + b
                            if j < right_rows:
                                common = uint32(0)
                                for s in range(words):
                                    both = signatures[s, row] & right_signatures[s, j]
                                    common = uint32(common + cuda.popc(both))
                                x = uint32(x + (common << uint32(b * bits)))
                    found = reached(x, lower, whole, tops)
                    if found:
                        place = int32(word << shift)
                        inside = place <= myself < place + in_word
                        if place < cut or inside or exact:
                            x = without(
                                x, found, low, place, cut, myself, exact, threshold, size,
                                right_starts, bits,
                            )  # fmt: skip
                            found = reached(x, lower, whole, tops)
                    # What has been found is looked at once more; nothing else is.
                    if found:
                        hits = int32(hits + cuda.popc(found))
                        kept = uint32(kept | (uint32(1) << step))
                    counters[word] = x if found else uint32(0)
                    word = uint32(word + WARP)
            hits = sum_warp(hits)
            if checked:
                made = int32(made - int32((sums & 0xFFFF) + (sums >> 16)))
                made = sum_warp(made)
            if lane == 0:
                of_warps[warp] = hits
                if checked and made:
                    cuda.atomic.add(lost, 0, made)
            cuda.syncthreads()

            # ---- write, and clear for the next row --------------------------------------------
            overflown = checked and lost[0] != 0
            forgotten = overflown
            if overflown and t == 0:
                again[cuda.atomic.add(again_count, 0, 1)] = row
            from_here = int32(0)
            if keeps and not overflown:
                found_before = int32(0)
                if lane < warps:
                    found_before = of_warps[lane]
                found_before = sum_up_to(found_before, lane)
                found_in_all = cuda.shfl_sync(EVERYBODY, found_before, WARP - 1)
                if found_in_all:
                    if t == 0:
                        begin_of_run = cuda.atomic.add(taken, 0, found_in_all)
                        # What does not fit is not written; how much it is, is known.
                        fits = begin_of_run + found_in_all <= pairs_right.size
                        place_of_row[0] = begin_of_run if fits else -1
                        if fits:
                            # The table has a place for each, or takes them as they come.
                            run = row * columns + column
                            if columns == 0:
                                run = cuda.atomic.add(taken, 1, 1)
                            run_begins[run] = begin_of_run
                            run_lengths[run] = found_in_all
                    cuda.syncthreads()
                    from_here = place_of_row[0]
                    forgotten = from_here < 0
                    found_before = cuda.shfl_sync(EVERYBODY, found_before, warp) - hits
                    from_here = int32(from_here + found_before)
            if hits and lane == 0 and not keeps and not forgotten:
                cuda.atomic.add(of_left, row, hits)
            if hits:
                kept = either_of_warp(kept)
            while kept:
                step = uint32(cuda.ffs(kept) - 1)
                kept = uint32(kept & uint32(kept - 1))
                word = uint32(mine_first + step * (at_once * WARP))
                end_of_step = uint32(word + at_once * WARP)
                while word < end_of_step:
                    x = counters[word]
                    counters[word] = 0
                    found = uint32(0)
                    if not forgotten:
                        found = reached(x, lower, whole, tops)
                    if keeps:
                        mine = int32(cuda.popc(found))
                        up_to = sum_up_to(mine, lane)
                        to = from_here + up_to - mine
                        from_here = int32(from_here + cuda.shfl_sync(EVERYBODY, up_to, WARP - 1))
                    if found:
                        other = right_first + low + int32(word << shift)
                        for b in range(in_word):
                            if (found >> uint32(b * bits + bits - 1)) & 1:
                                if keeps:
                                    pairs_right[to] = other + b
                                    shared = (x >> uint32(b * bits)) & uint32(most)
                                    pairs_shared[to] = shared if fold == 1 else row
                                    to += 1
                                else:
                                    cuda.atomic.add(of_right, other + b, 1)
                    word = uint32(word + WARP)
            cuda.syncthreads()
            if t == 0:
                lost[0] = 0

    return count_in_shared
