"""Gated group self-attention against loops over words, heads and groups, written from Xu et al. 2019, eq. 1–4."""

import pytest
import torch
from small_texts import some_states
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.models.encoder.ggsa import GatedGroupSelfAttention
from qaexp.models.encoder.self_attention import SelfAttention, sinusoids

DIM = 12
LENGTHS = [13, 1, 10, 4, 27]


def encoder(
    num_heads: int = 6, scale_by: str = "head", group_size: int = 10, offset: int = 5, gate: bool = True, input_scale: float = 1.0
) -> GatedGroupSelfAttention:
    torch.manual_seed(1)
    return GatedGroupSelfAttention(DIM, num_heads, 4, scale_by, input_scale, group_size, offset, gate)


def layer_norm(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    deviation = ((x - x.mean()) ** 2).mean().add(1e-5).sqrt()
    return (x - x.mean()) / deviation * norm.weight + norm.bias


def paper(block: GatedGroupSelfAttention, words: Tensor, scale_by: str) -> Tensor:
    """H of one text without padding, a word at a time."""
    length, D = words.shape
    n, l = block.num_heads, block.group_size
    d = D // n
    W_q, W_k, W_v = block.query_key_value.weight.split(D)
    x = [block.input_scale * words[i] + sinusoids(length, D, like=words)[i] for i in range(length)]

    gated = x
    if block.gate is not None:
        mean = sum(x, start=torch.zeros(D)) / length  # eq. 1
        gated = [x_i * torch.sigmoid(block.gate.weight @ (x_i * mean) + block.gate.bias) for x_i in x]

    H = []
    for i in range(length):
        heads = []
        for head in range(n):
            rows = slice(head * d, (head + 1) * d)
            offset = block.offset if head >= (n + 1) // 2 else 0
            group = [j for j in range(length) if (j - offset) // l == (i - offset) // l]
            q = W_q[rows] @ gated[i]
            scale = (d if scale_by == "head" else D) ** 0.5
            exponentials = [torch.exp(q @ (W_k[rows] @ gated[j]) / scale) for j in group]
            weights = [e / sum(exponentials) for e in exponentials]
            heads.append(sum(a * (W_v[rows] @ gated[j]) for a, j in zip(weights, group, strict=True)))
        c = block.output.weight @ torch.cat(heads)  # type: ignore[arg-type]
        y = layer_norm(x[i] + c, block.attention_norm)  # eq. 2: the residual adds X, not the gated X
        first, second = block.feed_forward[0], block.feed_forward[2]
        assert isinstance(first, nn.Linear)
        assert isinstance(second, nn.Linear)
        r = second.weight @ torch.clamp(first.weight @ y + first.bias, min=0) + second.bias  # eq. 3
        H.append(y + r)  # eq. 4: no norm
    return torch.stack(H)


@pytest.mark.parametrize("gate", [True, False])
@pytest.mark.parametrize(("group_size", "offset"), [(10, 5), (10, 0), (10, 9), (3, 1), (1, 0), (50, 5)])
def test_a_batch_equals_the_papers_equations_word_by_word(group_size: int, offset: int, gate: bool) -> None:
    block, text = encoder(group_size=group_size, offset=offset, gate=gate), some_states(LENGTHS, DIM)
    H = block(text)["states"]
    assert H.shape == (5, 27, DIM)
    for i, length in enumerate(LENGTHS):
        expected = paper(block, text["states"][i, :length], "head")
        torch.testing.assert_close(H[i, :length], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("num_heads", [1, 2, 3])
@pytest.mark.parametrize("scale_by", ["head", "model"])
def test_any_number_of_heads_and_either_scale(num_heads: int, scale_by: str) -> None:
    """One head, and the odd one of three, have offset 0."""
    block, text = encoder(num_heads=num_heads, scale_by=scale_by, input_scale=2.5), some_states([13], DIM)
    expected = paper(block, text["states"][0], scale_by)
    torch.testing.assert_close(block(text)["states"][0], expected, rtol=1e-5, atol=1e-5)


def test_one_group_without_offset_and_gate_is_global_attention_but_for_the_last_norm() -> None:
    group, text = encoder(group_size=27, offset=0, gate=False), some_states(LENGTHS, DIM)
    everywhere = SelfAttention(DIM, num_heads=6, feed_forward_factor=4, scale_by="head", input_scale=1.0)
    missing, unexpected = everywhere.load_state_dict(group.state_dict(), strict=False)
    assert {name.partition(".")[0] for name in missing} == {"feed_forward_norm"}
    assert unexpected == []
    torch.testing.assert_close(group.begin(text)["residual"], everywhere.begin(text)["residual"], rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(everywhere.feed_forward_norm(group(text)["states"]), everywhere(text)["states"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("length", [20, 27])
def test_an_offset_never_joins_the_end_of_a_text_to_its_beginning(length: int) -> None:
    """Changing the last word changes the words of its two groups, and no other."""
    block, text = encoder(gate=False), some_states([length], DIM)
    before = block(text)["states"]
    text["states"][0, -1] += 1.0
    changed = (block(text)["states"] != before).any(dim=2)[0].nonzero().flatten().tolist()
    assert changed == list(range((length - 1) // 10 * 10, length))


def test_the_offset_lets_words_on_either_side_of_a_border_meet() -> None:
    for offset, reach in ((0, range(10, 20)), (5, range(5, 20))):
        block, text = encoder(gate=False, offset=offset), some_states([30], DIM)
        before = block(text)["states"]
        text["states"][0, 10] += 1.0
        changed = (block(text)["states"] != before).any(dim=2)[0].nonzero().flatten().tolist()
        assert changed == list(reach)


def test_the_gate_brings_in_the_whole_text_but_no_padding() -> None:
    block, text = encoder(), some_states([25, 30], DIM)
    before = block(text)["states"]
    text["states"][0, 24] += 1.0
    assert (block(text)["states"] != before).any(dim=2)[0, :25].all()
    before = block(text)["states"]
    text["states"][0, 25:] += 100.0
    torch.testing.assert_close(block(text)["states"][0, :25], before[0, :25], rtol=0, atol=0)


@pytest.mark.parametrize(("group_size", "offset"), [(10, 10), (10, -1), (0, 0)])
def test_an_offset_outside_the_group_is_refused(group_size: int, offset: int) -> None:
    with pytest.raises(ConfigError, match=rf"offset={offset} .*group_size={group_size}"):
        encoder(group_size=group_size, offset=offset)
