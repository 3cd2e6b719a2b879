"""Conversions there and back by their bytes, against transformers, peft and Orbax themselves."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")
pytest.importorskip("tensorstore")
ocp = pytest.importorskip("orbax.checkpoint")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
peft = pytest.importorskip("peft")

from finetune.checkpoint.convert import convert  # noqa: E402
from finetune.checkpoint.layout import places, tensors  # noqa: E402
from finetune.checkpoint.tensorfile import open_folder  # noqa: E402
from finetune.gemma4 import load_config  # noqa: E402
from tests.finetune.jax_backend.cases import SHAPES, make_model  # noqa: E402
from tests.tiny_gemma4 import make_checkpoint  # noqa: E402
from verieval.errors import VerievalError  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
IDS = torch.arange(40).reshape(2, 20) * 7 % 250
# One shape by default; that it has K=V and two head sizes is what the others lack.
EACH = [name if name == "31b" else pytest.param(name, marks=pytest.mark.slow) for name in SHAPES]
TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def contents(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Every tensor's dtype and bytes."""
    stored = open_folder(folder)
    return {name: (stored.dtype(name), stored.read(name).tobytes()) for name in stored.entries}


def change(folder: Path, **tensors_: np.ndarray | None) -> None:
    """Rewrite the one file of a folder with other tensors; None drops one."""
    from safetensors.torch import load_file, save_file

    path = next(folder.glob("*model.safetensors"))
    found = {**load_file(path)}
    for name, value in tensors_.items():
        found.pop(name, None)
        if value is not None:
            found[name] = torch.from_numpy(value)
    save_file(found, path, metadata={"format": "pt"})


def logits(model) -> np.ndarray:
    with torch.no_grad():
        return model(input_ids=IDS).logits.numpy()


def load(folder: Path):
    """transformers' model, and that every weight of it was in the checkpoint, and nothing else."""
    model, info = transformers.AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True, dtype="auto")
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys")), info
    return model.eval()


