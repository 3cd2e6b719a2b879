from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from serve.engines.decode import Row, decode, draw  # noqa: E402
from verieval.completion import Sampling  # noqa: E402
from verieval.errors import VerievalError  # noqa: E402

PLAIN = Sampling(temperature=1.0)


@pytest.fixture(scope="module")
def model(checkpoint: Path):
    return transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()


def prompts(count: int, vocabulary: int) -> list[list[int]]:
    """Prompts of 3 to 60 tokens: shorter and longer than the sliding window of 32."""
    source = random.Random(7)
    return [[2] + [source.randrange(8, vocabulary) for _ in range(source.randrange(2, 60))] for _ in range(count)]


def drawn(model, rows: list[Row], sampling: Sampling = PLAIN, stop: frozenset[int] = frozenset()) -> list[list[int]]:
    decode(model, rows, sampling, stop, pad=0)
    return [row.tokens for row in rows]


# ---- the distribution ---------------------------------------------------------------------------------------------


def closed_form(logits: np.ndarray, temperature: float, top_p: float, top_k: int) -> np.ndarray:
    """Probabilities by the definitions, one token after the other."""
    weights = np.exp((logits - logits.max()) / temperature)
    weights /= weights.sum()
    order = sorted(range(len(weights)), key=lambda token: (-weights[token], token))
    if top_k:
        order = order[:top_k]
    total = sum(weights[token] for token in order)
    kept, reached = [], 0.0
    for token in order:
        if reached >= top_p:
            break
        kept.append(token)
        reached += weights[token] / total
    result = np.zeros(len(weights))
    result[kept] = weights[kept]
    return result / result.sum()


@pytest.mark.parametrize(
    ("temperature", "top_p", "top_k"),
    [(1.0, 1.0, 0), (0.8, 0.95, 0), (0.2, 0.95, 0), (1.7, 0.5, 0), (1.0, 1.0, 5), (0.9, 0.7, 7), (1.0, 0.01, 0)],
)
def test_frequencies_on_a_grid_of_uniforms_are_the_closed_form(temperature: float, top_p: float, top_k: int) -> None:
    logits = np.random.default_rng(3).normal(size=40).astype(np.float32) * 2
    sampling = Sampling(temperature=temperature, top_p=top_p, top_k=top_k)
    points = 20_000
    uniforms = [(i + 0.5) / points for i in range(points)]
    tokens = draw(torch.tensor(logits).repeat(points, 1), uniforms, sampling).numpy()
    frequencies = np.bincount(tokens, minlength=40) / points
    # An interval of length p holds p * points grid points, give or take one.
    assert np.abs(frequencies - closed_form(logits, temperature, top_p, top_k)).max() <= 1.5 / points


def test_what_is_kept_is_what_transformers_keeps() -> None:
    logits = torch.tensor(np.random.default_rng(4).normal(size=(6, 200)).astype(np.float32) * 3)
    warped = transformers.LogitsProcessorList(
        [
            transformers.TemperatureLogitsWarper(0.85),
            transformers.TopKLogitsWarper(30),
            transformers.TopPLogitsWarper(0.9),
        ]
    )(None, logits.clone())
    expected = torch.softmax(warped, dim=-1)
    points = 5_000
    for row in range(len(logits)):
        uniforms = [(i + 0.5) / points for i in range(points)]
        tokens = draw(logits[row].repeat(points, 1), uniforms, Sampling(temperature=0.85, top_p=0.9, top_k=30))
        frequencies = torch.bincount(tokens, minlength=200) / points
        assert (frequencies - expected[row]).abs().max() <= 1.5 / points


@pytest.mark.parametrize("uniform", [0.0, 1 - 2**-53])
@pytest.mark.parametrize("sampling", [PLAIN, Sampling(temperature=1.0, top_p=0.9), Sampling(temperature=1.0, top_k=3)])
def test_the_ends_of_the_unit_interval_draw_a_token_that_is_possible(uniform: float, sampling: Sampling) -> None:
    logits = torch.tensor([[-200.0, 1.0, 0.5, -200.0], [-200.0, -200.0, -200.0, 0.0]])
    tokens = draw(logits, [uniform] * 2, sampling).tolist()
    assert tokens[0] in (1, 2)
    assert tokens[1] == 3


