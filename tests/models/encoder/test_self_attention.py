"""Global self-attention against torch's own, with the same weights; sinusoids against their formula, entry by entry."""

import math

import pytest
import torch
from small_texts import some_states
from torch import Tensor, nn

from qaexp.errors import ConfigError
from qaexp.models.encoder.self_attention import SelfAttention, sinusoids

DIM = 12


def encoder(num_heads: int = 3, scale_by: str = "head", input_scale: float = 1.0) -> SelfAttention:
    torch.manual_seed(1)
    return SelfAttention(DIM, num_heads=num_heads, feed_forward_factor=4, scale_by=scale_by, input_scale=input_scale)


def torch_layer(ours: SelfAttention, score_factor: float) -> nn.TransformerEncoderLayer:
    """Torch's layer with our weights; its scores are divided by the width of a head, so queries are scaled by `score_factor`."""
    layer = nn.TransformerEncoderLayer(DIM, ours.num_heads, dim_feedforward=4 * DIM, dropout=0.0, batch_first=True)
    first, _, second = ours.feed_forward
    with torch.no_grad():
        in_projection = ours.query_key_value.weight.clone()
        in_projection[:DIM] *= score_factor
        layer.self_attn.in_proj_weight.copy_(in_projection)
        layer.self_attn.in_proj_bias.zero_()
        layer.self_attn.out_proj.weight.copy_(ours.output.weight)
        layer.self_attn.out_proj.bias.zero_()
    for theirs, mine in (
        (layer.linear1, first),
        (layer.linear2, second),
        (layer.norm1, ours.attention_norm),
        (layer.norm2, ours.feed_forward_norm),
    ):
        theirs.load_state_dict(mine.state_dict())
    return layer


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("num_heads", "scale_by", "score_factor"), [(3, "head", 1.0), (1, "head", 1.0), (3, "model", 3**-0.5), (1, "model", 1.0)]
)
@pytest.mark.parametrize("input_scale", [1.0, DIM**0.5])
def test_one_block_equals_torch_with_the_same_weights(num_heads: int, scale_by: str, score_factor: float, input_scale: float) -> None:
    ours = encoder(num_heads, scale_by, input_scale)
    for norm in (ours.attention_norm, ours.feed_forward_norm):
        nn.init.normal_(norm.weight)  # type: ignore[arg-type]
    text = some_states([7, 1, 4], DIM)
    X = input_scale * text["states"] + sinusoids(7, DIM, like=text["states"])
    expected = torch_layer(ours, score_factor)(X, src_key_padding_mask=~text["mask"])
    close(ours(text)["states"][text["mask"]], expected[text["mask"]])


def test_queries_keys_and_values_all_learn() -> None:
    ours = encoder()
    ours(some_states([7, 3], DIM))["states"].square().sum(dim=2).prod(dim=1).sum().backward()
    gradient = ours.query_key_value.weight.grad
    assert gradient is not None
    assert all(part.abs().max() > 0 for part in gradient.unflatten(0, (3, 3, -1)).flatten(0, 1))


def test_a_text_of_padding_alone_gives_finite_states_and_gradients() -> None:
    ours, text = encoder(), some_states([5, 3], DIM)
    text["mask"][1] = False
    text["states"].requires_grad_()
    states = ours(text)["states"]
    states.sum().backward()
    assert torch.isfinite(states).all()
    assert text["states"].grad is not None
    assert torch.isfinite(text["states"].grad).all()
    alone = ours({name: tensor[:1] for name, tensor in text.items()})["states"]
    close(states[:1], alone)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("score", [-1e4, 1e4])
def test_padding_is_masked_whatever_the_score_and_the_type(dtype: torch.dtype, score: float) -> None:
    """A bias at the type's own limit would leave its range as soon as a score is added."""
    from qaexp.models.encoder.self_attention import attention

    QKV = torch.ones(2, 3, 3, 1, 1, dtype=dtype)
    QKV[:, :, 0] = score
    QKV[:, :, 2, 0, 0] = torch.tensor([2.0, 4.0, 1000.0], dtype=dtype)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    states = attention(QKV, mask, scale=1.0)
    assert states[0].flatten().tolist() == [3.0, 3.0, 3.0]
    assert torch.isfinite(states[1]).all()


def test_heads_that_do_not_divide_the_width_are_as_wide_as_its_next_multiple() -> None:
    ours, text = encoder(num_heads=5), some_states([6], DIM)  # heads of 3, together 15 wide
    X = text["states"]
    Q, K, V = (each[0] for each in ours.query_key_value(X).split(15, dim=2))
    heads = [slice(3 * n, 3 * n + 3) for n in range(5)]
    attended = [(Q[:, h] @ K[:, h].T / 3**0.5).softmax(dim=1) @ V[:, h] for h in heads]
    close(ours.context(X, text["mask"])[0], torch.cat(attended, dim=1) @ ours.output.weight.T)
    assert ours.output_dim == ours(text)["states"].shape[2] == DIM


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(ConfigError, match="scale_by=width: choose head or model"):
        encoder(scale_by="width")


@pytest.mark.parametrize("dim", [6, 7])
def test_every_entry_is_the_formula_of_vaswani(dim: int) -> None:
    table = sinusoids(50, dim, like=torch.zeros(0))
    assert table.shape == (50, dim)
    for i in range(50):
        for j in range(dim):
            rate = 10000 ** -((j if j % 2 == 0 else j - 1) / dim)
            expected = math.sin(i * rate) if j % 2 == 0 else math.cos(i * rate)
            assert table[i, j].item() == pytest.approx(expected, abs=1e-5)


def test_positions_take_the_type_of_the_words_but_not_its_precision() -> None:
    """Computed in bfloat16, positions 256 and 257 would be one."""
    table = sinusoids(258, 4, like=torch.zeros(0, dtype=torch.bfloat16))
    assert table.dtype == torch.bfloat16
    torch.testing.assert_close(table, sinusoids(258, 4, like=torch.zeros(0)).bfloat16())
    assert not torch.equal(table[256], table[257])