def make_adapter(model, folder: Path, *, std: float = 0.05, **options) -> Path:
    """A peft adapter with random A and B, as peft saves it."""
    config = peft.LoraConfig(
        r=4, lora_alpha=8, target_modules=TARGETS, task_type="CAUSAL_LM", **{"lora_dropout": 0.1, **options}
    )
    adapted = peft.get_peft_model(model, config)
    with torch.no_grad():
        for name, value in adapted.named_parameters():
            if "lora_B" in name:
                value.normal_(0.0, std)
    adapted.save_pretrained(folder)
    adapted.unload()
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A checkpoint with tokenizer and chat template."""
    folder = make_checkpoint(tmp_path_factory.mktemp("tiny") / "model")
    (folder / "training.json").write_text('{"of": "base"}')
    return folder


@pytest.fixture(scope="module")
def adapter(tiny, tmp_path_factory):
    folder = make_adapter(load(tiny), tmp_path_factory.mktemp("tiny") / "adapter")
    content = json.loads((folder / "adapter_config.json").read_text())
    (folder / "adapter_config.json").write_text(json.dumps({**content, "base_model_name_or_path": str(tiny)}))
    (folder / "training.json").write_text('{"of": "adapter"}')
    return folder


class TestModels:
    @pytest.mark.parametrize("name", EACH)
    def test_there_and_back(self, name, tmp_path):
        """Through Orbax, in bfloat16 but for the norms: the same bytes, and Orbax alone reads what lies between."""
        model = make_model(name).bfloat16()
        for key, value in model.named_parameters():
            if "norm" in key:
                value.data = value.data.float()
        model.save_pretrained(tmp_path / "a", max_shard_size="100KB")
        assert len(list((tmp_path / "a").glob("*.safetensors"))) > 2
        said = convert(tmp_path / "a", tmp_path / "b")
        assert (said["source"]["form"], said["destination"]["form"]) == ("safetensors", "orbax")
        convert(tmp_path / "b", tmp_path / "c", shard=150_000)
        assert contents(tmp_path / "c") == contents(tmp_path / "a")
        assert len(list((tmp_path / "c").glob("*.safetensors"))) > 2
        state = load(tmp_path / "c").state_dict()
        assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
        restored = ocp.PyTreeCheckpointer().restore(tmp_path / "b" / "state")["weights"]
        config = load_config(tmp_path / "b")
        assert {path: array.shape for path, array in restored.items()} == {t.path: t.shape for t in tensors(config)}
        weight = model.state_dict()["model.layers.1.mlp.up_proj.weight"].float().numpy()
        [place] = [p for p in places(tensors(config), "ours", "") if p.tensor.layers[p.place : p.place + 1] == (1,)
                   and p.name.endswith("up_proj.kernel")]  # fmt: skip
        np.testing.assert_array_equal(restored[place.name][place.index].astype(np.float32), weight.T)

    def test_large_parts_are_stored_in_pieces(self, tiny, tmp_path, monkeypatch):
        """Rows that do not divide evenly, more of them than may wait for the disk at one time."""
        monkeypatch.setattr("finetune.checkpoint.orbax._CHUNK_BYTES", 5_000)
        monkeypatch.setattr("finetune.checkpoint.orbax_handler._PENDING_BYTES", 10_000)
        convert(tiny, tmp_path / "b")
        files = ocp.PyTreeCheckpointer().restore(tmp_path / "b" / "state")["weights"]
        embedding = open_folder(tiny).read("model.embed_tokens.weight")
        np.testing.assert_array_equal(files["embed_tokens.embedding"], embedding)
        convert(tmp_path / "b", tmp_path / "c")
        assert contents(tmp_path / "c") == contents(tiny)

    def test_what_travels_along(self, tiny, tmp_path):
        convert(tiny, tmp_path / "b")
        convert(tmp_path / "b", tmp_path / "c")
        names = {path.name for path in tiny.iterdir()}
        assert {"tokenizer.json", "chat_template.jinja", "generation_config.json", "training.json"} <= names
        assert {path.name for path in (tmp_path / "c").iterdir()} == names
        for name in names - {"model.safetensors"}:
            assert (tmp_path / "c" / name).read_bytes() == (tiny / name).read_bytes()
        assert logits(load(tmp_path / "c")).tobytes() == logits(load(tiny)).tobytes()

    def test_a_multimodal_checkpoint(self, tiny, tmp_path):
        """Towers lie beside the arrays and come back; where they are not there, a text model is written."""
        whole = tmp_path / "a"
        whole.mkdir()
        text = json.loads((tiny / "config.json").read_text())
        content = {"model_type": "gemma4", "architectures": ["Gemma4ForConditionalGeneration"], "text_config": text}
        (whole / "config.json").write_text(json.dumps(content))
        from safetensors.torch import load_file, save_file

        found = {f"model.language_model.{k.removeprefix('model.')}": v
                 for k, v in load_file(tiny / "model.safetensors").items()}  # fmt: skip
        found["model.vision_tower.x"] = torch.randn(3, 5).half()
        save_file(found, whole / "model.safetensors")
        said = convert(whole, tmp_path / "b")
        assert said["passed_over"] == []
        convert(tmp_path / "b", tmp_path / "c")
        assert contents(tmp_path / "c") == contents(whole)
        assert (tmp_path / "c" / "config.json").read_bytes() == (whole / "config.json").read_bytes()
        (tmp_path / "b" / "beside.safetensors").unlink()
        convert(tmp_path / "b", tmp_path / "d")
        assert contents(tmp_path / "d") == contents(tiny)
        assert logits(load(tmp_path / "d")).tobytes() == logits(load(tiny)).tobytes()

    def test_a_checkpoint_of_a_training_run(self, tiny, tmp_path):
        """Another writer's Orbax, layers in one chunk, moments beside the weights."""
        convert(tiny, tmp_path / "b")
        weights = ocp.PyTreeCheckpointer().restore(tmp_path / "b" / "state")["weights"]
        step = tmp_path / "run" / "checkpoints" / "step-000010"
        zeros = {path: np.zeros_like(array) for path, array in weights.items()}
        tree = {"weights": weights, "first": zeros, "second": zeros, "count": np.int32(10)}
        ocp.PyTreeCheckpointer().save(step / "state", tree)
        recipe = {"recipe": {"model": {"source": str(tiny)}}}
        (tmp_path / "run" / "training.json").write_text(json.dumps(recipe))
        said = convert(step, tmp_path / "c")
        assert contents(tmp_path / "c") == contents(tiny)
        assert "count" in said["passed_over"]
        with pytest.raises(VerievalError, match="holds checkpoints; name the one"):
            convert(tmp_path / "run", tmp_path / "d")

    def test_a_lost_part_is_no_zero(self, tiny, tmp_path):
        """A chunk that is missing reads as zeros, unless one asks."""
        import shutil

        convert(tiny, tmp_path / "b")
        tree = ocp.PyTreeCheckpointer().restore(tmp_path / "b" / "state")
        handler = ocp.PyTreeCheckpointHandler(use_ocdbt=False)
        with ocp.Checkpointer(handler) as checkpointer:
            checkpointer.save(tmp_path / "plain" / "state", tree)
        shutil.copy(tiny / "config.json", tmp_path / "plain")
        convert(tmp_path / "plain", tmp_path / "c")
        assert contents(tmp_path / "c") == contents(tiny)
        folder = next((tmp_path / "plain" / "state").glob("*q_proj.kernel"))
        next(path for path in folder.iterdir() if path.name[0] != ".").unlink()
        with pytest.raises(VerievalError, match=r"is damaged at .*q_proj"):
            convert(tmp_path / "plain", tmp_path / "d")

    @pytest.mark.parametrize(
        ("names", "said"),
        [
            ({"model.norm.weight": None}, r"lacks 1 tensor \(model\.norm\.weight\)"),
            ({"model.layers.1.extra": np.ones(3, np.float32)}, r"has beyond .* \(model\.layers\.1\.extra\)"),
            ({"model.layers.0.mlp.up_proj.weight": np.ones((64, 128), np.float32)}, r"\[64, 128\] in the place of"),
        ],
    )
    def test_every_tensor_is_accounted_for(self, tiny, tmp_path, names, said):
        import shutil

        shutil.copytree(tiny, tmp_path / "a")
        change(tmp_path / "a", **names)
        with pytest.raises(VerievalError, match=said):
            convert(tmp_path / "a", tmp_path / "b")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["a"]