def test_a_tiny_temperature_is_greedy() -> None:
    logits = torch.tensor([[1.0, 3.0, 2.0]])
    assert draw(logits, [0.99], Sampling(temperature=1e-30)).tolist() == [1]
    assert draw(logits, [0.99], Sampling(temperature=0.0, top_p=0.01)).tolist() == [1]


def test_equal_probabilities_are_ordered_by_token() -> None:
    logits = torch.zeros(1, 50)
    assert draw(logits, [0.0], Sampling(temperature=1.0, top_p=0.02)).tolist() == [0]
    assert draw(logits, [0.999], Sampling(temperature=1.0, top_k=2)).tolist() == [1]


def test_first_tokens_of_many_seeds_follow_the_models_softmax(model) -> None:
    (prompt,) = prompts(1, 300)
    count = 2_000
    tokens: list[int] = []
    for start in range(0, count, 500):
        rows = [Row(prompt, seed, 1) for seed in range(start, start + 500)]
        tokens += [row[0] for row in drawn(model, rows)]
    with torch.no_grad():
        expected = torch.softmax(model(torch.tensor([prompt])).logits[0, -1].double(), dim=-1).numpy() * count
    observed = np.bincount(tokens, minlength=len(expected))
    # Pearson's chi-square over the tokens that are expected at least five times, the rest as one class.
    common = expected >= 5
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    freedom = len(expected) - 1
    assert freedom >= 5
    statistic = ((observed - expected) ** 2 / expected).sum()
    assert abs(statistic - freedom) < 4 * (2 * freedom) ** 0.5


# ---- the loop -----------------------------------------------------------------------------------------------------


def test_greedy_is_transformers_generate_on_every_row(model) -> None:
    batch = prompts(9, model.config.vocab_size)
    greedy = Sampling(temperature=0)
    endless = drawn(model, [Row(prompt, 0, 60) for prompt in batch], greedy)
    # Stop tokens that end five rows at different steps, so that rows leave the batch.
    stop = frozenset(endless[index][place] for index, place in enumerate((3, 8, 15, 25, 40)))
    rows = [Row(prompt, 0, 60) for prompt in batch]
    got = drawn(model, rows, greedy, stop)

    width = max(map(len, batch))
    ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in batch])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in batch])
    config = transformers.GenerationConfig(
        do_sample=False, max_new_tokens=60, eos_token_id=sorted(stop), pad_token_id=0
    )
    answers = model.generate(ids, attention_mask=mask, generation_config=config)[:, width:].tolist()
    for row, tokens, answer in zip(rows, got, answers, strict=True):
        end = next((place for place, token in enumerate(answer) if token in stop), None)
        assert tokens == answer[:end]
        assert (row.finish, row.drawn) == (("length", 60) if end is None else ("stop", end + 1))
    lengths = sorted(map(len, got))
    assert lengths[0] < lengths[4] < 60, "no row left the batch early: the test shows nothing"


def test_a_row_is_the_same_alone_and_in_any_batch(model) -> None:
    batch = prompts(8, model.config.vocab_size)
    stop = frozenset(range(8, 40))
    sampling = Sampling(temperature=0.9, top_p=0.95)
    together = drawn(model, [Row(prompt, seed, 40) for seed, prompt in enumerate(batch)], sampling, stop)
    backwards = drawn(model, [Row(batch[i], i, 40) for i in reversed(range(8))], sampling, stop)[::-1]
    alone = [drawn(model, [Row(prompt, seed, 40)], sampling, stop)[0] for seed, prompt in enumerate(batch)]
    assert together == alone == backwards
    assert len({len(tokens) for tokens in alone}) > 3


def test_the_seed_decides(model) -> None:
    (prompt,) = prompts(1, 300)
    first, second, third = drawn(model, [Row(prompt, seed, 30) for seed in (5, 6, 5)])
    assert first == third != second


def test_rows_end_at_their_own_budgets(model) -> None:
    rows = [Row(prompt, 0, budget) for prompt, budget in zip(prompts(4, 300), (1, 9, 2, 30), strict=True)]
    assert [len(tokens) for tokens in drawn(model, rows)] == [1, 9, 2, 30]
    assert {row.finish for row in rows} == {"length"}


def test_output_that_is_not_a_number_is_an_error(checkpoint: Path) -> None:
    broken = transformers.AutoModelForCausalLM.from_pretrained(checkpoint, dtype=torch.float32).eval()
    broken.model.norm.weight.data[0] = float("nan")
    with pytest.raises(VerievalError, match="not a number"):
        drawn(broken, [Row([2, 10, 11], 0, 5)])
