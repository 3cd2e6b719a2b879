"""What ports, signals and modules are called.

Most names are realistic, from a pool that suits the role; a share is random letters, so that a model learns to copy a
name and not to remember it. Held-out names are other words and other letters (by hash), never seen in training.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from random import Random

from finetune.data.synth.design import Names, Pin
from verieval.keywords import KEYWORDS

POOLS: Mapping[str, tuple[str, ...]] = {
    pool: tuple(words.split())
    for pool, words in {
        "clk": "clk clk clk clk clk clock clk_i i_clk sysclk mclk",
        "rst": "rst rst rst reset reset rst_i i_rst areset srst",
        "rst_n": "rst_n rst_n rst_n rst_n resetn nrst rst_ni i_rst_n reset_n arst_n",
        "en": "en enable en ena ce advance step tick_en go active run",
        "load": "load ld set load_en preset put",
        "clear": "clear clr flush zero_it wipe cancel",
        "valid": "valid in_valid vld strobe stb take new_data",
        "ready": "ready rdy out_ready accept_in go_on",
        "din": "d din data data_in in_data wdata value_in x word",
        "dout": "q dout data_out out_data result y value",
        "a": "a a a op_a lhs first x left in_a p",
        "b": "b b b op_b rhs second y right in_b q_in",
        "c": "c c third z in_c r s_in",
        "y": "y y out result res z f o q",
        "sum": "sum sum total s acc_out added",
        "diff": "diff difference delta d_out minus",
        "cin": "cin carry_in ci c_in",
        "cout": "cout carry_out co carry c_out",
        "sel": "sel sel select s pick which choice mux_sel",
        "op": "op mode opcode func ctrl cmd sel_op",
        "bit": "d x bit_in serial_in si din rx line input_bit sig",
        "bitout": "q y serial_out so dout tx bit_out",
        "pulse": "pulse tick strobe_out hit event_out fire ping",
        "flag": "flag done match found hit ok active_out is_set",
        "flag2": "busy full late over high lost other mark",
        "flag3": "empty none zero idle low quiet",
        "zero": "zero is_zero z zero_flag nil",
        "neg": "negative neg sign n_flag minus_flag",
        "ovf": "overflow ovf ov v_flag clipped",
        "par": "parity par p odd_out",
        "count": "count cnt q counter value number",
        "level": "level fill used amount held",
        "limit": "limit top max_value bound last threshold",
        "low_limit": "low_limit bottom lower min_value floor_in",
        "dir": "down dir direction dec back",
        "up": "up inc plus upward rise_in",
        "dn": "down dec minus_one lower fall_in",
        "wrap": "wrap wrapped tc rollover carry_flag last_one",
        "index": "index idx pos position which_bit number",
        "addr": "addr address a adr slot index",
        "waddr": "waddr wr_addr write_addr wa w_index dest",
        "raddr": "raddr rd_addr read_addr ra r_index src",
        "raddr2": "raddr2 rd_addr2 rb addr_b src_b",
        "we": "we wr wen write write_en wr_en",
        "re": "re rd ren read read_en pop",
        "wdata": "wdata wr_data write_data din data_in",
        "rdata": "rdata rd_data read_data dout q_out",
        "rdata2": "rdata2 rd_data2 value_b dout_b",
        "push": "push wr put write enq",
        "pop": "pop rd get read deq",
        "full": "full is_full fifo_full no_room",
        "empty": "empty is_empty fifo_empty nothing",
        "req": "req request requests r ask want",
        "grant": "grant gnt g ack winner chosen",
        "any": "any valid busy some granted",
        "gt": "gt greater a_gt_b above bigger",
        "eq": "eq equal same a_eq_b alike",
        "lt": "lt less a_lt_b below smaller",
        "amount": "amount shamt sh shift n dist by",
        "trigger": "trigger trig start fire_in kick",
        "length": "length len duration period ticks",
        "duty": "duty level width_in on_time ratio",
        "sample": "sample s_in x data level_in",
        "state": "state st current present fsm",
        "next": "next nxt next_state following upcoming",
        "reg1": "stage0 r0 meta first_ff prev last_d",
        "reg2": "stage1 r1 mid second_ff delayed held_d",
        "reg3": "stage2 r2 late third_ff older",
        "reg4": "stage3 r3 oldest fourth_ff tail",
        "wide": "wide full_sum ext raw exact total_w",
        "tmp": "tmp t temp part inner aux",
        "mem": "mem ram store words regs array",
        "timer": "timer left ticks_left remaining div_count",
        "ptr": "wptr wr_ptr head write_ptr in_ptr",
        "ptr2": "rptr rd_ptr tail_ptr read_ptr out_ptr",
        "product": "product prod p mul_out result",
        "acc": "acc total accum sum_out running",
        "field": "field part_out slice chunk portion",
        "coin": "coin coin_in money paid insert",
        "btn": "btn button key press noisy raw_in",
        "clean": "clean stable debounced pressed level_out",
        "seed": "seed init start_value new_state",
        "lanes": "lanes be byte_en strobe wmask lane_en enables",
        "again": "retrigger again restart rearm extend",
        "missed": "missed lost_trigger ignored dropped overrun",
        "stride": "stride steps skip jump hops",
        "home": "home back_home again_start round full_turn",
        "vote": "ballot vote yes_bits says opinions",
        "member": "present members here joined active_m",
        "low_at": "low lowest first_one lo_index bottom_at",
        "high_at": "high highest last_one hi_index top_at",
        "extent": "span extent reach range_len size_o",
        "solid": "solid run_ok gapless compact unbroken",
        "yes_sum": "yes ayes for_sum pro in_favour",
        "no_sum": "no noes against_sum contra opposed",
        "quorum": "quorum enough valid_vote reached",
        "won": "carried won passed accepted approved",
        "tie": "tie draw even_vote undecided",
        "decode": "decode back to_binary dir reverse",
        "folded": "folded fold out_char changed mapped",
        "is_digit": "is_digit digit isnum decimal",
        "is_upper": "is_upper upper caps big_letter",
        "is_lower": "is_lower lower_case small small_letter",
        "is_letter": "is_letter letter_o alpha isalpha",
        "is_hex": "hex hex_digit ishex is_xdigit",
        "is_name": "is_name name_char word_char ident",
        "is_blank": "is_blank white is_white gap",
        "is_octal": "is_octal octal oct_digit isoct",
        "digit_value": "val digit_val number nibble num",
        "pure": "clean valid_code ok_code proper",
        "bubble": "bubble broken error_o unclean",
        "low_mark": "low_mark low lo_mark bottom_mark at_low",
        "high_mark": "high_mark high hi_mark top_mark at_high",
        "ack": "ack acknowledge confirm clear_alarm okay",
        "pump": "pump heater valve motor drive",
        "alarm": "alarm alert error_out warn trouble",
        "cause": "cause reason why code_out err_code",
        "forward": "forward fwd dir_out cw ahead",
        "fault": "fault glitch err bad_step skipped",
        "highest": "highest maximum peak biggest max_out",
        "lowest": "lowest minimum smallest min_out floor_out",
        "newest": "newest latest last_in recent",
        "oldest": "oldest first_in leaving eldest",
        "therm": "therm thermo bar comp levels",
        "repaired": "repaired smooth fixed cleaned",
        "phase_a": "a pa phase_a enc_a ch_a",
        "phase_b": "b pb phase_b enc_b ch_b",
        "char": "code char ch ascii letter",
        "kind": "kind class_o type_o category group",
        "key": "key code pattern ref_value wanted tag",
        "any_in": "in0 p r t u v w k m e g h din x data value operand word",
        "any_out": "o0 y z out0 res flag_a u_out f_out v_out q result info",
        "any_in1": "en go stop hold mode arm req valid bump pick start skip mark lift",
        "any_reg": "count level total tally score acc left stage phase q position depth rate",
        "any_flag": "alarm busy done late active seen fault lit armed error open missed",
    }.items()
}


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# Words that appear in no pool and in no module name of the training split.
HELD = _split(
    """
    payload quux velocity torque ledger mango orbit kelvin fjord glyph nimbus cobalt tensor waltz pixel_v basin crane
    dune ember falcon garnet harbor island jolt kiosk lagoon meadow nectar onyx prism quartz ridge sable tundra umber
    vapor willow yonder zephyr anchor bramble cinder drift eddy fern grove
    """
)
_MODULES = _split(
    """
    block unit core cell stage part element device design dut top_module my_module module1 circuit engine box node
    helper sub main_block ip component logic_unit piece thing
    """
)
_REAL = frozenset(word for pool in POOLS.values() for word in pool) | {*HELD, *_MODULES}
_HELD_MODULES = ("gadget", "widget", "kernel_u", "macro_blk", "tile", "pod", "gizmo", "slab")
_SUFFIX = ("", "", "", "", "", "", "_i", "_o", "0", "1", "2", "_a", "_x", "_s")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def held_out(text: str, one_in: int) -> bool:
    """Whether a text belongs to the held-out part, one in so many, by its hash."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") % one_in == 0


