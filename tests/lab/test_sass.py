"""Loops are found in machine code; those of real kernels are looked at in test_compiles."""

from __future__ import annotations

import json

import pytest

from calling import call
from warpladder.lab.compile import missing_tool
from warpladder.lab.sass import CLASSES, Instruction, Loop, instruction_mix

needs_tools = pytest.mark.skipif(missing_tool() is not None, reason=missing_tool() or "")

# What nvdisasm 13.5 makes of a kernel, shortened: an outer loop with two inner ones, one of them
# with a branch inside, a subroutine that loops, and what the hardware prefetches behind the end.
SAMPLE = """
	.target	sm_90

	.elftype	@"ET_EXEC"


//--------------------- .text.never_called --------------------------
	.section	.text.never_called,"ax",@progbits
never_called:
.text.never_called:
.L_x_9:
        /*0000*/                   FFMA R0, R1, R2, R3 ;
        /*0010*/                   FFMA R0, R1, R2, R3 ;
        /*0020*/               @P0 BRA `(.L_x_9) ;
        /*0030*/                   RET.ABS.NODEC R20 0x0 ;

//--------------------- .text._ZN4tile --------------------------
	.section	.text._ZN4tile,"ax",@progbits
	.align	128
        .global         _ZN4tile
        .type           _ZN4tile,@function
        .size           _ZN4tile,(.L_x_5 - _ZN4tile)
        .other          _ZN4tile,@"STO_CUDA_ENTRY STV_DEFAULT"
_ZN4tile:
.text._ZN4tile:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R0, SR_TID.X ;
        /*0020*/              @!P0 EXIT ;
.L_x_0:
        /*0030*/                   IMAD.MOV.U32 R3, RZ, RZ, R2 ;
.L_x_1:
        /*0040*/                   LDG.E.128.CONSTANT R4, desc[UR6][R8.64] ;
        /*0050*/                   STS.128 [R20], R4 ;
        /*0060*/                   ISETP.NE.AND P1, PT, R3, 0x8, PT ;
        /*0070*/               @P1 BRA `(.L_x_1) ;
        /*0080*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0090*/                   BSSY B0, `(.L_x_4) ;
.L_x_2:
        /*00a0*/                   LDS.128 R4, [R20] ;
        /*00b0*/                   LDS.U16 R9, [R20+0x10] ;
        /*00c0*/                   VIADDMNMX R10, R4, R9, R10, PT ;
        /*00d0*/                   BRA.U !UP0, `(.L_x_3) ;
        /*00e0*/                   VIADDMNMX R11, R5, R9, R11, PT ;
        /*00f0*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_s64) ;
.L_x_3:
        /*0100*/                   VIADDMNMX.U32 R12, R6, R9, R12, PT ;
        /*0110*/                   UISETP.NE.U32.AND UP0, UPT, UR4, URZ, UPT ;
        /*0120*/               @P0 BRA `(.L_x_2) ;
        /*0130*/                   BSYNC B0 ;
.L_x_4:
        /*0140*/              @!P2 BRA `(.L_x_0) ;
        /*0150*/                   STG.E desc[UR6][R8.64], R10 ;
        /*0160*/                   EXIT ;
        .weak           $__internal_0_$__cuda_sm20_div_s64
        .type           $__internal_0_$__cuda_sm20_div_s64,@function
$__internal_0_$__cuda_sm20_div_s64:
        /*0170*/                   MUFU.RCP R1, R2 ;
        /*0180*/                   RET.REL.NODEC R20 `(_ZN4tile) ;
.L_x_6:
        /*0190*/                   BRA `(.L_x_6);
        /*01a0*/                   NOP;
.L_x_5:
"""