class TestAdapters:
    def test_there_and_back(self, tiny, adapter, tmp_path):
        convert(adapter, tmp_path / "b")
        said = convert(tmp_path / "b", tmp_path / "c")
        assert (said["source"]["kind"], said["destination"]["form"]) == ("adapter", "peft")
        file = "adapter_model.safetensors"
        assert contents(tmp_path / "c" / file) == contents(adapter / file)
        before, after = (json.loads((f / "adapter_config.json").read_text()) for f in (adapter, tmp_path / "c"))
        assert before == after
        both = [peft.PeftModel.from_pretrained(load(tiny), folder).eval() for folder in (adapter, tmp_path / "c")]
        np.testing.assert_array_equal(logits(both[0]), logits(both[1]))

    @pytest.mark.parametrize("name", EACH)
    def test_merged_logits(self, name, tmp_path):
        """Base and adapter in peft, and the merged model in transformers; the adapter read from both its forms."""
        model = make_model(name)
        model.save_pretrained(tmp_path / "base")
        make_adapter(model, tmp_path / "adapter")
        said = convert(tmp_path / "base", tmp_path / "a", adapter=tmp_path / "adapter")
        adapted = peft.PeftModel.from_pretrained(load(tmp_path / "base"), tmp_path / "adapter").eval()
        assert said["merged"]["modules"] == sum(hasattr(module, "lora_A") for module in adapted.modules())
        merged = load(tmp_path / "a")
        want = logits(adapted)
        assert np.abs(want - logits(model)).max() > 1
        np.testing.assert_allclose(logits(merged), want, atol=5e-5, rtol=0)
        # The same float32 weights, without the rounding of two different ways to compute.
        np.testing.assert_allclose(logits(merged.double()), logits(adapted.double()), atol=1e-5, rtol=0)
        if name == "31b":
            convert(tmp_path / "adapter", tmp_path / "low", base=tmp_path / "base")
            convert(tmp_path / "base", tmp_path / "o")
            convert(tmp_path / "o", tmp_path / "b", adapter=tmp_path / "low")
            assert contents(tmp_path / "b") == contents(tmp_path / "a")

    def test_merging_rounds_once(self, tmp_path):
        """Every bfloat16 is the one next to the sum in float64."""
        model = make_model("31b").bfloat16()
        model.save_pretrained(tmp_path / "base")
        make_adapter(model, tmp_path / "adapter")
        convert(tmp_path / "base", tmp_path / "a", adapter=tmp_path / "adapter")
        merged, base, low = (
            open_folder(tmp_path / name) for name in ("a", "base", "adapter/adapter_model.safetensors")
        )
        adapted = 0
        for name in base.entries:
            key = f"base_model.model.{name.removesuffix('.weight')}.lora_{{}}.weight"
            if key.format("A") not in low.entries:
                assert merged.read(name).tobytes() == base.read(name).tobytes()
                continue
            down, up = (low.read(key.format(part)).astype(np.float64) for part in "AB")
            exact = base.read(name).astype(np.float64) + 2.0 * up @ down
            found = merged.read(name)
            assert found.dtype == base.read(name).dtype
            half = np.exp2(np.floor(np.log2(np.abs(exact))) - 8)
            assert (np.abs(found.astype(np.float64) - exact) <= half * (1 + 1e-3) + 1e-7).all()
            adapted += 1
        assert adapted == 12 * 7 - 2  # no v_proj in the two global layers

    def test_the_adapters_files_go_first(self, tiny, adapter, tmp_path):
        convert(tiny, tmp_path / "a", adapter=adapter)
        assert json.loads((tmp_path / "a" / "training.json").read_text()) == {"of": "adapter"}
        for name in ("tokenizer.json", "chat_template.jinja", "generation_config.json", "config.json"):
            assert (tmp_path / "a" / name).read_bytes() == (tiny / name).read_bytes()

    @pytest.mark.parametrize(
        ("std", "said"), [(0.0, "every B of it is zero"), (1e-20, "changes nothing in 26 weights")]
    )
    def test_a_merge_that_changes_nothing(self, tiny, tmp_path, std, said):
        make_adapter(load(tiny), tmp_path / "adapter", std=std)
        with pytest.raises(VerievalError, match=said):
            convert(tiny, tmp_path / "a", adapter=tmp_path / "adapter")
        assert not (tmp_path / "a").exists()

    def test_what_is_no_number_is_not_merged(self, tiny, adapter, tmp_path):
        import shutil

        from safetensors.torch import load_file, save_file

        broken = tmp_path / "broken"
        shutil.copytree(adapter, broken)
        found = load_file(broken / "adapter_model.safetensors")
        name = next(name for name in found if "lora_B" in name)
        found[name][0, 0] = float("nan")
        save_file(found, broken / "adapter_model.safetensors")
        with pytest.raises(VerievalError, match="gives infinities or NaN; check both, and alpha"):
            convert(tiny, tmp_path / "out", adapter=broken)
        assert not (tmp_path / "out").exists()

    @pytest.mark.parametrize("alpha", [float("nan"), float("inf"), 0.0])
    def test_alpha_is_a_number(self, tiny, adapter, tmp_path, alpha):
        with pytest.raises(VerievalError, match="an adapter's alpha is a number above 0"):
            convert(tiny, tmp_path / "out", adapter=adapter, alpha=alpha)

    def test_alpha_belongs_to_the_adapter(self, tiny, adapter, tmp_path):
        """Where its configuration says one, no other is taken; where it says none, the user's is."""
        import shutil

        with pytest.raises(VerievalError, match="and --alpha says 999; leave it out"):
            convert(tiny, tmp_path / "out", adapter=adapter, alpha=999)
        with pytest.raises(VerievalError, match="--alpha is an adapter's"):
            convert(tiny, tmp_path / "out", alpha=8)
        silent = tmp_path / "silent"
        shutil.copytree(adapter, silent)
        config = json.loads((silent / "adapter_config.json").read_text())
        alpha = config.pop("lora_alpha")
        (silent / "adapter_config.json").write_text(json.dumps(config))
        with pytest.raises(VerievalError, match="lora_alpha must be a number"):
            convert(tiny, tmp_path / "out", adapter=silent)
        convert(tiny, tmp_path / "one", adapter=silent, alpha=alpha)
        convert(tiny, tmp_path / "two", adapter=adapter)
        assert contents(tmp_path / "one") == contents(tmp_path / "two")

    def test_a_rank_of_nothing(self, tiny, adapter, tmp_path):
        import shutil

        from safetensors.torch import load_file, save_file

        empty = tmp_path / "empty"
        shutil.copytree(adapter, empty)
        found = {
            name: value[:0] if "lora_A" in name else value[:, :0].contiguous()
            for name, value in load_file(empty / "adapter_model.safetensors").items()
        }
        save_file(found, empty / "adapter_model.safetensors")
        with pytest.raises(VerievalError, match="have the rank 0"):
            convert(tiny, tmp_path / "out", adapter=empty)

    def test_settings_that_are_not_plain(self, tiny, tmp_path):
        make_adapter(load(tiny), tmp_path / "adapter", use_dora=True)
        with pytest.raises(VerievalError, match="use_dora is True"):
            convert(tiny, tmp_path / "a", adapter=tmp_path / "adapter")

    def test_rslora_scales_by_the_root(self, tiny, tmp_path):
        make_adapter(load(tiny), tmp_path / "adapter", use_rslora=True)
        convert(tiny, tmp_path / "a", adapter=tmp_path / "adapter")
        want = logits(peft.PeftModel.from_pretrained(load(tiny), tmp_path / "adapter").eval().double())
        np.testing.assert_allclose(logits(load(tmp_path / "a").double()), want, atol=1e-5, rtol=0)

    def test_an_adapter_of_another_model(self, adapter, tmp_path):
        make_model("31b").save_pretrained(tmp_path / "other")
        with pytest.raises(VerievalError, match=r"lacks .* in another shape"):
            convert(tmp_path / "other", tmp_path / "a", adapter=adapter)

    def test_what_makes_no_sense(self, tiny, adapter, tmp_path):
        for options, said in (
            ({"src": tiny, "to": "peft"}, "is a model"),
            ({"src": adapter, "to": "safetensors"}, "no model without its base"),
            ({"src": adapter, "adapter": adapter}, "is an adapter itself"),
            ({"src": tiny, "adapter": tiny}, "is a model; give an adapter"),
            ({"src": tiny, "adapter": adapter, "to": "peft"}, "no adapter"),
            ({"src": tmp_path}, "holds no checkpoint"),
            ({"src": tmp_path / "x"}, "is no folder"),
        ):
            with pytest.raises(VerievalError, match=said):
                convert(dst=tmp_path / "a", **options)
        with pytest.raises(VerievalError, match="is there already"):
            convert(tiny, tiny)