def canonical(pins: Iterable[Pin]) -> Names:
    """The roles themselves as names, prefixed so that none is a reserved word."""
    return Names({"module": "p_module"} | {pin.role: f"p_{pin.role}" for pin in pins})


def draw(
    pins: Iterable[Pin], words: tuple[str, ...], rng: Random, *, held: bool = False, taken: frozenset[str]
) -> Names:
    """Name a design.

    Args:
        pins: what to name.
        words: words for the module's own name.
        rng: source of randomness.
        held: use held-out names for ports and module.
        taken: names of modules that must not come out (those of benchmarks).
    """
    names = Names()
    share = rng.choice((0.0, 0.0, 0.05, 0.1, 0.3))
    names["module"] = _module(words, rng, held, taken)
    used = {names["module"]}
    for pin in pins:
        is_held = held and not (pin.pool in ("clk", "rst", "rst_n") or pin.direction == "internal")
        while True:
            name = _held(rng) if is_held else _name(pin, rng, share)
            if name not in used and name not in KEYWORDS:
                break
        used.add(name)
        names[pin.role] = name
    return names


def _name(pin: Pin, rng: Random, share: float) -> str:
    if rng.random() < share and pin.pool != "clk":
        return _letters(rng, held=False)
    pool = POOLS[pin.pool]
    word = pool[0] if rng.random() < 0.25 else rng.choice(pool)
    if pin.pool in ("clk", "rst", "rst_n"):
        return word
    return word + rng.choice(_SUFFIX) if rng.random() < 0.3 else word


