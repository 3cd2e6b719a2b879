"""``verieval plan``: operations against XLA's count, memory against the program's shapes, meshes, and the compiler."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from dataclasses import replace

import pytest

pytest.importorskip("jax")
pytest.importorskip("flax")

import jax

from finetune.checkpoint.layout import adapters, tensors
from finetune.gemma4 import read_config
from finetune.jax_backend.gemma4 import Compute
from finetune.jax_backend.sharding import make_mesh, sharding
from finetune.jax_backend.step import Program
from finetune.mesh import MESH_AXES, partition
from finetune.plan.chips import GIB, read_topology
from finetune.plan.flops import count, positions_met
from finetune.plan.lengths import draw_lengths
from finetune.plan.lower import compile_step
from finetune.plan.memory import estimate, split
from finetune.plan.report import all_meshes, find_config, make_plan, refuse
from finetune.recipe import LoraSpec, ParallelSpec, load_recipe
from tests.finetune.jax_backend.cases import lora
from verieval.errors import VerievalError

LENGTH = 96
PAPER = load_recipe("gemma-4-31b-lora")


def small(vocabulary: int = 512, layers: int = 2):
    return read_config(
        {
            "model_type": "gemma4_text", "vocab_size": vocabulary, "hidden_size": 256, "intermediate_size": 768,
            "num_hidden_layers": layers, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 64,
            "layer_types": ["sliding_attention", "full_attention"] * (layers // 2), "global_head_dim": 128,
            "num_global_key_value_heads": 2, "attention_k_eq_v": True, "sliding_window": 32,
            "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0,
        }
    )  # fmt: skip


def xla(config, spec: LoraSpec | None) -> float:
    """What XLA counts for one step; the model is small enough that nothing in it is a loop, which would count once."""
    program = Program(config, spec, PAPER.optim, Compute(loss_chunk=LENGTH))
    train = replace(PAPER.train, batch=1, micro_batch=1, sequence_length=LENGTH)
    lowered = program.step.lower(*program.shapes("float32", train))
    return float(lowered.compile().cost_analysis()["flops"])


def test_operations_are_xlas():
    """Twice the vocabulary, or adapters of another rank: the differences are matrix products."""
    spec = lora(rank=8)
    for one, two in (
        ((small(), spec), (small(1024), spec)),
        ((small(), lora(rank=4)), (small(), lora(rank=32))),
        ((small(), None), (small(1024), None)),
    ):
        counted = [count(*case, LENGTH, executed=True).total for case in (one, two)]
        found = [xla(*case) for case in (one, two)]
        assert counted[1] - counted[0] == pytest.approx(found[1] - found[0], rel=0.06)
    # Norms, softmax and the optimizer are not counted, and the first layer needs no gradient towards its input.
    assert count(small(), spec, LENGTH, executed=True).total == pytest.approx(xla(small(), spec), rel=0.15)


def test_model_operations_of_the_31b():
    """Six a weight and token where all is trained; four where the base is frozen, attention and adapters beside."""
    config = find_config(PAPER.model)
    weights = sum(math.prod(tensor.shape) for tensor in tensors(config) if tensor.row.role != "buffer")
    assert weights == pytest.approx(30.7e9, rel=0.01)  # as the model card says
    frozen = count(config, PAPER.lora, 1024, executed=False)
    whole = count(config, None, 1024, executed=False)
    assert whole.total - whole.attention == pytest.approx(6 * weights * 1024, rel=0.005)
    assert frozen.total - frozen.attention - frozen.adapters == pytest.approx(4 * weights * 1024, rel=0.005)
    # 489.7 million numbers in adapters of rank 64: r * (inputs + outputs) of 7 (or 6) projections of 60 layers.
    sliding = 64 * (2 * (5376 + 8192) + 2 * (5376 + 4096) + 3 * (5376 + 21504))
    wide = 64 * (2 * (5376 + 16384) + (5376 + 2048) + 3 * (5376 + 21504))
    assert sum(math.prod(t.shape) for t in adapters(config, PAPER.lora)) == 50 * sliding + 10 * wide


@pytest.mark.parametrize(("length", "window"), [(5, None), (5, 3), (7, 20), (64, 16)])
def test_positions(length, window):
    pairs = [(q, k) for q in range(length) for k in range(length) if k <= q and (window is None or q - k < window)]
    assert positions_met(length, window) == len(pairs)
    blocks = positions_met(length, window, block=4, masked=True)
    assert len(pairs) <= blocks <= length * length
    assert positions_met(length, window, block=0, masked=True) == length * length


def test_recomputing_adds_a_forward():
    plain, again = (count(small(), lora(), LENGTH, executed=True, remat=remat) for remat in (False, True))
    assert plain.recomputed == 0
    assert again.recomputed == pytest.approx(plain.base / 2 + plain.adapters / 3 + plain.attention / 3)


@pytest.mark.parametrize("mesh", [(1, 4), (2, 2), (4, 1)])
def test_arrays_are_split_as_the_backend_splits_them(mesh):
    config = find_config(PAPER.model)
    sides = dict(zip(MESH_AXES, mesh, strict=True))
    for tensor in (*tensors(config), *adapters(config, PAPER.lora)):
        parts = [sides[axis] for axis in partition(tensor.axes, tensor.shape) if axis]
        assert split(tensor.axes, tensor.shape, *mesh) == math.prod(parts)
        part = sharding(make_mesh(*mesh), tensor).shard_shape(tensor.shape)
        assert math.prod(part) * math.prod(parts) == math.prod(tensor.shape)


def test_weights_of_the_31b_fill_what_its_numbers_take():
    memory = estimate(find_config(PAPER.model), PAPER, fsdp=1, tp=1)
    assert memory.frozen / GIB == pytest.approx(30.7e9 * 2 / GIB, rel=0.01)
    assert estimate(find_config(PAPER.model), PAPER, fsdp=1, tp=4).frozen == pytest.approx(memory.frozen / 4, rel=0.01)


def test_lengths_are_codev_r1s():
    lengths = sorted(draw_lengths(100_000))
    assert sum(lengths) / len(lengths) == pytest.approx(922, rel=0.02)
    assert lengths[int(0.99 * len(lengths))] == pytest.approx(2553, rel=0.05)


def test_the_papers_rate():
    """763 tokens a second on four chips of 459 TFLOP/s; about 4 operations a weight and token."""
    planned = make_plan("x", PAPER, read_topology("v5p:2x2x1"), (), compiles=False)
    assert planned.paper is not None
    assert planned.paper["as_positions"] == pytest.approx(763 * 4.4 * 30.7e9 / (4 * 459e12), rel=0.1)
    assert planned.paper["as_tokens_of_rows"] == pytest.approx(planned.paper["as_positions"] * 3072 / 922, rel=0.03)
    assert planned.padding_packed < 0.01
    assert planned.padding_padded == pytest.approx(1 - 922 / 3712, abs=0.01)


@pytest.mark.parametrize(
    ("topology", "mesh", "said"),
    [
        ("v6e:2x4", (1, 8), "layers.5.self_attn.k_proj.weight has a number of KV heads of 4, which 8 devices cannot"),
        ("v5p:2x2x1", (4, 1), "train.batch 2 is no multiple of train.micro_batch 1 x fsdp 4"),
        ("v5p:2x2x1", (1, 8), "needs 8 devices, and v5p:2x2x1 has 4"),
        ("gpu:h100-80gb:8", (1, 8), "shards by fsdp alone"),
        ("gpu:h100-80gb:8", (8, 1), "train.batch 2 is no multiple of train.micro_batch 1 x fsdp 8"),
        ("gpu:h100-80gb:2", (2, 1), ""),
        ("v5p:2x2x1", (1, 4), ""),
        ("v5p:2x2x1", (2, 2), ""),
    ],
)
def test_meshes_that_cannot_work(topology, mesh, said):
    found = refuse(find_config(PAPER.model), PAPER, read_topology(topology), mesh)
    assert said in found
    assert bool(found) is bool(said)


@pytest.mark.parametrize(
    ("name", "changes", "topology", "said"),
    [
        ("gemma-4-31b-lora", ['lora.targets=["kproj"]', "lora.optional=[]"], "v5p:2x2x1", "kproj"),
        ("gemma-4-31b-lora", ["lora.optional=[]"], "gpu:h100-80gb:2", "v_proj"),
        ("gemma-4-31b-lora", ["model.compute_dtype=float32"], "v5p:2x2x1", "float32 activations need float32 weights"),
        ("nano", [], "v5e:2x2", "the JAX backend, which TPUs need, knows adamw alone"),
        ("gemma-4-31b-lora", ["train.sequence_length=16", "data.max_tokens=16"], "v5p:2x2x1", "16 tokens or less"),
    ],
)
def test_what_training_refuses_is_not_planned(name, changes, topology, said):
    with pytest.raises(VerievalError, match=said):
        make_plan(name, load_recipe(name, changes), read_topology(topology), ((1, 1),), compiles=False)


def test_short_rows_are_as_many():
    """One draw in sixteen is below 256, and the price is that of 10,000 rows."""
    few = draw_lengths(most=256)
    assert len(few) == 10_000
    assert max(few) <= 256


def test_every_mesh_is_swept():
    assert all_meshes(8) == ((8, 1), (4, 2), (2, 4), (1, 8))


@pytest.mark.parametrize(
    "text", ["v5p", "v5p:2x2", "v6e:2x4x1", "v7:2x2", "gpu:h100", "gpu:h100-80gb:0", "v6e:0x4", ""]
)
def test_unknown_machines(text):
    with pytest.raises(VerievalError, match=r"--topology .* is not known: give v5p:AxBxC"):
        read_topology(text)


def cli(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "verieval", *words], text=True, capture_output=True, check=False)


def test_on_the_command_line():
    found = cli("plan", "gemma-4-31b-lora", "--no-compile", "--mesh", "all", "--json")
    assert found.returncode == 0, found.stderr
    content = json.loads(found.stdout)
    assert [mesh["fits"] for mesh in content["meshes"]] == [False, True, True]
    assert content["meshes"][0]["refused"].startswith("train.batch 2")
    assert (content["topology"]["name"], content["topology"]["count"]) == ("v5p:2x2x1", 4)
    for words, said in (
        (("plan", "gemma-4-31b-lora", "--mesh", "4"), "give two numbers"),
        (("plan", "gemma-4-31b-lora", "--topology", "tpu"), "is not known"),
        (("plan", "gemma-4-e2b-lora", "--no-compile"), "is not at hand"),
        (("plan", "nothing.toml"), "nothing.toml"),
    ):
        refused = cli(*words)
        assert refused.returncode == 2
        assert said in refused.stderr
        assert "Traceback" not in refused.stderr


@pytest.mark.skipif(importlib.util.find_spec("libtpu") is not None, reason="the TPU compiler is installed")
def test_without_the_compiler_one_sentence_says_what_to_install():
    found = cli("plan", "gemma-4-31b-lora")
    assert found.returncode == 2
    assert "verieval[tpu]" in found.stderr


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="needs the tpu extra (libtpu)")
def test_a_small_model_is_compiled_for_a_tpu():
    config = read_config(
        {
            "model_type": "gemma4_text", "vocab_size": 1024, "hidden_size": 256, "intermediate_size": 512,
            "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 128,
            "layer_types": ["sliding_attention", "full_attention"] * 2, "global_head_dim": 128, "sliding_window": 256,
            "num_global_key_value_heads": 4, "attention_k_eq_v": True, "hidden_size_per_layer_input": 0,
            "num_kv_shared_layers": 0,
        }
    )  # fmt: skip
    spec = replace(
        PAPER, backend="jax", parallel=ParallelSpec(fsdp=1, tp=4), train=replace(PAPER.train, sequence_length=512)
    )
    found = compile_step(config, spec, "v5p:2x2x1")
    base = sum(math.prod(t.shape) // split(t.axes, t.shape, 1, 4) for t in tensors(config)) * 2
    low = sum(math.prod(t.shape) // split(t.axes, t.shape, 1, 4) for t in adapters(config, spec.lora)) * 12
    assert found.arguments == pytest.approx(base + low, rel=0.1)
    assert found.arguments < found.peak < GIB
    assert jax.devices()[0].platform == "cpu"