class TestAtomicity:
    @pytest.mark.parametrize("form", ["safetensors", "orbax"])
    def test_a_disk_that_is_full(self, tiny, tmp_path, form):
        """As a limit of file size has it."""
        command = [sys.executable, "-m", "verieval", "convert", str(tiny), str(tmp_path / "a"), "--to", form]
        done = subprocess.run(
            ["bash", "-c", f"ulimit -f 16; exec {shlex.join(command)}"], cwd=ROOT, text=True, capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False,
        )  # fmt: skip
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith("verieval: error: ")
        assert done.stderr.count("\n") == 1
        assert ("file too large" if form == "safetensors" else "cannot be written") in done.stderr
        assert list(tmp_path.iterdir()) == []

    def test_too_little_room_is_known_before(self, tiny, tmp_path, monkeypatch):
        import shutil

        monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(10, 0, 10))
        with pytest.raises(VerievalError, match=r"needs .* GB, and 0\.0 GB are free"):
            convert(tiny, tmp_path / "a")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
    def test_a_kill(self, tiny, tmp_path, signum):
        """Nothing under the final name; the next run clears up and goes through."""
        script = (
            "import sys, time\nfrom pathlib import Path\nfrom finetune.checkpoint.convert import convert\n"
            "from verieval.run.signals import stoppable\n"
            "def slow(done, total):\n    print(done, flush=True)\n    time.sleep(0.2)\n"
            "with stoppable():\n    convert(Path(sys.argv[1]), Path(sys.argv[2]), to='safetensors', progress=slow)\n"
        )
        command = [sys.executable, "-c", script, str(tiny), str(tmp_path / "a")]
        process = subprocess.Popen(
            command, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert process.stdout is not None
        while int(process.stdout.readline()) == 0:
            time.sleep(0.01)
        assert [path.name for path in tmp_path.iterdir()] == [".a.tmp"]
        with pytest.raises(VerievalError, match="another process is writing"):
            convert(tiny, tmp_path / "a", to="safetensors")
        process.send_signal(signum)
        process.communicate(timeout=60)
        assert not (tmp_path / "a").exists()
        assert (tmp_path / ".a.tmp").exists() == (signum == signal.SIGKILL)
        convert(tiny, tmp_path / "a", to="safetensors")
        assert [path.name for path in tmp_path.iterdir()] == ["a"]
        assert contents(tmp_path / "a") == contents(tiny)


def test_the_command(tiny, adapter, tmp_path):
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "verieval", "convert", *words], cwd=ROOT, text=True, capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    merged = call(str(tiny), str(tmp_path / "m"), "--adapter", str(adapter), "--shard-size", "300KB", "--json")
    assert merged.returncode == 0, merged.stderr
    said = json.loads(merged.stdout)
    assert (said["merged"]["modules"], merged.stderr) == (26, "")
    assert len(list((tmp_path / "m").glob("model-*.safetensors"))) > 1
    plain = call(str(adapter), str(tmp_path / "o"))
    assert (plain.returncode, plain.stderr) == (0, "")
    assert plain.stdout.startswith("adapter, peft to orbax: ")
    wrong = call(str(tiny), str(tmp_path / "m"))
    assert wrong.returncode == 2
    assert "is there already" in wrong.stderr
    assert call(str(tiny), str(tmp_path / "n"), "--shard-size", "0").returncode == 2


@pytest.mark.slow
def test_memory_does_not_grow_with_the_model():
    """2 GB, of which the largest tensor has 0.67; the bench fails above its limit, and where a byte differs."""
    bench = ROOT / "tests" / "bench" / "convert.py"
    command = [sys.executable, str(bench), "--layers", "6", "--limit", "1.5"]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