def _held(rng: Random) -> str:
    return (
        rng.choice(HELD) + rng.choice(("", "", "", "_in", "_out", "2")) if rng.random() < 0.6 else _letters(rng, True)
    )


def _letters(rng: Random, held: bool) -> str:
    """Random letters, some with a digit or a second part; held-out ones by hash."""
    while True:
        name = "".join(rng.choice(_LETTERS) for _ in range(rng.randint(2, 6)))
        name += rng.choice(("", "", "", str(rng.randrange(10)), "_" + rng.choice(_LETTERS) + rng.choice(_LETTERS)))
        if held_out(name, 5) is held and name not in KEYWORDS and name not in _REAL:
            return name


def _module(words: tuple[str, ...], rng: Random, held: bool, taken: frozenset[str]) -> str:
    while True:
        kind = rng.random()
        if held:
            name = rng.choice(_HELD_MODULES) + rng.choice(("", f"_{rng.choice(HELD)}", str(rng.randrange(100))))
        elif kind < 0.6:
            parts = rng.sample(words, min(len(words), rng.choice((1, 2, 2))))
            name = "_".join(parts) + rng.choice(("", "", "", "_unit", "_block", "_core", str(rng.randrange(64)), "_m"))
        elif kind < 0.85:
            name = rng.choice(_MODULES) + rng.choice(("", "", str(rng.randrange(100)), "_" + rng.choice(_LETTERS)))
        else:
            name = _letters(rng, held=False)
        if name not in taken and name not in KEYWORDS:
            return name