def test_loops_of_the_sample():
    hot, load, outer = instruction_mix(SAMPLE)
    assert [one.address for one in hot.instructions] == list(range(0xA0, 0x130, 0x10))
    assert (hot.depth, hot.innermost, hot.work) == (2, True, 5)
    assert hot.classes == {
        "arithmetic": {"VIADDMNMX": 3},
        "shared loads": {"LDS.128": 1, "LDS.16": 1},
        "control": {"BRA": 2, "CALL": 1},
        "integers, addresses": {"UISETP": 1},
    }
    assert hot.share({"VIADDMNMX"}) == pytest.approx(3 / 9)

    assert (load.depth, load.innermost) == (2, True)
    assert load.names == {"LDG.128": 1, "STS.128": 1, "ISETP": 1, "BRA": 1}
    assert (outer.depth, outer.innermost) == (1, False)
    assert [one.address for one in outer.instructions] == list(range(0x30, 0x150, 0x10))


def test_the_guard_is_no_part_of_an_instruction():
    outer = instruction_mix(SAMPLE)[2]
    assert outer.instructions[-1] == Instruction(0x140, "BRA", "`(.L_x_0)", "!P2")


def test_a_kernel_without_loops_is_counted_as_a_whole():
    (everything,) = instruction_mix(
        """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/               @P0 BRA `(.L_x_1) ;
        /*0020*/                   DADD R2, R2, R4 ;
        /*0030*/                   EXIT ;
.L_x_1:
        /*0040*/                   STL.64 [R1], R2 ;
        /*0050*/                   EXIT ;
.L_x_0:
        /*0060*/                   BRA `(.L_x_0);
        /*0070*/                   NOP;
"""
    )
    assert everything.depth == 0
    assert everything.names == {"LDC": 1, "BRA": 1, "DADD": 1, "EXIT": 2, "STL.64": 1}
    assert everything.classes["local stores"] == {"STL.64": 1}


def test_nothing_has_no_loops():
    (nothing,) = instruction_mix("")
    assert nothing == Loop((), depth=0)
    assert nothing.share({"FADD"}) == 0


@pytest.mark.parametrize(
    ("opcode", "operands", "name", "kind"),
    [
        ("LDG.E.U8", "R1, [R2]", "LDG.8", "global loads"),
        ("LDS", "R1, [R2]", "LDS.32", "shared loads"),
        ("STL.128", "[R1], R4", "STL.128", "local stores"),
        ("LDGSTS.E.BYPASS.128", "[R1], [R2]", "LDGSTS.128", "shared stores"),
        ("ATOMG.E.ADD", "PT, R1, [R2], R3", "ATOMG", "atomics"),
        ("HFMA2.MMA", "R1, -RZ, RZ, 0, 0", "HFMA2", "moves, constants"),
        ("HFMA2", "R1, R2, R3, R4", "HFMA2", "arithmetic"),
        ("IMAD.WIDE", "R2, R3, 0x4, R4", "IMAD", "integers, addresses"),
        ("FMNMX", "R1, R2, R3, PT", "FMNMX", "arithmetic"),
        ("HMMA.16816.F32", "R4, R8, R2, R4", "HMMA", "arithmetic"),
        ("BRA.DIV", "UR4, `(.L_x_1)", "BRA", "control"),
    ],
)
def test_what_instructions_do(opcode, operands, name, kind):
    one = Instruction(0, opcode, operands)
    assert (one.name, one.kind) == (name, kind)
    assert kind in CLASSES


def command(*arguments):
    result = call("sass", *arguments)
    assert "Traceback" not in result.stderr
    return result


@needs_tools
@pytest.mark.parametrize("full", [False, True])
def test_the_command_as_json(full):
    result = command(
        "primer/atomic-count", "--json", "--compute-capability", "7.5", *["--full"] * full
    )
    document = json.loads(result.stdout)
    (kernel,) = document["kernels"]
    assert document["compute_capability"] == "7.5"
    assert kernel["spill_bytes"] == 0
    assert kernel["hot_loop"]["classes"]["global loads"]
    assert 0 < kernel["occupancy"]["fraction"] <= 1
    assert ("sass" in kernel) == full


def test_the_command_says_what_is_wrong():
    assert "no kernel to compile" in command("primer/vector-add-cpu").stderr
    assert "not two numbers" in command("primer/registers", "--compute-capability", "9").stderr
    unknown = command("primer/registers", "--compute-capability", "6.0")
    assert unknown.returncode == 1
    assert unknown.stderr.startswith("warpladder: --compute-capability 6.0: kernels can be")
